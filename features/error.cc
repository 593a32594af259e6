#include "features/error.h"

namespace glint {

absl::Status NotOneOfError(absl::string_view field, absl::string_view value, absl::string_view allowed) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": \"", value, "\" is not one of ", allowed));
}

absl::Status ContradictionError(absl::string_view field, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", problem));
}

absl::Status LimitError(absl::string_view field, int64_t value, int64_t limit, absl::string_view flag) {
  return absl::ResourceExhaustedError(
      absl::StrCat(field, ": ", value, " is over this server's limit of ", limit, " (", flag, ")"));
}

}  // namespace glint
