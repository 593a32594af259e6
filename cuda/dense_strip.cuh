// What a warp of dense Harris has of its strip of the image: in shared memory, and of a row of pixels.
#ifndef GLINT_CUDA_DENSE_STRIP_CUH_
#define GLINT_CUDA_DENSE_STRIP_CUH_

#include <cstddef>

#include "cuda/dense_window.cuh"
#include "cuda/map_device.cuh"

namespace glint::cuda {

inline constexpr int kStripColumns = kLaneColumns * kWarp;
inline constexpr int kHeldRows = 16;              // of responses; a power of 2, more than 2 * kMaxSuppressionRadius
inline constexpr int kFound = 2 * kStripColumns;  // a row can bring kStripColumns
inline constexpr float kOutside = -3.0e38f;       // less than any measure
inline constexpr int kRowsBetweenLooks = 4;       // at the greatest measure so far
inline constexpr int kTableRows = kMostStripRows + 32;  // strip, window and suppression
inline constexpr uint32_t kMirroredRow = 0x80000000u;

// kByOne: a radius of suppression of 1.
template <int kRadius, bool kByOne>
struct Strip {
  float4 dx[2 * kRadius + 1][kWarp];  // gradients of the lane's columns
  float4 dy[2 * kRadius + 1][kWarp];
  Candidate found[kFound];
  uint32_t row[kTableRows];  // where the image's rows begin, from the one above the first of gradients
  float response[kByOne ? 1 : kHeldRows][kByOne ? 1 : kStripColumns];
};

// Warps of a block.
template <int kRadius, bool kByOne>
constexpr int StripsAtOnce() {
  constexpr size_t kMost = 48 * 1024;
  constexpr size_t kBytes = sizeof(Strip<kRadius, kByOne>);
  return kByOne && 4 * kBytes <= kMost ? 4 : 2 * kBytes <= kMost ? 2 : 1;
}

// Columns of a strip that answer, in whole lanes for aligned loads: all but those that gradient, window and suppression
// need at each side.
struct StripSpan {
  int first;  // of those that answer
  int columns;
};
__host__ __device__ constexpr StripSpan SpanOf(int block_radius, int radius) {
  const int side = 1 + block_radius + radius;
  return {side, (kStripColumns - 2 * side) / kLaneColumns * kLaneColumns};
}

// Columns of the first strip left of the image.
__host__ __device__ constexpr int LeadOf(StripSpan span) {
  return (span.first + kLaneColumns - 1) / kLaneColumns * kLaneColumns;
}

// Whether Reflect101(i, n) runs backwards at i: gradients along the axis then have the other sign. Where it turns they
// are 0.
__device__ __forceinline__ bool IsMirrored(int i, int n) {
  if (n == 1) return false;
  const int period = n - 1;
  const int lap = i >= 0 ? i / period : -((period - 1 - i) / period);
  return (lap & 1) != 0;
}

// Byte `k` of a word as a float, plus 2^15: integers up to 2^24 / 2^15 times that stay exact.
__device__ __forceinline__ float PixelOver(uint32_t word, int k) {
  return __uint_as_float(__byte_perm(word, 0x47000000u, 0x7504u | static_cast<unsigned>(k) << 4));
}

// A row's differences p(x + 1) - p(x - 1) and sums p(x - 1) + 2 p(x) + p(x + 1), plus 2^17, at a lane's columns.
struct PixelRow {
  float difference[kLaneColumns];
  float sum[kLaneColumns];

  __device__ __forceinline__ explicit PixelRow(uint32_t pixels) {
    float p[kLaneColumns + 2];
    p[0] = PixelOver(__shfl_up_sync(kFullWarp, pixels, 1), kLaneColumns - 1);
    p[kLaneColumns + 1] = PixelOver(__shfl_down_sync(kFullWarp, pixels, 1), 0);
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) p[k + 1] = PixelOver(pixels, k);
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      difference[k] = p[k + 2] - p[k];
      sum[k] = fmaf(2.0f, p[k + 1], p[k]) + p[k + 2];
    }
  }
};

// Where a lane's pixels of a row are: in a word, or two if the strip leaves the image and they are reflections.
struct LanePixels {
  bool inside;            // the strip does not leave the image
  int word;               // the first, as an offset in the row
  uint32_t selector;      // of the pixels from both
  uint32_t mirrored = 0;  // bit k: column k is, see IsMirrored()

  // `x`: the lane's leftmost column.
  __device__ __forceinline__ LanePixels(const Level& level, int x, bool is_inside)
      : inside(is_inside), word(x), selector(0x3210) {
    if (inside) return;
    // Neighbouring columns reflected are at most as far apart as they were.
    int column[kLaneColumns];
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      column[k] = Reflect101(x + k, level.width);
      mirrored |= IsMirrored(x + k, level.width) ? 1u << k : 0u;
      word = k == 0 ? column[k] : Min(word, column[k]);
    }
    word = Min(word / kLaneColumns * kLaneColumns, level.pitch - 2 * kLaneColumns);
    selector = 0;
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) selector |= static_cast<uint32_t>(column[k] - word) << (4 * k);
  }

  // On their way to the lane; `row`: of Strip::row.
  struct Loaded {
    uint32_t first, second;
  };
  __device__ __forceinline__ Loaded Load(const uint8_t* image, uint32_t row) const {
    const auto* at = reinterpret_cast<const uint32_t*>(image + ((row & ~kMirroredRow) + word));
    Loaded loaded = {at[0], 0};
    if (!inside) loaded.second = at[1];
    return loaded;
  }
  __device__ __forceinline__ PixelRow RowOf(Loaded loaded) const {
    return PixelRow(__byte_perm(loaded.first, loaded.second, selector));
  }
};

// The sum of a column's products of gradients, as a float, because floats have twice the integers' throughput: products
// are at most 1020^2, and 16 of them below 2^24. Up to 7 rows they are kept over 2^23, or products of both gradients,
// which are within 585225, over 1.5 * 2^23: then the float's bits are the integer's, but for a bias.
template <int kRadius>
struct ColumnSums {
  static constexpr bool kOver = kRadius <= 3;
  static constexpr int kBias = kOver ? 0x4b000000 : 0;
  static constexpr int kMixedBias = kOver ? 0x4b400000 : 0;

  float xx[kLaneColumns], yy[kLaneColumns], xy[kLaneColumns];

  __device__ __forceinline__ ColumnSums() {
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      xx[k] = yy[k] = kOver ? 0x1p23f : 0.0f;
      xy[k] = kOver ? 0x1.8p23f : 0.0f;
    }
  }
  __device__ __forceinline__ void Add(int k, float dx, float dy) {
    xx[k] = fmaf(dx, dx, xx[k]);
    yy[k] = fmaf(dy, dy, yy[k]);
    xy[k] = fmaf(dx, dy, xy[k]);
  }
  __device__ __forceinline__ void Subtract(int k, float dx, float dy) {
    xx[k] = fmaf(-dx, dx, xx[k]);
    yy[k] = fmaf(-dy, dy, yy[k]);
    xy[k] = fmaf(-dx, dy, xy[k]);
  }
  // The sums over the window of columns.
  __device__ __forceinline__ static void OfWindow(const float (&column)[kLaneColumns], int bias,
                                                  int (&sum)[kLaneColumns]) {
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      sum[k] = kOver ? __float_as_int(column[k]) : static_cast<int>(column[k]);
    }
    constexpr unsigned kColumns = 2 * kRadius + 1;
    WindowSums<kRadius>(static_cast<int>(kColumns * static_cast<unsigned>(bias)), sum);
  }
};

// Moves those of what a warp found that are over `least` to the shortlist. All lanes must call.
__device__ __forceinline__ void MoveFound(const Candidate* found, int count, uint32_t least, uint32_t* total,
                                          Candidate* candidates) {
  __syncwarp();
#pragma unroll 1
  for (int first = 0; first < count; first += kWarp) {
    const int i = first + static_cast<int>(threadIdx.x) % kWarp;
    Candidate c = {0, 0};
    if (i < count) c = found[i];
    const unsigned lanes = __ballot_sync(kFullWarp, i < count && c.key > least);
    if (lanes == 0) continue;
    uint32_t base = 0;
    if (threadIdx.x % kWarp == 0) base = atomicAdd(total, static_cast<uint32_t>(__popc(lanes)));
    base = __shfl_sync(kFullWarp, base, 0);
    if (i < count && c.key > least) candidates[base + LanesBelow(lanes)] = c;
  }
  __syncwarp();
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_DENSE_STRIP_CUH_
