// metadata.yaml of rosbag2's folders, versions 1 to 9.
#ifndef GLINT_BAG_ROSBAG2_METADATA_H_
#define GLINT_BAG_ROSBAG2_METADATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bag/bag.h"

namespace glint::bag {

struct Rosbag2Metadata {
  std::vector<std::string> files;  // names, without the folders that are said before them
  std::vector<Topic> topics;       // name, type and encoding of those that are said
  int64_t messages = -1;           // negative: not said
  std::string compression;         // of files or messages; empty: none
};

// INVALID_ARGUMENT: no such text, or over 1 MiB of it.
absl::StatusOr<Rosbag2Metadata> ParseRosbag2Metadata(absl::string_view text);

// The names among these that can be files of a recording, in their order: NAME_2.db3 comes before NAME_10.db3.
std::vector<std::string> RecordingFiles(std::vector<std::string> names);

// Those of `there` that `said` lacks and that are of a row with one of it: of its name but for the number at the end.
// Compressed or not is the same. The order is that of `there`.
std::vector<std::string> FilesNotSaid(const std::vector<std::string>& said, const std::vector<std::string>& there);

}  // namespace glint::bag

#endif  // GLINT_BAG_ROSBAG2_METADATA_H_
