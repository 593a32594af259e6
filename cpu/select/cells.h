// Selections that compare corners of different levels: the best of each cell, and pyramidal feature aggregation.
#ifndef GLINT_CPU_SELECT_CELLS_H_
#define GLINT_CPU_SELECT_CELLS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "cpu/common/buffer.h"
#include "cpu/common/stages.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::cpu {

// One level's corners, in raster order; what is not selected is dropped from the lists.
struct LevelList {
  uint32_t* where = nullptr;
  float* response = nullptr;
  size_t count = 0;
  float scale = 1.0f;
};

// Thread-compatible. Allocates only beyond the largest request so far.
class CellSelection {
 public:
  // Reserves memory for any frame of this shape, with at most `corners` in the lists of all levels.
  void Prepare(const DetectorOptions& options, Shape image, size_t corners);

  // The cells of a level. Selection::kGrid has one set of cells, those of the image.
  const CellMap& OfLevel(int l) const { return maps_[static_cast<size_t>(l)]; }
  // Selection::kGrid: the threshold that a corner's response must exceed to be the best of its cell, for each cell.
  const uint16_t* floor() const { return floor_.data(); }
  // Call before the corners of a frame are detected.
  void ClearFloor();
  // Raises the thresholds by the corners of level l, before those of level l - 1 are detected. Responses are positive
  // integers below 2^16.
  void RaiseFloor(int l, const uint32_t* where, const float* response, size_t count);

  // Selection::kGrid over all levels.
  void BestOfGrid(LevelList* lists, int levels);
  // The first half of Selection::kPyca, on one level.
  void CullLevel(int l, LevelList* list);
  // The second half, over all levels. Responses become sums.
  void Aggregate(LevelList* lists, int levels);

  // What every selection but kTopN ends with: the max_features best of all levels, with ties.
  void KeepBest(int max_features, LevelList* lists, int levels);

 private:
  struct CellMax {
    float response;
    uint32_t level;  // + 1; 0: the cell is empty
    uint32_t index;
  };
  // The corners of all levels that fall on one pixel of the image.
  struct AggregatedPixel {
    uint32_t pixel;   // y << 16 | x
    uint32_t levels;  // number of corners; 0 before the first
    float sum;
    CellMax best;
  };

  void ClearCells(size_t count);
  void UpdateCellMax(size_t cell, float response, int level, size_t index);
  void MarkPixels(const LevelList* lists, int levels);
  // `pixel` must be one that a corner falls on.
  AggregatedPixel* Find(uint32_t pixel);
  bool Survives(const AggregatedPixel& at, int reach);

  // What Prepare() was last called with.
  DetectorOptions options_;
  Shape image_;
  std::array<CellMap, kMaxLevels> maps_;
  size_t most_cells_ = 0;  // of a level
  Buffer<CellMax> cells_;
  Buffer<uint16_t> floor_;
  Buffer<uint32_t> winners_;        // indices in a level's list
  Buffer<uint32_t> image_pixels_;   // of all levels' corners, one after another
  Buffer<uint64_t> occupied_;       // a bit for each pixel of the image, set if a corner falls on it; row by row
  Buffer<uint32_t> first_pixel_;    // for each of these words, the index of its first set bit in pixels_
  Buffer<AggregatedPixel> pixels_;  // in raster order
  Buffer<float> responses_;
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_SELECT_CELLS_H_
