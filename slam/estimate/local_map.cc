#include "slam/estimate/local_map.h"

#include <algorithm>
#include <iterator>

namespace glint::slam {
namespace {

double Squared(double x) { return x * x; }

}  // namespace

Sight SightOf(const StereoFrame& frame, size_t keypoint, const SightErrors& errors) {
  Sight sight;
  sight.pixel.left = {frame.left.x[keypoint], frame.left.y[keypoint]};
  sight.is_stereo = frame.is_stereo[keypoint] != 0;
  sight.pixel.disparity = frame.disparity[keypoint];
  sight.pixel.rise = frame.rise[keypoint];
  sight.position_error = errors.corner * frame.scale[static_cast<size_t>(frame.left.octave[keypoint])];
  sight.disparity_error = errors.disparity;
  sight.rise_error = errors.rise;
  return sight;
}

const Pose& MotionOf(const std::map<int64_t, Pose>& motions, int64_t keyframe) {
  const auto after = motions.upper_bound(keyframe);
  return after == motions.begin() ? after->second : std::prev(after)->second;
}

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
