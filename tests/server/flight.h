// A short flight through a rendered room, and what localization is told of its camera.
#ifndef GLINT_TESTS_SERVER_FLIGHT_H_
#define GLINT_TESTS_SERVER_FLIGHT_H_

#include <vector>

#include "features/options.h"
#include "server/operations/localize/localization.h"
#include "tests/slam/rendered_drive.h"

namespace glint::testing {

// Noise of 2 grey levels, brightness that swings by 20 %.
inline slam::DriveOptions FlightOptions(const scene::Camera& camera, int frames) {
  slam::DriveOptions options;
  options.head = {camera, 0.11, {}};
  options.sensor = {2, 0.2, 0};
  options.frames = frames;
  return options;
}

// Around a bend, 20 frames a second, 0.5 m/s.
inline std::vector<slam::DriveFrame> RenderFlight(const slam::DriveOptions& options) {
  scene::Path path;
  for (int i = 0; i < options.frames; ++i) {
    const scene::Vec3 at = {1.5 * (1 - scene::CosDegrees(i)), 0.1 * scene::SinDegrees(3 * i),
                            1.5 * scene::SinDegrees(i)};
    path.push_back({i / 20.0, {scene::Rotation(0.8 * i, 4 * scene::SinDegrees(5 * i), 0), at}, ""});
  }
  slam::RenderedDrive drive(path, options);
  std::vector<slam::DriveFrame> frames;
  for (size_t i = 0; i < drive.count(); ++i) frames.push_back(drive.Render(i));
  return frames;
}

inline LocalizationOptions OptionsOf(const scene::StereoHead& head, int features) {
  LocalizationOptions options;
  options.detector = *PresetOptions("orb");
  options.detector.max_features = features;
  options.camera = slam::CameraOf(head);
  options.localizer.max_keyframes = 1000;
  options.localizer.max_points = 1 << 20;
  options.max_map_bytes = int64_t{1} << 30;
  return options;
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_FLIGHT_H_
