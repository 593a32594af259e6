// The pyramid's levels, the buffers of each, and the bands that threads work on.
#ifndef GLINT_CPU_PYRAMID_LEVELS_H_
#define GLINT_CPU_PYRAMID_LEVELS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/common/buffer.h"
#include "cpu/common/quadtree_stages.h"
#include "cpu/common/stages.h"
#include "cpu/fast/cell_columns.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::cpu {

// Parts of a level per thread, more than one to balance the load.
inline constexpr int kTasksPerThread = 4;

// An image whose rows have kReadMargin readable bytes after them.
struct Plane {
  Buffer<uint8_t> memory;
  ImageView view;

  // The pixels are unspecified afterwards, but every byte was written once.
  void Resize(Shape shape);
  uint8_t* row(int y) { return memory.data() + y * view.stride; }
};

// Rows of a level in which one task looks for corners, and where it puts them.
struct Band {
  Rect region;
  size_t first = 0;  // in the level's lists
  size_t count = 0;
};

struct Level {
  ImageView image;
  ImageView mask;  // empty without one, and above level 0 unless levels are cascaded
  Plane pixels;    // of levels above 0, and of a narrow level 0
  Plane mask_pixels;
  ImageView source;     // what the level is resized from; empty at level 0
  ResizeTables resize;  // from there
  LinearTables linear;  // instead, for Selection::kQuadtree; masks have `resize` always
  float scale = 1.0f;
  int share = 0;  // of max_features

  CellColumns cells;  // for Selection::kQuadtree, whose bands are the rows of cells
  std::vector<Band> bands;
  // Corners, later keypoints, in raster order.
  size_t count = 0;
  size_t found = 0;  // keypoints, including those beyond OutputCapacity()
  Buffer<uint32_t> where;
  Buffer<uint8_t> score;
  Buffer<float> response;
  Buffer<float> angle;
  Buffer<uint32_t> slot;      // index in the output order of the level
  size_t first_output = 0;    // of the level's keypoints in Features
  Buffer<uint32_t> bit_keys;  // scratch of selection
  Buffer<uint64_t> sort_keys;

  Buffer<uint32_t> integral;

  Rect CornerRegion(const DetectorOptions& options) const;
};

// Whether corners have their scores in Level::score, before they are selected.
bool ScoresInBytes(const DetectorOptions& options);

// The levels of one detector. Memory and tables are kept from frame to frame.
class Levels {
 public:
  // Makes the levels ready for a frame: shapes, tables, bands, room. Level 0 is the image itself, or a copy with a
  // margin if it is narrow. The pixels of other levels are not yet there. `threads` is how many share a level.
  void Prepare(const DetectorOptions& options, const ImageView& image, const ImageView& mask, int threads);

  // Exchanges the memory of all levels' pixels with another. Views of them stay as they are.
  void SwapPixels();

  int count() const { return count_; }  // up to the first that vanishes
  // Room in the lists of all levels.
  size_t room() const { return room_; }
  // In those of the level that has most.
  size_t largest_room() const { return largest_room_; }
  Level& operator[](int l) { return levels_[static_cast<size_t>(l)]; }

 private:
  std::array<Level, kMaxLevels> levels_;
  std::array<Plane, kMaxLevels> other_pixels_;
  int count_ = 0;
  size_t room_ = 0;
  size_t largest_room_ = 0;
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_PYRAMID_LEVELS_H_
