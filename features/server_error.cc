#include "features/server_error.h"

#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "features/error.h"

namespace glint {
namespace {

absl::Status StateError(absl::StatusCode code, absl::string_view reason, absl::string_view field,
                        absl::string_view value, absl::string_view problem) {
  ErrorInfo info;
  info.reason = std::string(reason);
  info.field = std::string(field);
  info.value = Echo(value);
  return WithErrorInfo(absl::Status(code, absl::StrCat(field, ": ", problem)), info);
}

}  // namespace

absl::Status NotFoundError(absl::string_view field, absl::string_view value, absl::string_view problem) {
  return StateError(absl::StatusCode::kNotFound, "NOT_FOUND", field, value, problem);
}

absl::Status FailedPreconditionError(absl::string_view field, absl::string_view value, absl::string_view problem) {
  return StateError(absl::StatusCode::kFailedPrecondition, "FAILED_PRECONDITION", field, value, problem);
}

absl::Status LimitError(absl::string_view field, int64_t value, absl::string_view what, int64_t limit,
                        absl::string_view flag) {
  ErrorInfo info;
  info.reason = "OVER_LIMIT";
  info.field = std::string(field);
  info.value = absl::StrCat(value);
  info.highest = absl::StrCat(limit);
  info.flag = std::string(flag.substr(flag.find("--")));
  return WithErrorInfo(absl::ResourceExhaustedError(absl::StrCat(
                           field, ": ", value, " ", what, " are over this server's limit of ", limit, " (", flag, ")")),
                       info);
}

absl::Status WithFieldRenamed(absl::string_view from, absl::string_view to, const absl::Status& status) {
  std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value() || !absl::StartsWith(info->field, from) || !absl::StartsWith(status.message(), from)) {
    return status;
  }
  const std::string text = absl::StrCat(to, status.message().substr(from.size()));
  info->field = text.substr(0, text.find(": "));
  return WithErrorInfo(absl::Status(status.code(), text), *info);
}

}  // namespace glint
