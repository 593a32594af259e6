// Which right keypoints of some rows a left one may be paired with, one function per SIMD target. Internal to Glint.
// Pure functions: thread-safe.
#ifndef GLINT_CPU_STEREO_ROW_CANDIDATES_H_
#define GLINT_CPU_STEREO_ROW_CANDIDATES_H_

#include <cstddef>
#include <cstdint>

#include "features/stereo.h"

namespace glint::cpu {

// Right keypoints by rows, with what rule 1 looks at. kCandidatePad elements behind the last may be read.
struct RowCandidates {
  const float* x;
  const float* low;  // StereoBand
  const float* high;
  const int32_t* octave;
  const int32_t* index;
};
inline constexpr size_t kCandidatePad = 16;

// Those of [first, last) that pass IsStereoPair(): writes their indices, in order, and returns how many.
using CollectCandidates = size_t (*)(const RowCandidates& right, size_t first, size_t last, const StereoPoint& left,
                                     const StereoOptions& options, int32_t* indices);
CollectCandidates CollectCandidatesFor(int64_t target);

}  // namespace glint::cpu

#endif  // GLINT_CPU_STEREO_ROW_CANDIDATES_H_
