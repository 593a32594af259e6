// The cascaded pyramid, each level from the one before: cv::resize, INTER_LINEAR_EXACT.
//
//   h(y, x) = (256 - cx) * p(y, sx) + cx * p(y, sx + 1)                      16 bits, exact
//   out     = ((256 - cy) * h(sy, x) + cy * h(sy + 1, x) + 2^15) >> 16
//
// Of Selection::kQuadtree INTER_LINEAR, weights of 2048 together; masks remain exact.
//
//   h(y, x) = (wx * p(y, sx) + cx * p(y, sx + 1)) >> 4
//   out     = ((wy * h(sy, x) >> 16) + (cy * h(sy + 1, x) >> 16) + 2) >> 2
//
// The taps (sx, cx), (sy, cy) are computed on the host in double, once per shape.
//
// A thread makes eight columns and walks down the input: each row goes through the row pass once, and is mixed with the
// one above it where an output row lies between them, which the table of steps says. At factors below 4/3 eight outputs
// read within 15 bytes of an aligned word, so that a row costs four loads, three funnel shifts, four byte permutes and
// eight dot products (dp2a).
#include <algorithm>

#include "cuda/common/enqueue.h"
#include "cuda/common/warp.cuh"
#include "cuda/pyramid/resize.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

static_assert(kLevelColumns == 2 * kGroup);

// What a launch needs of its two levels.
struct LevelJob {
  const uint8_t* from[2];  // image, mask
  uint8_t* to[2];
  const ColumnGroup* columns[2];  // likewise
  const RowMix* steps[2];
  int from_words;  // from row to row
  int from_height;
  int to_pitch;
  int groups;        // of eight columns
  uint32_t inverse;  // of `groups`, see Divided()
  int first_step;    // input rows
  int end_step;
  int first_row;  // output rows
  int rows;
  int batches;  // of kBatch input rows a thread
};

struct Window {
  uint32_t word[4];
};

// Eight neighbouring output columns: `right` reads from where `left` does, four bytes on.
struct Columns {
  ColumnGroup left, right;

  template <bool kLinear>
  __device__ __forceinline__ void Run(const Window& w, uint32_t h[kLevelColumns]) const {
    const uint32_t a = __funnelshift_r(w.word[0], w.word[1], left.shift);
    const uint32_t b = __funnelshift_r(w.word[1], w.word[2], left.shift);
    const uint32_t c = __funnelshift_r(w.word[2], w.word[3], left.shift);
    PassRow<kLinear>(a, b, left.weights, left.pairs, h);
    PassRow<kLinear>(b, c, right.weights, right.pairs, h + kGroup);
  }
};

// Neighbouring threads make neighbouring columns, then the next rows.
template <int kBatch, bool kLinear>
__device__ __forceinline__ void WalkDown(const LevelJob& job, bool is_mask) {
  int group;
  const int strip = Divided(blockIdx.x * kLevelThreads + threadIdx.x, job.groups, job.inverse, &group);
  int step = job.first_step + strip * job.batches * kBatch;
  const bool inside = step < job.end_step;
  Columns columns = {};
  RowMix mix[kBatch] = {};
  const auto load_steps = [&] {
#pragma unroll
    for (int i = 0; i < kBatch; i += 2) {
      const uint4 two = *reinterpret_cast<const uint4*>(job.steps[is_mask] + step + i);
      mix[i] = {static_cast<int>(two.x), two.y};
      mix[i + 1] = {static_cast<int>(two.z), two.w};
    }
  };
  if (inside) {
    columns.left = job.columns[is_mask][2 * group];
    columns.right = job.columns[is_mask][2 * group + 1];
    load_steps();
  }
  WaitForPredecessor();
  if (!inside) return;

  const auto* from = reinterpret_cast<const uint32_t*>(job.from[is_mask]);
  uint8_t* to = job.to[is_mask] + group * kLevelColumns;
  const uint32_t* left = from + columns.left.word;
  const auto load = [&](int y, Window& window) {
    const uint32_t* words = left + Min(y, job.from_height - 1) * job.from_words;
#pragma unroll
    for (int i = 0; i < 4; ++i) window.word[i] = words[i];
  };
  uint32_t h[2][kLevelColumns];  // of the input row above and of this one: double buffer
  Window window[kBatch + 1];
  load(step, window[kBatch]);
#pragma unroll
  for (int i = 0; i < kBatch; ++i) load(step + 1 + i, window[i]);
  columns.Run<kLinear>(window[kBatch], h[0]);
  for (int batch = job.batches;;) {
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      uint32_t* const top = h[i % 2];
      uint32_t* const bottom = h[(i + 1) % 2];
      columns.Run<kLinear>(window[i], bottom);
      const int row = mix[i].row - job.first_row;
      if (static_cast<uint32_t>(row) >= static_cast<uint32_t>(job.rows)) continue;
      uint2 out = {MixRows<kLinear>(top, bottom, mix[i].weights),
                   MixRows<kLinear>(top + kGroup, bottom + kGroup, mix[i].weights)};
      if (is_mask) out = {CutMaskBytes(out.x), CutMaskBytes(out.y)};
      *reinterpret_cast<uint2*>(to + static_cast<size_t>(mix[i].row) * job.to_pitch) = out;
    }
    step += kBatch;
    if (--batch == 0 || step >= job.end_step) break;
#pragma unroll
    for (int i = 0; i < kBatch; ++i) load(step + 1 + i, window[i]);
    load_steps();
  }
}

// blockIdx.z: 0 the image, 1 the mask.
template <int kBatch, bool kLinear>
__global__ void __launch_bounds__(kLevelThreads) BuildLevelKernel(GLINT_KERNEL_ARGUMENT LevelJob job) {
  AllowSuccessor();
  const bool is_mask = blockIdx.z == 1;
  if (kLinear && !is_mask) {
    WalkDown<kBatch, true>(job, false);
  } else {
    WalkDown<kBatch, false>(job, is_mask);
  }
}

template <bool kLinear>
auto* KernelFor(int batch) {
  return batch == 2 ? BuildLevelKernel<2, kLinear> : BuildLevelKernel<4, kLinear>;
}

}  // namespace

absl::Status BuildLevel(StreamView stream, const Launch& launch, const Frame& frame) {
  const Level& level = frame.level[launch.level];
  const Level& before = frame.level[launch.from];
  LevelJob job = {};
  job.from[0] = before.image;
  job.from[1] = before.mask;
  job.to[0] = level.image;
  job.to[1] = level.mask;
  job.columns[0] = level.column_groups;
  job.columns[1] = level.column_groups + level.mask_columns;
  job.steps[0] = level.row_steps;
  job.steps[1] = level.row_steps + level.mask_steps;
  job.from_words = before.pitch / 4;
  job.from_height = before.height;
  job.to_pitch = level.pitch;
  job.groups = DivideUp(level.width, kLevelColumns);
  job.inverse = 0xffffffffu / job.groups;
  job.first_step = level.first_step & ~3;
  job.end_step = level.end_step;
  job.first_row = level.first_row;
  job.rows = level.end_row - level.first_row;
  const int batch = std::min(launch.steps, 4);
  job.batches = launch.steps / batch;
  return Enqueue(stream, launch, launch.linear ? KernelFor<true>(batch) : KernelFor<false>(batch), job);
}

}  // namespace glint::cuda
