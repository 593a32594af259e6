// What the kernels of stereo matching share: structures that travel to each of them as arguments. Pointers are device
// addresses; those of a result are of memory that the host reads.
#ifndef GLINT_CUDA_STEREO_STEREO_PARAMS_H_
#define GLINT_CUDA_STEREO_STEREO_PARAMS_H_

#include <cstddef>
#include <cstdint>

#include "cuda/plan/frame.h"
#include "features/stereo.h"

namespace glint::cuda {

// A level of both eyes' pyramids. Images begin at multiples of 4 and have a pitch that is one; rows may be read up to
// 16 bytes beyond, as those of Level.
struct StereoLevel {
  const uint8_t* left;  // null without refine
  const uint8_t* right;
  int left_pitch;
  int right_pitch;
  int width;
  int height;
  float scale;
};

// An eye's keypoints, one after another, in the order of Features.
struct StereoKeypoints {
  float* x;
  float* y;
  int32_t* octave;
  uint8_t* descriptors;  // 8-byte aligned; StereoParams::bytes each
  int count;
};

// An eye's keypoints as a pipeline leaves them, by levels: what GatherKeypoints() makes StereoKeypoints from.
// Descriptors are of kRbriefBytes.
struct StereoSource {
  const RankedCorner* ranked[kMaxLevels];
  const uint8_t* descriptors[kMaxLevels];
  int first[kMaxLevels];      // the number of the level's first keypoint; of levels after the last, the count
  uint8_t* gathered_on_host;  // descriptors once more, for the host
};
struct StereoSources {
  StereoSource left;
  StereoSource right;
};

// A right keypoint, in the list by rows.
struct alignas(16) StereoCandidate {
  float x;
  float y;
  int32_t octave;
  int32_t index;
};

// What is found for a left keypoint. Without a match, `right` is kNoMatch.
struct alignas(16) FoundMatch {
  int32_t right;
  int32_t distance;
  float disparity;
  int32_t sad;  // the least; 0 without refine
};

// The beginning of the memory that the host reads.
struct alignas(64) StereoHeader {
  int32_t matches;
  int32_t checked_matches;
  int32_t sure_matches;
  int32_t negative_disparities;
  float median_dy;
};

struct StereoParams {
  StereoOptions options;
  int levels;
  int bytes;  // of a descriptor
  StereoLevel level[kMaxLevels];
  StereoKeypoints left;
  StereoKeypoints right;

  // The right keypoints by rows of the image. Counts are all zero before a call and after it.
  uint32_t* row_counts;         // [height]
  uint32_t* row_first;          // [height + 1]
  uint32_t* row_slot;           // of each right keypoint, its place in its row
  StereoCandidate* candidates;  // by rows

  uint32_t* nearest_right;  // of each left keypoint: MatchKey(), or kNoKey
  uint32_t* nearest_left;   // of each right keypoint, likewise
  FoundMatch* found;        // of each left keypoint
  // Of all left with all right descriptors, see MatchParams::index; for StereoChecks.
  const int32_t* checked_index;
  const int32_t* checked_distance;

  StereoHeader* header;
  // As in StereoResult.
  int32_t* right_index;
  int32_t* distance;
  float* right_x;
  float* disparity;
  float* depth;
};
static_assert(sizeof(StereoParams) + sizeof(StereoSources) <= 4000, "kernel arguments");

}  // namespace glint::cuda

#endif  // GLINT_CUDA_STEREO_STEREO_PARAMS_H_
