#include "features/pixels.h"

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/options.h"
#include "features/status_macros.h"

namespace glint {

void SetMaskRows::CopyRows(int first, int count, uint8_t* to, ptrdiff_t stride) const {
  const auto width = static_cast<size_t>(shape().width);
  if (mask_.view.empty()) mask_.rows->CopyRows(first, count, to, stride);
  for (int y = 0; y < count; ++y) {
    uint8_t* const row = to + y * stride;
    const uint8_t* const from = mask_.view.empty() ? row : mask_.view.row(first + y);
    for (size_t x = 0; x < width; ++x) row[x] = from[x] != 0 ? 255 : 0;
  }
}

absl::Status ValidatePixels(const Pixels& image, const Pixels& mask, int64_t max_pixels) {
  if (image.empty()) return ContradictionError("image", "has no pixels");
  const Shape shape = image.shape();
  GLINT_RETURN_IF_ERROR(ValidateShape(shape, max_pixels));
  if (mask.empty() || mask.shape() == shape) return absl::OkStatus();
  return ContradictionError("mask", absl::StrCat(mask.shape().width, "x", mask.shape().height, " is not the image's ",
                                                 shape.width, "x", shape.height));
}

}  // namespace glint
