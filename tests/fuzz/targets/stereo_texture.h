// A camera that moves along a wall of noise, for targets that locate it: small, but enough of it to be tracked.
#ifndef GLINT_TESTS_FUZZ_TARGETS_STEREO_TEXTURE_H_
#define GLINT_TESTS_FUZZ_TARGETS_STEREO_TEXTURE_H_

#include <cstdint>

#include "features/options.h"
#include "features/types.h"
#include "slam/geometry/stereo_camera.h"
#include "tests/fuzz/targets/input.h"

namespace glint::fuzz {

class StereoTexture {
 public:
  static constexpr Shape kShape = {128, 96};
  static constexpr double kFocal = 100, kBaseline = 0.2;

  static slam::StereoCamera Camera() {
    slam::StereoCamera camera;
    camera.image = kShape;
    camera.focal_length = kFocal;
    camera.centre_x = kShape.width / 2.0;
    camera.centre_y = kShape.height / 2.0;
    camera.baseline = kBaseline;
    return camera;
  }
  static DetectorOptions Detector() {
    const auto preset = PresetOptions("orb");
    FUZZ_CHECK(preset.ok());
    DetectorOptions detector = *preset;
    detector.levels = 2;
    detector.max_features = 100;
    return detector;
  }
  // Draws the left (0) or right (1) image at a place: the wall is 4 m away, and the places 0.16 m from each other.
  static void Draw(int place, int side, Image* image) {
    image->Resize(kShape);
    for (int y = 0; y < kShape.height; ++y) {
      for (int x = 0; x < kShape.width; ++x) {
        image->row(y)[x] = PixelAt(x + kStep * place + kDisparity * side, y);
      }
    }
  }
  static uint8_t PixelAt(int x, int y) {  // squares of 3 pixels
    uint32_t mixed = static_cast<uint32_t>(x / 3) * 2654435761u ^ static_cast<uint32_t>(y / 3) * 2246822519u;
    mixed = (mixed ^ mixed >> 15) * 3266489917u;
    return static_cast<uint8_t>(mixed >> 24);
  }

 private:
  static constexpr int kDisparity = 5, kStep = 4;  // pixels
};

}  // namespace glint::fuzz

#endif  // GLINT_TESTS_FUZZ_TARGETS_STEREO_TEXTURE_H_
