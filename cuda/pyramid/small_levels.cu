// Levels of the cascaded pyramid whose launches would take longer than their work: several in one launch. A block makes
// its tile of each, the tile of the level before in shared memory, and beside it what it needs of its neighbours'.
#include "cuda/common/enqueue.h"
#include "cuda/common/warp.cuh"
#include "cuda/pyramid/resize.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

// Input rows that a thread has loads in flight for: more of global memory, which takes longer.
constexpr int kFirstBatch = kSmallLevelsBatch;
constexpr int kBatch = 2;

// What the block has of its tile.
struct Tile {
  uint8_t* shared;
  const SmallLevelSpan* columns;  // of each level
  const SmallLevelSpan* rows;
};

// Makes level `l` of the small levels from rows of `pitch` words, walking down kBatch input rows at a time.
template <int kBatch, bool kLinear>
__device__ __forceinline__ void MakeLevel(const SmallLevels& small, const Tile& tile, int l, const uint32_t* from,
                                          int pitch, bool is_mask) {
  const SmallLevel& level = small.level[l];
  int word;
  const int strip = Divided(threadIdx.x, level.words, level.inverse, &word);
  const SmallLevelSpan across = tile.columns[l];
  const SmallLevelSpan down = tile.rows[l];
  int step = strip * level.steps_per_thread;
  const int end = Min(step + level.steps_per_thread, down.steps);
  if (word >= across.size || step >= end) return;
  const ColumnGroup group = reinterpret_cast<const ColumnGroup*>(tile.shared + level.columns)[word];
  const RowMix* steps = reinterpret_cast<const RowMix*>(tile.shared + level.steps);
  auto* held = reinterpret_cast<uint32_t*>(tile.shared + level.pixels) + word;
  uint8_t* to = (is_mask ? level.mask : level.image) + static_cast<size_t>(down.start) * level.pitch +
                (across.start + word) * kGroup;
  const bool owns = static_cast<uint32_t>(word - across.own_start) < static_cast<uint32_t>(across.own_size);
  const bool is_last = l + 1 == small.levels;
  from += group.word;

  struct Window {
    uint32_t word[3];
  };
  const auto load = [&](int s, Window& window) {
    const uint32_t* line = from + Min(down.first_step + s, down.last_input) * pitch;
#pragma unroll
    for (int i = 0; i < 3; ++i) window.word[i] = line[i];
  };
  const auto pass = [&](const Window& window, uint32_t h[kGroup]) {
    const uint32_t low = __funnelshift_r(window.word[0], window.word[1], group.shift);
    const uint32_t high = __funnelshift_r(window.word[1], window.word[2], group.shift);
    PassRow<kLinear>(low, high, group.weights, group.pairs, h);
  };
  RowMix mix[kBatch];
  const auto load_steps = [&] {
#pragma unroll
    for (int i = 0; i < kBatch; ++i) mix[i] = steps[step + i];  // the tables are padded
  };
  uint32_t h[2][kGroup];  // of the input row above and of this one: double buffer
  Window window[kBatch + 1];
  load(step, window[kBatch]);
#pragma unroll
  for (int i = 0; i < kBatch; ++i) load(step + 1 + i, window[i]);
  load_steps();
  pass(window[kBatch], h[0]);
  for (;;) {
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      uint32_t* const top = h[i % 2];
      uint32_t* const bottom = h[(i + 1) % 2];
      pass(window[i], bottom);
      if (step + i >= end) return;
      const int row = mix[i].row;
      if (row < 0) continue;
      uint32_t out = MixRows<kLinear>(top, bottom, mix[i].weights);
      if (is_mask) out = CutMaskBytes(out);
      if (!is_last) held[row * level.words] = out;
      if (owns && static_cast<uint32_t>(row - down.own_start) < static_cast<uint32_t>(down.own_size)) {
        *reinterpret_cast<uint32_t*>(to + static_cast<size_t>(row) * level.pitch) = out;
      }
    }
    step += kBatch;
    if (step >= end) return;
#pragma unroll
    for (int i = 0; i < kBatch; ++i) load(step + 1 + i, window[i]);
    load_steps();
  }
}

// Grid: the tiles, z: 0 the image, 1 the mask, but kLinear has none.
template <bool kLinear>
__global__ void __launch_bounds__(kSmallLevelsThreads)
    BuildSmallLevelsKernel(GLINT_KERNEL_ARGUMENT SmallLevels small, const uint8_t* image, const uint8_t* mask,
                           int pitch) {
  AllowSuccessor();
  extern __shared__ uint4 shared[];
  const uint4* columns = small.column_tables + blockIdx.x * small.column_vectors;
  const uint4* rows = small.row_tables + blockIdx.y * small.row_vectors;
  for (int i = threadIdx.x; i < small.column_vectors; i += kSmallLevelsThreads) CopyAsync16(shared + i, columns + i);
  for (int i = threadIdx.x; i < small.row_vectors; i += kSmallLevelsThreads) {
    CopyAsync16(shared + small.column_vectors + i, rows + i);
  }
  WaitForCopies();
  __syncthreads();
  WaitForPredecessor();
  const bool is_mask = !kLinear && blockIdx.z == 1;
  const Tile tile = {reinterpret_cast<uint8_t*>(shared), reinterpret_cast<const SmallLevelSpan*>(shared),
                     reinterpret_cast<const SmallLevelSpan*>(shared + small.column_vectors)};
  MakeLevel<kFirstBatch, kLinear>(small, tile, 0, reinterpret_cast<const uint32_t*>(is_mask ? mask : image), pitch / 4,
                                  is_mask);
  for (int l = 1; l < small.levels; ++l) {
    __syncthreads();
    const SmallLevel& before = small.level[l - 1];
    MakeLevel<kBatch, kLinear>(small, tile, l, reinterpret_cast<const uint32_t*>(tile.shared + before.pixels),
                               before.words, is_mask);
  }
}

}  // namespace

absl::Status BuildSmallLevels(StreamView stream, const Launch& launch, const Frame& frame, const SmallLevels& small) {
  const Level& before = frame.level[launch.from];
  const uint8_t* image = before.image;
  const uint8_t* mask = before.mask;
  return Enqueue(stream, launch, launch.linear ? BuildSmallLevelsKernel<true> : BuildSmallLevelsKernel<false>, small,
                 image, mask, before.pitch);
}

}  // namespace glint::cuda
