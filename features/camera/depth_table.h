// Where the pixels of a depth sensor lie in the image of another camera. Host types without Eigen: backends include it.
#ifndef GLINT_FEATURES_CAMERA_DEPTH_TABLE_H_
#define GLINT_FEATURES_CAMERA_DEPTH_TABLE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "features/depth.h"
#include "features/types.h"

namespace glint {

// A point that the sensor sees at distance z along its axis is (x, y, w) = ray * z + offset, where (x / w, y / w) is
// its pixel in the image of the pinhole camera, and w its distance along the axis of that camera.
struct DepthTable {
  // Pixels of the pinhole's image that a pixel of the sensor covers are those within this distance of the square around
  // its corners: pixels beside each other that are not equally far leave gaps between them.
  static constexpr float kMargin = 0.25F;
  // A pixel of the sensor that covers more than this, in x or y, is not counted.
  static constexpr float kMostPixels = 32;

  // Of z in the sensor's unit.
  std::array<float, 3> OffsetIn(double unit) const {
    return {static_cast<float>(offset[0] / unit), static_cast<float>(offset[1] / unit),
            static_cast<float>(offset[2] / unit)};
  }

  Shape source;                       // of the sensor's images
  Shape shape;                        // of the pinhole's
  std::array<double, 3> offset = {};  // metres
  // Rays of the corners of the source's pixels, whose rows have source.width + 1: the first is that of (-0.5, -0.5).
  // NaN: the sensor's lens has none.
  std::vector<float> x, y, w;
  std::vector<float> centre_w;  // w of the rays of the pixels' centres, or NaN; source.pixels()
  // Of no other contents in this process, so that backends know a table that they have a copy of; 0: they take none.
  uint64_t id = 0;
};

// Whether the sensor has measured something that is within its limits.
inline bool IsMeasured(const DepthSensor& sensor, uint16_t sample) {
  const double metres = sample * sensor.unit;
  return sample != 0 && metres >= sensor.nearest && (sensor.farthest == 0 || metres <= sensor.farthest);
}

// Which samples these are: least..most; none if least > most.
struct SampleRange {
  int least, most;
};
inline SampleRange MeasuredSamples(const DepthSensor& sensor) {
  // Metres grow with the sample: the first sample from 1 on that `is_there`, as all after it, or 65536.
  const auto first = [&](auto is_there) {
    int from = 1, to = 65536;
    while (from < to) {
      const int middle = (from + to) / 2;
      if (is_there(middle * sensor.unit)) {
        to = middle;
      } else {
        from = middle + 1;
      }
    }
    return to;
  };
  const int least = first([&](double metres) { return metres >= sensor.nearest; });
  if (sensor.farthest == 0) return {least, 65535};
  return {least, first([&](double metres) { return !(metres <= sensor.farthest); }) - 1};
}

}  // namespace glint

#endif  // GLINT_FEATURES_CAMERA_DEPTH_TABLE_H_
