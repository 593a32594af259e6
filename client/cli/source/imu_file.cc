#include "client/cli/source/imu_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/source/calibration.h"
#include "client/cli/source/text_file.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<absl::string_view>;

// A time in the unit of its file, without loss: `fraction` is in [0, 1).
struct WrittenTime {
  int64_t whole = 0;
  double fraction = 0;
};

std::optional<WrittenTime> ParseTime(absl::string_view text) {
  const size_t point = text.find('.');
  const absl::string_view fraction = point == text.npos ? "" : text.substr(point + 1);
  WrittenTime time;
  const bool plain = std::all_of(fraction.begin(), fraction.end(), absl::ascii_isdigit) &&
                     absl::ascii_isdigit(text[0]) && absl::SimpleAtoi(text.substr(0, point), &time.whole);
  if (plain) {
    return fraction.empty() || absl::SimpleAtod(absl::StrCat("0.", fraction), &time.fraction)
               ? std::optional<WrittenTime>(time)
               : std::nullopt;
  }
  double value = 0;  // such as 1.403636579758555e+18
  if (!absl::SimpleAtod(text, &value) || !(value >= 0 && value < 9e18)) return std::nullopt;
  time.whole = static_cast<int64_t>(value);
  time.fraction = value - static_cast<double>(time.whole);
  return time;
}

// A line that is neither empty nor a comment.
struct Row {
  int line = 0;
  WrittenTime time;
  std::vector<double> values;
};

struct Table {
  std::string path;
  std::vector<Row> rows;
};

absl::Status LineError(const std::string& path, int line, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(path, ":", line, ": ", text));
}

// Whether a header's `name` is one of accelerations, and of angular velocities.
bool IsAcceleration(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  return absl::StrContains(lower, "acc") || (absl::StartsWith(lower, "a") && !absl::StartsWith(lower, "ang"));
}
bool IsAngularVelocity(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  return absl::StrContains(lower, "gyr") || absl::StrContains(lower, "ang") || absl::StrContains(lower, "omega") ||
         absl::StartsWith(lower, "w") || absl::StartsWith(lower, "g");
}

// Whether a line is a header that says another order than ours. Units in brackets may have blanks of their own.
bool SaysAnotherOrder(absl::string_view line) {
  const size_t begin = std::min(line.find_first_not_of(" \t#%"), line.size());
  const Words names = absl::StrSplit(line.substr(begin), absl::ByAnyChar(absl::StrContains(line, ',') ? "," : " \t"),
                                     absl::SkipWhitespace());
  return names.size() == 7 && (IsAcceleration(absl::StripAsciiWhitespace(names[1])) ||
                               IsAngularVelocity(absl::StripAsciiWhitespace(names[4])));
}

// Rows of the time and `values` more numbers; without `values`, what follows the time does not matter.
absl::StatusOr<Table> ReadTable(const std::string& path, std::optional<size_t> values, absl::string_view wanted) {
  GLINT_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  Table table;
  table.path = path;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const Words words = absl::StrSplit(line, absl::ByAnyChar(" ,;\t"), absl::SkipEmpty());
    if (words.empty()) continue;
    const bool is_comment = words[0][0] == '#';
    const std::optional<WrittenTime> time = is_comment ? std::nullopt : ParseTime(words[0]);
    const bool is_header = is_comment || (!time.has_value() && absl::ascii_isalpha(words[0][0]));
    if (is_header && table.rows.empty() && SaysAnotherOrder(line)) {
      return LineError(path, number, absl::StrCat("the header says another order than ", wanted));
    }
    if (is_comment || (is_header && table.rows.empty())) continue;
    Row row{number, time.value_or(WrittenTime()), {}};
    bool good = time.has_value() && (!values.has_value() || words.size() == *values + 1);
    for (size_t i = 1; good && values.has_value() && i < words.size(); ++i) {
      row.values.push_back(0);
      good = absl::SimpleAtod(words[i], &row.values.back()) && std::abs(row.values.back()) <= kLargestReading;
    }
    if (!good) return LineError(path, number, absl::StrCat("'", Echo(line), "' is not ", wanted));
    table.rows.push_back(std::move(row));
  }
  if (table.rows.size() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": has ", table.rows.size(), " lines of ", wanted, "; 2 are needed"));
  }
  return table;
}

bool Before(const WrittenTime& a, const WrittenTime& b) {
  return a.whole != b.whole ? a.whole < b.whole : a.fraction < b.fraction;
}

// Nanoseconds in a unit of the table's times, whose rows are sorted. The rates that it may have are a thousandfold, as
// units are, so there is at most one.
absl::StatusOr<int64_t> UnitOf(const Table& table, double lowest_rate) {
  std::vector<double> steps;
  for (size_t i = 1; i < table.rows.size(); ++i) {
    const WrittenTime &a = table.rows[i - 1].time, &b = table.rows[i].time;
    if (Before(a, b)) steps.push_back(static_cast<double>(b.whole - a.whole) + (b.fraction - a.fraction));
  }
  double step = 0;
  if (!steps.empty()) {
    const auto middle = steps.begin() + static_cast<ptrdiff_t>(steps.size() / 2);
    std::nth_element(steps.begin(), middle, steps.end());
    step = *middle;
  }
  for (const int64_t unit : {1'000'000'000, 1'000'000, 1'000, 1}) {
    const double rate = 1e9 / (step * static_cast<double>(unit));
    const bool fits = table.rows.back().time.whole < INT64_MAX / unit;
    if (rate > lowest_rate && rate <= 1000 * lowest_rate && fits) return unit;
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s: the usual step of its times is %.9g: in no unit from seconds to nanoseconds that of %.9g to %.9g Hz",
      table.path, step, lowest_rate, 1000 * lowest_rate));
}

int64_t NanosecondsOf(const WrittenTime& time, int64_t unit) {
  return time.whole * unit + std::llround(time.fraction * static_cast<double>(unit));
}

constexpr char kBoth[] = "time, angular velocity x y z (rad/s), acceleration x y z (m/s^2)";

// Rows of `sensors` vectors each, as many recordings.
absl::StatusOr<std::vector<std::vector<ImuRow>>> ReadSensors(const std::string& path, size_t sensors) {
  GLINT_ASSIGN_OR_RETURN(Table table, ReadTable(path, 3 * sensors, sensors == 2 ? kBoth : "time, x, y, z"));
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const Row& a, const Row& b) { return Before(a.time, b.time); });
  constexpr double kLowestRate = 10;
  GLINT_ASSIGN_OR_RETURN(const int64_t unit, UnitOf(table, kLowestRate));
  std::vector<std::vector<ImuRow>> found(sensors);
  for (const Row& row : table.rows) {
    for (size_t s = 0; s < sensors; ++s) {
      const double* const v = row.values.data() + 3 * s;
      found[s].push_back({NanosecondsOf(row.time, unit), {v[0], v[1], v[2]}});
    }
  }
  return found;
}

// The file of readings in a folder; else `path` itself.
std::string FileIn(const std::string& path) {
  std::error_code none;
  for (const char* inside : {"data.csv", "imu0/data.csv", "mav0/imu0/data.csv"}) {
    const fs::path file = fs::path(path) / inside;
    if (fs::is_directory(path, none) && fs::exists(file, none)) return file.string();
  }
  return path;
}

}  // namespace

double ImuRecording::rate() const {
  const double first = static_cast<double>(gyroscope.front().time_ns) * 1e-9;
  const double last = static_cast<double>(gyroscope.back().time_ns) * 1e-9;
  return static_cast<double>(gyroscope.size() - 1) / (last - first);
}

std::string ImuRecording::Text() const {
  const double first = static_cast<double>(gyroscope.front().time_ns) * 1e-9;
  const double last = static_cast<double>(gyroscope.back().time_ns) * 1e-9;
  return absl::StrFormat("%s: %d readings of %.3f to %.3f s, %.1f Hz", name, gyroscope.size(), first, last, rate());
}

absl::StatusOr<ImuRecording> ReadImu(const std::string& paths) {
  const std::vector<std::string> files = PathsIn(paths);
  ImuRecording recording;
  recording.name = paths;
  if (files.size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(paths, ": ", files.size(), " files; one, or GYROSCOPE,ACCELEROMETER"));
  }
  if (files.size() == 2) {
    GLINT_ASSIGN_OR_RETURN(auto gyroscope, ReadSensors(files[0], 1));
    GLINT_ASSIGN_OR_RETURN(auto accelerometer, ReadSensors(files[1], 1));
    recording.gyroscope = std::move(gyroscope[0]);
    recording.accelerometer = std::move(accelerometer[0]);
    return recording;
  }
  recording.name = FileIn(files[0]);
  GLINT_ASSIGN_OR_RETURN(auto both, ReadSensors(recording.name, 2));
  recording.gyroscope = std::move(both[0]);
  recording.accelerometer = std::move(both[1]);
  return recording;
}

absl::StatusOr<std::vector<int64_t>> ReadTimes(const std::string& path) {
  GLINT_ASSIGN_OR_RETURN(const Table table, ReadTable(path, std::nullopt, "a time"));
  for (size_t i = 1; i < table.rows.size(); ++i) {
    if (Before(table.rows[i - 1].time, table.rows[i].time)) continue;
    return LineError(path, table.rows[i].line, "the time is not after that of the line before");
  }
  constexpr double kLowestRate = 1;
  GLINT_ASSIGN_OR_RETURN(const int64_t unit, UnitOf(table, kLowestRate));
  std::vector<int64_t> times;
  times.reserve(table.rows.size());
  for (const Row& row : table.rows) times.push_back(NanosecondsOf(row.time, unit));
  return times;
}

const std::vector<client::ImuReadings>& ImuFeed::Until(int64_t image_time_ns) {
  const int64_t time_ns = image_time_ns + offset_ns_;
  const std::vector<ImuRow>&w = recording_.gyroscope, &a = recording_.accelerometer;
  const auto from = [&](const std::vector<ImuRow>& rows, int64_t earliest) {
    return static_cast<size_t>(
        std::partition_point(rows.begin(), rows.end(), [&](const ImuRow& row) { return row.time_ns < earliest; }) -
        rows.begin());
  };
  if (!begun_) {
    next_gyroscope_ = from(w, time_ns - kLongestBefore);
    next_accelerometer_ = from(a, time_ns - kLongestBefore);
    begun_ = true;
  }
  const size_t end_w = std::max(next_gyroscope_, std::min(from(w, time_ns) + 1, w.size()));
  const size_t end_a = std::max(next_accelerometer_, std::min(from(a, time_ns) + 1, a.size()));
  due_.clear();
  do {
    client::ImuReadings& part = due_.emplace_back();
    for (; next_gyroscope_ < end_w && part.angular_velocity.size() < kMost; ++next_gyroscope_) {
      part.gyroscope_time_ns.push_back(w[next_gyroscope_].time_ns);
      part.angular_velocity.push_back(w[next_gyroscope_].value);
    }
    for (; next_accelerometer_ < end_a && part.acceleration.size() < kMost; ++next_accelerometer_) {
      part.accelerometer_time_ns.push_back(a[next_accelerometer_].time_ns);
      part.acceleration.push_back(a[next_accelerometer_].value);
    }
    if (part.accelerometer_time_ns == part.gyroscope_time_ns) part.accelerometer_time_ns.clear();
  } while (next_gyroscope_ < end_w || next_accelerometer_ < end_a);
  return due_;
}

}  // namespace glint::cli
