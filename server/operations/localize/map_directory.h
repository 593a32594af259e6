// Maps that streams save and load, in one directory of the server's: clients give names, never paths. Thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_LOCALIZE_MAP_DIRECTORY_H_
#define GLINT_SERVER_OPERATIONS_LOCALIZE_MAP_DIRECTORY_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace glint {

inline constexpr size_t kMaxMapName = 64;

class MapDirectory {
 public:
  // An empty path: none, and all calls fail. Up to `max_maps` files of maps are made there.
  MapDirectory(std::string path, int max_maps) : path_(std::move(path)), max_maps_(max_maps) {}

  // The file of the map. FAILED_PRECONDITION: there is no directory. INVALID_ARGUMENT: the name is not 1..64 letters,
  // digits, '_', '-' and '.', or begins with '.'.
  absl::StatusOr<std::string> FileOf(absl::string_view name) const;
  // The same for a map that is to be written. RESOURCE_EXHAUSTED: it would be one too many. (Streams that save new maps
  // at the same moment can exceed the limit by their number.)
  absl::StatusOr<std::string> FileToWrite(absl::string_view name) const;

 private:
  const std::string path_;
  const int max_maps_;
};

// Of --map-directory. INVALID_ARGUMENT: it is not empty, and no directory that can be written.
absl::Status CheckMapDirectory(const std::string& path);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_MAP_DIRECTORY_H_
