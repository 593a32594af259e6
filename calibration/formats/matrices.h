// Cameras from the matrices K, D, R and P that calibration programs write, and back.
#ifndef GLINT_CALIBRATION_FORMATS_MATRICES_H_
#define GLINT_CALIBRATION_FORMATS_MATRICES_H_

#include <Eigen/Core>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "calibration/formats/format.h"
#include "features/camera/rig.h"

namespace glint::calibration {

// Sets focal lengths and centre from the 9 numbers of K, row by row. INVALID_ARGUMENT: a last row other than 0 0 1, a
// focal length that is not above 0, a skew over 1e-4 of fx.
absl::Status SetIntrinsics(const Source& source, absl::string_view field, const std::vector<double>& k, Camera* camera);

// Sets model and lens from the coefficients k1 k2 k3 k4 of OpenCV's fisheye; further ones must be 0.
absl::Status SetFisheyeLens(const Source& source, absl::string_view field, const std::vector<double>& d,
                            Camera* camera);

// Sets the camera's projection from the 12 numbers of P, checked as K is, and rectified_from_camera from the 9 of R;
// the identity if `r` is empty.
absl::Status SetRectification(const Source& source, absl::string_view r_field, const std::vector<double>& r,
                              absl::string_view p_field, const std::vector<double>& p, RigCamera* camera);

// The pinhole camera of a projection: that of a rectified image.
Camera PinholeOf(const Eigen::Matrix<double, 3, 4>& projection);

// What the rectifications of both cameras say of their poses: right from left.
RigidTransform RightFromLeft(const RigCamera& left, const RigCamera& right);
// A rig's own: of its first two cameras.
RigidTransform RightFromLeft(const Rig& rig);

// The projection of a rectified image of a pinhole camera whose centre lies at (`baseline`, 0, 0).
Eigen::Matrix<double, 3, 4> ProjectionOf(const Camera& camera, double baseline);

// A rig of the left camera at its origin and, right of it by `baseline`, the same camera again: a rectified pair.
Rig RectifiedRig(const Camera& camera, double baseline);

// Whether two values of one thing differ by more than a thousandth of the larger.
bool Differ(double a, double b);
// Whether they turn by over a thousandth of a radian, or shift by over a thousandth of the longer shift.
bool Differ(const RigidTransform& a, const RigidTransform& b);

// The shortest numbers that read back the same, ", " between them; with a point or an exponent each, since ORB-SLAM3
// takes no integer for a real number; 0 has no sign.
std::string NumbersText(const double* values, int count);
// A matrix as FileStorage of OpenCV writes it to YAML.
std::string MatrixText(absl::string_view name, const Eigen::MatrixXd& matrix);
// The 4x4 matrix of a transform.
Eigen::Matrix4d MatrixOf(const RigidTransform& transform);

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_FORMATS_MATRICES_H_
