// What glint calibration understood of files, for people and for programs.
#ifndef GLINT_CLIENT_CLI_CALIBRATION_RIG_REPORT_H_
#define GLINT_CLIENT_CLI_CALIBRATION_RIG_REPORT_H_

#include <string>
#include <vector>

#include "calibration/calibration.h"
#include "calibration/check.h"
#include "features/camera/rig.h"

namespace glint::cli {

struct RigReport {
  calibration::Calibration calibration;
  std::vector<calibration::Finding> findings;
  std::vector<calibration::Reading> readings;  // empty without images
};

// Degrees that the camera's middle row (`vertical`: column) spans, as far as its lens has rays.
double FieldOfView(const Camera& camera, bool vertical);

// A few lines for each camera, then what is wrong.
std::string RigText(const RigReport& report);
// One JSON object; numbers have all their digits.
std::string RigJson(const RigReport& report);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_CALIBRATION_RIG_REPORT_H_
