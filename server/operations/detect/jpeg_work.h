// A lane's part of a frame that comes as a JPEG file, where the lane's device decodes.
#ifndef GLINT_SERVER_OPERATIONS_DETECT_JPEG_WORK_H_
#define GLINT_SERVER_OPERATIONS_DETECT_JPEG_WORK_H_

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "features/pixels.h"
#include "server/operations/detect/detect_work.h"

namespace glint {

// Runs a task whose image is encoded on the lane's device, if it can: true, with the times set, and the features in the
// lane's ImageScratch. False: whoever decodes on the CPU finds the same, or the error; `metrics` have why, unless the
// device was not asked. `mask`: the frame's pixels of that.
absl::StatusOr<bool> RunJpeg(const LaneContext& context, const DetectMetrics& metrics,
                             absl::FunctionRef<absl::StatusOr<Pixels>()> mask, const DetectTask& task, FrameJob* job);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_DETECT_JPEG_WORK_H_
