// Lenses by the names that Kalibr, EuRoC and ROS give their models.
#ifndef GLINT_CALIBRATION_FORMATS_NAMED_LENS_H_
#define GLINT_CALIBRATION_FORMATS_NAMED_LENS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "calibration/formats/format.h"
#include "features/camera/camera.h"

namespace glint::calibration {

// Sets model and lens: of radial-tangential names as SetOpenCvLens(), "equidistant" and the like with 4 coefficients,
// "fov" with one, "none" or "" with none; coefficients that are all 0 make a pinhole. INVALID_ARGUMENT names the field.
absl::Status SetNamedLens(const Source& source, absl::string_view model_field, absl::string_view model,
                          absl::string_view coefficients_field, const std::vector<double>& d, Camera* camera);

// "\"gaussian\" is not one of ALLOWED"
std::string NotOneOf(absl::string_view value, absl::string_view allowed);

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_FORMATS_NAMED_LENS_H_
