// Frames at the end of a GStreamer pipeline, which another program runs: a board's cameras.
#ifndef GLINT_CLIENT_CLI_SOURCE_GST_SOURCE_H_
#define GLINT_CLIENT_CLI_SOURCE_GST_SOURCE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/source/picture.h"
#include "client/cli/source/source.h"

namespace glint::cli {

// `name`: "gst:" and a pipeline as gst-launch-1.0 has it, without its sink. Raw frames are the luma as it is, of BGRx
// cv::cvtColor's grey; with SendFormat::kColor NV12 or BGRA. Frames of JPEG stay files. A pipeline is live if GStreamer
// says so or VideoOptions::live: its end is a loss. NOT_FOUND names the package that is missing; INVALID_ARGUMENT,
// UNAVAILABLE and DEADLINE_EXCEEDED have the element's words. All begin with the name of the pipeline's first element.
absl::StatusOr<std::unique_ptr<Source>> OpenPipeline(const std::string& name, SendFormat format,
                                                     const VideoOptions& options);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_GST_SOURCE_H_
