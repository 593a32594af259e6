// Pictures as a lens shows them, made of a pinhole's.
#ifndef GLINT_TESTS_SCENE_LENS_H_
#define GLINT_TESTS_SCENE_LENS_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/camera/camera.h"
#include "features/camera/rig.h"
#include "features/types.h"
#include "tests/scene/geometry.h"

namespace glint::scene {

// The pinhole whose picture has all that `lens` sees, 1.5 times as fine. INVALID_ARGUMENT: a field of over 150 degrees,
// a lens that does not see all of its picture, or a picture of over 7680 pixels.
absl::StatusOr<Camera> PinholeFor(const glint::Camera& lens);

// What `lens` shows where `pinhole`, PinholeFor() it, shows a picture; bilinear. A StereoHead's lens. Thread-safe.
std::function<Image(const Image&)> ThroughLens(const glint::Camera& lens, const Camera& pinhole);

// Writes the calibration of the left camera, and of the right one at (baseline, 0, 0) without rotation, into `out`: in
// the first format of glint::calibration that has the lens, and the inertial sensor if there is one. Its pose is in the
// left camera.
absl::Status WriteCalibration(const glint::Camera& lens, bool stereo, double baseline, const std::optional<RigImu>& imu,
                              const std::string& out);

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_LENS_H_
