// The corners of a bucket that holds more than a block has memory or the bucket room for.
#ifndef GLINT_CUDA_SELECT_LARGE_BUCKET_CUH_
#define GLINT_CUDA_SELECT_LARGE_BUCKET_CUH_

#include "cuda/select/rank_buckets.cuh"

namespace glint::cuda {

// A bucket's corners: those in it, and then, if it has more, the ones among what the frame has in no bucket.
class LargeBucket {
 public:
  __device__ __forceinline__ LargeBucket(const Frame& frame, int l, int bucket, const BucketMemory& memory)
      : keys_(KeysOf(bucket)),
        x_bits_(BitsOf(frame.level[l].width - 1)),
        position_bits_(x_bits_ + BitsOf(frame.level[l].height - 1)) {
    const auto room = static_cast<uint32_t>(frame.level[l].bucket_room);
    inside_ = min(memory.SizeOf(bucket), room);
    others_ = memory.SizeOf(bucket) > room ? memory.overflow : 0;
    bucket_ = reinterpret_cast<const uint4*>(frame.level[l].buckets + bucket * room);
    overflow_ = reinterpret_cast<const uint4*>(frame.level[l].overflow);
  }

  // A number that is larger the earlier the bucket's corner is in output order, of bits() bits; the lowest
  // position_bits() are the same for no two corners of one key.
  __device__ __forceinline__ uint64_t OrderOf(Candidate c) const {
    const int y_x = YOf(~c.position) << x_bits_ | (XOf(~c.position) & ((1 << x_bits_) - 1));
    return static_cast<uint64_t>(c.key - keys_.first) << position_bits_ | (y_x & ((1 << position_bits_) - 1));
  }
  __device__ __forceinline__ int position_bits() const { return position_bits_; }
  __device__ __forceinline__ int bits() const { return position_bits_ + BitsOf(keys_.last - keys_.first); }

  // Calls f(whether there is a corner, the corner) for each corner, by all threads of a warp together. All threads of
  // the block must call.
  template <int kThreads, typename F>
  __device__ __forceinline__ void ForEach(F f) const {
    constexpr uint32_t kAtOnce = kThreads > 256 ? 4 : 6;  // loads of a thread, of two corners each
#pragma unroll 1
    for (int source = 0; source < 2; ++source) {
      const uint32_t count = source == 0 ? inside_ : others_;
      const uint4* const corners = source == 0 ? bucket_ : overflow_;
#pragma unroll 1
      for (uint32_t first = 0; 2 * first < count; first += kAtOnce * kThreads) {
        uint4 both[kAtOnce];
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; ++j) {
          const uint32_t i = first + j * kThreads + threadIdx.x;
          both[j] = corners[2 * i < count ? i : 0];
        }
#pragma unroll
        for (uint32_t j = 0; j < kAtOnce; ++j) {
          const uint32_t at = 2 * (first + j * kThreads + threadIdx.x);
          const Candidate one = {both[j].x, both[j].y};
          const Candidate other = {both[j].z, both[j].w};
          const bool has_one = at < count && Has(one);
          const bool has_other = at + 1 < count && Has(other);
          // What is in no bucket are mostly others.
          if (!__any_sync(kFullWarp, has_one || has_other)) continue;
          f(has_one, one);
          f(has_other, other);
        }
      }
    }
  }

 private:
  // The least number of bits that n has room in.
  static __device__ __forceinline__ int BitsOf(uint32_t n) { return 32 - __clz(static_cast<int>(n)); }
  __device__ __forceinline__ bool Has(Candidate c) const { return c.key - keys_.first <= keys_.last - keys_.first; }

  const BucketKeys keys_;
  const int x_bits_;
  const int position_bits_;
  uint32_t inside_;
  uint32_t others_;
  const uint4* bucket_;
  const uint4* overflow_;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_LARGE_BUCKET_CUH_
