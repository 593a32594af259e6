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
// be done for pays: a warp walks down a strip, 128 pixels wide, and owns the 124 in the middle of it; nothing
// but the histogram is shared between warps, so none waits for another. It takes kStep rows at a time. Suppression
// follows one row behind, when the row below is scored.
//
// Shared memory of a block: strips 24 KiB, a tile 19 KiB, with Harris 29 KiB, for eight warps 24 KiB.
#include <initializer_list>
#include <type_traits>

#include "cuda/common/append.cuh"
#include "cuda/common/enqueue.h"
#include "cuda/corners/fast_tile.cuh"
#include "cuda/corners/skip_flat_rows.cuh"
#include "cuda/corners/strip_scanner.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kWarps = kStripWarps;
constexpr int kThreads = kWarps * kWarp;

// Of a block's FAST scores: on dense images, adding each to the level's histogram would queue up at its few lines.
struct ScoreHistogram {
  uint32_t bin[kFastScores];

  template <int kThreads>
  __device__ __forceinline__ void Clear() {
    for (int i = threadIdx.x; i < kFastScores; i += kThreads) bin[i] = 0;
  }
  template <int kThreads>
  __device__ __forceinline__ void AddTo(uint32_t* level) const {
    for (int i = threadIdx.x; i < kFastScores; i += kThreads) {
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
  ClearRankCounters(frame);
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
    const int x0 = level.strip_x0 + across * kOwnedColumns;
    const int y0 = border - 1 + down * (frame.strip_steps * kStep - 2);
    // Steps at the strip's top. The first row that is tested belongs to the halo: that one is flat, too.
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
    const int x0 = level.strip_x0 + tile % level.strips_x * kOwnedColumns;
    const int y0 = Max(frame.edge, kFastRadius) - 1 + tile / level.strips_x * (Shape::kRows - 2);
    TileSearch<kArc, kHarris, kQuick> search(frame, l, x0, y0, block.tile, block.histogram.bin);
    if (!search.Run()) return;
  }
  if (kHarris) return;
  __syncthreads();
  block.histogram.template AddTo<Shape::kThreads>(frame.counters->histogram[l]);
}

using CornersKernel = void (*)(Frame);
template <int kArc>
CornersKernel KernelFor(CornerBlocks blocks, bool harris) {
  if (harris) return FindTileCornersKernel<kArc, true, false>;
  if (blocks == CornerBlocks::kTiles) return FindTileCornersKernel<kArc, false, false>;
  if (blocks == CornerBlocks::kQuickTiles) return FindTileCornersKernel<kArc, false, true>;
  return FindStripCornersKernel<kArc>;
}
CornersKernel KernelFor(int arc_length, CornerBlocks blocks, bool harris) {
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
static_assert(sizeof(StripBlock) == StripBlockBytes());
static_assert(sizeof(TileBlock<false, false>) == TileBlockBytes(false, false));
static_assert(sizeof(TileBlock<false, true>) == TileBlockBytes(false, true));
static_assert(sizeof(TileBlock<true, false>) == TileBlockBytes(true, false));

}  // namespace

absl::Status PrepareCorners(Api* api) {
  struct Variant {
    CornerBlocks blocks;
    bool harris;
    int shared_bytes;
  };
  for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
    for (const Variant& variant : {Variant{CornerBlocks::kTiles, true, TileBlockBytes(true, false)},
                                   Variant{CornerBlocks::kTiles, false, TileBlockBytes(false, false)},
                                   Variant{CornerBlocks::kQuickTiles, false, TileBlockBytes(false, true)},
                                   Variant{CornerBlocks::kStrips, false, StripBlockBytes()}}) {
      const auto* kernel = reinterpret_cast<const void*>(KernelFor(arc, variant.blocks, variant.harris));
      GLINT_RETURN_IF_ERROR(ToStatus(api->FuncSetSharedBytes(kernel, variant.shared_bytes),
                                     "reserving shared memory for the corner stage"));
    }
  }
  return absl::OkStatus();
}

absl::Status FindCorners(StreamView stream, const Launch& launch, const Frame& frame) {
  return Enqueue(stream, launch, KernelFor(launch.arc_length, frame.corners, launch.harris), frame);
}

}  // namespace glint::cuda
