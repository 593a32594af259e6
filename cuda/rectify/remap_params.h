// A table of rectification as the kernel reads it, and how a thread makes its pixels by it. The host can do the same,
// for tests.
#ifndef GLINT_CUDA_RECTIFY_REMAP_PARAMS_H_
#define GLINT_CUDA_RECTIFY_REMAP_PARAMS_H_

#include <cstddef>
#include <cstdint>

#include "features/camera/remap_table.h"
#include "features/math.h"
#include "features/types.h"

namespace glint::cuda {

// A warp makes a segment of a row. Its lane i makes pixels i, i + kLanes, ..., so that the lanes read their sources
// side by side.
inline constexpr int kLanes = 32;
inline constexpr int kLanePixels = 4;
inline constexpr int kSegment = kLanes * kLanePixels;
inline constexpr int kLaneGroups = kLanes / RemapBlocks::kPixels;  // whose lanes have their blocks in common

// Of blocks (RemapBlocks): the place of the origin in the source, in pixels row by row; or that each pixel has an
// entry, with the number of the block among such ones; or that no pixel has a source. Sources of at most kMaxImageSide
// squared.
inline constexpr uint32_t kWideBlock = 0x80000000;
inline constexpr uint32_t kEmptyBlock = 0xffffffff;

// Of a lane, in the order of its pixels.
struct alignas(8) LanePixels {
  uint16_t of[kLanePixels];  // as RemapBlocks::pixels, with a source
};
struct alignas(16) LaneOrigins {
  uint32_t of[kLanePixels];
};

struct RemapParams {
  const LanePixels* pixels;    // kLanes for each segment
  const LaneOrigins* origins;  // kLaneGroups for each segment
  // RemapTable::Entry, RemapBlocks::kPixels for each wide block: from the low bits on x and y (16 bits each),
  // fraction_x and fraction_y (8).
  const uint64_t* entries;
  int segments;           // of a row
  const uint8_t* source;  // rows follow each other
  Shape source_shape;
  uint8_t* to;
  int to_pitch;  // bytes
  Shape shape;
};

template <typename T>
GLINT_HD inline T LoadConstant(const T* from) {
#ifdef __CUDA_ARCH__
  return __ldg(from);
#else
  return *from;
#endif
}

GLINT_HD inline LanePixels LoadLane(const LanePixels* from) {
#ifdef __CUDA_ARCH__
  const ushort4 pixels = __ldg(reinterpret_cast<const ushort4*>(from));
  return {pixels.x, pixels.y, pixels.z, pixels.w};
#else
  return *from;
#endif
}

GLINT_HD inline LaneOrigins LoadLane(const LaneOrigins* from) {
#ifdef __CUDA_ARCH__
  const uint4 origins = __ldg(reinterpret_cast<const uint4*>(from));
  return {origins.x, origins.y, origins.z, origins.w};
#else
  return *from;
#endif
}

// reference::Remap's rule. `left` and `right`: of the four pixels around a place the upper one, and the lower one from
// bit 16 on.
GLINT_HD inline uint32_t MixPixels(uint32_t left, uint32_t right, uint32_t fraction_x, uint32_t fraction_y) {
  constexpr uint32_t kOne = RemapTable::kFractions;
  const uint32_t both = left * (kOne - fraction_x) + right * fraction_x;
  constexpr uint32_t kHalf = kOne * kOne / 2;
#ifdef __CUDA_ARCH__
  const uint32_t bytes = kOne + 255 * fraction_y;  // kOne - fraction_y, and above it fraction_y
  const uint32_t sum = __dp2a_lo(both, bytes, kHalf);
#else
  const uint32_t sum = (both & 0xffff) * (kOne - fraction_y) + (both >> 16) * fraction_y + kHalf;
#endif
  return sum / (kOne * kOne);
}

// What is around a place, as MixPixels() takes it.
struct AroundPlace {
  uint32_t left, right;
};

GLINT_HD inline AroundPlace LoadAround(const RemapParams& params, uint32_t origin, uint32_t pixel) {
  const auto width = static_cast<uint32_t>(params.source_shape.width);
  const uint8_t* const above = params.source + (origin + (pixel >> 14) * width + (pixel >> 10 & 15));
  const uint8_t* const below = above + width;
  return {LoadConstant(above) | uint32_t{LoadConstant(below)} << 16,
          LoadConstant(above + 1) | uint32_t{LoadConstant(below + 1)} << 16};
}

GLINT_HD inline uint32_t MixPixels(AroundPlace around, uint32_t pixel) {
  return MixPixels(around.left, around.right, pixel & 31, pixel >> 5 & 31);
}

// A lane's pixels of blocks that have an origin: all of them, or as the blocks tell; then the others become 0.
template <bool kAll>
GLINT_HD inline void RemapNear(const RemapParams& params, const LanePixels& pixels, const LaneOrigins& origins,
                               uint32_t (&remapped)[kLanePixels]) {
  // All that is loaded is on its way before the first is used.
  AroundPlace around[kLanePixels] = {};
  for (int k = 0; k < kLanePixels; ++k) {
    if (kAll || origins.of[k] < kWideBlock) around[k] = LoadAround(params, origins.of[k], pixels.of[k]);
  }
  for (int k = 0; k < kLanePixels; ++k) remapped[k] = MixPixels(around[k], pixels.of[k]);
}

// Of an entry, wherever it lies.
GLINT_HD inline uint32_t RemapAnywhere(const RemapParams& params, uint64_t entry) {
  const int x = static_cast<int16_t>(entry), y = static_cast<int16_t>(entry >> 16);
  const auto pixel = [&](int column, int row) -> uint32_t {
    const Shape shape = params.source_shape;
    const bool inside = column >= 0 && column < shape.width && row >= 0 && row < shape.height;
    return inside ? LoadConstant(params.source + (row * shape.width + column)) : 0;
  };
  return MixPixels(pixel(x, y) | pixel(x, y + 1) << 16, pixel(x + 1, y) | pixel(x + 1, y + 1) << 16,
                   static_cast<uint32_t>(entry >> 32) & 31, static_cast<uint32_t>(entry >> 40) & 31);
}

// The pixels of a lane; those beyond the width are of no meaning.
GLINT_HD inline void RemapLane(const RemapParams& params, uint32_t segment, uint32_t y, uint32_t lane,
                               uint32_t (&remapped)[kLanePixels]) {
  const uint32_t place = y * static_cast<uint32_t>(params.segments) + segment;  // kLanes of them fit, too
  const LanePixels pixels = LoadLane(params.pixels + (place * kLanes + lane));
  const LaneOrigins origins = LoadLane(params.origins + (place * kLaneGroups + lane / RemapBlocks::kPixels));
  if ((origins.of[0] | origins.of[1] | origins.of[2] | origins.of[3]) < kWideBlock) {
    return RemapNear</*kAll=*/true>(params, pixels, origins, remapped);
  }
  RemapNear</*kAll=*/false>(params, pixels, origins, remapped);
  for (int k = 0; k < kLanePixels; ++k) {
    if (origins.of[k] < kWideBlock || origins.of[k] == kEmptyBlock) continue;
    const uint32_t block = origins.of[k] & ~kWideBlock;
    remapped[k] = RemapAnywhere(
        params, LoadConstant(params.entries + (block * RemapBlocks::kPixels + lane % RemapBlocks::kPixels)));
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RECTIFY_REMAP_PARAMS_H_
