// A lane's matcher on a GPU.
#ifndef GLINT_LANE_CUDA_MATCHING_H_
#define GLINT_LANE_CUDA_MATCHING_H_

#include <memory>

#include "absl/status/status.h"
#include "cuda/match/matcher.h"
#include "features/matcher.h"

namespace glint {

// The device's matcher, allocated for the largest sets so far. Thread-compatible. Errors of cuda::Matcher;
// RESOURCE_EXHAUSTED: no memory for sets of this size.
class CudaMatching {
 public:
  CudaMatching(int ordinal, int sm_limit);

  absl::Status Match(const MatchInput& input, const MatchOptions& options, MatchResult* result);
  // Match() of descriptors that are on the device already.
  absl::Status MatchOnDevice(const MatchInput& input, const MatchOptions& options, MatchResult* result);

 private:
  template <typename Work>
  absl::Status InRoom(const MatchInput& input, Work work);
  absl::Status MakeRoom(const MatchInput& input);

  cuda::MatcherOptions options_;
  std::unique_ptr<cuda::Matcher> matcher_;
};

}  // namespace glint

#endif  // GLINT_LANE_CUDA_MATCHING_H_
