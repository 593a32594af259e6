#include "slam/local_map.h"

#include <algorithm>

namespace glint::slam {
namespace {

double Squared(double x) { return x * x; }

}  // namespace

size_t LocalMap::PlaceOf(int64_t id) const {
  const auto found = std::lower_bound(keyframes.begin(), keyframes.end(), id,
                                      [](const Keyframe& k, int64_t wanted) { return k.id < wanted; });
  return static_cast<size_t>(found - keyframes.begin());
}

void LocalMap::DropOldest() {
  const int64_t id = keyframes.front().id;
  keyframes.pop_front();
  for (MapPoint& point : points) {
    if (!point.sights.empty() && point.sights.front().keyframe == id) point.sights.erase(point.sights.begin());
  }
  DropUnseen();
}

void LocalMap::DropUnseen() {
  points.erase(std::remove_if(points.begin(), points.end(), [](const MapPoint& p) { return p.sights.empty(); }),
               points.end());
}

double SquaredError(const StereoPixel& projected, const Sight& sight) {
  const Eigen::Vector2d left = projected.left - sight.pixel.left;
  double sum = left.squaredNorm() / Squared(sight.position_error);
  if (sight.is_stereo) {
    sum += Squared((projected.disparity - sight.pixel.disparity) / sight.disparity_error) +
           Squared((projected.rise - sight.pixel.rise) / sight.rise_error);
  }
  return sum;
}

}  // namespace glint::slam
