// The train set's keypoints sorted by square cells, so that a window looks at few of them. Thread-compatible; allocates
// only beyond the largest set so far.
#ifndef GLINT_CPU_MATCH_TRAIN_GRID_H_
#define GLINT_CPU_MATCH_TRAIN_GRID_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/common/buffer.h"
#include "features/matcher.h"

namespace glint::cpu {

class TrainGrid {
 public:
  // A copy of the arrays that are there. Without positions everything is in one cell.
  void Build(const TrainKeypoints& keypoints, int count);

  // The arrays in the order of cells, and each keypoint's number before.
  const TrainKeypoints& sorted() const { return sorted_; }
  const int32_t* number() const { return number_.data(); }

  // Calls visit(first, last) for runs of the sorted arrays in which all keypoints with |dx| < radius, |dy| < radius
  // are, and others.
  template <class Visit>
  void ForEachNear(float x, float y, float radius, const Visit& visit) const {
    // Each step is monotone, rounding included, so a keypoint in the window is in a cell between those of its corners.
    const int x0 = CellX(x - radius), x1 = CellX(x + radius);
    const int y0 = CellY(y - radius), y1 = CellY(y + radius);
    for (int row = y0; row <= y1; ++row) visit(first_[Cell(x0, row)], first_[Cell(x1, row) + 1]);
  }

 private:
  static int Index(float offset, float per_pixel, int cells) {
    const float at = offset * per_pixel;
    return at >= static_cast<float>(cells - 1) ? cells - 1 : at > 0 ? static_cast<int>(at) : 0;
  }
  int CellX(float x) const { return Index(x - x0_, cells_per_pixel_, across_); }
  int CellY(float y) const { return Index(y - y0_, cells_per_pixel_, down_); }
  size_t Cell(int x, int y) const {
    return static_cast<size_t>(y) * static_cast<size_t>(across_) + static_cast<size_t>(x);
  }
  void ChooseCells(const TrainKeypoints& keypoints, int count);

  float x0_ = 0;
  float y0_ = 0;
  float cells_per_pixel_ = 0;
  int across_ = 1;
  int down_ = 1;
  Buffer<int32_t> first_;    // of each cell, where its keypoints begin; one more
  Buffer<int32_t> cell_of_;  // of each keypoint
  Buffer<int32_t> number_;
  Buffer<float> values_;  // x, y, angle
  Buffer<int32_t> octave_;
  TrainKeypoints sorted_;
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_MATCH_TRAIN_GRID_H_
