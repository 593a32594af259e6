// Pairs of images on CUDA, from pixels to matches: both eyes are detected and described at the same time, each by a
// pipeline with a stream of its own, and matched where their keypoints, descriptors and pyramids lie. Features are
// those of Pipeline::Detect(), matches those of reference::MatchStereo. A build without CUDA has the same functions;
// Create() then returns an error that says so.
//
// Thread-compatible: one call at a time per StereoPipeline. As for Pipeline, a pair of known (shape, options) allocates
// nothing.
#ifndef GLINT_CUDA_STEREO_STEREO_PIPELINE_H_
#define GLINT_CUDA_STEREO_STEREO_PIPELINE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/pipeline.h"
#include "features/matcher.h"
#include "features/options.h"
#include "features/pixels.h"
#include "features/stereo.h"
#include "features/types.h"

namespace glint::cuda {

// Wall clock of the caller. The sum is the whole call.
struct StereoTimes {
  int64_t detect_ns = 0;  // upload and detection, until both eyes are done
  int64_t match_ns = 0;   // matching, with reading keypoints and matches
};

// Of both images, at the device's addresses, one after the other.
struct DescriptorsOnDevice {
  DescriptorView first, second;
};

class StereoPipeline {
 public:
  // As Pipeline::Create(). Both eyes run on the same multiprocessors if there is an sm_limit.
  static absl::StatusOr<std::unique_ptr<StereoPipeline>> Create(const PipelineOptions& options);
  ~StereoPipeline();
  StereoPipeline(const StereoPipeline&) = delete;
  StereoPipeline& operator=(const StereoPipeline&) = delete;

  // Arguments must be valid (ValidateOptions, ValidatePixels of each image and its mask, ValidateStereoOptions), the
  // images of one shape, as those of Pipeline::Detect(). `times` may be null. INVALID_ARGUMENT: a detector without
  // descriptors, images of two shapes. On error all results are cleared. RESOURCE_EXHAUSTED leaves the pipeline usable;
  // after INTERNAL see fatal().
  absl::Status Detect(const DetectorOptions& detector, const PixelPair& pair, const StereoOptions& options,
                      Features* left_features, Features* right_features, StereoResult* result, StereoTimes* times);

  // Finds features alone, in two images of any shapes, as Detect() otherwise. Their descriptors stay on the device,
  // too, until the next call, for Matcher::MatchOnDevice(). Of `times`, match_ns is what the host reads.
  absl::Status DetectImages(const DetectorOptions& detector, const Pixels& first, const Pixels& second,
                            Features* first_features, Features* second_features, DescriptorsOnDevice* descriptors,
                            StereoTimes* times);

  // An image of the last call, which had no error, at its address on the device; until the next call.
  ImageView image_on_device(bool is_right) const;

  // Not OK after a sticky CUDA error: this process can use the device no more.
  const absl::Status& fatal() const;

 private:
  friend class StereoFactory;
  struct Impl;
  explicit StereoPipeline(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_STEREO_STEREO_PIPELINE_H_
