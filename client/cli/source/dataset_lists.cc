#include "client/cli/source/dataset_lists.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "features/error.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

std::optional<int64_t> ParseListTime(absl::string_view text, ListTime unit) {
  const auto is_digit_or_point = [](unsigned char c) { return absl::ascii_isdigit(c) || c == '.'; };
  int64_t ns = 0;
  if (unit == ListTime::kNanoseconds) {
    const bool digits = std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
    return digits && absl::SimpleAtoi(text, &ns) ? std::make_optional(ns) : std::nullopt;
  }
  absl::Duration time;
  if (!std::all_of(text.begin(), text.end(), is_digit_or_point) || !absl::ParseDuration(absl::StrCat(text, "s"), &time))
    return std::nullopt;
  constexpr int64_t kLatest = 9'000'000'000;  // seconds: of what nanoseconds count in 64 bits
  if (time > absl::Seconds(kLatest)) return std::nullopt;
  return absl::ToInt64Nanoseconds(time);
}

bool LeadsOut(const fs::path& name) {
  return name.is_absolute() || std::find(name.begin(), name.end(), "..") != name.end();
}

}  // namespace

absl::StatusOr<std::vector<TimedFile>> ParseFileList(const std::string& path, absl::string_view text,
                                                     const std::string& folder, ListTime unit) {
  std::vector<TimedFile> files;
  std::vector<int> lines;
  int number = 0;
  const auto wrong = [&](int line, absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", line, ": ", what));
  };
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line.substr(0, line.find('#')), absl::ByAnyChar(", \t\r"), absl::SkipEmpty());
    if (words.empty()) continue;
    const std::optional<int64_t> time = ParseListTime(words[0], unit);
    if (!time.has_value()) {
      if (files.empty() && absl::ascii_isalpha(static_cast<unsigned char>(words[0][0]))) continue;  // a header
      return wrong(number, absl::StrCat("'", Echo(words[0]), "' is no time in ",
                                        unit == ListTime::kSeconds ? "seconds" : "nanoseconds"));
    }
    const std::string name = words.size() > 1 ? std::string(words[1]) : absl::StrCat(words[0], ".png");
    if (LeadsOut(name)) return wrong(number, absl::StrCat("'", Echo(name), "' is no file in ", folder));
    files.push_back({(fs::path(folder) / name).string(), *time});
    lines.push_back(number);
  }
  std::vector<size_t> order(files.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return files[a].time_ns < files[b].time_ns; });
  std::vector<TimedFile> sorted;
  sorted.reserve(files.size());
  for (const size_t i : order) {
    if (!sorted.empty() && sorted.back().time_ns == files[i].time_ns) {
      return wrong(lines[i], "the time is that of another line");
    }
    sorted.push_back(std::move(files[i]));
  }
  return sorted;
}

absl::StatusOr<std::vector<int64_t>> ParseTimestamps(const std::string& path, absl::string_view text) {
  std::vector<int64_t> times;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view date = absl::StripAsciiWhitespace(line);
    if (date.empty()) continue;
    absl::Time time;
    std::string error;
    if (!absl::ParseTime("%Y-%m-%d %H:%M:%E*S", date, &time, &error)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": '", Echo(date), "' is no date and time of day"));
    }
    times.push_back(absl::ToUnixNanos(time));
    if (times.size() > 1 && times.back() <= times[times.size() - 2]) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": the time is not after that of the line before"));
    }
  }
  if (times.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": has no time"));
  return times;
}

// The nearest of all pairs that are left is one of neighbours in time: what lies between two that are none is nearer to
// one of them. So only neighbours wait in the queue.
std::vector<std::pair<size_t, size_t>> Associate(const std::vector<TimedFile>& left,
                                                 const std::vector<TimedFile>& right, int64_t tolerance_ns) {
  struct Node {
    bool is_right = false, is_taken = false;
    size_t index = 0;  // in its list
    int64_t time_ns = 0;
    size_t before = 0, after = 0;  // neighbours; the first and the last node are neither left nor right
  };
  std::vector<Node> nodes(1);
  for (size_t i = 0, k = 0; i < left.size() || k < right.size();) {
    const bool is_right = i == left.size() || (k < right.size() && right[k].time_ns < left[i].time_ns);
    const TimedFile& file = is_right ? right[k] : left[i];
    nodes.push_back({is_right, false, is_right ? k++ : i++, file.time_ns, nodes.size() - 1, nodes.size() + 1});
  }
  nodes.emplace_back();
  const size_t last = nodes.size() - 1;
  // Difference, index of the left one and of the right one, the two nodes.
  using Candidate = std::tuple<int64_t, size_t, size_t, size_t, size_t>;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> nearest;
  const auto offer = [&](size_t a, size_t b) {
    if (a == 0 || b == last || nodes[a].is_right == nodes[b].is_right) return;
    const int64_t difference = nodes[b].time_ns - nodes[a].time_ns;
    if (difference > tolerance_ns) return;
    const Node &l = nodes[nodes[a].is_right ? b : a], &r = nodes[nodes[a].is_right ? a : b];
    nearest.emplace(difference, l.index, r.index, a, b);
  };
  for (size_t a = 1; a + 1 < last; ++a) offer(a, a + 1);
  std::vector<std::pair<size_t, size_t>> pairs;
  while (!nearest.empty()) {
    const auto [difference, l, r, a, b] = nearest.top();
    nearest.pop();
    if (nodes[a].is_taken || nodes[b].is_taken) continue;
    nodes[a].is_taken = nodes[b].is_taken = true;
    pairs.emplace_back(l, r);
    const size_t before = nodes[a].before, after = nodes[b].after;
    nodes[before].after = after;
    nodes[after].before = before;
    offer(before, after);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

}  // namespace glint::cli
