// Queries of matching a map's points with keypoints: descriptors, and where the points project to.
#ifndef GLINT_SLAM_ESTIMATE_POINT_QUERY_H_
#define GLINT_SLAM_ESTIMATE_POINT_QUERY_H_

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "features/limits.h"
#include "features/matcher.h"
#include "slam/geometry/pose.h"
#include "slam/geometry/stereo_camera.h"

namespace glint::slam {

inline constexpr int kMaxPointBits = 80;  // of 256, between two observations of a point

// Scales of the pyramid: pixels of the image in one of each level.
struct LevelScales {
  int levels = 0;
  std::array<float, kMaxLevels> scale{};
};

// Not thread-safe.
class PointQuery {
 public:
  // A point, and its appearance from `distance` metres.
  struct Point {
    Eigen::Vector3d position;
    const uint8_t* descriptor;
    int octave;
    double distance;
  };

  // Starts over, with descriptors of so many bytes.
  void Clear(int descriptor_bytes);
  // Adds a query for a point anywhere in the image.
  void Add(size_t name, const Point& point);
  // Adds a query for it within `radius` pixels of its level around its projection. Points that are not in the image, or
  // whose distance has changed by too much for their appearance, are left out. All points of a query must be added by
  // the same function.
  void AddProjected(size_t name, const Point& point, const StereoCamera& camera, const Pose& camera_from_world,
                    const LevelScales& scales, float radius);

  // Valid until the next change.
  MatchInput InputFor(const DescriptorView& train, const TrainKeypoints& keypoints) const;
  size_t count() const { return names_.size(); }
  size_t name(size_t query) const { return names_[query]; }

 private:
  int bytes_ = 0;
  std::vector<size_t> names_;
  std::vector<uint8_t> descriptors_;
  std::vector<float> x_, y_, radius_;
  std::vector<int32_t> min_octave_, max_octave_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_ESTIMATE_POINT_QUERY_H_
