#include "server/wire/first_message.h"

#include "absl/strings/str_cat.h"
#include "features/error.h"

namespace glint {

absl::Status CheckOptions(bool parsed, const WireEnvelope& envelope, size_t bytes, const std::string& name) {
  if (!parsed) return absl::InvalidArgumentError(absl::StrCat("message: not a serialized ", name));
  if (envelope.content != WireContent::kOptions) {
    return absl::FailedPreconditionError("options: missing; the first message of a stream carries them");
  }
  if (bytes <= kMaxOptionsBytes) return absl::OkStatus();
  return TooLargeError("options", bytes, kMaxOptionsBytes);
}

}  // namespace glint
