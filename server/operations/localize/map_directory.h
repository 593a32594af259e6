// Maps that streams save and load, in one directory of the server's: clients give names, never paths. Thread-safe.
#ifndef GLINT_SERVER_OPERATIONS_LOCALIZE_MAP_DIRECTORY_H_
#define GLINT_SERVER_OPERATIONS_LOCALIZE_MAP_DIRECTORY_H_

#include <mutex>
#include <set>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace glint {

class MapDirectory {
 public:
  // An empty path: none, and all calls fail. Up to `max_maps` files of maps are made there. Removes what writers that
  // have died left unfinished there (RemoveUnfinished()).
  MapDirectory(std::string path, int max_maps);

  // The file of the map. FAILED_PRECONDITION: there is no directory. INVALID_ARGUMENT: CheckFileName()'s
  // (server/base/file_name.h), or the name ends in the extension that files of maps have.
  absl::StatusOr<std::string> FileOf(absl::string_view name) const;
  // The error of a file of FileOf() that is not there: NOT_FOUND, with the names of the maps that are.
  absl::Status NoSuchMap(const std::string& file) const;
  // Calls `write`, which writes this file of FileOf(), and returns its status. RESOURCE_EXHAUSTED: the map would be one
  // too many, beside those that are there and those that other threads write meanwhile.
  absl::Status Save(const std::string& file, absl::FunctionRef<absl::Status()> write);

 private:
  absl::Status Admit(const std::string& file) const;  // with mutex_
  // Of the maps that are there. UNAVAILABLE: the directory cannot be read.
  absl::StatusOr<std::set<std::string>> Names() const;

  const std::string path_;
  const int max_maps_;
  std::mutex mutex_;
  std::multiset<std::string> saving_;  // names of the maps that calls of Save() write
};

// Of --map-directory. INVALID_ARGUMENT: it is not empty, and no directory that can be written.
absl::Status CheckMapDirectory(const std::string& path);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_MAP_DIRECTORY_H_
