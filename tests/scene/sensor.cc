#include "tests/scene/sensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tests/scene/random.h"

namespace glint::scene {
namespace {

constexpr int kMoments = 5;

}  // namespace

Pose EyeOf(const StereoHead& head, const Pose& left, bool is_right) {
  if (!is_right) return left;
  return {left.rotation * Transpose(head.right_from_left), left.ToWorld({head.baseline, 0, 0})};
}

Image Expose(const SensorOptions& options, const StereoHead& head, bool is_right, const Path& path, double seconds,
             uint32_t frame, World* world) {
  return Expose(
      options, head, is_right, [&](double at) { return PoseAtTime(path, at); }, seconds, frame, world);
}

Image Expose(const SensorOptions& options, const StereoHead& head, bool is_right,
             const std::function<Pose(double)>& pose_at, double seconds, uint32_t frame, World* world) {
  const int moments = options.exposure > 0 ? kMoments : 1;
  std::vector<int> sums;
  Image image;
  for (int m = 0; m < moments; ++m) {
    const double at = seconds + options.exposure * (2 * m + 1 - moments) / (2 * moments);
    image = world->Render(head.camera, EyeOf(head, pose_at(at), is_right));
    if (head.lens) image = head.lens(image);
    sums.resize(static_cast<size_t>(image.shape().pixels()));
    size_t i = 0;
    for (int y = 0; y < image.height(); ++y) {
      for (int x = 0; x < image.width(); ++x) sums[i++] += image.row(y)[x];
    }
  }
  const double gain = (1 + options.gain * SinDegrees(std::fmod(seconds, 7) / 7 * 360)) / moments;
  const uint32_t seed = 2 * frame + (is_right ? 1 : 0);
  size_t i = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x, ++i) {
      double grey = gain * sums[i];
      if (options.noise > 0) grey += options.noise * Normal(static_cast<uint32_t>(i), seed);
      image.row(y)[x] = static_cast<uint8_t>(std::clamp(grey, 0.0, 255.0) + 0.5);
    }
  }
  return image;
}

std::vector<bool> Arrivals(int count, double share, int burst, uint32_t seed) {
  constexpr int kFirst = 10;
  std::vector<bool> arrives(static_cast<size_t>(count), true);
  Random random(seed);
  for (int i = kFirst; i < count; ++i) {
    if (random.Between(0, 99999) >= 100000 * share / burst) continue;
    for (int k = 0; k < burst && i < count; ++k) arrives[static_cast<size_t>(i++)] = false;
  }
  return arrives;
}

}  // namespace glint::scene
