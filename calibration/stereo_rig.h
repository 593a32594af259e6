// What streams take from a calibration: the stereo pair of its first two cameras, left and right, or a camera with
// depth.
#ifndef GLINT_CALIBRATION_STEREO_RIG_H_
#define GLINT_CALIBRATION_STEREO_RIG_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "calibration/calibration.h"
#include "features/camera/rgbd_camera.h"
#include "features/camera/rig.h"
#include "features/camera/stereo_rig.h"
#include "features/types.h"

namespace glint::calibration {

// Of a rig of at least two cameras, for raw images; cameras whose image size the files do not say have that of `image`.
// Pinholes of rectified images are such a pair, too. Nothing is checked.
StereoRig StereoRigOf(const Rig& rig, const Shape& image);

// Of a rig of one camera, whose pixels depths are of, or of two: that of the images, and that of the depths. If the
// files do not say the size of the images, it is `image`. Nothing is checked.
RgbdCamera RgbdCameraOf(const Rig& rig, const Shape& image);

// Sentences that people should read: the calibration's warnings, its order, and those of Check(). INVALID_ARGUMENT:
// what Check() says cannot be right.
absl::StatusOr<std::vector<std::string>> WarningsOf(const Calibration& calibration, const Shape& image);
// The same of the rig that RgbdCameraOf() takes, whose cameras are no stereo pair.
absl::StatusOr<std::vector<std::string>> RgbdWarningsOf(Calibration calibration, const Shape& image);

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_STEREO_RIG_H_
