// Detection on a lane.
#ifndef GLINT_SERVER_OPERATIONS_DETECT_DETECT_WORK_H_
#define GLINT_SERVER_OPERATIONS_DETECT_DETECT_WORK_H_

#include "absl/status/status.h"
#include "features/options.h"
#include "features/types.h"
#include "server/operations/detect/detect_metrics.h"
#include "server/operations/detect/stream_mask.h"
#include "server/pixels/image_source.h"
#include "server/schedule/lane_context.h"

namespace glint {

struct DetectTask {
  DetectorOptions options;  // valid
  ImageSource image;
  ImageSource mask;                   // kNone: `stream_mask`, if any
  StreamMask* stream_mask = nullptr;  // shared by the frames of a stream; may be null
  Region region;

  const Features* features = nullptr;  // result, in the lane's memory
  double other_mask_values = 0;        // the share of the mask's pixels that are neither 0 nor 255
};

// Decodes the image and mask and detects features; the result is in `task`. Thread-safe.
absl::Status RunDetect(const LaneContext& context, const DetectMetrics& metrics, DetectTask* task, FrameJob* job);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_DETECT_DETECT_WORK_H_
