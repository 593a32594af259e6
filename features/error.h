// Every error a user of Glint can see, by name. The text always says which field, which value and what is allowed.
#ifndef GLINT_FEATURES_ERROR_H_
#define GLINT_FEATURES_ERROR_H_

#include <cstddef>
#include <cstdint>
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

// "levels: 13 is not in 1..12"
template <typename T, typename U>
absl::Status OutOfRangeError(absl::string_view field, const T& value, const U& low, const U& high) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", Echo(absl::StrCat(value)), " is not in ", low, "..", high));
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

// RESOURCE_EXHAUSTED: "image.pixels: 40000000 is over this server's limit of 33177600 (--max-image-pixels)"
absl::Status LimitError(absl::string_view field, int64_t value, int64_t limit, absl::string_view flag);

}  // namespace glint

#endif  // GLINT_FEATURES_ERROR_H_
