// The CUDA backend of stereo matching: one matcher with its stream and its memory, for keypoints and pyramids in host
// memory. Equal to reference::MatchStereo, element for element. stereo_pipeline.h is for pairs of images, of which
// nothing has to travel. A build without CUDA has the same functions; Create() then returns an error that says so.
//
// Thread-compatible: one call at a time per StereoMatcher; StereoMatchers share nothing. Memory grows to the largest
// pair seen: no allocation after that.
#ifndef GLINT_CUDA_STEREO_STEREO_MATCHER_H_
#define GLINT_CUDA_STEREO_STEREO_MATCHER_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/stereo.h"

namespace glint::cuda {

struct StereoMatcherOptions {
  int device = 0;    // CUDA ordinal
  int sm_limit = 0;  // run on this many multiprocessors (a green context; CUDA 12.5+); 0 = all
};

class StereoMatcher {
 public:
  // FAILED_PRECONDITION: built without CUDA, no driver, no such device. RESOURCE_EXHAUSTED: out of memory.
  static absl::StatusOr<std::unique_ptr<StereoMatcher>> Create(const StereoMatcherOptions& options);
  ~StereoMatcher();
  StereoMatcher(const StereoMatcher&) = delete;
  StereoMatcher& operator=(const StereoMatcher&) = delete;

  // Valid arguments (ValidateStereoOptions, ValidateStereoInput), in host memory. On error the result has no elements.
  // RESOURCE_EXHAUSTED leaves the matcher usable; after INTERNAL from a lost device this process can use the device no
  // more.
  absl::Status Match(const StereoInput& input, const StereoOptions& options, StereoResult* result);

 private:
  friend class StereoFactory;
  struct Impl;
  explicit StereoMatcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_STEREO_STEREO_MATCHER_H_
