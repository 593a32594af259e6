// The cells of an image in which tracks begin: those of the detector's options.
#ifndef GLINT_SERVER_TRACK_TRACK_CELLS_H_
#define GLINT_SERVER_TRACK_TRACK_CELLS_H_

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
        rows_((image.height + height_ - 1) / height_) {}

  size_t count() const { return static_cast<size_t>(columns_) * static_cast<size_t>(rows_); }

  // Index of the cell that contains the point, or of the nearest one.
  size_t IndexOf(float x, float y) const {
    const int column = std::clamp(static_cast<int>(x) / width_, 0, columns_ - 1);
    const int row = std::clamp(static_cast<int>(y) / height_, 0, rows_ - 1);
    return static_cast<size_t>(row) * static_cast<size_t>(columns_) + static_cast<size_t>(column);
  }

  // True if masking occupied cells can change which keypoints a detector finds in the others. False if each cell has
  // its own best keypoint whatever the others hold, so that ignoring keypoints of occupied cells is the same as a mask,
  // and cheaper: Selection::kGrid on levels whose scales are whole numbers, with room for a keypoint of each cell.
  bool MaskMatters(const DetectorOptions& options) const;

  // Mask of the image's shape: 0 in the cells where `occupied`, of count() elements, is not 0; 255 elsewhere.
  void DrawMask(const std::vector<uint8_t>& occupied, Image* mask) const;

 private:
  Shape image_;
  int width_, height_, columns_, rows_;
};

}  // namespace glint

#endif  // GLINT_SERVER_TRACK_TRACK_CELLS_H_
