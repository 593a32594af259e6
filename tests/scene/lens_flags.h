// Flags of tools that are about the lens of the cameras.
#ifndef GLINT_TESTS_SCENE_LENS_FLAGS_H_
#define GLINT_TESTS_SCENE_LENS_FLAGS_H_

#include "absl/status/statusor.h"
#include "features/camera/camera.h"
#include "tests/scene/geometry.h"
#include "tests/scene/sensor.h"

namespace glint::scene {

// The camera of --camera_model and --lens with the size, focal length and centre of `pinhole`; itself a pinhole without
// them.
absl::StatusOr<glint::Camera> ReadLensFlags(const Camera& pinhole);

// Has the head see through `lens`: its camera becomes PinholeFor() it. Nothing changes for a pinhole.
absl::Status PutOn(const glint::Camera& lens, StereoHead* head);

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_LENS_FLAGS_H_
