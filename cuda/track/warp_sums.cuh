// Sums over the pixels of a patch: of a lane, then of the warp.
#ifndef GLINT_CUDA_TRACK_WARP_SUMS_CUH_
#define GLINT_CUDA_TRACK_WARP_SUMS_CUH_

#include <cstdint>

#include "cuda/common/warp.cuh"
#include "features/track_math.h"

namespace glint::cuda {

// Sums over the warp that need more than 32 bits. The low bits of a lane's sum are added as they are; the high ones of
// all sums together, with an offset that keeps them from being negative.
template <int kCount>
__device__ __forceinline__ void WideWarpSums(const int (&lane)[kCount], int64_t (&sums)[kCount]) {
  constexpr int kLowBits = 27;  // 32 times that is below 2^32
  constexpr int kHighOffset = 1 << (31 - kLowBits);
  constexpr int kHighBits = 10;  // of 32 high parts, 0..2 * kHighOffset - 1 each
  static_assert(kCount * kHighBits <= 32, "the high parts fit into a word");
  uint32_t high = 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    high |= static_cast<uint32_t>((lane[i] >> kLowBits) + kHighOffset) << (i * kHighBits);
  high = static_cast<uint32_t>(WarpSum(static_cast<int>(high)));
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const auto low = static_cast<uint32_t>(WarpSum(lane[i] & ((1 << kLowBits) - 1)));
    const int part = static_cast<int>(high >> (i * kHighBits) & ((1u << kHighBits) - 1)) - kWarp * kHighOffset;
    sums[i] = static_cast<int64_t>(part) * (int64_t{1} << kLowBits) + low;
  }
}
__device__ __forceinline__ int64_t WideWarpSum(int lane) {
  const int in[1] = {lane};
  int64_t out[1];
  WideWarpSums(in, out);
  return out[0];
}

// A lane's part of TemplateSums.
struct LaneTemplateSums {
  int xx, xy, yy, xt, yt;
  int x, y, t, xb, yb, bb, bt, b;  // only with an intensity model
};

// Gradients of pixels that do not count are 0.
template <bool kIntensity>
__device__ __forceinline__ void AddTemplatePixel(int x, int y, int sample, bool counts, LaneTemplateSums* s) {
  s->xx += x * x;
  s->xy += x * y;
  s->yy += y * y;
  s->xt += x * sample;
  s->yt += y * sample;
  if (!kIntensity) return;
  const int basis = counts ? GainBasis(sample) : 0;
  s->x += x;
  s->y += y;
  s->t += counts ? sample : 0;
  s->xb += x * basis;
  s->yb += y * basis;
  s->bb += basis * basis;
  s->bt += basis * sample;
  s->b += basis;
}

// Of a patch of which `n` pixels count. kMaxPatch: its largest side; products of two factors of a small one fit into 32
// bits.
template <bool kIntensity, int kMaxPatch>
__device__ __forceinline__ TemplateSums SumOverWarp(int n, const LaneTemplateSums& s) {
  constexpr bool kFits = int64_t{kMaxPatch} * kMaxPatch * kMaxTrackFactor * kMaxTrackFactor < int64_t{1} << 31;
  const auto products = [](const int(&lane)[3], int64_t(&sums)[3]) {
    if constexpr (kFits) {
      for (int i = 0; i < 3; ++i) sums[i] = WarpSum(lane[i]);
    } else {
      WideWarpSums(lane, sums);
    }
  };
  TemplateSums t = {};
  t.n = n;
  int64_t three[3];
  products({s.xx, s.xy, s.yy}, three);
  t.xx = three[0];
  t.xy = three[1];
  t.yy = three[2];
  if (!kIntensity) {
    int64_t two[2];
    WideWarpSums({s.xt, s.yt}, two);
    t.xt = two[0];
    t.yt = two[1];
    return t;
  }
  WideWarpSums({s.xt, s.yt, s.bt}, three);
  t.xt = three[0];
  t.yt = three[1];
  t.bt = three[2];
  products({s.xb, s.yb, s.bb}, three);
  t.xb = three[0];
  t.yb = three[1];
  t.bb = three[2];
  t.x = WarpSum(s.x);
  t.y = WarpSum(s.y);
  t.t = WarpSum(s.t);
  t.b = WarpSum(s.b);
  return t;
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_TRACK_WARP_SUMS_CUH_
