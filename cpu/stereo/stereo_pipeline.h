// Pairs of images on the CPU, from pixels to matches: a pipeline for each eye, side by side where there are threads for
// both. Features are those of Pipeline::Detect(), matches those of reference::MatchStereo, with any number of threads.
//
// Thread-compatible. Scratch grows to the largest pair seen and is then reused: no allocation after that.
#ifndef GLINT_CPU_STEREO_STEREO_PIPELINE_H_
#define GLINT_CPU_STEREO_STEREO_PIPELINE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "cpu/pipeline.h"
#include "cpu/stereo/stereo_matcher.h"
#include "cpu/worker_pool.h"
#include "features/options.h"
#include "features/stereo.h"
#include "features/types.h"

namespace glint::cpu {

// Wall clock of the caller. The sum is the whole call.
struct StereoTimes {
  int64_t detect_ns = 0;  // until both eyes are done
  int64_t match_ns = 0;
};

class StereoPipeline {
 public:
  // `threads` >= 1 share a pair, the caller's included.
  explicit StereoPipeline(int threads = 1);

  // Arguments must be valid (ValidateOptions, ValidateImages, ValidateStereoOptions), the images of one shape. `times`
  // may be null. INVALID_ARGUMENT: a detector without descriptors, images of two shapes; all results are then cleared.
  absl::Status Detect(const DetectorOptions& detector, const ImageView& left, const ImageView& right,
                      const StereoOptions& options, Features* left_features, Features* right_features,
                      StereoResult* result, StereoTimes* times);

 private:
  WorkerPool eyes_;  // of one thread or two
  Pipeline left_;
  Pipeline right_;
  StereoMatcher matcher_;
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_STEREO_STEREO_PIPELINE_H_
