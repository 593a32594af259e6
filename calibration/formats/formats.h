// The rows of Formats(); each is defined in the file of its name.
#ifndef GLINT_CALIBRATION_FORMATS_FORMATS_H_
#define GLINT_CALIBRATION_FORMATS_FORMATS_H_

#include "calibration/formats/format.h"

namespace glint::calibration {

extern const Format kKalibr;
extern const Format kEuroc;
extern const Format kRos;
extern const Format kOpenCv;
extern const Format kOrbSlam;   // ORB-SLAM3 1.0
extern const Format kOrbSlam2;  // and ORB-SLAM3 before 1.0
extern const Format kStella;
extern const Format kVins;
extern const Format kRtabmap;
extern const Format kKittiOdometry;
extern const Format kKittiRaw;
extern const Format kColmap;
extern const Format kRealSense;
extern const Format kDepthAi;
extern const Format kZed;
extern const Format kBasalt;
extern const Format kEdex;
extern const Format kMiddlebury;
extern const Format kOpen3d;
extern const Format kNerfstudio;
extern const Format kTextMatrix;
extern const Format kDso;
extern const Format kOkvis;
extern const Format kNcamera;
extern const Format kVikit;

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_FORMATS_FORMATS_H_
