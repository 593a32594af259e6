// Image pairs, for all operations that take pairs.
#ifndef GLINT_SERVER_PIXELS_IMAGE_PAIR_H_
#define GLINT_SERVER_PIXELS_IMAGE_PAIR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "features/pixels.h"
#include "features/types.h"
#include "lane/rectified_rows.h"
#include "server/pixels/job_pixels.h"
#include "server/pixels/rectification.h"
#include "server/schedule/lane_context.h"

namespace glint {

// Scratch memory of a lane's thread, shared by all operations: the pixels of up to two images, what rectifies them, and
// the features of the first. Grows to the largest seen.
struct ImageScratch {
  PixelScratch first, second;
  RectifiedRows rectified_left, rectified_right;
  Features features;
};

// Both images of a stereo pair, and their masks, if there are any (pair_masks.h). Borrowed from their sources and the
// lane's scratch memory.
struct ImagePairPixels : PixelPair {
  int64_t pixels = 0;  // of both
};

// Decodes both images. A `right` of kind kNone: `left` holds both, side by side. INVALID_ARGUMENT: different shapes.
// RESOURCE_EXHAUSTED as CheckPixels(). Warnings as DecodeImage().
absl::StatusOr<ImagePairPixels> DecodeImagePair(const LaneContext& context, const ImageSource& left,
                                                const ImageSource& right, FrameJob* job);

// Puts the rectified images in place of the raw ones of DecodeImagePair(): they are computed where their rows are
// written. The rectification must outlive them. INVALID_ARGUMENT: images of another shape than the rig's cameras.
absl::Status RectifyImagePair(const LaneContext& context, const Rectification& rectification, ImagePairPixels* pair);

// Decodes one image of a pair, or views it if it is raw; `field` is its name in errors, and in the warnings that are
// added to the job's (image_warnings.h).
absl::StatusOr<Pixels> DecodeImage(const LaneContext& context, absl::string_view field, const ImageSource& source,
                                   PixelScratch* scratch, FrameJob* job);

// Checks the pixels of a pair, whose first image is `field`, against the limit of one image. RESOURCE_EXHAUSTED: more
// than `max_pixels`.
absl::Status CheckPixels(absl::string_view field, int64_t pixels, int64_t max_pixels);

}  // namespace glint

#endif  // GLINT_SERVER_PIXELS_IMAGE_PAIR_H_
