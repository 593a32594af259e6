// Calibrations of stereo cameras from files.
#ifndef GLINT_CLIENT_CLI_SOURCE_CALIBRATION_H_
#define GLINT_CLIENT_CLI_SOURCE_CALIBRATION_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/localization.h"

namespace glint::cli {

// The projections of both eyes, or `of_one` of the left one alone; the size stays 0. Two formats:
//   KITTI's calib.txt: lines of 12 numbers, each with or without a name ("P0: ..."). Without names the first two are
//   the left and the right eye's.
//   A YAML or XML file as cv::FileStorage writes it, with the matrices of cv::stereoRectify.
// `names`: "LEFT,RIGHT", or "LEFT"; empty: P0 and P1, in YAML P1 and P2. INVALID_ARGUMENT and NOT_FOUND name the file.
absl::StatusOr<client::StereoCamera> ReadCalibration(const std::string& path, const std::string& names,
                                                     bool of_one = false);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_CALIBRATION_H_
