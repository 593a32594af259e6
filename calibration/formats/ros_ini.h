// ROS's camera calibrator prints its result as "oST version 5.0 parameters", which is also kept in files.
#ifndef GLINT_CALIBRATION_FORMATS_ROS_INI_H_
#define GLINT_CALIBRATION_FORMATS_ROS_INI_H_

#include <vector>

#include "calibration/formats/format.h"

namespace glint::calibration {

bool IsRosIni(const Source& source);

// A source for each camera of such a file, in its order, with the fields of CameraInfo's YAML in `root`.
std::vector<Source> CamerasOfRosIni(const Source& source);

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_FORMATS_ROS_INI_H_
