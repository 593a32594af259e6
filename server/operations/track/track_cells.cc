#include "server/operations/track/track_cells.h"

namespace glint {

bool TrackCells::MaskMatters(const DetectorOptions& options) const {
  const bool whole_scales = options.pyramid == Pyramid::kHalf || options.levels == 1;
  const bool best_of_each_cell = options.selection == Selection::kGrid && whole_scales;
  return !best_of_each_cell || static_cast<size_t>(options.max_features) < count();
}

void TrackCells::DrawMask(const std::vector<uint8_t>& occupied, Image* mask) const {
  mask->Resize(image_);
  for (int y = 0; y < image_.height; ++y) {
    const size_t first = static_cast<size_t>(y / height_) * static_cast<size_t>(columns_);
    for (int c = 0; c < columns_; ++c) {
      const int begin = c * width_;
      const int end = std::min(begin + width_, image_.width);
      std::fill(mask->row(y) + begin, mask->row(y) + end,
                static_cast<uint8_t>(occupied[first + static_cast<size_t>(c)] != 0 ? 0 : 255));
    }
  }
}

}  // namespace glint
