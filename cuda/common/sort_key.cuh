// The order of corners as integers: keys, and the bins of a key.
#ifndef GLINT_CUDA_COMMON_SORT_KEY_CUH_
#define GLINT_CUDA_COMMON_SORT_KEY_CUH_

#include <cstdint>

#include "cuda/plan/frame.h"
#include "cuda/plan/selection_params.h"
#include "features/math.h"

namespace glint::cuda {

// A corner as one number that is larger the earlier the corner is in the output of its level. Never 0.
__device__ __forceinline__ uint64_t Precedence(Candidate c) {
  return static_cast<uint64_t>(c.key) << 32 | static_cast<uint32_t>(~c.position);
}
__device__ __forceinline__ Candidate CornerOf(uint64_t precedence) {
  return {~static_cast<uint32_t>(precedence), static_cast<uint32_t>(precedence >> 32)};
}

// A candidate's key from a score, see SelectionParams.
__device__ __forceinline__ uint32_t KeyOf(const SelectionParams& params, uint32_t raw) {
  if (params.score == Score::kHarris) return raw;
  return OrderedKey(__float_as_uint(static_cast<float>(raw) * params.key_scale));
}

// Bin of a Harris key, monotonic: 32 bins an octave below 1.0, the largest possible response; the rest falls into the
// first or last bin.
inline constexpr int kHarrisBinShift = 18;  // sign, 8 exponent and 5 mantissa bits stay
__device__ __forceinline__ int HarrisBin(uint32_t key) {
  constexpr int kOne = 0xbf800000u >> kHarrisBinShift;
  return Clamp(static_cast<int>(key >> kHarrisBinShift) - (kOne + 32 - kBins), 0, kBins - 1);
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_COMMON_SORT_KEY_CUH_
