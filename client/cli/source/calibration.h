// --calibration: the cameras of pairs, from the files of any program that glint::calibration knows.
#ifndef GLINT_CLIENT_CLI_SOURCE_CALIBRATION_H_
#define GLINT_CLIENT_CLI_SOURCE_CALIBRATION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/base/flags.h"
#include "client/localization.h"
#include "features/types.h"

namespace glint::cli {

// The cameras of pairs, and what people should know of how they were read.
struct PairCameras {
  client::StereoCamera camera;           // of rectified images; its size is that of the images, 0 x 0 if unknown
  std::optional<client::StereoRig> rig;  // of raw images, in place of `camera`
  std::vector<std::string> notes;        // what was assumed, and warnings

  // Of `camera`: pixels, and metres.
  double focal_length() const {
    return camera.left_projection.empty() ? camera.focal_length : camera.left_projection[0];
  }
  double baseline() const {
    if (camera.left_projection.empty()) return camera.baseline;
    return (camera.left_projection[3] - camera.right_projection[3]) / camera.left_projection[0];
  }
};

class CalibrationFlags {
 public:
  // `needed`: the command does nothing without.
  void AddTo(Flags* flags, bool needed);
  bool given() const { return !paths_.empty(); }

  // For images of `image` (0 x 0: unknown) of both cameras, or `of_one`: of the first one alone, whose lens is taken as
  // removed. INVALID_ARGUMENT and NOT_FOUND name the file; INVALID_ARGUMENT also says what cannot be right in it.
  absl::StatusOr<PairCameras> Read(const Shape& image, bool of_one = false) const;

 private:
  std::string paths_, cameras_;
  std::optional<bool> rectified_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_CALIBRATION_H_
