// Stereo matching on a lane.
#ifndef GLINT_SERVER_OPERATIONS_STEREO_STEREO_WORK_H_
#define GLINT_SERVER_OPERATIONS_STEREO_STEREO_WORK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "features/options.h"
#include "features/stereo.h"
#include "features/types.h"
#include "server/pixels/pair_masks.h"
#include "server/pixels/rectification.h"
#include "server/schedule/lane_context.h"
#include "server/wire/convert.h"

namespace glint {

struct StereoCriteria {
  StereoOptions options;                       // valid
  int64_t max_time_difference_ns = 5'000'000;  // a larger difference is a warning
};

struct StereoTask {
  DetectorOptions detector;  // valid, with descriptors
  StereoCriteria criteria;
  ImagePairSources pair;
  const PairMasks* masks = nullptr;              // of the stream
  const Rectification* rectification = nullptr;  // of raw images; null: they are rectified
  int64_t left_time_ns = 0, right_time_ns = 0;   // of capture; 0: unknown

  // Results, in the lane's memory.
  const Features* left = nullptr;
  int rights = 0;  // number of right keypoints
  const StereoResult* matches = nullptr;
};

// Runs the pair. Errors of DecodeImagePair(), RectifyImagePair() and PairMasks::Use().
absl::Status RunStereo(const LaneContext& context, StereoTask* task, FrameJob* job);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_STEREO_STEREO_WORK_H_
