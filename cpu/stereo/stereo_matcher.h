// Stereo matching on the CPU. Equal, element for element, to features/reference, at every SIMD target and with any
// number of threads.
//
// Thread-compatible. Scratch grows to the largest pair seen and is then reused: no allocation after that.
#ifndef GLINT_CPU_STEREO_STEREO_MATCHER_H_
#define GLINT_CPU_STEREO_STEREO_MATCHER_H_

#include <cstddef>
#include <cstdint>

#include "cpu/common/buffer.h"
#include "cpu/common/worker_pool.h"
#include "cpu/match/lists.h"
#include "cpu/match/matcher.h"
#include "cpu/match/tiles.h"
#include "cpu/stereo/row_candidates.h"
#include "cpu/stereo/row_pairs.h"
#include "cpu/stereo/window_sad.h"
#include "features/checkpoint.h"
#include "features/stereo.h"

namespace glint::cpu {

class StereoMatcher {
 public:
  // `threads` >= 1 share one call, the caller's included. The SIMD target is chosen here, once, as for Pipeline.
  explicit StereoMatcher(int threads = 1);

  // Valid arguments (ValidateStereoOptions, ValidateStereoInput). False: `checkpoint` ended it, and the result is not
  // that of a match.
  bool Match(const StereoInput& input, const StereoOptions& options, StereoResult* result,
             const Checkpoint& checkpoint = {});

 private:
  // Fills keys_: in lists where the rows leave few pairs.
  bool FindNearest(const StereoInput& input, const StereoOptions& options, const Checkpoint& checkpoint);
  bool JudgeAll(const StereoInput& input, const StereoOptions& options, StereoResult* result,
                const Checkpoint& checkpoint);
  void Judge(const StereoInput& input, const StereoOptions& options, size_t left, StereoResult* result);
  // Rule 3 and a step of it; false if the match is dropped.
  bool Measure(const StereoInput& input, size_t level, const StereoWindows& windows, size_t left, float* disparity);
  bool Refine(const StereoInput& input, const StereoOptions& options, size_t left, size_t right, float* disparity);
  void CutByMedian(StereoResult* result);
  bool CheckPair(const StereoInput& input, const StereoOptions& options, StereoChecks* checks,
                 const Checkpoint& checkpoint);
  // Mutual matches of the keypoints that are checked: how many, in checked_, found_ and found_distance_. False as of
  // Match().
  bool FindMutual(const StereoInput& input, const StereoOptions& options, size_t* mutual, const Checkpoint& checkpoint);
  // Row `index[i]` of `from` for i = 0..count-1, one after the other, in some_.
  DescriptorView Gather(const DescriptorView& from, const int32_t* index, size_t count);

  WorkerPool pool_;
  Matcher matcher_;
  Tiles tiles_;
  Lists lists_;
  CollectCandidates collect_;
  WindowSads window_sads_;
  RowPairs rows_;
  MatchKeys keys_;
  Buffer<int32_t> sad_;  // of each left keypoint: the least, if it has a match
  Buffer<int32_t> sorted_sad_;
  Buffer<float> sorted_dy_;
  // Of CheckPair().
  Buffer<int32_t> checked_;  // left keypoints
  Buffer<int32_t> found_;    // their nearest right ones
  Buffer<int32_t> found_distance_;
  Buffer<uint8_t> some_;  // descriptors of either
  MatchResult nearest_;
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_STEREO_STEREO_MATCHER_H_
