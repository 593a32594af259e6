// What BFROST adds after the ranking: the angle from the arc's midpoint, and the descriptor from an integral image.
//
// The integral image comes in bands of 16 rows, so that all bands of all levels are summed at once: within a band, and,
// in a second step of one short column per thread, over the bands above. A warp describes a keypoint: two regions per
// lane, whose sums meet in shared memory; lane i then compares regions 2 i and 2 i + 1 with four others each, which is
// byte i of the descriptor.
#include "cuda/common/append.cuh"
#include "cuda/common/enqueue.h"
#include "cuda/stages.h"
#include "features/arc.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = kBfrostThreads;
constexpr int kWarps = kThreads / kWarp;
constexpr int kRowsPerWarp = kBandRows / kWarps;
constexpr int kSumColumns = 8;               // of a lane
constexpr int kChunk = kWarp * kSumColumns;  // columns

// A lane's pixels of a row: two words.
__device__ __forceinline__ uint2 LoadPixels(const Level& level, int x, int y) {
  if (y >= level.height || x >= level.width) return make_uint2(0, 0);
  return *reinterpret_cast<const uint2*>(level.image + static_cast<size_t>(y) * level.pitch + x);
}

__device__ __forceinline__ uint4 operator+(uint4 a, uint4 b) {
  return make_uint4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// Prefix sums of four pixels, after `before`.
__device__ __forceinline__ uint4 PrefixSums(uint32_t pixels, uint32_t before) {
  const uint32_t a = before + (pixels & 0xff);
  const uint32_t b = a + (pixels >> 8 & 0xff);
  const uint32_t c = b + (pixels >> 16 & 0xff);
  return make_uint4(a, b, c, c + (pixels >> 24));
}

// A block per band: from left to right, a chunk of columns at a time, the next one's pixels on their way.
__global__ void __launch_bounds__(kThreads)
    SumBandsKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT SelectionParams params) {
  __shared__ uint4 sums[2][kWarps][2][kWarp];
  AllowSuccessor();
  int l = 0;
  while (l + 1 < frame.levels && static_cast<int>(blockIdx.x) >= params.level[l + 1].first_band) ++l;
  const Level& level = frame.level[l];
  const LevelParams& integral = params.level[l];
  const int band = blockIdx.x - integral.first_band;
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  const int y0 = band * kBandRows + warp * kRowsPerWarp;
  WaitForPredecessor();
  uint32_t carry[kRowsPerWarp] = {};  // of the row, from the chunks before
  uint2 next[kRowsPerWarp];
#pragma unroll
  for (int r = 0; r < kRowsPerWarp; ++r) next[r] = LoadPixels(level, lane * kSumColumns, y0 + r);
  for (int chunk = 0, buffer = 0; chunk < level.width; chunk += kChunk, buffer ^= 1) {
    const int x = chunk + lane * kSumColumns;
    uint4 row[kRowsPerWarp][2];  // prefix sums of the row, then of the warp's rows down to it
#pragma unroll
    for (int r = 0; r < kRowsPerWarp; ++r) {
      const uint2 pixels = next[r];
      next[r] = LoadPixels(level, x + kChunk, y0 + r);
      const uint32_t total = __dp4a(pixels.x, 0x01010101u, __dp4a(pixels.y, 0x01010101u, 0u));
      const uint32_t upto = SumUpTo(total);
      row[r][0] = PrefixSums(pixels.x, carry[r] + upto - total);
      row[r][1] = PrefixSums(pixels.y, row[r][0].w);
      carry[r] += __shfl_sync(kFullWarp, upto, kWarp - 1);
      if (r > 0) {
        row[r][0] = row[r][0] + row[r - 1][0];
        row[r][1] = row[r][1] + row[r - 1][1];
      }
    }
    sums[buffer][warp][0][lane] = row[kRowsPerWarp - 1][0];
    sums[buffer][warp][1][lane] = row[kRowsPerWarp - 1][1];
    __syncthreads();
    uint4 above[2] = {};
#pragma unroll
    for (int w = 0; w < kWarps - 1; ++w) {
      if (w >= warp) break;
      above[0] = above[0] + sums[buffer][w][0][lane];
      above[1] = above[1] + sums[buffer][w][1][lane];
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (x + 4 * half >= level.width) break;
#pragma unroll
      for (int r = 0; r < kRowsPerWarp; ++r) {
        const uint4 v = row[r][half] + above[half];
        const size_t at = x + 4 * half;
        if (y0 + r < level.height) {
          *reinterpret_cast<uint4*>(integral.sums + static_cast<size_t>(y0 + r) * integral.integral_pitch + at) = v;
        }
        if (warp == kWarps - 1 && r == kRowsPerWarp - 1) {
          *reinterpret_cast<uint4*>(integral.bands + static_cast<size_t>(band) * integral.integral_pitch + at) = v;
        }
      }
    }
  }
}

// A thread per column: each band's sum becomes that of the bands above it.
__global__ void __launch_bounds__(kWarp)
    SumBandsAboveKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT SelectionParams params) {
  AllowSuccessor();
  WaitForPredecessor();
  const int l = blockIdx.y;
  const int x = blockIdx.x * kWarp + threadIdx.x;
  if (x >= frame.level[l].width) return;
  const int bands = (frame.level[l].height + kBandRows - 1) / kBandRows;
  const size_t pitch = params.level[l].integral_pitch;
  uint32_t* at = params.level[l].bands + x;
  constexpr int kInFlight = 8;
  uint32_t sum = 0;
  for (int first = 0; first < bands; first += kInFlight) {
    uint32_t own[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) own[i] = first + i < bands ? at[(first + i) * pitch] : 0;
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      if (first + i < bands) at[(first + i) * pitch] = sum;
      sum += own[i];
    }
  }
}

// Of the pixels at or above and left of (x, y); modulo 2^32.
__device__ __forceinline__ uint32_t IntegralAt(const LevelParams& integral, int x, int y) {
  if (x < 0 || y < 0) return 0;
  return integral.sums[static_cast<size_t>(y) * integral.integral_pitch + x] +
         integral.bands[static_cast<size_t>(y / kBandRows) * integral.integral_pitch + x];
}

__device__ __forceinline__ RegionSum SumOf(const Level& level, const LevelParams& integral, int x, int y,
                                           BfrostRegion region) {
  const RegionSpan columns = SpanInside(x + region.x, region.radius, level.width);
  const RegionSpan rows = SpanInside(y + region.y, region.radius, level.height);
  RegionSum sum;
  sum.sum = IntegralAt(integral, columns.last, rows.last) - IntegralAt(integral, columns.first - 1, rows.last) -
            IntegralAt(integral, columns.last, rows.first - 1) +
            IntegralAt(integral, columns.first - 1, rows.first - 1);
  sum.pixels = static_cast<uint32_t>((columns.last - columns.first + 1) * (rows.last - rows.first + 1));
  return sum;
}

__device__ __forceinline__ int ArcStepAt(const Frame& frame, const SelectionParams& params, const Level& level, int x,
                                         int y) {
  const uint8_t* centre = level.image + static_cast<size_t>(y) * level.pitch + x;
  uint8_t ring[kFastRing];
#pragma unroll
  for (int i = 0; i < kFastRing; ++i) ring[i] = centre[FastRingY(i) * level.pitch + FastRingX(i)];
  return ArcMidpointStep(FindArc(*centre, ring, frame.threshold, params.arc_length, kFastRing));
}

__device__ __forceinline__ uint32_t KeptOf(const Frame& frame, int l) {
  const uint32_t kept = frame.counters->kept[l];
  const auto room = static_cast<uint32_t>(frame.level[l].ranked_capacity);
  return kept < room ? kept : room;
}

// The result's record of a corner, once its angle is known.
__device__ __forceinline__ uint4 RecordOf(RankedCorner corner, int step) {
  return make_uint4(corner.position, corner.key, __float_as_uint(kDegreesPerArcStep * static_cast<float>(step)), 0);
}

__global__ void __launch_bounds__(kThreads)
    ArcMidpointsKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT SelectionParams params) {
  AllowSuccessor();
  WaitForPredecessor();
  for (int l = 0; l < frame.levels; ++l) {
    const Level& level = frame.level[l];
    const uint32_t kept = KeptOf(frame, l);
    for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < kept; i += gridDim.x * kThreads) {
      const RankedCorner corner = level.ranked[i];
      const int step = ArcStepAt(frame, params, level, XOf(corner.position), YOf(corner.position));
      const uint4 record = RecordOf(corner, step);
      *reinterpret_cast<uint4*>(&level.ranked[i]) = record;
      *reinterpret_cast<uint4*>(&level.result[i]) = record;
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    DescribeBfrostKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT SelectionParams params) {
  __shared__ RegionSum sums[kWarps][kBfrostRegions];
  AllowSuccessor();
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  WaitForPredecessor();
  for (int l = 0; l < frame.levels; ++l) {
    const Level& level = frame.level[l];
    const uint32_t kept = KeptOf(frame, l);
    for (uint32_t i = blockIdx.x * kWarps + warp; i < kept; i += gridDim.x * kWarps) {
      const RankedCorner corner = level.ranked[i];
      const int x = XOf(corner.position);
      const int y = YOf(corner.position);
      const int step = ArcStepAt(frame, params, level, x, y);
      if (lane == 0) *reinterpret_cast<uint4*>(&level.result[i]) = RecordOf(corner, step);
      const BfrostRegion* regions = params.bfrost + step % 2 * kBfrostRegions;
#pragma unroll
      for (int k = 0; k < kBfrostRegions; k += kWarp) {
        const int region = (k + lane + step / 2 * kBfrostCircles) % kBfrostRegions;
        sums[warp][k + lane] = SumOf(level, params.level[l], x, y, regions[region]);
      }
      __syncwarp();
      uint32_t byte = 0;
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        const int region = 2 * lane + k / 4;
        byte |= static_cast<uint32_t>(Brighter(sums[warp][region], sums[warp][BfrostPartner(region, k % 4)])) << k;
      }
      level.descriptors[static_cast<size_t>(i) * kBfrostBytes + lane] = static_cast<uint8_t>(byte);
      __syncwarp();
    }
  }
}
static_assert(kBfrostBytes == kWarp && kBfrostRegions == 2 * kWarp);

}  // namespace

absl::Status FindArcMidpoints(StreamView stream, const Launch& launch, const Frame& frame,
                              const SelectionParams& params) {
  return Enqueue(stream, launch, ArcMidpointsKernel, frame, params);
}

absl::Status SumBands(StreamView stream, const Launch& launch, const Frame& frame, const SelectionParams& params) {
  return Enqueue(stream, launch, SumBandsKernel, frame, params);
}

absl::Status SumBandsAbove(StreamView stream, const Launch& launch, const Frame& frame, const SelectionParams& params) {
  return Enqueue(stream, launch, SumBandsAboveKernel, frame, params);
}

absl::Status DescribeBfrost(StreamView stream, const Launch& launch, const Frame& frame,
                            const SelectionParams& params) {
  return Enqueue(stream, launch, DescribeBfrostKernel, frame, params);
}

}  // namespace glint::cuda
