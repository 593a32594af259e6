// A lane's part of a match or a stereo pair.
#ifndef GLINT_SERVER_OPERATIONS_MATCH_MATCH_WORK_H_
#define GLINT_SERVER_OPERATIONS_MATCH_MATCH_WORK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "decode/decode.h"
#include "lane/lane.h"
#include "server/pixels/job_pixels.h"
#include "server/schedule/frame_queue.h"

namespace glint {

// What a lane's thread reuses from pair to pair.
struct PairScratch {
  PixelScratch second;
  Features train;
  DescriptorSet sides[2];
  ConditionArrays conditions;
  MatchResult matches;
  StereoFound stereo;
};

// Runs a job of Work::kMatch or kStereo. `features` are those of the first image, and job->found is set if the result
// is OK. The images together must not have more than `max_pixels`. `first` and `decoder` as for PixelsOf().
absl::Status RunPair(Lane* lane, int64_t max_pixels, FrameQueue* queue, decode::Decoder* decoder, PixelScratch* first,
                     PairScratch* scratch, FrameJob* job, Features* features);

// The eyes of a pair: job->image and, unless it has both side by side, job->second. INVALID_ARGUMENT: they have two
// shapes. Borrowed from the job and both scratches.
struct EyePixels {
  Pixels left, right;
  int64_t pixels = 0;  // of both
};
absl::StatusOr<EyePixels> EyesOf(const FrameJob& job, bool side_by_side, int64_t max_pixels, decode::Decoder* decoder,
                                 PixelScratch* first, PixelScratch* second);

// One of them; `field` is what errors call it.
absl::StatusOr<Pixels> EyeOf(absl::string_view field, const ImageSource& source, int64_t max_pixels,
                             decode::Decoder* decoder, PixelScratch* scratch);

// Both images of a pair are one image to the limit: RESOURCE_EXHAUSTED.
absl::Status CheckPixels(int64_t pixels, int64_t max_pixels);

// CANCELLED or DEADLINE_EXCEEDED if nobody waits for the frame any more.
absl::Status CheckWanted(FrameJob* job);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_MATCH_WORK_H_
