#include "calibration/other_lenses.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace glint::calibration {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kFarthest = 0.9;  // of the way to an edge: the last pixels of calibrations are guessed

// `share` of the way from the centre to the middle of each edge.
std::array<Vector2d, 4> TowardsEdges(const Camera& camera, double share) {
  const Vector2d centre(camera.cx, camera.cy);
  const double right = camera.image.width - 1, bottom = camera.image.height - 1;
  std::array<Vector2d, 4> edges = {Vector2d(0, camera.cy), Vector2d(right, camera.cy), Vector2d(camera.cx, 0),
                                   Vector2d(camera.cx, bottom)};
  for (Vector2d& pixel : edges) pixel = centre + share * (pixel - centre);
  return edges;
}

OtherLens WithLens(std::string name, const Camera& camera, CameraModel model,
                   const std::array<double, kMaxLensCoefficients>& lens) {
  OtherLens other = {std::move(name), camera};
  other.camera.model = model;
  other.camera.lens = lens;
  return other;
}

}  // namespace

OtherLens InOtherOrder(const Camera& camera, bool of_cuvslam) {
  const auto& d = camera.lens;  // k1 k2 p1 p2 k3
  if (of_cuvslam) {
    return WithLens("coefficients in OpenCV's order, k1 k2 p1 p2 k3", camera, camera.model,
                    {d[0], d[1], d[4], d[2], d[3]});
  }
  return WithLens("coefficients in cuVSLAM's order, k1 k2 k3 p1 p2", camera, camera.model,
                  {d[0], d[1], d[3], d[4], d[2]});
}

std::vector<OtherLens> OtherLenses(const Camera& camera, bool of_cuvslam) {
  const auto& d = camera.lens;
  std::vector<OtherLens> others;
  if (camera.model == CameraModel::kRadialTangential) {
    others.push_back(InOtherOrder(camera, of_cuvslam));
    others.push_back(
        WithLens("tangential terms in the order p2 p1", camera, camera.model, {d[0], d[1], d[3], d[2], d[4]}));
    if (d[4] == 0) {
      others.push_back(
          WithLens("a fisheye's coefficients k1 k2 k3 k4 (Kannala-Brandt)", camera, CameraModel::kKannalaBrandt, d));
    }
  } else if (camera.model == CameraModel::kKannalaBrandt) {
    others.push_back(WithLens("radial-tangential coefficients k1 k2 p1 p2", camera, CameraModel::kRadialTangential, d));
  }
  return others;
}

std::string LensText(const Camera& camera) {
  std::string text(NameOf(camera.model));
  int i = 0;
  for (const absl::string_view name : LensCoefficientsOf(camera.model)) {
    absl::StrAppendFormat(&text, " %s %.6g", name, camera.lens[static_cast<size_t>(i++)]);
  }
  return text;
}

Camera WithSize(const Camera& camera, const Shape& shape) {
  Camera sized = camera;
  sized.image = shape.width > 0 ? shape
                                : Shape{static_cast<int>(std::lround(2 * camera.cx)) + 1,
                                        static_cast<int>(std::lround(2 * camera.cy)) + 1};
  return sized;
}

bool SeesTo(const Camera& camera, double share) {
  const auto edges = TowardsEdges(camera, share);
  return std::all_of(edges.begin(), edges.end(), [&](const Vector2d& pixel) {
    Vector3d ray;
    return Unproject(camera, pixel, &ray);
  });
}

double SeenShare(const Camera& camera) {
  double seen = 0;
  for (double step = 0.5; step > 1e-3; step /= 2) {
    if (SeesTo(camera, seen + step)) seen += step;
  }
  return seen;
}

bool BendsLittle(const Camera& camera) {
  const auto edges = TowardsEdges(camera, kFarthest);
  return std::all_of(edges.begin(), edges.end(), [&](const Vector2d& pixel) {
    Vector3d ray;
    if (!Unproject(camera, pixel, &ray) || ray.z() <= 0) return false;
    const double bent = ray.head<2>().norm() / ray.z();
    const double straight = std::hypot((pixel.x() - camera.cx) / camera.fx, (pixel.y() - camera.cy) / camera.fy);
    return straight == 0 || (bent > 0.6 * straight && bent < 8 * straight);
  });
}

}  // namespace glint::calibration
