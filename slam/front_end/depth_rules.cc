#include "slam/front_end/depth_rules.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::slam {
namespace {

constexpr double kLeastUnit = 1e-6, kLargestUnit = 1, kMostMetres = 1000;  // metres
constexpr double kLargestStep = 1;  // pixels of disparity, among the four pixels around a keypoint

// The disparity of single samples, pixels.
class Disparities {
 public:
  Disparities(const StereoCamera& camera, const DepthView& depth)
      : depth_(depth), of_one_(camera.focal_length * camera.baseline / depth.sensor.unit) {}

  // 0: there is no depth.
  double At(int x, int y) const {
    const double sample = depth_.at(x, y);
    const double metres = sample * depth_.sensor.unit;
    const bool is_far = depth_.sensor.farthest > 0 && metres > depth_.sensor.farthest;
    return sample == 0 || metres < depth_.sensor.nearest || is_far ? 0 : of_one_ / sample;
  }

 private:
  const DepthView& depth_;
  const double of_one_;
};

}  // namespace

absl::Status ValidateDepthSensor(const DepthSensor& s) {
  // Written so that NaN fails, too.
  if (!(s.unit >= kLeastUnit && s.unit <= kLargestUnit)) {
    return OutOfRangeError("depth.unit", s.unit, kLeastUnit, kLargestUnit);
  }
  if (!(s.nearest >= 0 && s.nearest <= kMostMetres))
    return OutOfRangeError("depth.nearest", s.nearest, 0.0, kMostMetres);
  if (s.farthest != 0 && !(s.farthest > s.nearest && s.farthest <= kMostMetres)) {
    return ContradictionError("depth.farthest", absl::StrCat(s.farthest, " is neither 0 nor above depth.nearest, ",
                                                             s.nearest, ", and up to ", kMostMetres));
  }
  return absl::OkStatus();
}

absl::Status ValidateView(const StereoCamera& camera, const CameraView& view) {
  const auto check = [&](const char* name, Shape shape) {
    if (shape == camera.image) return absl::OkStatus();
    return ContradictionError(name, absl::StrCat(shape.width, "x", shape.height, " is not the camera's ",
                                                 camera.image.width, "x", camera.image.height));
  };
  if (!view.left_mask.empty()) GLINT_RETURN_IF_ERROR(check("left_mask", view.left_mask.shape()));
  if (!view.right_mask.empty()) GLINT_RETURN_IF_ERROR(check("right_mask", view.right_mask.shape()));
  if (!view.has_depth()) return ValidatePair(camera, view.left.shape(), view.right.shape());
  GLINT_RETURN_IF_ERROR(ValidateDepthSensor(view.depth.sensor));
  if (!camera.rig_rotation.isZero(0)) {
    return ContradictionError("camera.rig_rotation", "is not 0, but a camera with depth has no right camera");
  }
  if (!view.right_mask.empty()) {
    return ContradictionError("right_mask", "is given, but a camera with depth has no right image");
  }
  GLINT_RETURN_IF_ERROR(check("left", view.left.shape()));
  return check("depth", view.depth.shape());
}

absl::Status FindIn(const CameraView& view, const StereoCamera& camera, FrontEnd* front_end, StereoFrame* frame) {
  if (!view.has_depth()) return front_end->Find({view.left, view.right, view.left_mask, view.right_mask}, frame);
  GLINT_RETURN_IF_ERROR(front_end->FindOne(view.left, view.left_mask, frame));
  PutDepths(camera, view.depth, frame);
  return absl::OkStatus();
}

void PutDepths(const StereoCamera& camera, const DepthView& depth, StereoFrame* frame) {
  const Features& f = frame->left;
  ClearStereo(frame);
  const Disparities disparities(camera, depth);
  const int last_x = depth.width - 1, last_y = depth.height - 1;
  for (size_t i = 0; i < f.count(); ++i) {
    const double x = std::clamp<double>(f.x[i], 0, last_x), y = std::clamp<double>(f.y[i], 0, last_y);
    const int x0 = static_cast<int>(x), y0 = static_cast<int>(y);
    const int x1 = std::min(x0 + 1, last_x), y1 = std::min(y0 + 1, last_y);
    const double d[] = {disparities.At(x0, y0), disparities.At(x1, y0), disparities.At(x0, y1), disparities.At(x1, y1)};
    const auto [least, most] = std::minmax_element(std::begin(d), std::end(d));
    if (*least == 0 || *most - *least > kLargestStep) continue;
    const double by_x = x - x0, by_y = y - y0;
    const double upper = d[0] + by_x * (d[1] - d[0]), lower = d[2] + by_x * (d[3] - d[2]);
    frame->is_stereo[i] = 1;
    frame->disparity[i] = static_cast<float>(upper + by_y * (lower - upper));
  }
}

}  // namespace glint::slam
