// Calibration files that are lines of words and numbers.
#ifndef GLINT_CALIBRATION_FORMATS_LINES_H_
#define GLINT_CALIBRATION_FORMATS_LINES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace glint::calibration {

struct Line {
  int number = 0;          // from 1
  absl::string_view text;  // without blanks at its ends, never empty
};

// The lines of `text` that are neither blank nor begin with one of `comments`. They end as on Unix, Windows or an old
// Mac; a byte order mark is skipped. They point into `text`.
std::vector<Line> LinesOf(absl::string_view text, absl::string_view comments = "#");

// Longer texts are no calibration of lines.
inline constexpr size_t kMaxLinesBytes = 1 << 20;

// The words between blanks and commas.
std::vector<absl::string_view> WordsOf(absl::string_view text);

// All words as finite numbers; none if one is no number.
std::optional<std::vector<double>> NumbersIn(absl::string_view text);

// Digits that read back as the same numbers; 0 without a sign.
std::string Digits(absl::Span<const double> numbers, absl::string_view between = " ");

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_FORMATS_LINES_H_
