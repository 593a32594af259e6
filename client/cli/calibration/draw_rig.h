// --draw of glint calibration: the rig from above, and what each lens does to the image.
#ifndef GLINT_CLIENT_CLI_CALIBRATION_DRAW_RIG_H_
#define GLINT_CLIENT_CLI_CALIBRATION_DRAW_RIG_H_

#include <opencv2/core.hpp>

#include "features/camera/rig.h"

namespace glint::cli {

// 8-bit BGR. Left the cameras (wedges as wide as their fields) and the inertial sensor (a square) from above, with the
// first camera's z up and x to the right, and a bar of length. Then for each camera a line from each pixel of a grid to
// where a pinhole of the same focal length would see its point; red crosses are pixels outside the lens's domain.
cv::Mat DrawRig(const Rig& rig);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_CALIBRATION_DRAW_RIG_H_
