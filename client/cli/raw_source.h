// Pictures from files of raw pixels.
#ifndef GLINT_CLIENT_CLI_RAW_SOURCE_H_
#define GLINT_CLIENT_CLI_RAW_SOURCE_H_

#include <memory>
#include <opencv2/core.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/raw_flags.h"
#include "client/cli/source.h"

namespace glint::cli {

// Reads a file of raw pixels, which must have as many as one picture has.
absl::Status ReadRawPicture(const std::string& path, const RawLayout& layout, Picture* picture);

// A file of raw pictures, one after the other; "-" is standard input.
absl::StatusOr<std::unique_ptr<Source>> OpenRawSource(const std::string& name, const RawLayout& layout);

// One picture's pixels in colour, for drawing.
cv::Mat RawToColour(const RawLayout& layout, const std::string& bytes);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_RAW_SOURCE_H_
