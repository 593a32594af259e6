// A lane's part of a pair that is to be located, or of a request about a map.
#ifndef GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_WORK_H_
#define GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_WORK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "decode/decode.h"
#include "lane/lane.h"
#include "server/pixels/job_pixels.h"
#include "server/schedule/frame_queue.h"

namespace glint {

// What a pair is charged until it is known what it took, as pixels of a detector, of about a nanosecond each.
inline constexpr int64_t kPixelsOfLocation = 20'000'000;

// What a lane's thread reuses from pair to pair.
struct LocalizeScratch {
  PixelScratch second;
  Image left, right;  // pixels that do not lie side by side
  Location location;
  MapPart part;
};

// Runs a job of Work::kLocalize or kMap; job->located is set if the result is OK. Both eyes together have up to
// `max_pixels`. `first` and `decoder` as for PixelsOf(). The lane finds, matches and follows features; the pose is
// found in this thread, and the map adjusted in those of the stream. What that takes and frees is not counted as the
// frame path's.
absl::Status RunLocalize(Lane* lane, int64_t max_pixels, FrameQueue* queue, decode::Decoder* decoder,
                         PixelScratch* first, LocalizeScratch* scratch, FrameJob* job);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_WORK_H_
