// Detection on a lane.
#ifndef GLINT_SERVER_OPERATIONS_DETECT_DETECT_WORK_H_
#define GLINT_SERVER_OPERATIONS_DETECT_DETECT_WORK_H_

#include "absl/status/status.h"
#include "features/options.h"
#include "features/types.h"
#include "server/operations/detect/detect_metrics.h"
#include "server/pixels/image_source.h"
#include "server/pixels/stream_mask.h"
#include "server/schedule/lane_context.h"
#include "server/wire/rays.h"

namespace glint {

struct DetectTask {
  DetectorOptions options;  // valid
  ImageSource image;
  ImageSource mask;                   // kNone: `stream_mask`, if any
  StreamMask* stream_mask = nullptr;  // shared by the frames of a stream; may be null
  Region region;
  const Camera* camera = nullptr;  // of the image; null: no rays

  const Features* features = nullptr;  // result, in the lane's memory
  const Rays* rays = nullptr;          // of the features, in the lane's memory; null without a camera
  double other_mask_values = 0;        // the share of the mask's pixels that are neither 0 nor 255
};

// Decodes the image and mask and detects features; the result is in `task`. The time of rays is the download's.
// INVALID_ARGUMENT: an image of another size than the camera. Thread-safe.
absl::Status RunDetect(const LaneContext& context, const DetectMetrics& metrics, DetectTask* task, FrameJob* job);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_DETECT_DETECT_WORK_H_
