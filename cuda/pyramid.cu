// The cascaded pyramid, each level from the one before: cv::resize, INTER_LINEAR_EXACT.
//
//   h(y, x) = (256 - cx) * p(y, sx) + cx * p(y, sx + 1)                      16 bits, exact
//   out     = ((256 - cy) * h(sy, x) + cy * h(sy + 1, x) + 2^15) >> 16
//
// The taps (sx, cx), (sy, cy) are computed on the host in double, once per shape.
//
// A thread makes 4 columns x 4 rows. Four neighbouring outputs read within eight input bytes, so each input row costs
// three aligned word loads, two funnel shifts, two byte permutes and four dot products (dp2a) for four results of the
// row pass. All loads are issued before the first use.
#include "cuda/device.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kColumns = 4;      // a thread's: one output word
constexpr int kRowsAtOnce = 4;   // enough loads in flight to cover their latency
constexpr int kManyBlocks = 30;  // per multiprocessor: three times what fits
constexpr int kBlockWarps = 4;   // small blocks, so that small levels spread over the device
constexpr int kTileColumns = kWarp * kColumns;

__device__ __forceinline__ int At(PackedTap tap) { return static_cast<int>(tap & 0xffff); }
__device__ __forceinline__ int Weight(PackedTap tap) { return static_cast<int>(tap >> 16); }

struct Window {
  uint32_t word[3];  // twelve input bytes from an aligned address
};

// The row pass for four outputs of one input row.
struct RowPass {
  uint32_t weights[kColumns];  // 256 - cx in the low half, cx in the high one
  uint32_t pairs[2];           // byte selectors: input bytes of outputs 0, 1 and of 2, 3
  int shift;                   // bits from the aligned word to the first input byte

  __device__ __forceinline__ void Run(const Window& w, uint32_t h[kColumns]) const {
    const uint32_t low = __funnelshift_r(w.word[0], w.word[1], shift);
    const uint32_t high = __funnelshift_r(w.word[1], w.word[2], shift);
    const uint32_t first = __byte_perm(low, high, pairs[0]);
    const uint32_t second = __byte_perm(low, high, pairs[1]);
    h[0] = __dp2a_lo(weights[0], first, 0u);
    h[1] = __dp2a_hi(weights[1], first, 0u);
    h[2] = __dp2a_lo(weights[2], second, 0u);
    h[3] = __dp2a_hi(weights[3], second, 0u);
  }
};

// Four outputs a pixel at a time: for steps so long that they do not fit a window, which only tiny levels have.
__device__ void MixSlowly(const uint8_t* from, const Level& before, const Level& level, uint8_t* to, int x0, int y,
                          bool is_mask) {
  for (int x = x0; x < Min(x0 + kColumns, level.width); ++x) {
    const PackedTap cx = level.column_taps[x];
    const PackedTap cy = level.row_taps[y];
    const int next_x = Min(At(cx) + 1, before.width - 1);
    const uint8_t* top = from + static_cast<size_t>(At(cy)) * before.pitch;
    const uint8_t* bottom = from + static_cast<size_t>(Min(At(cy) + 1, before.height - 1)) * before.pitch;
    const uint8_t v = ResizeColumn(Weight(cy), ResizeRow(Weight(cx), top[At(cx)], top[next_x]),
                                   ResizeRow(Weight(cx), bottom[At(cx)], bottom[next_x]));
    to[static_cast<size_t>(y) * level.pitch + x] = is_mask ? CutMask(v) : v;
  }
}

// Each byte 255 if it is 255, else 0.
__device__ __forceinline__ uint32_t CutMaskBytes(uint32_t v) { return __vcmpeq4(v, 0xffffffffu); }

// Where four neighbouring output columns lie in the input row, and how it is mixed.
struct Columns {
  RowPass pass;
  int word;  // the first one read of an input row that begins at column 0

  __device__ __forceinline__ explicit Columns(uint4 taps) {
    const PackedTap tap[kColumns] = {taps.x, taps.y, taps.z, taps.w};
    const int base = At(tap[0]);
    word = base / 4;
    pass.shift = (base & 3) * 8;
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      pass.weights[i] = static_cast<uint32_t>(256 - Weight(tap[i])) | (tap[i] & 0xffff0000u);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint32_t a = At(tap[2 * i]) - base;
      const uint32_t b = At(tap[2 * i + 1]) - base;
      pass.pairs[i] = a | (a + 1) << 4 | b << 8 | (b + 1) << 12;
    }
  }
};

// The column pass.
__device__ __forceinline__ uint32_t MixRows(const uint32_t top[kColumns], const uint32_t bottom[kColumns],
                                            uint32_t weight) {
  uint32_t mixed[kColumns];
#pragma unroll
  for (int i = 0; i < kColumns; ++i) mixed[i] = (256 - weight) * top[i] + weight * bottom[i] + (1u << 15);
  return __byte_perm(__byte_perm(mixed[0], mixed[1], 0x0062), __byte_perm(mixed[2], mixed[3], 0x0062), 0x5410);
}

// Grid: x and y over tiles of the level, z: 0 the image, 1 the mask. A thread makes kRows rows.
template <int kRows>
__global__ void __launch_bounds__(kWarp* kBlockWarps) BuildLevelKernel(GLINT_KERNEL_ARGUMENT Frame frame, int index) {
  AllowSuccessor();
  const Level& before = frame.level[index - 1];
  const Level& level = frame.level[index];
  const bool is_mask = blockIdx.z == 1;
  const uint8_t* from = is_mask ? before.mask : before.image;
  uint8_t* to = is_mask ? level.mask : level.image;
  const int x0 = (blockIdx.x * kWarp + threadIdx.x) * kColumns;
  const int y0 = level.first_row + (blockIdx.y * kBlockWarps + threadIdx.y) * kRows;
  const bool inside = x0 < level.width && y0 < level.end_row;

  uint4 taps = {};
  PackedTap rows[kRows];
  if (inside) {
    taps = *reinterpret_cast<const uint4*>(level.column_taps + x0);  // the table is padded
#pragma unroll
    for (int r = 0; r < kRows; ++r) rows[r] = level.row_taps[Min(y0 + r, level.height - 1)];
  }
  const Columns columns(taps);
  WaitForPredecessor();
  if (!inside) return;
  if (!level.narrow_taps) {
    for (int y = y0; y < Min(y0 + kRows, level.end_row); ++y) MixSlowly(from, before, level, to, x0, y, is_mask);
    return;
  }

  const auto* words = reinterpret_cast<const uint32_t*>(from) + columns.word;
  const auto load = [&](int y, Window& window) {
    const uint32_t* line = words + static_cast<size_t>(y) * (before.pitch / 4);
    for (int i = 0; i < 3; ++i) window.word[i] = line[i];
  };
  // The upper input row of an output row is most often the lower one of the output row above it. That saves work, and
  // waiting for a decision costs time: it pays where there is enough other work.
  const auto begins_anew = [&](int r) {
    return kRows == kRowsAtOnce || r % kRowsAtOnce == 0 || At(rows[r]) != At(rows[r - 1]) + 1;
  };
#pragma unroll
  for (int first = 0; first < kRows; first += kRowsAtOnce) {
    if (y0 + first >= level.end_row) break;
    Window upper[kRowsAtOnce], lower[kRowsAtOnce];
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      const int r = first + i;
      if (begins_anew(r)) load(At(rows[r]), upper[i]);
      load(Min(At(rows[r]) + 1, before.height - 1), lower[i]);
    }
    uint32_t top[kColumns], bottom[kColumns];
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      const int r = first + i;
      if (y0 + r >= level.end_row) break;
      if (begins_anew(r)) {
        columns.pass.Run(upper[i], top);
      } else {
        for (int k = 0; k < kColumns; ++k) top[k] = bottom[k];
      }
      columns.pass.Run(lower[i], bottom);
      uint32_t out = MixRows(top, bottom, Weight(rows[r]));
      if (is_mask) out = CutMaskBytes(out);
      *reinterpret_cast<uint32_t*>(to + static_cast<size_t>(y0 + r) * level.pitch + x0) = out;
    }
  }
}

}  // namespace

absl::Status BuildLevel(StreamView stream, const Frame& frame, int index, int multiprocessors) {
  const Level& level = frame.level[index];
  const int height = level.end_row - level.first_row;
  if (level.width == 0 || height == 0) return absl::OkStatus();
  const auto blocks = [&](int rows) {
    return dim3((level.width + kTileColumns - 1) / kTileColumns,
                (height + kBlockWarps * rows - 1) / (kBlockWarps * rows), level.mask != nullptr ? 2 : 1);
  };
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&BuildLevelKernel<kRowsAtOnce>);
  launch.block = dim3(kWarp, kBlockWarps);
  launch.grid = blocks(kRowsAtOnce);
  // Where there is enough work, fewer threads with more rows each spend less on getting ready.
  if (static_cast<int>(launch.grid.x * launch.grid.y) > kManyBlocks * multiprocessors) {
    launch.kernel = reinterpret_cast<const void*>(&BuildLevelKernel<2 * kRowsAtOnce>);
    launch.grid = blocks(2 * kRowsAtOnce);
  }
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame), &index};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the pyramid stage");
}

}  // namespace glint::cuda
