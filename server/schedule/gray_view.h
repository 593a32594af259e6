// From pixels as a client sent them to the grey image that a lane works on.
#ifndef GLINT_SERVER_SCHEDULE_GRAY_VIEW_H_
#define GLINT_SERVER_SCHEDULE_GRAY_VIEW_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/types.h"
#include "server/decode/decode.h"
#include "server/schedule/frame_job.h"

namespace glint {

// Memory for one picture at a time; grows to the largest seen.
struct PixelScratch {
  Image pixels;
  std::vector<uint8_t> bytes;  // a row or a file that came in pieces
};

// The grey pixels of `source`: a view of its own bytes if they are GRAY8 in one piece, otherwise of scratch->pixels,
// filled here. Empty if it has none.
absl::StatusOr<ImageView> GrayView(const ImageSource& source, decode::Decoder* decoder, int64_t max_pixels,
                                   PixelScratch* scratch);

// `status` with the field "image" renamed: decoders speak of "image.width", here it was the mask's.
absl::Status AboutMask(const absl::Status& status);

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_GRAY_VIEW_H_
