#include "slam/estimate/point_query.h"

#include <algorithm>
#include <cmath>

namespace glint::slam {
namespace {

constexpr double kNearest = 0.1;  // metres
// A point that is seen at half or twice the distance of its last observation has another appearance.
constexpr double kLargestZoom = 2.5;

// Where a keypoint of `octave` is found if it is seen `zoom` times as large. By products: logarithms differ from
// machine to machine.
int OctaveAt(double zoom, int octave, const LevelScales& scales) {
  const double step = scales.levels > 1 ? static_cast<double>(scales.scale[1]) : kLargestZoom;
  const double half = std::sqrt(step);
  for (; zoom > half; zoom /= step) ++octave;
  for (; zoom * half < 1; zoom *= step) --octave;
  return std::clamp(octave, 0, scales.levels - 1);
}

}  // namespace

void PointQuery::Clear(int descriptor_bytes) {
  bytes_ = descriptor_bytes;
  names_.clear();
  descriptors_.clear();
  for (auto* v : {&x_, &y_, &radius_}) v->clear();
  for (auto* v : {&min_octave_, &max_octave_}) v->clear();
}

void PointQuery::Add(size_t name, const Point& point) {
  names_.push_back(name);
  descriptors_.insert(descriptors_.end(), point.descriptor, point.descriptor + bytes_);
}

void PointQuery::AddProjected(size_t name, const Point& point, const StereoCamera& camera,
                              const Pose& camera_from_world, const LevelScales& scales, float radius) {
  const Eigen::Vector3d p = camera_from_world * point.position;
  if (p.z() < kNearest) return;
  const double x = camera.focal_length * p.x() / p.z() + camera.centre_x;
  const double y = camera.focal_length * p.y() / p.z() + camera.centre_y;
  if (!(x >= 0 && y >= 0 && x < camera.image.width && y < camera.image.height)) return;
  const double zoom = point.distance / p.norm();
  if (zoom > kLargestZoom || zoom < 1 / kLargestZoom) return;
  const int octave = OctaveAt(zoom, point.octave, scales);
  Add(name, point);
  x_.push_back(static_cast<float>(x));
  y_.push_back(static_cast<float>(y));
  radius_.push_back(radius * scales.scale[static_cast<size_t>(octave)]);
  min_octave_.push_back(octave - 1);
  max_octave_.push_back(octave + 1);
}

MatchInput PointQuery::InputFor(const DescriptorView& train, const TrainKeypoints& keypoints) const {
  MatchInput input;
  input.query = {descriptors_.data(), static_cast<int>(names_.size()), bytes_};
  input.train = train;
  if (!x_.empty()) {
    input.conditions = {x_.data(), y_.data(), radius_.data(), min_octave_.data(), max_octave_.data(), nullptr};
    input.keypoints = keypoints;
  }
  return input;
}

}  // namespace glint::slam
