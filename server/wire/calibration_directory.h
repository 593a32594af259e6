// Calibrations of rigs in one directory of the server's: clients give names, never paths.
#ifndef GLINT_SERVER_WIRE_CALIBRATION_DIRECTORY_H_
#define GLINT_SERVER_WIRE_CALIBRATION_DIRECTORY_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "features/camera/stereo_rig.h"

namespace glint {

// A rig as it is in its files, whose numbers are not checked, and what people should know of it.
struct NamedRig {
  StereoRig rig;
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
  absl::StatusOr<NamedRig> Read(absl::string_view name) const;

 private:
  absl::StatusOr<std::string> Find(absl::string_view name) const;

  const std::string path_;
};

// FAILED_PRECONDITION, of the field "name": why a rig of this name cannot be used.
absl::Status UnusableRig(absl::string_view name, absl::string_view why);

// Of --calibration-directory. INVALID_ARGUMENT: it is not empty, and no directory that can be read.
absl::Status CheckCalibrationDirectory(const std::string& path);

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_CALIBRATION_DIRECTORY_H_
