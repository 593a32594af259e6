// Whether a camera can be right: its focal lengths, image size, centre and lens.
#ifndef GLINT_CALIBRATION_CHECK_CAMERA_H_
#define GLINT_CALIBRATION_CHECK_CAMERA_H_

#include <vector>

#include "calibration/check.h"
#include "features/camera/camera.h"
#include "features/camera/rig.h"
#include "features/types.h"

namespace glint::calibration {

// The image's size, as far as it is known: the camera's, else that of the images.
Shape KnownShape(const Camera& camera, const Shape& image);

// Adds what is wrong. `image`: as Check() has it; `of_cuvslam`: the file's format has the coefficients in its order.
void CheckCamera(const RigCamera& camera, const Shape& image, bool of_cuvslam, std::vector<Finding>* findings);

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_CHECK_CAMERA_H_
