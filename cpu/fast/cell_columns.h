// The cells of a level that FAST searches alone (Selection::kQuadtree), and the search of a row of them.
#ifndef GLINT_CPU_FAST_CELL_COLUMNS_H_
#define GLINT_CPU_FAST_CELL_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/common/quadtree_stages.h"
#include "features/quadtree.h"
#include "features/types.h"

namespace glint::cpu {

// How the columns of a level are divided. Thread-safe once prepared.
class CellColumns {
 public:
  // Allocates only beyond the largest width so far.
  void Prepare(int level_width);

  // The most corners in one row of cells, `cell_height` pixels each.
  size_t MaxCorners(int cell_height) const;

  // The corners of a row of cells: of each cell those at `ini_threshold`, or, where there are none, at `min_threshold`.
  // `region`: of the centres of the whole row. `scratch`: FastScratchBytes(image.width), 64-byte aligned. `where` and
  // `score` have room for kListSlack more than MaxCorners(). Returns their number.
  size_t FindCorners(const QuadtreeStages& stages, const ImageView& image, Rect region, int ini_threshold,
                     int min_threshold, uint8_t* scratch, uint32_t* where, uint8_t* score) const;

 private:
  QuadtreeAxis axis_;
  int width_ = 0;
  std::vector<uint8_t> not_first_;  // CellFastJob has both
  std::vector<uint8_t> not_last_;
  std::vector<uint16_t> cell_;  // of each column
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_FAST_CELL_COLUMNS_H_
