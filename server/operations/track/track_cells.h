// Detection cells of an image, in each of which a track may begin: those of the detector's options.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACK_CELLS_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACK_CELLS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "features/options.h"
#include "features/types.h"

namespace glint {

// Thread-safe: immutable.
class TrackCells {
 public:
  TrackCells(const DetectorOptions& options, Shape image)
      : image_(image),
        width_(options.cell_width),
        height_(options.cell_height),
        columns_((image.width + width_ - 1) / width_),
        rows_((image.height + height_ - 1) / height_),
        by_width_(Reciprocal(width_)),
        by_height_(Reciprocal(height_)) {}

  size_t count() const { return static_cast<size_t>(columns_) * static_cast<size_t>(rows_); }

  // Index of the cell that contains the point, or of the nearest one.
  size_t IndexOf(float x, float y) const {
    const int column = Quotient(x, image_.width, by_width_);
    const int row = Quotient(y, image_.height, by_height_);
    return static_cast<size_t>(row) * static_cast<size_t>(columns_) + static_cast<size_t>(column);
  }

  // True if masking occupied cells can change which keypoints a detector finds in the others. False if each cell has
  // its own best keypoint whatever the others hold, so that ignoring keypoints of occupied cells is the same as a mask,
  // and cheaper: Selection::kGrid on levels whose scales are whole numbers, with room for a keypoint of each cell.
  bool MaskMatters(const DetectorOptions& options) const;

  // Mask of the image's shape: 0 in the cells where `occupied`, of count() elements, is not 0; 255 elsewhere.
  void DrawMask(const std::vector<uint8_t>& occupied, Image* mask) const;

 private:
  // Fixed-point reciprocal; exact here, since sides of images have at most 16 bits.
  static uint64_t Reciprocal(int divisor) { return (uint64_t{1} << 32) / static_cast<uint64_t>(divisor) + 1; }
  static int Quotient(float v, int side, uint64_t reciprocal) {
    const auto inside = static_cast<uint64_t>(std::clamp(static_cast<int>(v), 0, side - 1));
    return static_cast<int>(inside * reciprocal >> 32);
  }

  Shape image_;
  int width_, height_, columns_, rows_;
  uint64_t by_width_, by_height_;
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_CELLS_H_
