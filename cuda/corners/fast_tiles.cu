// Corners of all levels in one launch: FAST, then either its score or the Harris measure at every corner (arXiv
// 2506.07164), 3x3 suppression on that, border, mask. Scored by FAST, corners are listed, with the histogram that the
// next stage cuts by; the others go to the buckets that are ranked one by one (buckets.cuh).
//
// A lane tests one word of four neighbouring pixels per row, with what the ring needs of the last seven rows in
// registers; what passes is marked in a bit per pixel, listed, and scored with full warps. There are two ways:
//
// Tiles: a block's warps have seven rows each, one below the other, of a tile that is 128 pixels wide, and share what
// is to score, so that a dense part of the picture does not keep one warp busy long after the others. Nothing is done
// twice but two rows and four columns of a tile. Where tiles are few, they are for eight warps with four rows each.
//
// Strips, where there are so many that what counts is the work of all together, and looking first for what none has to
// be done for pays: a warp walks down a strip, 128 pixels wide, and answers for the 124 in the middle of it; nothing
// but the histogram is shared between warps, so none waits for another. It takes kStep rows at a time. Suppression
// follows one row behind, when the row below is scored.
//
// Shared memory of a block: strips 24 KiB, a tile 19 KiB, with Harris 29 KiB, for eight warps 24 KiB.
#include <cstddef>
#include <initializer_list>
#include <type_traits>

#include "cuda/corners/fast_tile.cuh"
#include "cuda/corners/skip_flat_rows.cuh"
#include "cuda/corners/strip_scanner.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kWarps = 4;  // of a block with strips
constexpr int kThreads = kWarps * kWarp;
// Strips, or tiles of four warps, are few with up to so many warps of a multiprocessor.
constexpr int kFewWarps = 12;
// Tiles that a multiprocessor has room for.
constexpr int kTilesAtOnce = 9;
constexpr int kHarrisTilesAtOnce = 6;

// Of a block's FAST scores: on dense images, adding each to the level's histogram would queue up at its few lines.
struct ScoreHistogram {
  static constexpr int kScores = 256;
  uint32_t bin[kScores];

  template <int kThreads>
  __device__ __forceinline__ void Clear() {
    for (int i = threadIdx.x; i < kScores; i += kThreads) bin[i] = 0;
  }
  template <int kThreads>
  __device__ __forceinline__ void AddTo(uint32_t* level) const {
    for (int i = threadIdx.x; i < kScores; i += kThreads) {
      const uint32_t n = bin[i];
      if (n != 0) atomicAdd(&level[i], n);
    }
  }
};
// In its place with the Harris measure.
struct NoHistogram {
  static constexpr uint32_t* bin = nullptr;

  template <int kThreads>
  __device__ __forceinline__ void Clear() {}
  template <int kThreads>
  __device__ __forceinline__ void AddTo(uint32_t*) const {}
};

struct StripBlock {
  Strip strip[kWarps];
  ScoreHistogram histogram;
};
template <bool kHarris, bool kQuick>
struct TileBlock {
  CornerTile<kHarris, kQuick> tile;
  std::conditional_t<kHarris, NoHistogram, ScoreHistogram> histogram;
};

__device__ __forceinline__ int FindLevel(const Frame& frame, int block) {
  int l = 0;
  while (l + 1 < frame.levels && block >= frame.level[l + 1].first_block) ++l;
  return l;
}

// What a block begins with; the level of its strips or tile.
template <int kThreads, typename Histogram>
__device__ __forceinline__ int Begin(const Frame& frame, Histogram& histogram) {
  AllowSuccessor();
  const int l = FindLevel(frame, blockIdx.x);
  histogram.template Clear<kThreads>();
  if (blockIdx.x == 0) {
    auto* clear = frame.counters->shortlisted;
    constexpr int kClear = (sizeof(Counters) - offsetof(Counters, shortlisted)) / sizeof(uint32_t);
    if (static_cast<int>(threadIdx.x) < kClear) clear[threadIdx.x] = 0;
  }
  // Level 0 was there before the frame's first kernel: its strips need not wait for the pyramid.
  if (l > 0 || blockIdx.x == gridDim.x - 1) WaitForPredecessor();
  __syncthreads();
  return l;
}

// On a multiprocessor at once: as many blocks as shared memory holds there (228 KiB from sm_90 on, 164 before) or, if
// fewer, as make no registers spill.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
constexpr bool kLarge = true;
#else
constexpr bool kLarge = false;
#endif
constexpr int StripBlocksWanted(int arc) { return (kLarge && arc == kMinArcLength ? 32 : 24) / kWarps; }
constexpr int TilesWanted(bool harris, bool quick) {
  if (quick) return 2;
  return harris ? (kLarge ? kHarrisTilesAtOnce : 4) : kLarge ? kTilesAtOnce : 8;
}

template <int kArc>
__global__ void __launch_bounds__(kThreads, StripBlocksWanted(kArc))
    FindStripCornersKernel(GLINT_KERNEL_ARGUMENT Frame frame) {
  extern __shared__ __align__(16) uint8_t memory[];
  auto& block = *reinterpret_cast<StripBlock*>(memory);
  const int l = Begin<kThreads>(frame, block.histogram);
  const Level& level = frame.level[l];

  const int warp = threadIdx.x / kWarp;
  const int strip = level.first_strip + (blockIdx.x - level.first_block) * kWarps + warp;
  if (strip < level.end_strip) {
    const int across = strip % level.strips_x;
    const int down = strip / level.strips_x;
    const int border = Max(frame.edge, kFastRadius);
    const int x0 = level.strip_x0 + across * kColumns;
    const int y0 = border - 1 + down * (frame.strip_steps * kStep - 2);
    // Steps at the strip's top. The walk does not answer for the first row that it tests: that one is flat, too.
    const int steps = Min(frame.strip_steps, (level.height - border - y0) / kStep + 1);
    const int flat = SkipFlatRows(level, frame.threshold, x0, y0).CountSteps(steps);
    if (flat < steps) {
      StripScanner<kArc>(frame, l, x0, y0 + flat * kStep, block.strip[warp], block.histogram.bin)
          .Scan(frame.strip_steps - flat);
    }
  }
  __syncthreads();
  block.histogram.AddTo<kThreads>(frame.counters->histogram[l]);
}

template <int kArc, bool kHarris, bool kQuick>
__global__ void __launch_bounds__(TileShape<kQuick>::kThreads, TilesWanted(kHarris, kQuick))
    FindTileCornersKernel(GLINT_KERNEL_ARGUMENT Frame frame) {
  using Shape = TileShape<kQuick>;
  extern __shared__ __align__(16) uint8_t memory[];
  auto& block = *reinterpret_cast<TileBlock<kHarris, kQuick>*>(memory);
  const int l = Begin<Shape::kThreads>(frame, block.histogram);
  const Level& level = frame.level[l];

  const int tile = level.first_strip + blockIdx.x - level.first_block;
  if (tile < level.end_strip) {
    const int x0 = level.strip_x0 + tile % level.strips_x * kColumns;
    const int y0 = Max(frame.edge, kFastRadius) - 1 + tile / level.strips_x * (Shape::kRows - 2);
    TileSearch<kArc, kHarris, kQuick> search(frame, l, x0, y0, block.tile, block.histogram.bin);
    if (!search.Run()) return;
  }
  if (kHarris) return;
  __syncthreads();
  block.histogram.template AddTo<Shape::kThreads>(frame.counters->histogram[l]);
}

// A kernel, with the threads and the bytes of shared memory of a block.
struct CornerKernel {
  const void* function;
  int threads;
  int shared_bytes;
};
template <int kArc>
CornerKernel KernelFor(CornerBlocks blocks, bool harris) {
  const auto of = [](void (*kernel)(Frame), int threads, size_t bytes) {
    return CornerKernel{reinterpret_cast<const void*>(kernel), threads, static_cast<int>(bytes)};
  };
  constexpr int kTile = TileShape<false>::kThreads;
  constexpr int kQuickTile = TileShape<true>::kThreads;
  if (harris) return of(FindTileCornersKernel<kArc, true, false>, kTile, sizeof(TileBlock<true, false>));
  if (blocks == CornerBlocks::kTiles) {
    return of(FindTileCornersKernel<kArc, false, false>, kTile, sizeof(TileBlock<false, false>));
  }
  if (blocks == CornerBlocks::kQuickTiles) {
    return of(FindTileCornersKernel<kArc, false, true>, kQuickTile, sizeof(TileBlock<false, true>));
  }
  return of(FindStripCornersKernel<kArc>, kThreads, sizeof(StripBlock));
}
CornerKernel KernelFor(int arc_length, CornerBlocks blocks, bool harris) {
  switch (arc_length) {
    case 9:
      return KernelFor<9>(blocks, harris);
    case 10:
      return KernelFor<10>(blocks, harris);
    case 11:
      return KernelFor<11>(blocks, harris);
    default:
      return KernelFor<12>(blocks, harris);
  }
}

}  // namespace

CornerTiling GetCornerTiling() {
  return {kWarps, kColumns, kMarginX, kStep, TileShape<false>::kRows, TileShape<true>::kRows, kHarrisRadius};
}

absl::Status PrepareCorners(Api* api) {
  for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
    for (const CornerKernel& kernel :
         {KernelFor(arc, CornerBlocks::kTiles, true), KernelFor(arc, CornerBlocks::kTiles, false),
          KernelFor(arc, CornerBlocks::kQuickTiles, false), KernelFor(arc, CornerBlocks::kStrips, false)}) {
      GLINT_RETURN_IF_ERROR(ToStatus(api->FuncSetSharedBytes(kernel.function, kernel.shared_bytes),
                                     "reserving shared memory for the corner stage"));
    }
  }
  return absl::OkStatus();
}

bool HasFewStrips(const Frame& frame, int multiprocessors) {
  return frame.corners == CornerBlocks::kQuickTiles || frame.corner_blocks * kWarps <= kFewWarps * multiprocessors;
}

absl::Status FindCorners(StreamView stream, const Frame& frame, int arc_length, bool harris, int multiprocessors) {
  if (arc_length < kMinArcLength || arc_length > kMaxArcLength) return absl::InternalError("corner stage: arc length");
  if (harris && frame.corners != CornerBlocks::kTiles) return absl::InternalError("corner stage: Harris without tiles");
  const CornerKernel kernel = KernelFor(arc_length, frame.corners, harris);
  KernelLaunch launch;
  launch.kernel = kernel.function;
  launch.block = dim3(kernel.threads);
  launch.grid = dim3(frame.corner_blocks);
  launch.shared_bytes = kernel.shared_bytes;
  // Beside the pyramid's last blocks, blocks that come early are placed unevenly, which is not made up for where all
  // run at once.
  const int at_once = harris ? kHarrisTilesAtOnce : kTilesAtOnce;
  launch.overlaps_predecessor =
      !HasFewStrips(frame, multiprocessors) && frame.corner_blocks > at_once * multiprocessors;
  void* arguments[] = {const_cast<Frame*>(&frame)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the corner stage");
}

}  // namespace glint::cuda
