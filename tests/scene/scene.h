// Rendered scenes with known truth: the demo's video, and ground truth for tests. Every byte of every frame is a
// function of the options alone, the same on every machine.
#ifndef GLINT_TESTS_SCENE_SCENE_H_
#define GLINT_TESTS_SCENE_SCENE_H_

#include <cstdint>
#include <vector>

#include "features/types.h"
#include "tests/scene/boards.h"
#include "tests/scene/geometry.h"
#include "tests/scene/texture.h"

namespace glint::scene {

enum class Density {
  kDense,   // Surface::kCity
  kSparse,  // Surface::kSky
};

enum class Layout {
  kPlane,  // one wall: the whole picture moves by one homography
  kRoom,   // a closed room with two boards standing in it: depth, occlusion, parallax
};

enum class Motion {
  kStill,
  kPan,   // sideways
  kRoll,  // about the optical axis, 3 degrees a frame
  kZoom,  // forward and back
  kWalk,  // a bit of everything, as a hand-held camera
};

struct SceneOptions {
  Layout layout = Layout::kRoom;
  Density density = Density::kDense;
  Motion motion = Motion::kWalk;
  Shape shape = {640, 480};  // each side 16..7680
  uint32_t seed = 1;
  double stereo_baseline = 0.12;  // metres from the left camera to the right one
};

// Thread-safe after construction.
class Scene {
 public:
  explicit Scene(const SceneOptions& options);
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  const Camera& camera() const { return camera_; }
  // The (left) camera at a frame, 0, 1, ...; does not depend on how many frames there are.
  Pose PoseAt(int frame) const;
  // The right camera of a rectified pair: `left` moved along its own x axis by the baseline.
  Pose RightOf(const Pose& left) const;

  Image Render(const Pose& pose) const;
  // Rows of 3 * width bytes, RGB. Its grey version is close to Render()'s, not equal.
  Image RenderRgb(const Pose& pose) const;

  // Row-major, width * height. Distance along the optical axis, metres.
  std::vector<float> Depth(const Pose& pose) const;
  // Row-major, width * height. Pixel (x, y) of the left picture is at (x - disparity, y) of the right one, unless
  // something hides it there.
  std::vector<float> Disparity(const Pose& left) const;

  // From the pixels at frame `a` to those at frame `b`, for the wall of Layout::kPlane and the far wall of kRoom.
  Mat3 HomographyBetween(int a, int b) const;

 private:
  SceneOptions options_;
  Camera camera_;
  Texture texture_;
  std::vector<Board> boards_;          // the first one is HomographyBetween's
  std::vector<const Board*> visible_;  // all of them
};

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_SCENE_H_
