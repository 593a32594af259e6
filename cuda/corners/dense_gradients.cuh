// Gradients of a part of the image, by 3x3 Sobel, as a warp's rows of 128 columns, four neighbouring ones per lane.
//
// Outside the image the products of gradients are reflected: the gradients of a reflected image are those of the pixel
// that it mirrors but for their sign, which is put right.
#ifndef GLINT_CUDA_CORNERS_DENSE_GRADIENTS_CUH_
#define GLINT_CUDA_CORNERS_DENSE_GRADIENTS_CUH_

#include "cuda/corners/dense_window.cuh"

namespace glint::cuda {

// Whether Reflect101(i, n) runs backwards at i: gradients along the axis then have the other sign. Where it turns they
// are 0.
__device__ __forceinline__ bool IsMirrored(int i, int n) {
  if (n == 1) return false;
  const int period = n - 1;
  const int lap = i >= 0 ? i / period : -((period - 1 - i) / period);
  return (lap & 1) != 0;
}

// Where the rows of pixels and the columns are that a tile needs, in shared memory; outside the image they are
// reflections.
template <int kRows>
struct ReflectedOffsets {
  static constexpr uint32_t kMirrored = 0x80000000u;  // see IsMirrored()

  uint32_t row[kRows];  // where it begins, from the one above the first of gradients
  alignas(16) uint32_t column[kStripColumns];

  // All threads of the block must call.
  __device__ __forceinline__ void Fill(const Level& level, int strip_x, int top) {
#pragma unroll 1
    for (int i = threadIdx.x; i < kRows + kStripColumns; i += blockDim.x) {
      const bool is_row = i < kRows;
      const int at = is_row ? top - 1 + i : strip_x + i - kRows;
      const int size = is_row ? level.height : level.width;
      uint32_t place = static_cast<uint32_t>(Reflect101(at, size));
      if (is_row) place *= static_cast<uint32_t>(level.pitch);
      if ((at < 0 || at >= size) && IsMirrored(at, size)) place |= kMirrored;
      (is_row ? row[i] : column[i - kRows]) = place;
    }
  }
};

// Where a lane's pixels of a row are: in a word, or two if the strip leaves the image and they are reflections.
struct LanePixels {
  bool inside;          // the strip does not leave the image
  uint32_t word;        // the first, as an offset in the row
  uint32_t selector;    // of the pixels from both
  uint32_t flip02 = 0;  // signs of gradients along x to be changed
  uint32_t flip13 = 0;

  template <int kRows>
  __device__ __forceinline__ LanePixels(const Level& level, int strip_x, const ReflectedOffsets<kRows>& offsets)
      : inside(strip_x >= 0 && strip_x + kStripColumns <= level.width),
        word(strip_x + kLaneColumns * (threadIdx.x % kWarp)),
        selector(0x3210) {
    if (inside) return;
    const uint4 four = *reinterpret_cast<const uint4*>(&offsets.column[kLaneColumns * (threadIdx.x % kWarp)]);
    const uint32_t column[kLaneColumns] = {four.x, four.y, four.z, four.w};
    constexpr uint32_t kColumnBits = ~ReflectedOffsets<kRows>::kMirrored;
    // Neighbouring columns reflected are at most as far apart as they were.
    word = min(min(four.x & kColumnBits, four.y & kColumnBits), min(four.z & kColumnBits, four.w & kColumnBits));
    word = min(word / kLaneColumns * kLaneColumns, static_cast<uint32_t>(level.pitch - 2 * kLaneColumns));
    selector = 0;
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) selector |= ((column[k] & kColumnBits) - word) << (4 * k);
    flip02 = (four.x >> 16 & 0x8000u) | (four.z & 0x80000000u);
    flip13 = (four.y >> 16 & 0x8000u) | (four.w & 0x80000000u);
  }

  // On their way to the lane; `row`: of ReflectedOffsets::row.
  __device__ __forceinline__ uint2 Load(const uint8_t* image, uint32_t row) const {
    const auto* at = reinterpret_cast<const uint32_t*>(image + ((row & 0x7fffffffu) + word));
    uint2 words = make_uint2(at[0], 0);
    if (!inside) words.y = at[1];
    return words;
  }
  __device__ __forceinline__ uint32_t Four(uint2 words) const { return __byte_perm(words.x, words.y, selector); }
};

// A row's differences p(x + 1) - p(x - 1) and sums p(x - 1) + 2 p(x) + p(x + 1) at a lane's columns, in pairs; exact,
// as all integers up to 2048 are.
struct PixelRow {
  __half2 difference02, difference13, sum02, sum13;

  PixelRow() = default;
  __device__ __forceinline__ explicit PixelRow(uint32_t four) {
    // Bytes behind the upper byte of 1024, in whose unit they count.
    const __half2 k1024 = HalvesOf(0x64006400u);
    const uint32_t p02 = BitsOf(__hsub2(HalvesOf((four & 0x00ff00ffu) | 0x64006400u), k1024));
    const uint32_t p13 = BitsOf(__hsub2(HalvesOf(__byte_perm(four, 0x64u, 0x4341u)), k1024));
    const uint32_t left = __byte_perm(__shfl_up_sync(kFullWarp, p13, 1), p13, 0x5432u);     // of columns 0 and 2
    const uint32_t right = __byte_perm(p02, __shfl_down_sync(kFullWarp, p02, 1), 0x5432u);  // of columns 1 and 3
    const __half2 two = HalvesOf(0x40004000u);
    difference02 = __hsub2(HalvesOf(p13), HalvesOf(left));
    difference13 = __hsub2(HalvesOf(right), HalvesOf(p02));
    sum02 = __hadd2(__hfma2(two, HalvesOf(p02), HalvesOf(left)), HalvesOf(p13));
    sum13 = __hadd2(__hfma2(two, HalvesOf(p13), HalvesOf(p02)), HalvesOf(right));
  }
};

// Fills rows begin..end - 1 of `gradients`. For a warp; `mirrors`: some of them or of the columns are reflections.
template <int kRows>
__device__ __forceinline__ void FindGradients(const uint8_t* image, const LanePixels& pixels,
                                              const ReflectedOffsets<kRows>& offsets, int begin, int end, bool mirrors,
                                              Gradients (*gradients)[kWarp]) {
  constexpr int kAhead = 8;  // rows of pixels on their way
  const int lane = threadIdx.x % kWarp;
  const uint32_t* row = &offsets.row[2];  // the last that a row of gradients needs
  uint2 next[kAhead];
  const uint2 first = pixels.Load(image, row[begin - 2]);
  const uint2 second = pixels.Load(image, row[begin - 1]);
#pragma unroll
  for (int j = 0; j < kAhead; ++j) {
    if (begin + j < end) next[j] = pixels.Load(image, row[begin + j]);
  }
  PixelRow above(pixels.Four(first));
  PixelRow at(pixels.Four(second));
  const __half2 two = HalvesOf(0x40004000u);
#pragma unroll 1
  for (int i = begin; i < end; i += kAhead) {
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      if (i + j >= end) break;
      const PixelRow below(pixels.Four(next[j]));
      if (i + j + kAhead < end) next[j] = pixels.Load(image, row[i + j + kAhead]);
      const __half2 dx02 = __hadd2(__hfma2(two, at.difference02, above.difference02), below.difference02);
      const __half2 dx13 = __hadd2(__hfma2(two, at.difference13, above.difference13), below.difference13);
      const __half2 dy02 = __hsub2(below.sum02, above.sum02);
      const __half2 dy13 = __hsub2(below.sum13, above.sum13);
      gradients[i + j][lane] = Gradients(dx02, dx13, dy02, dy13);
      above = at;
      at = below;
    }
  }
  if (!mirrors) return;
#pragma unroll 1
  for (int i = begin; i < end; ++i) {
    const uint32_t flip = (offsets.row[i + 1] & ReflectedOffsets<kRows>::kMirrored) != 0 ? 0x80008000u : 0u;
    gradients[i][lane].FlipX(pixels.flip02 ^ flip, pixels.flip13 ^ flip);
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_DENSE_GRADIENTS_CUH_
