#include "features/pixels.h"

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/options.h"
#include "features/status_macros.h"

namespace glint {

absl::Status ValidatePixels(const Pixels& image, const Pixels& mask, int64_t max_pixels) {
  if (image.empty()) return ContradictionError("image", "has no pixels");
  const Shape shape = image.shape();
  GLINT_RETURN_IF_ERROR(ValidateShape(shape, max_pixels));
  if (mask.empty() || mask.shape() == shape) return absl::OkStatus();
  return ContradictionError("mask", absl::StrCat(mask.shape().width, "x", mask.shape().height, " is not the image's ",
                                                 shape.width, "x", shape.height));
}

}  // namespace glint
