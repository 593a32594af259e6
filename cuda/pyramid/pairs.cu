// Levels whose columns lie too far apart for cascaded.cu: those of Pyramid::kDirect, of which each comes from the image
// itself, all in one launch; and cascaded ones at large factors. The equations are those of cascaded.cu.
//
// A thread makes two pairs of neighbouring columns, half a row apart, or four, so that at any factor neighbouring
// threads read and write what lies close together: what such a level costs is the lines of the cache that its loads
// touch. It walks down the input rows that are needed, as the table of steps has them: each goes through the row pass
// once, and is mixed with the one before where an output row lies between them. A pair whose four pixels lie within two
// words costs a row two loads, a byte permute and two dot products; if they do not, each of its columns has a window of
// its own.
#include <algorithm>

#include "cuda/common/enqueue.h"
#include "cuda/common/warp.cuh"
#include "cuda/plan/tiling.h"
#include "cuda/pyramid/resize.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

struct PairLevel {
  const uint8_t* from[2];  // image, mask
  uint8_t* to[2];
  const ColumnPair* pairs[2];  // likewise
  const RowStep* steps[2];
  int from_words;  // from row to row
  int to_pitch;
  int width;
  int groups;        // threads side by side
  uint32_t inverse;  // of `groups`, see Divided()
  int first_step;
  int end_step;
  int first_row;  // output rows
  int rows;
  int first_block;
  bool one_window;
};

// Of a launch.
struct PairLevels {
  int count;
  int steps;  // of a thread
  PairLevel level[kMaxLevels];
};

template <bool kOneWindow>
struct PairWindow {
  uint32_t word[kOneWindow ? 2 : 4];
};

template <bool kOneWindow>
struct Pair {
  const uint32_t* at[kOneWindow ? 1 : 2];
  uint32_t weights[2];
  uint32_t select;

  __device__ __forceinline__ void Set(const ColumnPair& pair, const uint32_t* from) {
    at[0] = from + (pair.words & 0xffff);
    if (!kOneWindow) at[kOneWindow ? 0 : 1] = from + (pair.words >> 16);
    weights[0] = pair.weights[0];
    weights[1] = pair.weights[1];
    select = pair.select;
  }
  __device__ __forceinline__ void Load(int offset, PairWindow<kOneWindow>& window) const {
#pragma unroll
    for (int i = 0; i < (kOneWindow ? 1 : 2); ++i) {
      window.word[2 * i] = at[i][offset];
      window.word[2 * i + 1] = at[i][offset + 1];
    }
  }
  // The row pass.
  template <bool kLinear>
  __device__ __forceinline__ void Run(const PairWindow<kOneWindow>& window, uint32_t* h) const {
    const uint32_t first = __byte_perm(window.word[0], window.word[1], select);
    const uint32_t second =
        kOneWindow ? first : __byte_perm(window.word[kOneWindow ? 0 : 2], window.word[kOneWindow ? 1 : 3], select);
    PassPair<kLinear>(first, second, weights, h);
  }
};

// `count` steps of a thread from `step` on; none if it is beyond the last.
template <bool kLinear, int kPairs, bool kOneWindow, int kBatch>
__device__ __forceinline__ void WalkDown(const PairLevel& level, int count, int group, int step, bool is_mask) {
  const bool inside = step < level.end_step;
  ColumnPair tables[kPairs] = {};
  uint2 next[kBatch] = {};  // steps
  uint2 before = {};
  const auto load_steps = [&](int first) {
#pragma unroll
    for (int i = 0; i < kBatch; i += 2) {
      const uint4 two = *reinterpret_cast<const uint4*>(level.steps[is_mask] + first + i);
      next[i] = make_uint2(two.x, two.y);
      next[i + 1] = make_uint2(two.z, two.w);
    }
  };
  if (inside) {
#pragma unroll
    for (int p = 0; p < kPairs; ++p) tables[p] = level.pairs[is_mask][group + p * level.groups];
    before = *reinterpret_cast<const uint2*>(level.steps[is_mask] + Max(step - 1, 0));
    load_steps(step);
  }
  WaitForPredecessor();
  if (!inside) return;

  const auto* from = reinterpret_cast<const uint32_t*>(level.from[is_mask]);
  Pair<kOneWindow> pair[kPairs];
  PairWindow<kOneWindow> window[kBatch][kPairs];
  uint32_t h[2][2 * kPairs];  // of the row before and of this one: double buffer
  const auto load = [&](const uint2& one, PairWindow<kOneWindow>(&to)[kPairs]) {
    const int offset = static_cast<int>(one.x & 0xffff) * level.from_words;
#pragma unroll
    for (int p = 0; p < kPairs; ++p) pair[p].Load(offset, to[p]);
  };
  const auto run = [&](const PairWindow<kOneWindow>(&of)[kPairs], uint32_t* sums) {
#pragma unroll
    for (int p = 0; p < kPairs; ++p) pair[p].template Run<kLinear>(of[p], sums + 2 * p);
  };
#pragma unroll
  for (int p = 0; p < kPairs; ++p) pair[p].Set(tables[p], from);
  load(before, window[0]);
  run(window[0], h[0]);
  uint8_t* to = level.to[is_mask] + 2 * group;
  const int end = Min(step + count, level.end_step);
  for (;;) {
    uint2 mix[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      mix[i] = next[i];
      load(mix[i], window[i]);
    }
    step += kBatch;
    load_steps(step);  // the table is padded
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      uint32_t* const top = h[i % 2];
      uint32_t* const bottom = h[(i + 1) % 2];
      run(window[i], bottom);
      const int row = static_cast<int>(mix[i].x) >> 16;
      if (static_cast<uint32_t>(row - level.first_row) >= static_cast<uint32_t>(level.rows)) continue;
      uint32_t mixed[2 * kPairs];
#pragma unroll
      for (int k = 0; k < 2 * kPairs; ++k) mixed[k] = MixPixel<kLinear>(top[k], bottom[k], mix[i].y);
      uint8_t* out = to + static_cast<size_t>(row) * level.to_pitch;
#pragma unroll
      for (int p = 0; p < kPairs; ++p) {
        uint32_t both = __byte_perm(mixed[2 * p], mixed[2 * p + 1], 0x0062);
        if (is_mask) both = CutMaskBytes(both);
        *reinterpret_cast<uint16_t*>(out + 2 * p * level.groups) = static_cast<uint16_t>(both);
      }
    }
    if (step >= end) return;
  }
}

template <bool kLinear, int kPairs>
__device__ __forceinline__ void WalkDown(const PairLevel& level, int count, int group, int step, bool is_mask) {
  if (level.one_window) {
    WalkDown<kLinear, kPairs, true, kPairs == kFewPairs ? 4 : 2>(level, count, group, step, is_mask);
  } else {
    WalkDown<kLinear, kPairs, false, 2>(level, count, group, step, is_mask);
  }
}

// blockIdx.z: 0 the image, 1 the mask. Neighbouring threads make neighbouring pairs, then the next rows.
template <int kPairs, bool kLinear>
__global__ void __launch_bounds__(kPairThreads, kPairs == kManyPairs ? 7 : 1)
    BuildPairsKernel(GLINT_KERNEL_ARGUMENT PairLevels levels) {
  AllowSuccessor();
  int l = 0;
  while (l + 1 < levels.count && static_cast<int>(blockIdx.x) >= levels.level[l + 1].first_block) ++l;
  const PairLevel& level = levels.level[l];
  int group;
  const int strip =
      Divided((blockIdx.x - level.first_block) * kPairThreads + threadIdx.x, level.groups, level.inverse, &group);
  const int step = level.first_step + strip * levels.steps;
  const bool is_mask = blockIdx.z == 1;
  if (kLinear && !is_mask) {
    WalkDown<true, kPairs>(level, levels.steps, group, step, false);
  } else {
    WalkDown<false, kPairs>(level, levels.steps, group, step, is_mask);
  }
}

template <bool kLinear>
auto* KernelFor(int column_pairs) {
  return column_pairs == kManyPairs ? BuildPairsKernel<kManyPairs, kLinear> : BuildPairsKernel<kFewPairs, kLinear>;
}

PairLevel MakePairLevel(const Level& from, const Level& level) {
  PairLevel made{};
  made.from[0] = from.image;
  made.from[1] = from.mask;
  made.to[0] = level.image;
  made.to[1] = level.mask;
  made.width = level.width;
  made.pairs[0] = level.column_pairs;
  made.pairs[1] = level.column_pairs + level.mask_columns;
  made.steps[0] = level.pair_steps;
  made.steps[1] = level.pair_steps + level.mask_steps;
  made.from_words = from.pitch / 4;
  made.to_pitch = level.pitch;
  made.first_step = FirstPairStep(level);
  made.end_step = level.end_step;
  made.first_row = level.first_row;
  made.rows = level.end_row - level.first_row;
  made.one_window = level.pair_windows;
  return made;
}

}  // namespace

absl::Status BuildLevelsByPairs(StreamView stream, const Launch& launch, const Frame& frame) {
  PairLevels levels{};
  levels.steps = launch.steps;
  int blocks = 0;
  for (int l = launch.level; l < launch.level + launch.levels; ++l) {
    PairLevel& level = levels.level[levels.count++];
    level = MakePairLevel(frame.level[launch.from], frame.level[l]);
    level.groups = PairGroups(frame.level[l], launch.column_pairs);
    level.inverse = 0xffffffffu / level.groups;
    level.first_block = blocks;
    blocks += DivideUp(PairThreads(frame.level[l], launch.column_pairs, launch.steps), kPairThreads);
  }
  return Enqueue(stream, launch,
                 launch.linear ? KernelFor<true>(launch.column_pairs) : KernelFor<false>(launch.column_pairs), levels);
}

}  // namespace glint::cuda
