// What a camera makes of a world: an exposure that lasts, a gain that changes, noise, frames that never arrive.
#ifndef GLINT_TESTS_SCENE_SENSOR_H_
#define GLINT_TESTS_SCENE_SENSOR_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "features/types.h"
#include "tests/scene/geometry.h"
#include "tests/scene/path.h"
#include "tests/scene/world.h"

namespace glint::scene {

struct SensorOptions {
  double noise = 0;     // standard deviation, grey levels, 0..50
  double gain = 0;      // brightness swings between 1 - gain and 1 + gain, once in 7 s; 0..0.9
  double exposure = 0;  // seconds, 0..0.1: a picture is the mean of 5 moments of it
};

// A stereo head: what the left camera is to the path, and the right one to the left one.
struct StereoHead {
  Camera camera;
  double baseline = 0.12;  // metres
  Mat3 right_from_left;    // a rotation that rectification has left over; none by default
  std::function<Image(const Image&)> lens =
      nullptr;  // what it makes of a picture of `camera` (tests/scene/lens.h); null: none
};

Pose EyeOf(const StereoHead& head, const Pose& left, bool is_right);

// The picture of one eye at a time; `frame` and the eye seed the noise. `pose_at` is the left camera's at any time.
Image Expose(const SensorOptions& options, const StereoHead& head, bool is_right,
             const std::function<Pose(double)>& pose_at, double seconds, uint32_t frame, World* world);
// Likewise, by PoseAtTime().
Image Expose(const SensorOptions& options, const StereoHead& head, bool is_right, const Path& path, double seconds,
             uint32_t frame, World* world);

// Which of `count` frames arrive: about `share` of them do not, in bursts of `burst`; the first ten all do.
std::vector<bool> Arrivals(int count, double share, int burst, uint32_t seed);

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_SENSOR_H_
