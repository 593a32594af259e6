#include "calibration/formats/lines.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace glint::calibration {

std::vector<Line> LinesOf(absl::string_view text, absl::string_view comments) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  std::vector<Line> lines;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const absl::string_view line = absl::StripAsciiWhitespace(text.substr(0, end));
    if (!line.empty() && !absl::StrContains(comments, line.substr(0, 1))) lines.push_back({number, line});
    text.remove_prefix(end);
    if (!absl::ConsumePrefix(&text, "\r\n") && !text.empty()) text.remove_prefix(1);
  }
  return lines;
}

std::vector<absl::string_view> WordsOf(absl::string_view text) {
  return absl::StrSplit(text, absl::ByAnyChar(" \t,"), absl::SkipEmpty());
}

std::optional<std::vector<double>> NumbersIn(absl::string_view text) {
  std::vector<double> numbers;
  for (const absl::string_view word : WordsOf(text)) {
    if (!absl::SimpleAtod(word, &numbers.emplace_back()) || !std::isfinite(numbers.back())) return std::nullopt;
  }
  return numbers;
}

std::string Digits(absl::Span<const double> numbers, absl::string_view between) {
  return absl::StrJoin(numbers, between,
                       [](std::string* text, double value) { absl::StrAppendFormat(text, "%.17g", value + 0.0); });
}

}  // namespace glint::calibration
