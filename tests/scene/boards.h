// Rectangles with textures, and what a camera sees of them: each pixel the nearest one, its distance, its grey value.
#ifndef GLINT_TESTS_SCENE_BOARDS_H_
#define GLINT_TESTS_SCENE_BOARDS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "features/types.h"
#include "tests/scene/geometry.h"
#include "tests/scene/texture.h"

namespace glint::scene {

// A rectangle centre + s * u + t * v, |s| <= half_width, |t| <= half_height, seen from both sides.
struct Board {
  Vec3 centre;
  Vec3 u;  // orthonormal with v
  Vec3 v;
  double half_width;
  double half_height;
  double offset_u = 0;                              // into the texture, texels
  std::array<uint8_t, 3> colour = {255, 255, 255};  // RGB tint, 255 = none
  double texels_per_metre = 1;
  double footprint = 1;  // texels that a pixel covers at a distance of 1 m, seen from the front
  const Texture* texture = nullptr;

  Plane plane() const {
    const Vec3 normal = Cross(u, v);
    return {normal, Dot(normal, centre)};
  }
};

struct Hit {
  const Board* board = nullptr;
  double depth = 0;
  double s = 0;
  double t = 0;
  double stretch = 1;  // of a pixel's width by the slant

  double Grey() const;
};

// Calls `row` for each row from the top, with what its pixels hit; those of no board: null.
void LookAt(const std::vector<const Board*>& boards, const Camera& camera, const Pose& pose,
            const std::function<void(int y, const std::vector<Hit>& hits)>& row);

// Pixels of no board are `background`.
Image RenderGrey(const std::vector<const Board*>& boards, const Camera& camera, const Pose& pose, uint8_t background);
// Rows of 3 * width bytes, RGB.
Image RenderRgb(const std::vector<const Board*>& boards, const Camera& camera, const Pose& pose, uint8_t background);
// Distances along the optical axis, row-major; 0: no board.
std::vector<float> RenderDepth(const std::vector<const Board*>& boards, const Camera& camera, const Pose& pose);

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_BOARDS_H_
