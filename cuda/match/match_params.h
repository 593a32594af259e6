// What the kernels of matching share: one structure that travels to each of them as an argument. Pointers are device
// addresses; arrays are as features/matcher.h has them.
#ifndef GLINT_CUDA_MATCH_MATCH_PARAMS_H_
#define GLINT_CUDA_MATCH_MATCH_PARAMS_H_

#include <cstddef>
#include <cstdint>

#include "features/matcher.h"

namespace glint::cuda {

// A pair as seen from one side: distance, then the other side's index. Compares as the rules' order; the kernels'
// minima of keys are therefore independent of the order in which they are found.
inline constexpr int kIndexBits = 18;
inline constexpr uint32_t kIndexMask = (1u << kIndexBits) - 1;
inline constexpr uint32_t kNoKey = 0xffffffff;
static_assert(kMaxMatchDescriptors <= static_cast<int>(kIndexMask));
static_assert(8 * kMaxDescriptorBytes < 1 << (31 - kIndexBits));

GLINT_HD inline uint32_t MatchKey(int distance, int index) {
  return static_cast<uint32_t>(distance) << kIndexBits | static_cast<uint32_t>(index);
}
GLINT_HD inline int DistanceIn(uint32_t key) { return static_cast<int>(key >> kIndexBits); }
GLINT_HD inline int IndexIn(uint32_t key) { return static_cast<int>(key & kIndexMask); }

// Best queries of the train descriptors, for the cross check, are in a double buffer: FinishMatches() clears the half
// that the call before used. The state is zero, and all keys are kNoKey, before the first call.
struct MatchState {
  uint32_t buffer;   // the set of this call
  uint32_t used[2];  // elements that may not be kNoKey
  uint32_t blocks_done;
};

enum class MatchKernel {
  kTensorCores,  // 256 bits, no conditions, two candidates at most; compute capability 8.0
  kPopcount,     // everything
};

// How one call is done; see PlanMatch().
struct MatchPlan {
  MatchKernel kernel = MatchKernel::kPopcount;
  int index_bits = 5;         // of the tensor kernel's 16-bit keys: 5, or 6 from compute capability 9.0 on
  int keep = 1;               // candidates of a query that are needed
  int columns_per_split = 0;  // train descriptors of a block; a multiple of kColumnGroup
  int splits = 0;             // blocks side by side
};
inline constexpr int kColumnGroup = 64;
inline constexpr int kMaxSplits = 64;
inline constexpr int kMaxColumnsPerSplit = 4096;  // of the tensor kernel
inline constexpr int kMaxPartials = 128;          // keys of a query: splits * keep
static_assert(kMaxSplits * kMaxColumnsPerSplit > kMaxMatchDescriptors && 2 * kMaxSplits <= kMaxPartials);

struct MatchParams {
  const uint8_t* query;  // 8-byte aligned, as `train`
  const uint8_t* train;
  int queries;  // 1 or more
  int trains;   // likewise
  int bytes;    // of a descriptor
  MatchOptions options;
  QueryConditions conditions;
  TrainKeypoints keypoints;
  MatchPlan plan;

  uint32_t* partials;      // [splits][queries][keep] keys, best first
  uint32_t* best_queries;  // [2][best_queries_stride], see MatchState
  int best_queries_stride;
  MatchState* state;
  int32_t* index;     // [queries][options.k], as in MatchResult
  int32_t* distance;  // likewise
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_MATCH_MATCH_PARAMS_H_
