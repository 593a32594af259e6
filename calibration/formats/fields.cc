#include "calibration/formats/fields.h"

#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "features/limits.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

absl::StatusOr<const Node*> Require(const Source& source, const Node& node, absl::string_view path) {
  const Node* found = node.FindPath(path);
  if (found == nullptr || found->kind == Node::Kind::kEmpty) return FieldError(source, path, "is missing");
  return found;
}

// Of numbers that NumbersOf() could not read: "NAME: "TEXT" in line 3 is no number".
absl::Status WithSource(const Source& source, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(source.path, ": ", status.message()));
}

}  // namespace

absl::Status FieldError(const Source& source, absl::string_view field, absl::string_view text) {
  return absl::InvalidArgumentError(FieldWarning(source, field, text));
}

std::string FieldWarning(const Source& source, absl::string_view field, absl::string_view text) {
  return absl::StrCat(source.path, ": ", field, ": ", text);
}

absl::StatusOr<double> Number(const Source& source, const Node& node, absl::string_view path) {
  GLINT_ASSIGN_OR_RETURN(const Node* found, Require(source, node, path));
  const absl::StatusOr<double> number = NumberOf(*found);
  return number.ok() ? number : WithSource(source, number.status());
}

absl::StatusOr<double> NumberOr(const Source& source, const Node& node, absl::string_view path, double absent) {
  const Node* found = node.FindPath(path);
  if (found == nullptr || found->kind == Node::Kind::kEmpty) return absent;
  return Number(source, node, path);
}

absl::StatusOr<std::vector<double>> Numbers(const Source& source, const Node& node, absl::string_view path, int count) {
  GLINT_ASSIGN_OR_RETURN(const Node* found, Require(source, node, path));
  absl::StatusOr<std::vector<double>> numbers = NumbersOf(*found);
  if (!numbers.ok()) return WithSource(source, numbers.status());
  if (count != 0 && numbers->size() != static_cast<size_t>(count)) {
    return FieldError(source, path, absl::StrCat(numbers->size(), " numbers, not ", count));
  }
  return numbers;
}

std::string Text(const Node& node, absl::string_view path) {
  const Node* found = node.FindPath(path);
  return found == nullptr ? "" : found->text;
}

absl::StatusOr<Shape> ImageSize(const Source& source, absl::string_view field, double width, double height) {
  const auto good = [](double side) { return side >= 1 && side <= kMaxImageSide && side == std::floor(side); };
  if (good(width) && good(height)) return Shape{static_cast<int>(width), static_cast<int>(height)};
  return FieldError(source, field,
                    absl::StrFormat("%g x %g is no image size; sides are 1 to %d", width, height, kMaxImageSide));
}

absl::StatusOr<RigidTransform> Transform(const Source& source, absl::string_view field, const std::vector<double>& m) {
  if (m.size() != 12 && m.size() != 16) {
    return FieldError(source, field, absl::StrCat(m.size(), " numbers, not the 12 or 16 of a transform"));
  }
  const std::array<double, 4> last = {0, 0, 0, 1};
  if (m.size() == 16 && !std::equal(last.begin(), last.end(), m.begin() + 12)) {
    return FieldError(source, field, "the last row is not 0 0 0 1");
  }
  const std::vector<double> r = {m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]};
  return Transform(source, field, r, Eigen::Vector3d(m[3], m[7], m[11]));
}

absl::StatusOr<RigidTransform> Transform(const Source& source, absl::string_view field, const std::vector<double>& r,
                                         const Eigen::Vector3d& t) {
  if (r.size() != 9) return FieldError(source, field, absl::StrCat(r.size(), " numbers, not the 9 of a rotation"));
  const auto rotation = NearestRotation(Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(r.data()));
  if (!rotation.ok()) return FieldError(source, field, rotation.status().message());
  return RigidTransform{*rotation, t};
}

absl::Status SetOpenCvLens(const Source& source, absl::string_view field, const std::vector<double>& d,
                           Camera* camera) {
  const size_t n = d.size();
  if (n != 0 && n != 4 && n != 5 && n != 8 && n != 12 && n != 14) {
    return FieldError(source, field, absl::StrCat(n, " coefficients, not 0, 4, 5, 8, 12 or 14"));
  }
  const auto any_from = [&](size_t first) {
    return first < n &&
           std::any_of(d.begin() + static_cast<ptrdiff_t>(first), d.end(), [](double k) { return k != 0; });
  };
  camera->model = any_from(8)   ? CameraModel::kThinPrism
                  : any_from(5) ? CameraModel::kRational
                  : any_from(0) ? CameraModel::kRadialTangential
                                : CameraModel::kPinhole;
  camera->lens = {};
  std::copy(d.begin(), d.end(), camera->lens.begin());
  return absl::OkStatus();
}

absl::Status RequireSizes(const Rig& rig, absl::string_view program) {
  for (const RigCamera& camera : rig.cameras) {
    if (camera.camera.image.width > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("camera ", camera.name,
                                                   ": the size of its images is not known, which ", program,
                                                   "'s files say: give --size WIDTHxHEIGHT"));
  }
  return absl::OkStatus();
}

void FindWhetherRectified(Calibration* calibration) {
  const std::vector<RigCamera>& cameras = calibration->rig.cameras;
  calibration->rectified = !cameras.empty() && std::all_of(cameras.begin(), cameras.end(), [&](const RigCamera& c) {
    const Camera& first = cameras[0].camera;
    const double near = 1e-6 * first.fx;
    const RigidTransform pose = cameras[0].rig_from_camera.Inverse() * c.rig_from_camera;
    const double aside = std::hypot(pose.translation.y(), pose.translation.z());
    return c.camera.model == CameraModel::kPinhole && std::abs(c.camera.fx - first.fx) <= near &&
           std::abs(c.camera.fy - first.fx) <= near && std::abs(c.camera.cx - first.cx) <= near &&
           std::abs(c.camera.cy - first.cy) <= near && aside <= 1e-6 * std::abs(pose.translation.x()) + 1e-12 &&
           (pose.rotation - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff() <= 1e-6;
  });
}

}  // namespace glint::calibration
