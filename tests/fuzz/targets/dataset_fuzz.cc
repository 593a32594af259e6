// Lists of data sets: refused with the line, or files of ascending times in the folder; and what of two lists belongs
// together. Input: a list of nanoseconds or seconds (by its size), of dates, too; a list and itself, moved by its size.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "client/cli/source/dataset_lists.h"
#include "tests/fuzz/targets/input.h"

namespace glint::cli {
namespace {

void Run(const std::string& text) {
  const auto dates = ParseTimestamps("list", text);
  FUZZ_CHECK(dates.ok() ? std::is_sorted(dates->begin(), dates->end())
                        : absl::StartsWith(dates.status().message(), "list:"));
  const auto list =
      ParseFileList("list", text, "folder", text.size() % 2 == 0 ? ListTime::kSeconds : ListTime::kNanoseconds);
  if (!list.ok()) {
    FUZZ_CHECK(absl::StartsWith(list.status().message(), "list:"));
    return;
  }
  for (size_t i = 0; i < list->size(); ++i) {
    FUZZ_CHECK((*list)[i].time_ns >= 0 && (i == 0 || (*list)[i].time_ns > (*list)[i - 1].time_ns));
    FUZZ_CHECK(absl::StartsWith((*list)[i].path, "folder/"));
  }
  std::vector<TimedFile> moved = *list;
  for (TimedFile& file : moved) file.time_ns = file.time_ns / 2 + static_cast<int64_t>(text.size());
  moved.erase(std::unique(moved.begin(), moved.end(),
                          [](const TimedFile& a, const TimedFile& b) { return a.time_ns == b.time_ns; }),
              moved.end());
  const int64_t tolerance = static_cast<int64_t>(text.size()) * 1000;
  std::vector<bool> taken(moved.size(), false);
  for (const auto& [left, right] : Associate(*list, moved, tolerance)) {
    FUZZ_CHECK(std::abs((*list)[left].time_ns - moved[right].time_ns) <= tolerance && !taken[right]);
    taken[right] = true;
  }
}

}  // namespace
}  // namespace glint::cli

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  glint::cli::Run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
