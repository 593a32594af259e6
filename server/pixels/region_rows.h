// A region of an image as a mask, or a mask within a region.
#ifndef GLINT_SERVER_PIXELS_REGION_ROWS_H_
#define GLINT_SERVER_PIXELS_REGION_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/error.h"
#include "features/pixels.h"
#include "features/types.h"
#include "server/pixels/job_pixels.h"

namespace glint {

// OK, or INVALID_ARGUMENT of `field`: the mask has another size than its image.
inline absl::Status CheckMaskShape(absl::string_view field, Shape mask, Shape image) {
  if (mask == image) return absl::OkStatus();
  return ContradictionError(
      field, absl::StrCat(mask.width, "x", mask.height, " is not the image's ", image.width, "x", image.height));
}

// Rows of a mask that are 0 outside of a part of the image. Thread-compatible, as the mask is.
class RegionRows final : public PixelRows {
 public:
  // `part` lies within an image of shape `image`, which `mask` has, unless it is empty: then the part is 255. Borrows
  // the mask.
  void Use(Shape image, const Part& part, const Pixels& mask) {
    image_ = image;
    part_ = part;
    mask_ = mask;
  }

  Shape shape() const override { return image_; }
  void CopyRows(int first, int count, uint8_t* to, ptrdiff_t stride) const override {
    const auto width = static_cast<size_t>(image_.width), x = static_cast<size_t>(part_.x);
    const size_t end = x + static_cast<size_t>(part_.shape.width);
    for (int y = first; y < first + count; ++y, to += stride) {
      if (y < part_.y || y >= part_.y + part_.shape.height) {
        std::memset(to, 0, width);
        continue;
      }
      if (!mask_.view.empty()) {
        std::memcpy(to + x, mask_.view.row(y) + x, end - x);
      } else if (mask_.rows != nullptr) {
        mask_.rows->CopyRows(y, 1, to, stride);
      } else {
        std::memset(to + x, 255, end - x);
      }
      std::memset(to, 0, x);
      std::memset(to + end, 0, width - end);
    }
  }

 private:
  Shape image_;
  Part part_;
  Pixels mask_;
};

}  // namespace glint

#endif  // GLINT_SERVER_PIXELS_REGION_ROWS_H_
