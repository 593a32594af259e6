// Every error a user of Glint can see, by name. The text always says which field, which value and what is allowed.
#ifndef GLINT_FEATURES_ERROR_H_
#define GLINT_FEATURES_ERROR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace glint {

// Payload of a status that a GPU's runtime caused: the error's name there, for example "cudaErrorIllegalAddress".
inline constexpr char kDeviceErrorPayload[] = "glint/device-error";

// Bytes of a value that an error repeats at most. Errors travel in the headers of a reply, where 8 KiB is the end.
inline constexpr size_t kMaxEchoBytes = 100;

// `value` as errors repeat it: control characters and what is not UTF-8 as "\x0a", and "..." in place of what goes
// beyond kMaxEchoBytes. Valid UTF-8.
std::string Echo(absl::string_view value);

// What an error is about, for programs. All are text, as in the message; empty: the error has none.
struct ErrorInfo {
  // "OUT_OF_RANGE", "NOT_ONE_OF", "CONTRADICTION", "OVER_LIMIT", "NOT_FOUND" or "FAILED_PRECONDITION".
  std::string reason;
  std::string field;            // its path: "image.width"
  std::string value;            // an Echo()
  std::string lowest, highest;  // that is allowed
  std::string allowed;          // names, ", " between them
  std::string flag;             // of the server, that sets the limit: "--max-features"
};

// `status`, which is not OK, with that info, which has a reason, in place of any that it had.
absl::Status WithErrorInfo(absl::Status status, const ErrorInfo& info);
// Nothing: the status has none.
std::optional<ErrorInfo> ErrorInfoOf(const absl::Status& status);

// `status` of a part of `outer`, as an error of the whole: "levels: ..." becomes "detector.levels: ..." for outer
// "detector", in the text and in the info. What is about an "image" is about `outer` itself, since decoders know no
// other name: "image.width: ..." becomes "left.width: ..." for outer "left". A text without a field gets one.
absl::Status WithField(absl::string_view outer, const absl::Status& status);

// "levels: 13 is not in 1..12"
absl::Status OutOfRangeText(absl::string_view field, absl::string_view value, absl::string_view lowest,
                            absl::string_view highest);
template <typename T, typename U>
absl::Status OutOfRangeError(absl::string_view field, const T& value, const U& low, const U& high) {
  return OutOfRangeText(field, absl::StrCat(value), absl::StrCat(low), absl::StrCat(high));
}

// OutOfRangeError unless `value` is in [low, high]; NaN is not.
template <typename T>
absl::Status CheckRange(absl::string_view field, T value, T low, T high) {
  return value >= low && value <= high ? absl::OkStatus() : OutOfRangeError(field, value, low, high);
}

// "preset: \"sift\" is not one of orb, oriented_fast"
absl::Status NotOneOfError(absl::string_view field, absl::string_view value, absl::string_view allowed);

// "image.stride: 10 is less than the row of 12 bytes": a value that contradicts another one. `problem` is cut after
// kMaxProblemBytes; a value of the user's in it should be an Echo().
inline constexpr size_t kMaxProblemBytes = 500;
absl::Status ContradictionError(absl::string_view field, absl::string_view problem);

// RESOURCE_EXHAUSTED: "image.pixels: 40000000 is over this server's limit of 4194304 (--max-image-pixels)"
absl::Status LimitError(absl::string_view field, int64_t value, int64_t limit, absl::string_view flag);

// RESOURCE_EXHAUSTED: "queue: full; try again later", which `limit` and `flag` are the reason of. Each may be empty.
absl::Status ExhaustedError(absl::string_view field, absl::string_view problem, absl::string_view limit,
                            absl::string_view flag);

// "options: 70000 bytes are more than 65536": a part of a message that is larger than any that is meant. `what`: which
// of its bytes.
absl::Status TooLargeError(absl::string_view field, size_t bytes, size_t most, absl::string_view what = "bytes");

}  // namespace glint

#endif  // GLINT_FEATURES_ERROR_H_
