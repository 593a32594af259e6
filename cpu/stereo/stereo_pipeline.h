// Pairs of images on the CPU, from pixels to matches: one image after the other, or side by side, each with a pipeline
// of its own, where there are threads for both. Features are those of Pipeline::Detect(), matches those of
// reference::MatchStereo, with any number of threads.
//
// Thread-compatible. Scratch grows to the largest pair seen and is then reused: no allocation after that.
#ifndef GLINT_CPU_STEREO_STEREO_PIPELINE_H_
#define GLINT_CPU_STEREO_STEREO_PIPELINE_H_

#include <array>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "cpu/common/worker_pool.h"
#include "cpu/pipeline.h"
#include "cpu/stereo/stereo_matcher.h"
#include "features/checkpoint.h"
#include "features/options.h"
#include "features/stereo.h"
#include "features/types.h"

namespace glint::cpu {

// Wall clock of the caller; detect_ns and match_ns are the whole call.
struct StereoTimes {
  int64_t detect_ns = 0;  // until both images are done
  int64_t match_ns = 0;
  StageTimes left, right;  // as of Pipeline::Detect(); with two threads and more at the same time
};

class StereoPipeline {
 public:
  // `threads` >= 1 share a pair, the caller's included.
  explicit StereoPipeline(int threads = 1) : StereoPipeline(threads, nullptr) {}
  // The same; a single thread detects with `shared`, which must outlive this, so that single images and pairs need
  // the memory of one pipeline and of one more pyramid.
  StereoPipeline(int threads, Pipeline* shared);

  // Arguments must be valid (ValidateOptions, ValidateImages of each image and its mask, ValidateStereoOptions), the
  // images of one shape. `times` may be null. INVALID_ARGUMENT: a detector without descriptors, images of two shapes.
  // CANCELLED: `checkpoint` ended it, between images or parts of the matching. On error all results are cleared.
  absl::Status Detect(const DetectorOptions& detector, const ImagePair& pair, const StereoOptions& options,
                      Features* left_features, Features* right_features, StereoResult* result, StereoTimes* times,
                      const Checkpoint& checkpoint = {});

 private:
  struct Side {
    ImageView image, mask;
    Features* features;
    StageTimes times;
    std::array<ImageView, kMaxLevels> levels;
  };
  absl::Status DetectSides(const DetectorOptions& detector, Side (&sides)[2], const Checkpoint& checkpoint);

  std::unique_ptr<Pipeline> own_[2];  // the second for images side by side
  Pipeline* const first_;             // the left image's, or both images'
  WorkerPool workers_;                // of one thread or two
  StereoMatcher matcher_;
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_STEREO_STEREO_PIPELINE_H_
