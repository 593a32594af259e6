// Detection in JPEG files on a lane whose device decodes them.
#ifndef GLINT_SERVER_OPERATIONS_DETECT_JPEG_WORK_H_
#define GLINT_SERVER_OPERATIONS_DETECT_JPEG_WORK_H_

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "features/pixels.h"
#include "server/operations/detect/detect_work.h"

namespace glint {

// Runs a task with an encoded image on the lane's device, if possible. True: done, with the times set and the features
// in the lane's ImageScratch. False: decode on the CPU instead, which gives the same features or the error; `metrics`
// count the reason unless the device was not tried. `mask` returns the pixels of the frame's mask.
absl::StatusOr<bool> RunJpeg(const LaneContext& context, const DetectMetrics& metrics,
                             absl::FunctionRef<absl::StatusOr<Pixels>()> mask, const DetectTask& task, FrameJob* job);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_DETECT_JPEG_WORK_H_
