#include "slam/estimate/local_map.h"

#include <algorithm>
#include <iterator>

namespace glint::slam {
namespace {

double Squared(double x) { return x * x; }

}  // namespace

Observation ObservationOf(const StereoFrame& frame, size_t keypoint, const NoiseModel& noise) {
  Observation observation;
  observation.pixel.left = {frame.left.x[keypoint], frame.left.y[keypoint]};
  observation.is_stereo = frame.is_stereo[keypoint] != 0;
  observation.pixel.disparity = frame.disparity[keypoint];
  observation.pixel.vertical_disparity = frame.vertical_disparity[keypoint];
  observation.position_sigma = noise.corner * frame.scale[static_cast<size_t>(frame.left.octave[keypoint])];
  observation.disparity_sigma = noise.disparity;
  observation.vertical_disparity_sigma = noise.vertical_disparity;
  return observation;
}

const Pose& CorrectionOf(const std::map<int64_t, Pose>& corrections, int64_t keyframe) {
  const auto after = corrections.upper_bound(keyframe);
  return after == corrections.begin() ? after->second : std::prev(after)->second;
}

size_t LocalMap::IndexOf(int64_t id) const {
  // Ids of odometry's window count up by one.
  const auto guess = static_cast<size_t>(keyframes.empty() ? 0 : id - keyframes.front().id);
  if (guess < keyframes.size() && keyframes[guess].id == id) return guess;
  const auto found = std::lower_bound(keyframes.begin(), keyframes.end(), id,
                                      [](const Keyframe& k, int64_t wanted) { return k.id < wanted; });
  return static_cast<size_t>(found - keyframes.begin());
}

void LocalMap::DropOldest() {
  const int64_t id = keyframes.front().id;
  keyframes.pop_front();
  for (Landmark& point : points) {
    if (!point.observations.empty() && point.observations.front().keyframe == id)
      point.observations.erase(point.observations.begin());
  }
  DropUnobserved();
}

void LocalMap::DropUnobserved() {
  points.erase(std::remove_if(points.begin(), points.end(), [](const Landmark& p) { return p.observations.empty(); }),
               points.end());
}

double SquaredResidual(const StereoPixel& projected, const Observation& observation) {
  const Eigen::Vector2d left = projected.left - observation.pixel.left;
  double sum = left.squaredNorm() / Squared(observation.position_sigma);
  if (observation.is_stereo) {
    sum += Squared((projected.disparity - observation.pixel.disparity) / observation.disparity_sigma) +
           Squared((projected.vertical_disparity - observation.pixel.vertical_disparity) /
                   observation.vertical_disparity_sigma);
  }
  return sum;
}

}  // namespace glint::slam
