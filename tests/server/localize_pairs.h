// Pairs along a wall, and localization on lanes of a test's choice, without a server.
#ifndef GLINT_TESTS_SERVER_LOCALIZE_PAIRS_H_
#define GLINT_TESTS_SERVER_LOCALIZE_PAIRS_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "features/options.h"
#include "features/types.h"
#include "server/operations/localize/localization.h"
#include "tests/support/images.h"

namespace glint::testing {

inline constexpr int64_t kFrameNs = 100'000'000;

// A wall at a distance of 4 m, along which the camera moves by 0.16 m a pair: the right image has it 10 pixels further
// left, and the next pair 8 pixels.
inline constexpr double kFocal = 200, kBaseline = 0.2;
inline constexpr int kDisparity = 10, kStep = 8;

struct Pair {
  Image left, right;
};

inline Image Part(const Image& whole, int x, Shape shape) {
  Image part(shape.width, shape.height);
  for (int y = 0; y < part.height(); ++y) {
    std::memcpy(part.row(y), whole.row(y) + x, static_cast<size_t>(part.width()));
  }
  return part;
}

inline std::vector<Pair> PairsAlongAWall(Shape shape, int count) {
  const Image wall = Texture({shape.width + kDisparity + kStep * count, shape.height}, 5);
  std::vector<Pair> pairs;
  for (int i = 0; i < count; ++i) {
    pairs.push_back({Part(wall, kStep * i, shape), Part(wall, kStep * i + kDisparity, shape)});
  }
  return pairs;
}

inline LocalizationOptions WallOptions(Shape shape, int features) {
  LocalizationOptions options;
  options.detector = *PresetOptions("orb");
  options.detector.max_features = features;
  options.camera = {shape, kFocal, shape.width / 2.0, shape.height / 2.0, kBaseline, Eigen::Vector3d::Zero()};
  options.localizer.max_keyframes = 1000;
  options.localizer.max_points = 1 << 20;
  options.max_map_bytes = int64_t{1} << 30;
  return options;
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_LOCALIZE_PAIRS_H_
