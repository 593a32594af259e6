// Frames of video files and addresses, which another program decodes, and of y4m.
#ifndef GLINT_CLIENT_CLI_SOURCE_VIDEO_SOURCE_H_
#define GLINT_CLIENT_CLI_SOURCE_VIDEO_SOURCE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/base/flags.h"
#include "client/cli/source/picture.h"
#include "client/cli/source/source.h"

namespace glint::cli {

// `name`: a file (y4m, which is read here, or anything that the decoder knows), "-" for y4m on standard input, or an
// address. Frames are the luma as it was coded; with SendFormat::kColor they are NV12. NOT_FOUND or INVALID_ARGUMENT,
// also for what the first bytes say, begins with the name. A frame that cannot be read is the last one: an error, then
// the end. An interrupt is the end.
absl::StatusOr<std::unique_ptr<Source>> OpenVideo(const std::string& name, SendFormat format,
                                                  const VideoOptions& options);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_VIDEO_SOURCE_H_
