// Selections that compare corners of different levels: the best of each cell, and pyramidal feature aggregation.
#ifndef GLINT_CPU_CELLS_H_
#define GLINT_CPU_CELLS_H_

#include <cstddef>
#include <cstdint>

#include "cpu/buffer.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::cpu {

// One level's corners, in raster order; what is not selected is dropped from the lists.
struct LevelList {
  uint32_t* where = nullptr;
  float* response = nullptr;
  size_t count = 0;
  float scale = 1.0f;
  Shape shape;
};

// Thread-compatible. Allocates only beyond the largest request so far.
class CellSelection {
 public:
  // Room for a frame of this shape, whatever it shows, with `corners` in the lists of all levels at most.
  void Prepare(const DetectorOptions& options, Shape image, size_t corners);

  // Selection::kGrid over all levels.
  void BestOfGrid(const DetectorOptions& options, Shape image, LevelList* lists, int levels);
  // The first half of Selection::kPyca, on one level.
  void CullLevel(const DetectorOptions& options, LevelList* list);
  // The second half, over all levels. Responses become sums.
  void Aggregate(const DetectorOptions& options, Shape image, LevelList* lists, int levels);

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
    uint32_t levels;  // 0: the slot is free
    float sum;
    Best best;
  };

  void ClearCells(size_t count);
  void Offer(size_t cell, float response, int level, size_t index);
  Gathered* Find(uint32_t pixel);
  bool Survives(const Gathered& at, int reach, Shape image);

  Buffer<Best> cells_;
  Buffer<uint32_t> column_cells_;  // of a level's columns
  Buffer<uint32_t> winners_;       // indices in a level's list
  Buffer<Gathered> pixels_;        // open addressing, a power of two of slots
  size_t slots_ = 0;
  Buffer<uint64_t> occupied_;  // a bit for each pixel of the image that has gathered something, row by row
  Buffer<float> responses_;
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_CELLS_H_
