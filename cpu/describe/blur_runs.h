// What blurring needs of a row of a mask of blocks (BlurJob::blur_mask).
#ifndef GLINT_CPU_DESCRIBE_BLUR_RUNS_H_
#define GLINT_CPU_DESCRIBE_BLUR_RUNS_H_

#include <algorithm>
#include <cstdint>

#include "cpu/stages.h"
#include "features/math.h"

namespace glint::cpu {

// f(begin, end) for each run of set bits, in columns of the strip.
template <class F>
inline void ForBlurRuns(uint32_t bits, const F& f) {
  int at = 0;
  uint64_t rest = bits;
  while (rest != 0) {
    const int skip = __builtin_ctzll(rest);
    at += skip;
    rest >>= skip;
    const int length = __builtin_ctzll(~rest);
    f(at * kBlurBlock, (at + length) * kBlurBlock);
    at += length;
    rest >>= length;
  }
}

// Blocks of input row y that some output row of the job uses.
inline uint32_t BlurBlocksOfRow(const BlurJob& job, int y) {
  uint32_t bits = 0;
  for (int v = std::max(y - kGaussianRadius, job.y0); v < std::min(y + kGaussianRadius + 1, job.y1); ++v) {
    bits |= job.blur_mask[v];
  }
  return bits;
}

}  // namespace glint::cpu

#endif  // GLINT_CPU_DESCRIBE_BLUR_RUNS_H_
