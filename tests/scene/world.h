// A world around a path: streets with houses along a drive, a furnished room around a flight. No two surfaces are
// alike, so that no place looks like another one; nothing stands in the camera's way.
#ifndef GLINT_TESTS_SCENE_WORLD_H_
#define GLINT_TESTS_SCENE_WORLD_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "features/types.h"
#include "tests/scene/boards.h"
#include "tests/scene/geometry.h"
#include "tests/scene/path.h"
#include "tests/scene/texture.h"
#include "tests/scene/world_layout.h"

namespace glint::scene {

// Every byte follows from path, seed and camera, the same on every machine. Not thread-safe: textures are drawn when
// they come into view, and the latest kept (at most kTextureBytes).
class World {
 public:
  static constexpr size_t kTextureBytes = size_t{600} << 20;

  // A path of more than 40 m across gets streets, any other a room. `path` has one pose or more.
  World(const Path& path, uint32_t seed);

  Image Render(const Camera& camera, const Pose& pose);
  Image RenderRgb(const Camera& camera, const Pose& pose);
  std::vector<float> Depth(const Camera& camera, const Pose& pose);

  size_t boards() const { return boards_.size(); }
  bool has_streets() const { return has_streets_; }

 private:
  // Those that may be seen from there, with their textures.
  std::vector<const Board*> BoardsAround(const Camera& camera, const Pose& pose);
  const Texture* TextureOf(size_t board);

  bool has_streets_;
  uint8_t background_;
  std::vector<SurfacedBoard> boards_;
  std::map<std::pair<int, int>, std::vector<size_t>> cells_;  // boards by x and z of their centres

  // The textures at hand, last used first.
  struct Drawn {
    size_t board;
    std::unique_ptr<Texture> texture;
  };
  std::list<Drawn> drawn_;
  std::map<size_t, std::list<Drawn>::iterator> drawn_of_;
  size_t drawn_bytes_ = 0;
};

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_WORLD_H_
