// A lane's part of a frame that comes as a JPEG file, where the lane's device decodes.
#ifndef GLINT_SERVER_OPERATIONS_DETECT_JPEG_WORK_H_
#define GLINT_SERVER_OPERATIONS_DETECT_JPEG_WORK_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "decode/decode.h"
#include "features/pixels.h"
#include "features/types.h"
#include "lane/lane.h"
#include "server/pixels/job_pixels.h"
#include "server/schedule/frame_job.h"
#include "server/schedule/frame_queue.h"

namespace glint {

// Runs a job of Work::kDetect whose image is encoded on the lane's device, if it can: true, with the times set. False:
// whoever decodes on the CPU finds the same, or the error; job->jpegs has why, unless the device was not asked.
// `mask`: the frame's pixels of that. The rest as for PixelsOf().
absl::StatusOr<bool> RunJpeg(Lane* lane, int64_t max_pixels, FrameQueue* queue, decode::Decoder* decoder,
                             absl::FunctionRef<absl::StatusOr<Pixels>()> mask, PixelScratch* scratch, FrameJob* job,
                             Features* features);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_DETECT_JPEG_WORK_H_
