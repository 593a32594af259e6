// Selections that compare corners of different levels: the best of each cell, and pyramidal feature aggregation.
#ifndef GLINT_CPU_SELECT_CELLS_H_
#define GLINT_CPU_SELECT_CELLS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "cpu/buffer.h"
#include "cpu/stages.h"
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
  // Room for a frame of this shape, whatever it shows, with `corners` in the lists of all levels at most.
  void Prepare(const DetectorOptions& options, Shape image, size_t corners);

  // The cells of a level: with Selection::kGrid those of the image.
  const CellMap& OfLevel(int l) const { return maps_[static_cast<size_t>(l)]; }
  // Selection::kGrid: what a corner's response must exceed to be the best of its cell; element by cell.
  const uint16_t* floor() const { return floor_.data(); }
  // Before corners are sought.
  void ClearFloor();
  // Corners of level l, before those of the level below it are sought. Responses are positive integers below 2^16.
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
  struct Best {
    float response;
    uint32_t level;  // + 1; 0: the cell is empty
    uint32_t index;
  };
  // What a pixel of the image gathers.
  struct Gathered {
    uint32_t pixel;   // y << 16 | x
    uint32_t levels;  // how many it gathered from; 0 before the first
    float sum;
    Best best;
  };

  void ClearCells(size_t count);
  void Offer(size_t cell, float response, int level, size_t index);
  void Occupy(const LevelList* lists, int levels);
  // Of a pixel that is occupied.
  Gathered* Find(uint32_t pixel);
  bool Survives(const Gathered& at, int reach);

  // What everything is ready for.
  DetectorOptions options_;
  Shape image_;
  std::array<CellMap, kMaxLevels> maps_;
  size_t most_cells_ = 0;  // of a level
  Buffer<Best> cells_;
  Buffer<uint16_t> floor_;
  Buffer<uint32_t> winners_;       // indices in a level's list
  Buffer<uint32_t> image_pixels_;  // of all levels' corners, one after another
  Buffer<uint64_t> occupied_;      // a bit for each pixel of the image that gathers something, row by row
  Buffer<uint32_t> first_pixel_;   // of each word of these, in:
  Buffer<Gathered> pixels_;        // in raster order
  Buffer<float> responses_;
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_SELECT_CELLS_H_
