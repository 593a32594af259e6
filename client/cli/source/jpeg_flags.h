// The option of commands that write JPEG files to send them.
#ifndef GLINT_CLIENT_CLI_SOURCE_JPEG_FLAGS_H_
#define GLINT_CLIENT_CLI_SOURCE_JPEG_FLAGS_H_

#include <optional>

#include "absl/status/status.h"
#include "client/cli/base/flags.h"

namespace glint::cli {

struct JpegFlags {
  std::optional<int> quality;

  void AddTo(Flags* flags);
  // `wanted`: such files are sent. INVALID_ARGUMENT names the option.
  absl::Status Validate(bool wanted) const;
  // For decode::WriteJpeg().
  int Quality() const;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_JPEG_FLAGS_H_
