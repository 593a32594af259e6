// The two images of a pair, for any operation that takes pairs.
#ifndef GLINT_SERVER_PIXELS_IMAGE_PAIR_H_
#define GLINT_SERVER_PIXELS_IMAGE_PAIR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "features/pixels.h"
#include "features/types.h"
#include "server/pixels/job_pixels.h"
#include "server/schedule/lane_context.h"

namespace glint {

// What a lane's thread reuses from job to job, whatever their operation: the pixels of up to two images, and the
// features of the first. Grows to the largest seen.
struct ImageScratch {
  PixelScratch first, second;
  Features features;
};

// Both images of a stereo pair. Borrowed from their sources and the lane's ImageScratch.
struct EyePixels {
  Pixels left, right;
  int64_t pixels = 0;  // of both
};

// The images of `left` and `right`; a `right` of kind kNone: `left` has both, side by side. INVALID_ARGUMENT: two
// shapes. RESOURCE_EXHAUSTED as CheckPixels().
absl::StatusOr<EyePixels> EyesOf(const LaneContext& context, const ImageSource& left, const ImageSource& right);

// One image of a pair; `field` is what errors call it.
absl::StatusOr<Pixels> EyeOf(const LaneContext& context, absl::string_view field, const ImageSource& source,
                             PixelScratch* scratch);

// Both images of a pair are one image to the limit: RESOURCE_EXHAUSTED.
absl::Status CheckPixels(int64_t pixels, int64_t max_pixels);

}  // namespace glint

#endif  // GLINT_SERVER_PIXELS_IMAGE_PAIR_H_
