// Calibrations in one directory of the server's: clients give names, never paths.
#ifndef GLINT_SERVER_WIRE_CALIBRATION_DIRECTORY_H_
#define GLINT_SERVER_WIRE_CALIBRATION_DIRECTORY_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibration/calibration.h"
#include "features/camera/rgbd_camera.h"
#include "features/camera/stereo_rig.h"

namespace glint {

// Cameras (StereoRig, RgbdCamera) as they are in their files, whose numbers are not checked, and what people should
// know of them.
template <typename Cameras>
struct Named {
  Cameras cameras;
  std::vector<std::string> warnings;
};

// Thread-safe.
class CalibrationDirectory {
 public:
  // An empty path: none, and all calls fail. A link in it leads where it leads.
  explicit CalibrationDirectory(std::string path) : path_(std::move(path)) {}

  // Reads what is there now: the file or the folder of this name or, if there is none, the one file of this name with
  // an extension. Errors are of the field "name", and have no paths of the server. INVALID_ARGUMENT: CheckFileName()'s.
  // NOT_FOUND: there is none. FAILED_PRECONDITION: there is no directory, there are several such files, or it is no rig
  // of two cameras in metres.
  absl::StatusOr<Named<StereoRig>> ReadRig(absl::string_view name) const;
  // The same of a camera with depth: of one camera, or of two, that of the images and then that of the depths, in
  // metres. More, or two that are a stereo pair by names or format, are FAILED_PRECONDITION.
  absl::StatusOr<Named<RgbdCamera>> ReadRgbd(absl::string_view name) const;

 private:
  template <typename Cameras>
  absl::StatusOr<Named<Cameras>> Read(absl::string_view name, const calibration::ReadOptions& options,
                                      absl::StatusOr<Named<Cameras>> (*take)(calibration::Calibration)) const;
  absl::StatusOr<std::string> Find(absl::string_view name) const;

  const std::string path_;
};

// FAILED_PRECONDITION, of the field "name": why the calibration of this name cannot be used.
absl::Status UnusableCalibration(absl::string_view name, absl::string_view why);

// Of --calibration-directory. INVALID_ARGUMENT: it is not empty, and no directory that can be read.
absl::Status CheckCalibrationDirectory(const std::string& path);

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_CALIBRATION_DIRECTORY_H_
