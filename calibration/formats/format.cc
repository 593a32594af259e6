#include "calibration/formats/format.h"

#include <vector>

#include "calibration/formats/formats.h"

namespace glint::calibration {

absl::Span<const Format> Formats() {
  static const std::vector<Format>* formats = new std::vector<Format>{
      kKalibr,        kEuroc,      kRos,        kOpenCv,    kOrbSlam, kOrbSlam2, kStella, kVins, kRtabmap,
      kKittiOdometry, kKittiRaw,   kColmap,     kRealSense, kDepthAi, kZed,      kBasalt, kEdex, kMiddlebury,
      kOpen3d,        kNerfstudio, kTextMatrix, kDso,       kOkvis,   kNcamera,  kVikit,
  };
  return *formats;
}

}  // namespace glint::calibration
