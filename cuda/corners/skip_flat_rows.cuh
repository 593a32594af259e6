// A strip's first steps in which the corner stage's scanner would find nothing, told from the pixels in global memory.
#ifndef GLINT_CUDA_CORNERS_SKIP_FLAT_ROWS_CUH_
#define GLINT_CUDA_CORNERS_SKIP_FLAT_ROWS_CUH_

#include "cuda/corners/strip.cuh"

namespace glint::cuda {

// An arc of nine or more holds a pixel of every opposite pair of the ring: where no pixel differs from the one three
// rows above or below by more than the threshold, there is no corner. That takes one load and five instructions for
// four pixels, a fifth of what the scanner needs to find out. Where the picture is dense, the first two rows compared
// say that it is.
class SkipFlatRows {
 public:
  // Of a strip that begins at column x0 and row y0. All methods are called by all lanes of a warp together.
  __device__ __forceinline__ SkipFlatRows(const Level& level, int threshold, int x0, int y0)
      : column_(level.image + Min(x0 + 4 * static_cast<int>(threadIdx.x % kWarp), level.pitch - 4)),
        pitch_(level.pitch),
        last_row_(level.height - 1),
        margin_(CompassMargin(threshold)),
        y0_(y0) {}

  // How many of the first `steps` steps hold no corner, nor does the row below them.
  __device__ __forceinline__ int CountSteps(int steps) const {
    constexpr int kReach = kFastRadius;
    if (Any(Differ(Row(0), Row(kReach)))) return 0;
    uint32_t first[2 * kReach + 1];
    uint32_t row[kReach + kStep];  // those above what is loaded for a step, and that
#pragma unroll
    for (int i = 0; i < 2 * kReach + 1; ++i) first[i] = Row(i - kReach);
    uint32_t differ = 0;
#pragma unroll
    for (int i = 0; i <= kReach; ++i) differ |= Differ(first[i], first[i + kReach]);
#pragma unroll
    for (int i = 0; i < kReach; ++i) row[i] = first[kReach + 1 + i];
    for (int step = 0;;) {
#pragma unroll
      for (int i = 0; i < kStep; ++i) row[kReach + i] = Row(step * kStep + kReach + 1 + i);
#pragma unroll
      for (int i = 0; i < kStep; ++i) differ |= Differ(row[i], row[i + kReach]);
      if (Any(differ)) return step;
      if (++step == steps) return step;
#pragma unroll
      for (int i = 0; i < kReach; ++i) row[i] = row[i + kStep];
    }
  }

 private:
  // The lane's four pixels, quartered, `row` rows below the strip's first. Rows beyond the level are compared with none
  // that matters.
  __device__ __forceinline__ uint32_t Row(int row) const {
    const int y = Clamp(y0_ + row, 0, last_row_);
    return QuarterPixels(__ldcg(reinterpret_cast<const uint32_t*>(column_ + static_cast<size_t>(y) * pitch_)));
  }
  // Top bit of each byte: these may differ by more than the threshold. The other bits are arbitrary.
  __device__ __forceinline__ uint32_t Differ(uint32_t a, uint32_t b) const {
    return (margin_ - a + b) | (margin_ - b + a);
  }
  // By __ballot_sync: with __any_sync, ptxas 13.0 lets registers of the scanner spill.
  __device__ __forceinline__ static bool Any(uint32_t differ) {
    return __ballot_sync(kFullWarp, (differ & kTopBits) != 0) != 0;
  }

  const uint8_t* const column_;
  const int pitch_;
  const int last_row_;
  const uint32_t margin_;
  const int y0_;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_SKIP_FLAT_ROWS_CUH_
