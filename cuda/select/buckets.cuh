// Where candidates are put that come with the response that ranks them, Harris at every corner: each into a bucket of
// its level, of which bucket 0 is the best. Counters::histogram counts what a bucket is to hold; what it has no room
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

  uint32_t first, last;  // of a bucket
};

__device__ __forceinline__ int BucketOf(uint32_t key) {
  using Keys = BucketKeys;
  if (key >= Keys::kZero) return Clamp(Keys::kHigh - static_cast<int>(key >> Keys::kShift), 0, Keys::kPositive - 1);
  return Keys::kPositive + Clamp(static_cast<int>(~key >> Keys::kNegativeShift) - Keys::kLow, 0, Keys::kNegative - 1);
}

__device__ __forceinline__ BucketKeys KeysOf(int bucket) {
  using Keys = BucketKeys;
  if (bucket < Keys::kPositive) {
    const auto high = static_cast<uint32_t>(Keys::kHigh - bucket);
    return {bucket < Keys::kPositive - 1 ? high << Keys::kShift : Keys::kZero,
            bucket > 0 ? ((high + 1) << Keys::kShift) - 1 : ~0u};
  }
  const int of_negative = bucket - Keys::kPositive;
  const auto low = static_cast<uint32_t>(Keys::kLow + of_negative);
  return {of_negative < Keys::kNegative - 1 ? ~(((low + 1) << Keys::kNegativeShift) - 1) : 0,
          of_negative > 0 ? ~(low << Keys::kNegativeShift) : Keys::kZero - 1};
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_BUCKETS_CUH_
