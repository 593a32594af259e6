// Images of a depth sensor. Host types without arithmetic, shared by slam/, the server and the client. The client's
// headers are installed, so this one needs only types.h.
#ifndef GLINT_FEATURES_DEPTH_H_
#define GLINT_FEATURES_DEPTH_H_

#include <cstddef>
#include <cstdint>

#include "features/types.h"

namespace glint {

// The depth sensor of an RGB-D camera, registered to the image; ranges are those of glint.v1.DepthCamera.
struct DepthSensor {
  double unit = 0.001;  // metres per unit of a sample
  double nearest = 0;   // metres: nearer samples are invalid
  double farthest = 0;  // metres: farther samples are invalid; 0: no limit
};

// A borrowed 16-bit image: distances along the camera's axis, 0 where none was measured. Two bytes a sample, the lower
// one first, at any address: row y starts at data + y * stride, and only its first 2 * width bytes belong to the image.
// Empty (data == nullptr) stands for "no image".
struct DepthView {
  const uint8_t* data = nullptr;
  int width = 0;
  int height = 0;
  ptrdiff_t stride = 0;  // bytes from row to row, >= 2 * width
  DepthSensor sensor;

  bool empty() const { return data == nullptr; }
  Shape shape() const { return {width, height}; }
  uint16_t at(int x, int y) const {
    const uint8_t* const sample = data + y * stride + 2 * static_cast<ptrdiff_t>(x);
    return static_cast<uint16_t>(sample[0] | sample[1] << 8);
  }
};

// Samples in memory, row by row, of a machine whose lower byte comes first.
inline DepthView ViewOf(const uint16_t* samples, Shape shape, const DepthSensor& sensor) {
  return {reinterpret_cast<const uint8_t*>(samples), shape.width, shape.height, 2 * ptrdiff_t{shape.width}, sensor};
}

}  // namespace glint

#endif  // GLINT_FEATURES_DEPTH_H_
