// --calibration of commands whose images are of cameras one by one: for the rays that keypoints see.
#ifndef GLINT_CLIENT_CLI_SOURCE_CAMERA_FLAGS_H_
#define GLINT_CLIENT_CLI_SOURCE_CAMERA_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/cli/base/flags.h"
#include "client/cli/source/picture.h"
#include "features/camera/camera.h"
#include "features/types.h"

namespace glint::cli {

// `rows` of commands with a Report.
inline constexpr char kRayRows[] = "--format csv (columns ray_x,ray_y,ray_z) and json (\"ray\")";

class CameraFlags {
 public:
  // `rows`: what has the rays, for the help.
  void AddTo(Flags* flags, const std::string& rows);
  bool given() const { return !paths_.empty(); }
  // INVALID_ARGUMENT: options that need --calibration.
  absl::Status Validate() const;

  // The camera of each of `images`, raw or with --rectified that of the projection, whose size one has that the files
  // say none of; 0 x 0: unknown. Adds to `notes` what people should know. INVALID_ARGUMENT, also for what cannot be
  // right, and NOT_FOUND name the file.
  absl::StatusOr<std::vector<Camera>> Read(absl::Span<const Shape> images, std::vector<std::string>* notes) const;
  // The camera of pictures like this one, by `command`, which says the notes. INVALID_ARGUMENT names the file.
  absl::StatusOr<Camera> ReadFor(const Picture& picture, const char* command) const;

 private:
  std::string paths_, names_;
  bool rectified_ = false;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_CAMERA_FLAGS_H_
