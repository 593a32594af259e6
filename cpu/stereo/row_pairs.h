// The keypoints of a pair in an order in which left ones need few of the right ones: the rows of the image.
// Thread-compatible; allocates only beyond the largest pair so far.
#ifndef GLINT_CPU_STEREO_ROW_PAIRS_H_
#define GLINT_CPU_STEREO_ROW_PAIRS_H_

#include <cstddef>
#include <cstdint>

#include "cpu/common/buffer.h"
#include "cpu/match/kernels.h"
#include "cpu/stereo/row_candidates.h"
#include "features/stereo.h"

namespace glint::cpu {

class RowPairs {
 public:
  // Takes the keypoints of a pair; neither image is without. `input` must outlive the use of what follows.
  void Build(const StereoInput& input, const StereoOptions& options);
  // How many pairs there are in the rows that left keypoints reach.
  int64_t pairs() const { return pairs_; }

  // Writes the numbers of the right keypoints that a left one may be paired with, by rule 1 of features/stereo.h.
  size_t Collect(CollectCandidates collect, const StereoOptions& options, int left, int32_t* numbers) const;
  // The same rule for a kernel: left keypoints are the queries. What is set for each call of a kernel is not set.
  MatchJob Job(const StereoOptions& options);

 private:
  void SortRight(const StereoOptions& options);
  void FindRanges(const StereoOptions& options);
  void SortLeft();

  StereoInput input_;
  Buffer<int32_t> bin_;                       // row of a right keypoint, octave and row of a left one
  Buffer<int32_t> first_right_, first_left_;  // of each bin, where its keypoints begin; one more
  Buffer<int32_t> left_, from_, to_, right_;  // as in MatchJob
  Buffer<float> left_row_, x_, low_, high_;   // as in StereoConditions
  Buffer<int32_t> octave_;                    // likewise
  StereoConditions conditions_;
  int64_t pairs_ = 0;
};

}  // namespace glint::cpu

#endif  // GLINT_CPU_STEREO_ROW_PAIRS_H_
