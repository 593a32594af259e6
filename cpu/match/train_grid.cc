#include "cpu/match/train_grid.h"

#include <cmath>

namespace glint::cpu {
namespace {

constexpr float kKeypointsPerCell = 2;
constexpr int kMaxCells = 1024;  // on an axis

}  // namespace

void TrainGrid::ChooseCells(const TrainKeypoints& keypoints, int count) {
  across_ = down_ = 1;
  cells_per_pixel_ = x0_ = y0_ = 0;
  if (keypoints.x == nullptr || count == 0) return;
  const auto [left, right] = std::minmax_element(keypoints.x, keypoints.x + count);
  const auto [top, bottom] = std::minmax_element(keypoints.y, keypoints.y + count);
  x0_ = *left;
  y0_ = *top;
  const float width = std::max(*right - *left, 1.0f);
  const float height = std::max(*bottom - *top, 1.0f);
  const float side = std::max({std::sqrt(width * height * kKeypointsPerCell / static_cast<float>(count)),
                               width / kMaxCells, height / kMaxCells});
  cells_per_pixel_ = 1 / side;
  across_ = std::clamp(static_cast<int>(width / side) + 1, 1, kMaxCells);
  down_ = std::clamp(static_cast<int>(height / side) + 1, 1, kMaxCells);
}

void TrainGrid::Build(const TrainKeypoints& keypoints, int count) {
  ChooseCells(keypoints, count);
  const size_t n = static_cast<size_t>(count);
  const size_t cells = static_cast<size_t>(across_) * static_cast<size_t>(down_);
  int32_t* const first = first_.Reserve(cells + 1);
  int32_t* const cell_of = cell_of_.Reserve(n);
  int32_t* const number = number_.Reserve(n);
  std::fill(first, first + cells + 1, 0);
  for (size_t t = 0; t < n; ++t) {
    cell_of[t] = keypoints.x == nullptr ? 0 : static_cast<int32_t>(Cell(CellX(keypoints.x[t]), CellY(keypoints.y[t])));
    ++first[cell_of[t]];
  }
  // Where each cell ends; filling from the back makes that where it begins.
  for (size_t c = 1; c <= cells; ++c) first[c] += first[c - 1];
  for (size_t t = n; t-- > 0;) number[--first[cell_of[t]]] = static_cast<int32_t>(t);

  float* values = values_.Reserve(3 * n);
  int32_t* octave = octave_.Reserve(n);
  sorted_ = {};
  const auto sort = [&](const auto* from, auto* to) {
    for (size_t i = 0; i < n; ++i) to[i] = from[number[i]];
    return to;
  };
  if (keypoints.x != nullptr) {
    sorted_.x = sort(keypoints.x, values);
    sorted_.y = sort(keypoints.y, values + n);
  }
  if (keypoints.angle != nullptr) sorted_.angle = sort(keypoints.angle, values + 2 * n);
  if (keypoints.octave != nullptr) sorted_.octave = sort(keypoints.octave, octave);
}

}  // namespace glint::cpu
