#include "calibration/formats/matrices.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "calibration/formats/fields.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

constexpr double kMaxSkew = 1e-4;     // of the focal length
constexpr double kDifference = 1e-3;  // of two values of one thing

// Of the first three columns of rows of `stride` numbers.
absl::Status CheckIntrinsics(const Source& source, absl::string_view field, const std::vector<double>& m, int stride) {
  const double* last = m.data() + 2 * stride;
  if (last[0] != 0 || last[1] != 0 || last[2] != 1) {
    return FieldError(
        source, field,
        absl::StrCat("the last row ", last[0], " ", last[1], " ", last[2], " is not 0 0 1 (transposed?)"));
  }
  for (const double focal_length : {m[0], m[stride + 1]}) {
    if (!(focal_length > 0 && std::isfinite(focal_length))) {
      return FieldError(source, field, absl::StrCat("the focal length ", focal_length, " is not above 0"));
    }
  }
  if (std::abs(m[1]) > kMaxSkew * m[0] || m[stride] != 0) {
    return FieldError(source, field,
                      absl::StrCat("a skew of ", m[1] + m[stride], " is not 0, to ", kMaxSkew,
                                   " of the focal length: no camera here has one; calibrate with the skew fixed"));
  }
  return absl::OkStatus();
}

absl::Status CheckCount(const Source& source, absl::string_view field, const std::vector<double>& values,
                        size_t count) {
  if (values.size() == count) return absl::OkStatus();
  return FieldError(source, field, absl::StrCat(values.size(), " numbers are not ", count));
}

}  // namespace

absl::Status SetIntrinsics(const Source& source, absl::string_view field, const std::vector<double>& k,
                           Camera* camera) {
  GLINT_RETURN_IF_ERROR(CheckCount(source, field, k, 9));
  GLINT_RETURN_IF_ERROR(CheckIntrinsics(source, field, k, 3));
  camera->fx = k[0];
  camera->cx = k[2];
  camera->fy = k[4];
  camera->cy = k[5];
  return absl::OkStatus();
}

absl::Status SetFisheyeLens(const Source& source, absl::string_view field, const std::vector<double>& d,
                            Camera* camera) {
  constexpr int kCoefficients = 4;
  if (d.size() < kCoefficients || std::any_of(d.begin() + kCoefficients, d.end(), [](double v) { return v != 0; })) {
    return FieldError(source, field, absl::StrCat(d.size(), " numbers are not the 4 of a fisheye lens"));
  }
  camera->model = CameraModel::kKannalaBrandt;
  std::copy_n(d.begin(), kCoefficients, camera->lens.begin());
  return absl::OkStatus();
}

absl::Status SetRectification(const Source& source, absl::string_view r_field, const std::vector<double>& r,
                              absl::string_view p_field, const std::vector<double>& p, RigCamera* camera) {
  GLINT_RETURN_IF_ERROR(CheckCount(source, p_field, p, 12));
  GLINT_RETURN_IF_ERROR(CheckIntrinsics(source, p_field, p, 4));
  camera->projection = Eigen::Map<const Eigen::Matrix<double, 3, 4, Eigen::RowMajor>>(p.data());
  camera->rectified_from_camera = Eigen::Matrix3d::Identity();
  if (r.empty()) return absl::OkStatus();
  GLINT_ASSIGN_OR_RETURN(const RigidTransform turn, Transform(source, r_field, r, Eigen::Vector3d::Zero()));
  camera->rectified_from_camera = turn.rotation;
  return absl::OkStatus();
}

Camera PinholeOf(const Eigen::Matrix<double, 3, 4>& projection) {
  Camera camera;
  camera.fx = projection(0, 0);
  camera.fy = projection(1, 1);
  camera.cx = projection(0, 2);
  camera.cy = projection(1, 2);
  return camera;
}

RigidTransform RightFromLeft(const RigCamera& left, const RigCamera& right) {
  const auto shift = [](const RigCamera& camera) -> Eigen::Vector3d {
    const Camera pinhole = PinholeOf(*camera.projection);
    const Eigen::Vector3d p = camera.projection->col(3);
    return {(pinhole.cx * p.z() - p.x()) / pinhole.fx, (pinhole.cy * p.z() - p.y()) / pinhole.fy, -p.z()};
  };
  const RigidTransform rectified_from_left = {*left.rectified_from_camera, shift(left)};
  const RigidTransform rectified_from_right = {*right.rectified_from_camera, shift(right)};
  return rectified_from_right.Inverse() * rectified_from_left;
}

RigidTransform RightFromLeft(const Rig& rig) {
  return rig.cameras[1].rig_from_camera.Inverse() * rig.cameras[0].rig_from_camera;
}

Eigen::Matrix<double, 3, 4> ProjectionOf(const Camera& camera, double baseline) {
  Eigen::Matrix<double, 3, 4> projection;
  projection << camera.fx, 0, camera.cx, -camera.fx * baseline, 0, camera.fy, camera.cy, 0, 0, 0, 1, 0;
  return projection;
}

Rig RectifiedRig(const Camera& camera, double baseline) {
  Rig rig;
  for (const bool right : {false, true}) {
    RigCamera& eye = rig.cameras.emplace_back();
    eye.name = right ? "right" : "left";
    eye.camera = camera;
    eye.rig_from_camera.translation.x() = right ? baseline : 0;
  }
  return rig;
}

bool Differ(double a, double b) { return std::abs(a - b) > kDifference * std::max(std::abs(a), std::abs(b)); }

bool Differ(const RigidTransform& a, const RigidTransform& b) {
  const double turn = Eigen::AngleAxisd(a.rotation.transpose() * b.rotation).angle();
  const double shift = (a.translation - b.translation).norm();
  return turn > kDifference || shift > kDifference * std::max(a.translation.norm(), b.translation.norm());
}

std::string NumbersText(const double* values, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, values[i] + 0.0).ptr;
    const absl::string_view number(digits, end - digits);
    const bool is_integer = number.find_first_of(".en") == number.npos;
    absl::StrAppend(&text, i == 0 ? "" : ", ", number, is_integer ? ".0" : "");
  }
  return text;
}

std::string MatrixText(absl::string_view name, const Eigen::MatrixXd& matrix) {
  const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = matrix;
  return absl::StrCat(name, ": !!opencv-matrix\n   rows: ", rows.rows(), "\n   cols: ", rows.cols(),
                      "\n   dt: d\n   data: [ ", NumbersText(rows.data(), static_cast<int>(rows.size())), " ]\n");
}

Eigen::Matrix4d MatrixOf(const RigidTransform& transform) {
  Eigen::Matrix4d matrix = Eigen::Matrix4d::Identity();
  matrix.topLeftCorner<3, 3>() = transform.rotation;
  matrix.topRightCorner<3, 1>() = transform.translation;
  return matrix;
}

}  // namespace glint::calibration
