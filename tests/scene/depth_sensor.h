// What a sensor of depth with a projector of structured light makes of a world: distances whose error is that of a
// disparity, with holes beside edges and out of range.
#ifndef GLINT_TESTS_SCENE_DEPTH_SENSOR_H_
#define GLINT_TESTS_SCENE_DEPTH_SENSOR_H_

#include <cstdint>
#include <vector>

#include "features/types.h"
#include "tests/scene/geometry.h"
#include "tests/scene/world.h"

namespace glint::scene {

struct DepthSensorOptions {
  double unit = 0.001;      // metres in a sample of 1
  double baseline = 0.075;  // metres from projector to camera
  double noise = 0;         // standard deviation of the disparity at that baseline, pixels; 0..5
  double nearest = 0.4;     // metres: outside of these there is no depth
  double farthest = 8;
};

// 16-bit samples of an image, row by row without gaps, the lower byte first; 0: no depth.
struct DepthImage {
  Shape shape;
  std::vector<uint8_t> bytes;
};

// `frame` seeds the noise. A pixel has no depth if the disparity of one beside it differs by more than a pixel: there
// lies the shadow of the projector.
DepthImage SenseDepth(const DepthSensorOptions& options, const Camera& camera, const Pose& pose, uint32_t frame,
                      World* world);

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_DEPTH_SENSOR_H_
