// Makes stereo matchers and pipelines over any Api: how tests inject faults.
#ifndef GLINT_CUDA_STEREO_STEREO_FACTORY_H_
#define GLINT_CUDA_STEREO_STEREO_FACTORY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "cuda/runtime/api.h"
#include "cuda/stereo/stereo_matcher.h"
#include "cuda/stereo/stereo_pipeline.h"

namespace glint::cuda {

class StereoFactory {
 public:
  // As the Create() of each. `api` must outlive what is made.
  static absl::StatusOr<std::unique_ptr<StereoMatcher>> CreateMatcher(const StereoMatcherOptions& options, Api* api);
  static absl::StatusOr<std::unique_ptr<StereoPipeline>> CreatePipeline(const PipelineOptions& options, Api* api);
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_STEREO_STEREO_FACTORY_H_
