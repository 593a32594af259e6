// What stands in a world, given the path that must stay free. Everything follows from path and seed.
#ifndef GLINT_TESTS_SCENE_WORLD_LAYOUT_H_
#define GLINT_TESTS_SCENE_WORLD_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "tests/scene/boards.h"
#include "tests/scene/path.h"
#include "tests/scene/texture.h"

namespace glint::scene {

// A board whose texture is drawn when it is needed.
struct SurfacedBoard {
  Board board;
  Surface surface;
  int side;  // of the texture, texels
  uint32_t seed;
};

// Ground 1.65 m below the path, houses on both sides, and smaller things between the two; straight on for 40 m from
// the path's end.
std::vector<SurfacedBoard> LayStreets(const Path& path, uint32_t seed);

// Walls, floor and ceiling around the path, with boxes that stand and hang.
std::vector<SurfacedBoard> FurnishRoom(const Path& path, uint32_t seed);

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_WORLD_LAYOUT_H_
