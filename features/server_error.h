// Errors of a server's state, with an ErrorInfo (features/error.h) as those of values have: what is not there, what is
// not there yet, and limits on what fields have in all. Thread-safe.
#ifndef GLINT_FEATURES_SERVER_ERROR_H_
#define GLINT_FEATURES_SERVER_ERROR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace glint {

// NOT_FOUND with the reason "NOT_FOUND": "ids[1]: no live track has the id 4" for field "ids[1]" and value "4".
absl::Status NotFoundError(absl::string_view field, absl::string_view value, absl::string_view problem);

// FAILED_PRECONDITION with the reason "FAILED_PRECONDITION": "camera: 1 has had no frame" for field "camera" and value
// "1".
absl::Status FailedPreconditionError(absl::string_view field, absl::string_view value, absl::string_view problem);

// RESOURCE_EXHAUSTED, as LimitError() of features/error.h: "images: 9 pixels are over this server's limit of 8
// (--max-track-pixels)" for `what` "pixels". `flag` may be a multiple: "2 x --max-features".
absl::Status LimitError(absl::string_view field, int64_t value, absl::string_view what, int64_t limit,
                        absl::string_view flag);

// `status` with `to` in place of the `from` that its field begins with, in text and ErrorInfo: "raw.width: 0 is..." of
// "width: 0 is...". A part that is no field of its own follows a colon: `from` "width" and `to` "data: width" make
// "data: width: 0 is...", about "data". As it is if its field begins with something else.
absl::Status WithFieldRenamed(absl::string_view from, absl::string_view to, const absl::Status& status);

}  // namespace glint

#endif  // GLINT_FEATURES_SERVER_ERROR_H_
