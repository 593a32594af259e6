// The part of the map that odometry keeps: the last keyframes and the points that they see.
#ifndef GLINT_SLAM_ESTIMATE_LOCAL_MAP_H_
#define GLINT_SLAM_ESTIMATE_LOCAL_MAP_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "slam/front_end/front_end.h"
#include "slam/geometry/pose.h"
#include "slam/geometry/stereo_camera.h"

namespace glint::slam {

// What is expected of measurements: standard deviations in pixels.
struct SightErrors {
  double corner = 0.7;      // of a keypoint, times the scale of its level: corners are whole pixels there
  double followed = 0.15;   // of a patch that was followed from the keyframe before
  double disparity = 0.15;  // likewise, from the left eye to the right one
  double rise = 0.25;       // the same patches, but what rectification leaves is in it
};

// A point as one pair shows it.
struct Sight {
  StereoPixel pixel;          // disparity and rise: only if is_stereo
  bool is_stereo = false;     // seen by both eyes
  double position_error = 1;  // standard deviations, pixels
  double disparity_error = 1;
  double rise_error = 1;
};

// A point in world coordinates, and what the camera sees of it.
struct PointSight {
  Eigen::Vector3d point;
  Sight sight;
};

// Of a keypoint of a frame.
Sight SightOf(const StereoFrame& frame, size_t keypoint, const SightErrors& errors);

struct MapPoint {
  struct SightOf {
    int64_t keyframe;
    int32_t keypoint;  // of the keyframe's StereoFrame
    Sight sight;
  };
  int64_t id = 0;
  Eigen::Vector3d position;         // world, metres
  std::vector<uint8_t> descriptor;  // of the last sight
  int octave = 0;                   // of the last sight
  double distance = 0;              // from the camera, at the last sight, metres
  std::vector<SightOf> sights;      // in the order of keyframes
};

struct Keyframe {
  int64_t id = 0;
  Pose camera_from_world;
};

struct LocalMap {
  std::deque<Keyframe> keyframes;  // by id
  std::vector<MapPoint> points;    // by id

  // Of a keyframe that is there, by its id.
  size_t PlaceOf(int64_t id) const;
  // Drops the oldest keyframe with its sights, and the points that nothing sees any more.
  void DropOldest();
  // Drops points without sights; the order stays.
  void DropUnseen();
};

// The motion of a keyframe by those given: its own, else that of the one before it, else the first. Not empty.
const Pose& MotionOf(const std::map<int64_t, Pose>& motions, int64_t keyframe);

// The whitened errors of a projection beside a sight, squared and added up: expected about 2, or 4 for a stereo sight.
double SquaredError(const StereoPixel& projected, const Sight& sight);
// Above these a sight is taken for false: 5 % of true ones are (chi-squared with 2 or 4 degrees of freedom).
inline double LargestSquaredError(const Sight& sight) { return sight.is_stereo ? 9.488 : 5.991; }

}  // namespace glint::slam

#endif  // GLINT_SLAM_ESTIMATE_LOCAL_MAP_H_
