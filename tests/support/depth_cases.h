// Depths and tables that registration is tested on.
#ifndef GLINT_TESTS_SUPPORT_DEPTH_CASES_H_
#define GLINT_TESTS_SUPPORT_DEPTH_CASES_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "features/camera/depth_registration.h"
#include "features/reference/register_depth.h"
#include "tests/camera/test_cameras.h"
#include "tests/support/random.h"

namespace glint::testing {

// An image of depths whose rows lie apart, at an odd address.
struct Depths {
  Depths(Shape image, const DepthSensor& sensor, const std::function<int(int, int)>& sample)
      : shape(image),
        of(sensor),
        stride(2 * image.width + 3),
        bytes(static_cast<size_t>(stride) * static_cast<size_t>(image.height) + 1, 0xff) {
    for (int y = 0; y < shape.height; ++y) {
      for (int x = 0; x < shape.width; ++x) {
        const int value = sample(x, y);
        uint8_t* const at = bytes.data() + 1 + static_cast<ptrdiff_t>(y) * stride + 2 * static_cast<ptrdiff_t>(x);
        at[0] = static_cast<uint8_t>(value & 255);
        at[1] = static_cast<uint8_t>(value >> 8);
      }
    }
  }
  DepthView view() const { return {bytes.data() + 1, shape.width, shape.height, stride, of}; }

  Shape shape;
  DepthSensor of;
  ptrdiff_t stride;
  std::vector<uint8_t> bytes;
};

inline Camera PinholeOf(Shape image, double focal_length) {
  return {CameraModel::kPinhole,    image, focal_length, focal_length, (image.width - 1) / 2.0,
          (image.height - 1) / 2.0, {}};
}

// Samples that change all the time, smooth ones, and some beyond the limits.
inline Depths RandomDepths(Random* random, Shape shape) {
  DepthSensor sensor;
  sensor.unit = random->Uniform(0, 3) == 0 ? 1.0 : 0.001;
  if (random->Uniform(0, 1) == 1) sensor.nearest = 500 * sensor.unit;
  if (random->Uniform(0, 1) == 1) sensor.farthest = 3000 * sensor.unit;
  const int noise = random->Uniform(0, 2) == 0 ? 65535 : random->Uniform(0, 50);
  return Depths(shape, sensor, [&](int x, int y) {
    if (random->Uniform(0, 20) == 0) return 0;
    return std::min(65535, (noise == 65535 ? 0 : 1000 + 3 * x + y) + random->Uniform(0, noise));
  });
}

struct DepthCase {
  DepthTable table;
  Depths depths;

  std::vector<uint16_t> Expected() const {
    std::vector<uint16_t> expected;
    reference::RegisterDepth(depths.view(), table, &expected);
    return expected;
  }
};

// A sensor of any model beside a pinhole, or turned away from it and behind it, of 1x1 to 640x480.
inline DepthCase RandomRig(uint32_t seed) {
  const auto& cameras = TestCameras();
  Random random(seed);
  const int most = seed % 20 == 0 ? 640 : seed % 2 == 0 ? 9 : 90;
  Camera depth_camera = cameras[seed % cameras.size()].camera();
  const double scale = random.Uniform(1, most) / 752.0;
  depth_camera.image = {std::max(1, static_cast<int>(752 * scale)), std::max(1, static_cast<int>(480 * scale))};
  for (double* const value : {&depth_camera.fx, &depth_camera.fy, &depth_camera.cx, &depth_camera.cy}) {
    *value *= scale;
  }
  const Shape image = {random.Uniform(1, most), random.Uniform(1, std::min(480, most))};
  const auto some = [&](double limit) { return limit * random.Uniform(-100, 100) / 100.0; };
  const double turn = seed % 3 == 0 ? 3 : 0.1, metres = seed % 5 == 0 ? 3 : 0.05;
  const RigidTransform transform =
      Turned(some(turn), some(turn), some(turn), {some(metres), some(metres), some(metres)});
  DepthTable table = MakeDepthTable(depth_camera, transform, PinholeOf(image, image.width * 0.8));
  return {std::move(table), RandomDepths(&random, depth_camera.image)};
}

// A table that no camera has: corners here and there, on borders of pixels and of what counts, some without a ray.
// `is_number`: no single NaN, infinity or number beyond them in products. Ids are from 1 << 32 on.
inline DepthCase WildDepths(uint32_t seed, bool is_number) {
  Random random(seed);
  const int most = seed % 4 == 0 ? 3 : 40;
  DepthTable table;
  table.source = {random.Uniform(1, most), random.Uniform(1, most)};
  table.shape = {random.Uniform(1, most), random.Uniform(1, most)};
  table.id = (uint64_t{1} << 32) + 2 * seed + (is_number ? 1 : 0);
  for (double& value : table.offset) value = random.OneIn(3) ? 0 : random.Uniform(-300, 300) / 1e3;
  const float odd[] = {0.0F, -0.0F, std::numeric_limits<float>::infinity(), std::nanf(""), 3e38F, -3e38F, 1e-45F};
  const auto corner = [&](int side) -> float {
    if (!is_number && random.OneIn(20)) return odd[random.Uniform(0, 6)];
    const float quarters = static_cast<float>(random.Uniform(-8, 4 * side + 8)) / 4;
    return random.OneIn(2) ? quarters : quarters + random.Uniform(-1e-4F, 1e-4F);
  };
  const int corners = (table.source.width + 1) * (table.source.height + 1);
  // Each at a place of its own, or all within so many pixels.
  const int spread = random.OneIn(2) ? most : 2;
  const float at_x = corner(table.shape.width), at_y = corner(table.shape.height);
  for (int i = 0; i < corners; ++i) {
    const bool none = random.OneIn(30);
    table.x.push_back(none ? std::nanf("") : spread == most ? corner(table.shape.width) : at_x + corner(spread));
    table.y.push_back(none ? std::nanf("") : spread == most ? corner(table.shape.height) : at_y + corner(spread));
    table.w.push_back(none ? std::nanf("") : random.OneIn(20) ? corner(1) : 1);
  }
  for (int64_t i = 0; i < table.source.pixels(); ++i) {
    table.centre_w.push_back(random.OneIn(20) ? std::nanf("") : random.OneIn(9) ? corner(2) : 1);
  }
  Depths depths = RandomDepths(&random, table.source);
  return {std::move(table), std::move(depths)};
}

// A few pixels of the sensor, whose corners are within some of the last bits of the borders of what they cover, and
// their depths of those where they are rounded up: another order of the operations, or one rounding less, shows.
inline DepthCase DepthsOnBorders(uint32_t seed) {
  Random random(seed);
  DepthTable table;
  table.source = {random.Uniform(1, 9), random.Uniform(1, 3)};
  table.shape = {random.Uniform(4, 9), random.Uniform(4, 9)};
  table.id = (uint64_t{2} << 32) + seed;
  for (double& value : table.offset) value = random.Uniform(-300, 300) / 1e3;
  const DepthSensor sensor = {0.001, 0, 0};
  const std::array<float, 3> offset = table.OffsetIn(sensor.unit);
  const int sample = random.Uniform(400, random.OneIn(2) ? 2000 : 60000);
  const auto z = static_cast<float>(sample);
  const auto near = [&](double value) {
    auto at = static_cast<float>(value);
    for (int i = random.Uniform(0, 3); i > 0; --i) at = std::nextafter(at, random.OneIn(2) ? 1e9F : -1e9F);
    return at;
  };
  for (int row = 0; row <= table.source.height; ++row) {
    for (int column = 0; column <= table.source.width; ++column) {
      const double w = 1 + random.Uniform(-0.02F, 0.02F);
      const double at_w = w * z + offset[2];
      table.w.push_back(static_cast<float>(w));
      table.x.push_back(near(((column + (random.OneIn(2) ? 0.25 : -0.25)) * at_w - offset[0]) / z));
      table.y.push_back(near(((row + (random.OneIn(2) ? 0.25 : -0.25)) * at_w - offset[1]) / z));
    }
  }
  for (int64_t i = 0; i < table.source.pixels(); ++i) {
    table.centre_w.push_back(near((std::max(1.0F, std::round(z + offset[2])) + 0.5 - offset[2]) / z));
  }
  Depths depths(table.source, sensor, [&](int, int) { return sample; });
  return {std::move(table), std::move(depths)};
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_SUPPORT_DEPTH_CASES_H_
