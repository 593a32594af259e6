// Lists of pictures and of times in data sets, and what of two lists belongs together. Pure functions.
#ifndef GLINT_CLIENT_CLI_SOURCE_DATASET_LISTS_H_
#define GLINT_CLIENT_CLI_SOURCE_DATASET_LISTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace glint::cli {

struct TimedFile {
  std::string path;
  int64_t time_ns = 0;  // of the list's clock
};

enum class ListTime { kNanoseconds, kSeconds };

// Lines "time name", with commas or blanks between them, of files in `folder`; where there is no name it is the time's,
// with ".png". '#' begins a comment, and the first line may be a header. Ascending in time, without loss.
// INVALID_ARGUMENT names `path` and the line: not such a line, a time twice, a name that leads out of the folder.
absl::StatusOr<std::vector<TimedFile>> ParseFileList(const std::string& path, absl::string_view text,
                                                     const std::string& folder, ListTime unit);

// KITTI's timestamps.txt, lines "2011-09-26 13:02:25.964389445": nanoseconds since 1970, as if of UTC. INVALID_ARGUMENT
// names `path` and the line: no date, times that do not ascend, no line.
absl::StatusOr<std::vector<int64_t>> ParseTimestamps(const std::string& path, absl::string_view text);

// Indices of what belongs together of two lists that ascend in time, none twice, ascending: nearest first, at most
// `tolerance_ns` apart.
std::vector<std::pair<size_t, size_t>> Associate(const std::vector<TimedFile>& left,
                                                 const std::vector<TimedFile>& right, int64_t tolerance_ns);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_DATASET_LISTS_H_
