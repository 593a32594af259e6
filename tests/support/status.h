// Statuses in tests.
#ifndef GLINT_TESTS_SUPPORT_STATUS_H_
#define GLINT_TESTS_SUPPORT_STATUS_H_

#include "absl/status/status.h"

namespace glint::testing {

// Code and text alone: equal statuses have equal payloads, such as the members of an ErrorInfo.
inline absl::Status CodeAndText(const absl::Status& status) { return absl::Status(status.code(), status.message()); }

}  // namespace glint::testing

#endif  // GLINT_TESTS_SUPPORT_STATUS_H_
