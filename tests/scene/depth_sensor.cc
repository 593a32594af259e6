#include "tests/scene/depth_sensor.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "tests/scene/random.h"

namespace glint::scene {
namespace {

constexpr double kShadow = 1;  // pixels of disparity

}  // namespace

DepthImage SenseDepth(const DepthSensorOptions& options, const Camera& camera, const Pose& pose, uint32_t frame,
                      World* world) {
  const std::vector<float> depth = world->Depth(camera, pose);
  const int width = camera.width, height = camera.height;
  const auto disparity_at = [&](int x, int y) {
    const double metres = depth[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)];
    return metres > 0 && std::isfinite(metres) ? camera.focal * options.baseline / metres : 0;
  };
  DepthImage image;
  image.shape = {width, height};
  image.bytes.reserve(2 * depth.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double disparity = disparity_at(x, y);
      double step = 0;
      for (const auto& [to_x, to_y] :
           {std::pair(x - 1, y), std::pair(x + 1, y), std::pair(x, y - 1), std::pair(x, y + 1)}) {
        const double other = disparity_at(std::clamp(to_x, 0, width - 1), std::clamp(to_y, 0, height - 1));
        step = std::max(step, std::fabs(other - disparity));
      }
      const auto index = static_cast<uint32_t>(image.bytes.size() / 2);
      const double noisy = disparity + options.noise * Normal(index, frame);
      const double metres = noisy > 0 ? camera.focal * options.baseline / noisy : 0;
      const double sample = std::floor(metres / options.unit + 0.5);
      const bool is_there = disparity > 0 && step <= kShadow && metres >= options.nearest &&
                            metres <= options.farthest && sample <= 65535;
      const auto value = static_cast<uint32_t>(is_there ? sample : 0);
      image.bytes.push_back(static_cast<uint8_t>(value & 255));
      image.bytes.push_back(static_cast<uint8_t>(value >> 8));
    }
  }
  return image;
}

}  // namespace glint::scene
