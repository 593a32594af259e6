// --calibration: the cameras of pairs, from the files of any program that glint::calibration knows.
#ifndef GLINT_CLIENT_CLI_SOURCE_CALIBRATION_H_
#define GLINT_CLIENT_CLI_SOURCE_CALIBRATION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "calibration/calibration.h"
#include "client/calibration/cameras.h"
#include "client/cli/base/flags.h"
#include "features/camera/rig.h"
#include "features/types.h"

namespace glint::cli {

using client::PairCameras;

// One path, or those between commas if there is none of the whole name.
std::vector<std::string> PathsIn(const std::string& paths);

class CalibrationFlags {
 public:
  // `needed`: the command does nothing without.
  void AddTo(Flags* flags, bool needed);
  bool given() const { return !paths_.empty() || named(); }
  // In place of --calibration: the texts of such files, for errors by their names. `rectified`: what --rectified is if
  // it was not given. `camera_from_imu`: where the inertial sensor is to the left camera, which the texts do not say.
  void SetTexts(std::vector<calibration::NamedText> texts, std::optional<bool> rectified,
                std::optional<RigidTransform> camera_from_imu);
  // The server has the calibration.
  bool named() const { return !name_.empty(); }
  // INVALID_ARGUMENT: options that contradict each other.
  absl::Status Validate() const;

  // For images of `image` (0 x 0: unknown) of both cameras. INVALID_ARGUMENT and NOT_FOUND name the file;
  // INVALID_ARGUMENT also says what cannot be right in it.
  absl::StatusOr<PairCameras> Read(const Shape& image) const;
  // Of a camera with depth: with a lens or two focal lengths, or by name, its images are raw. `depth_camera`: name of
  // the camera in the file that depths are of; empty: they are registered. Errors are those of Read().
  absl::StatusOr<PairCameras> ReadWithDepth(const Shape& image, const std::string& depth_camera = "") const;

 private:
  absl::StatusOr<calibration::Calibration> ReadFiles(const calibration::ReadOptions& options) const;

  std::string paths_, cameras_, name_;
  std::vector<calibration::NamedText> texts_;  // in place of what is at paths_; empty: files are read
  std::optional<RigidTransform> camera_from_imu_;
  std::optional<bool> rectified_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_CALIBRATION_H_
