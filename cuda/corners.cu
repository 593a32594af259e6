// Corners of all levels in one launch: FAST, then either its score or the Harris measure at every corner (arXiv
// 2506.07164), 3x3 suppression on that, border, mask, and the histogram that the next stage cuts by.
//
// A warp walks down a strip, 128 pixels wide, and answers for the 124 in the middle of it; nothing but the histogram is
// shared between warps, so none waits for another. It takes kStep rows at a time: each lane tests one word of four
// neighbouring pixels per row, with what the ring needs of the last seven rows in registers; what passes is marked in a
// bit per pixel, listed, and scored with full warps. Suppression follows one row behind, when the row below is scored.
//
// Shared memory of a warp: the rows that the ring (or Harris) reads around kStep rows, as bytes; the responses of kStep
// rows and the two before; the list; what is found. With the histogram 24 KiB a block, with Harris 43 KiB.
#include <cstddef>
#include <utility>

#include "cuda/quiet.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"
#include "cuda/walker.cuh"

namespace glint::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarp;
// How many strips there are for a multiprocessor. Few: each has to be quick; else they fill each other's pauses. Many:
// what counts is the work of all together, so that it pays to look first for what none has to be done for.
enum class Strips { kFew, kSome, kMany };
constexpr int kFewWarps = 12;    // of a multiprocessor, at most
constexpr int kManyBlocks = 32;  // of a multiprocessor, at least

template <bool kHarris>
struct Block {
  Strip<kHarris> strip[kWarps];
  // Of the block's candidates: on dense images, adding each to the level's histogram would queue up at its few lines.
  static constexpr int kBlockBins = kHarris ? kBins : 256;
  uint32_t histogram[kBlockBins];
};

__device__ __forceinline__ int FindLevel(const Frame& frame, int block) {
  int l = 0;
  while (l + 1 < frame.levels && block >= frame.level[l + 1].first_block) ++l;
  return l;
}

// On a multiprocessor at once: as many as shared memory holds there (228 KiB from sm_90 on, 164 before) or, if fewer,
// as make no registers spill.
constexpr int WarpsWanted(int arc, bool harris, Strips strips) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  constexpr bool kLarge = true;
#else
  constexpr bool kLarge = false;
#endif
  if (strips == Strips::kFew) return kFewWarps;
  if (harris) return kLarge ? 20 : 12;
  return kLarge && arc == kMinArcLength ? 32 : 24;
}

template <int kArc, bool kHarris, Strips kStrips>
__global__ void __launch_bounds__(kThreads, WarpsWanted(kArc, kHarris, kStrips) / kWarps)
    FindCornersKernel(GLINT_KERNEL_ARGUMENT Frame frame) {
  extern __shared__ __align__(16) uint8_t memory[];
  auto& block = *reinterpret_cast<Block<kHarris>*>(memory);
  constexpr int kBlockBins = Block<kHarris>::kBlockBins;

  AllowSuccessor();
  const int l = FindLevel(frame, blockIdx.x);
  const Level& level = frame.level[l];
  for (int i = threadIdx.x; i < kBlockBins; i += kThreads) block.histogram[i] = 0;
  if (blockIdx.x == 0) {
    auto* clear = frame.counters->shortlisted;
    constexpr int kClear = (sizeof(Counters) - offsetof(Counters, shortlisted)) / sizeof(uint32_t);
    if (static_cast<int>(threadIdx.x) < kClear) clear[threadIdx.x] = 0;
  }
  // Level 0 was there before the frame's first kernel: its strips need not wait for the pyramid.
  if (l > 0 || blockIdx.x == gridDim.x - 1) WaitForPredecessor();
  __syncthreads();

  const int warp = threadIdx.x / kWarp;
  const int strip = level.first_strip + (blockIdx.x - level.first_block) * kWarps + warp;
  if (strip < level.end_strip) {
    const int across = strip % level.strips_x;
    const int down = strip / level.strips_x;
    const int border = Max(frame.edge, kFastRadius);
    const int x0 = level.strip_x0 + across * kColumns;
    const int y0 = border - 1 + down * (frame.strip_steps * kStep - 2);
    // Steps at the strip's top. The walk does not answer for the first row that it tests: that one is quiet, too.
    int quiet = 0;
    bool all_quiet = false;
    if (kStrips == Strips::kMany) {
      const int steps = Min(frame.strip_steps, (level.height - border - y0) / kStep + 1);
      quiet = QuietTest(level, frame.threshold, x0, y0).CountSteps(steps);
      all_quiet = quiet == steps;
    }
    if (!all_quiet) {
      Walker<kArc, kHarris, kStrips == Strips::kFew ? 2 : 1>(frame, l, x0, y0 + quiet * kStep, block.strip[warp],
                                                             block.histogram)
          .Walk(frame.strip_steps - quiet);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kBlockBins; i += kThreads) {
    const uint32_t n = block.histogram[i];
    if (n != 0) atomicAdd(&frame.counters->histogram[l][i], n);
  }
}

using Kernel = void (*)(Frame);

template <bool kHarris, Strips kStrips>
Kernel KernelFor(int arc_length) {
  switch (arc_length) {
    case 9:
      return FindCornersKernel<9, kHarris, kStrips>;
    case 10:
      return FindCornersKernel<10, kHarris, kStrips>;
    case 11:
      return FindCornersKernel<11, kHarris, kStrips>;
    default:
      return FindCornersKernel<12, kHarris, kStrips>;
  }
}

const void* KernelFor(int arc_length, bool harris, Strips strips) {
  return reinterpret_cast<const void*>(harris                    ? KernelFor<true, Strips::kSome>(arc_length)
                                       : strips == Strips::kFew  ? KernelFor<false, Strips::kFew>(arc_length)
                                       : strips == Strips::kSome ? KernelFor<false, Strips::kSome>(arc_length)
                                                                 : KernelFor<false, Strips::kMany>(arc_length));
}

int SharedBytes(bool harris) { return static_cast<int>(harris ? sizeof(Block<true>) : sizeof(Block<false>)); }

}  // namespace

CornerTiling GetCornerTiling() { return {kWarps, kColumns, kMarginX, kStep, Strip<true>::kPad}; }

absl::Status PrepareCorners(Api* api) {
  for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
    for (auto [harris, strips] : {std::pair{false, Strips::kFew}, std::pair{false, Strips::kSome},
                                  std::pair{false, Strips::kMany}, std::pair{true, Strips::kSome}}) {
      GLINT_RETURN_IF_ERROR(ToStatus(api->FuncSetSharedBytes(KernelFor(arc, harris, strips), SharedBytes(harris)),
                                     "reserving shared memory for the corner stage"));
    }
  }
  return absl::OkStatus();
}

bool HasFewStrips(const Frame& frame, int multiprocessors) {
  return frame.corner_blocks * kWarps <= kFewWarps * multiprocessors;
}

absl::Status FindCorners(StreamView stream, const Frame& frame, int arc_length, bool harris, int multiprocessors) {
  if (arc_length < kMinArcLength || arc_length > kMaxArcLength) return absl::InternalError("corner stage: arc length");
  KernelLaunch launch;
  const bool few_strips = HasFewStrips(frame, multiprocessors);
  const Strips strips = few_strips                                             ? Strips::kFew
                        : frame.corner_blocks >= kManyBlocks * multiprocessors ? Strips::kMany
                                                                               : Strips::kSome;
  launch.kernel = KernelFor(arc_length, harris, strips);
  launch.block = dim3(kThreads);
  launch.grid = dim3(frame.corner_blocks);
  launch.shared_bytes = SharedBytes(harris);
  // Beside the pyramid's last blocks, blocks that come early are placed unevenly, which a few strips do not make up
  // for.
  launch.overlaps_predecessor = !few_strips;
  void* arguments[] = {const_cast<Frame*>(&frame)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the corner stage");
}

}  // namespace glint::cuda
