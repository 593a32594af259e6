// Where candidates of Selection::kTopN are put that come with the response that ranks them: each into a bucket of its
// level, of which bucket 0 is the best. Counters::histogram counts what a bucket is to hold; what it has no room
// for is in Level::overflow.
#ifndef GLINT_CUDA_SELECT_BUCKETS_CUH_
#define GLINT_CUDA_SELECT_BUCKETS_CUH_

#include <cstdint>

#include "cuda/common/warp.cuh"

namespace glint::cuda {

// Of the Harris key. 32 buckets an octave for positive measures, 8 for negative ones, of which there can be many, but
// few matter; what is beyond 2^-2, or nearer to 0 than 2^-28, falls into the bucket next to it.
struct BucketKeys {
  static constexpr int kNegative = 192;  // buckets
  static constexpr int kPositive = kBins - kNegative;
  static constexpr int kShift = 18;          // exponent and 5 mantissa bits stay
  static constexpr int kNegativeShift = 20;  // and 3
  static constexpr uint32_t kZero = 0x80000000;
  static constexpr int kHigh = 0xbe800000 >> kShift;         // OrderedKey() of 2^-2
  static constexpr int kLow = 0xb1800000 >> kNegativeShift;  // ~OrderedKey(), of -2^-28
};

__device__ __forceinline__ int BucketOf(uint32_t key) {
  using Keys = BucketKeys;
  if (key >= Keys::kZero) return Clamp(Keys::kHigh - static_cast<int>(key >> Keys::kShift), 0, Keys::kPositive - 1);
  return Keys::kPositive + Clamp(static_cast<int>(~key >> Keys::kNegativeShift) - Keys::kLow, 0, Keys::kNegative - 1);
}

// Puts a candidate into its bucket or, if that is full, beside them.
__device__ __forceinline__ void PutIntoBucket(const Frame& frame, int l, Candidate c) {
  const Level& level = frame.level[l];
  const int bucket = BucketOf(c.key);
  const uint32_t slot = atomicAdd(&frame.counters->histogram[l][bucket], 1u);
  if (slot < static_cast<uint32_t>(level.bucket_room)) {
    level.buckets[bucket * level.bucket_room + slot] = c;
  } else {
    level.overflow[atomicAdd(&frame.counters->overflow[l], 1u)] = c;
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_BUCKETS_CUH_
