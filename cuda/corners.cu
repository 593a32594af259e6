// Corners of all levels in one launch: FAST, then either its score or the Harris measure at every corner (arXiv
// 2506.07164), 3x3 suppression on that, border, mask, and the histogram that the next stage cuts by.
//
// A block tests a tile of 128 x 64 pixels of one level and answers for the 120 x 62 inside it (whole words, and the one
// row around that suppression needs). Thread mapping: a lane owns one word of four neighbouring pixels and walks down
// the 8 rows of its warp with the ring's rows in registers; it loads and aligns each row once. Survivors are marked in
// one bit per pixel, 8 rows x 4 pixels to a register, then listed per warp, so that scoring runs with full warps.
//
// Shared memory, dynamic: the tile as loaded (pitch 144); the tile halved (fast.cuh), later the lists; the responses; a
// histogram: 35 KiB, with Harris 63 KiB.
#include <cstddef>
#include <type_traits>

#include "cuda/device.cuh"
#include "cuda/fast.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kRowsPerWarp = 8;  // as many as a byte has bits
constexpr int kThreads = kWarps * kWarp;
constexpr int kTestedRows = kWarps * kRowsPerWarp;
constexpr int kTestedColumns = kWarp * 4;
constexpr int kMarginX = 4;  // tested but not answered for: one word
constexpr int kMarginY = 1;
constexpr int kColumns = kTestedColumns - 2 * kMarginX;
constexpr int kRows = kTestedRows - 2 * kMarginY;
constexpr int kPadX = 8;  // columns loaded beyond the tested ones, at each side: a vector load
constexpr int kPitch = kTestedColumns + 2 * kPadX;
constexpr int kPitchWords = kPitch / 4;
constexpr int kListed = kRowsPerWarp * kTestedColumns;

// kHarris: responses are OrderedKeys of Harris measures, and the tile has the pixels that those read.
template <bool kHarris>
struct Tile {
  using Response = std::conditional_t<kHarris, uint32_t, uint8_t>;
  static constexpr int kPadY = kHarris ? kHarrisRadius : kFastRadius;
  static constexpr int kLoadedRows = kTestedRows + 2 * kPadY;

  uint8_t pixels[kLoadedRows][kPitch];
  union {
    uint32_t halved[kLoadedRows][kPitchWords];  // until the segment test is done
    uint16_t list[kWarps][kListed];             // afterwards: row of the warp << 7 | column
  };
  Response response[kTestedRows][kTestedColumns];  // 0: not a corner
  // Of the tile's candidates: on dense images, adding each to the level's histogram would queue up at its few lines.
  static constexpr int kTileBins = kHarris ? kBins : 256;
  uint32_t histogram[kTileBins];
};

// HarrisResponse() of the pixel at `centre`: sliding down the window, each row's differences and sums computed once.
__device__ float HarrisInTile(const uint8_t* centre) {
  int difference[3][kHarrisBlock];  // p(x + 1) - p(x - 1), of the last three rows
  int sum[3][kHarrisBlock];         // p(x - 1) + 2 p(x) + p(x + 1)
  int xx = 0, yy = 0, xy = 0;
#pragma unroll
  for (int v = 0; v <= 2 * kHarrisRadius; ++v) {
    const uint8_t* row = centre + (v - kHarrisRadius) * kPitch - kHarrisRadius;
    int p[kHarrisBlock + 2];
#pragma unroll
    for (int u = 0; u < kHarrisBlock + 2; ++u) p[u] = row[u];
#pragma unroll
    for (int u = 0; u < kHarrisBlock; ++u) {
      difference[v % 3][u] = p[u + 2] - p[u];
      sum[v % 3][u] = p[u] + 2 * p[u + 1] + p[u + 2];
    }
    if (v < 2) continue;
#pragma unroll
    for (int u = 0; u < kHarrisBlock; ++u) {
      const int gx = difference[(v + 1) % 3][u] + 2 * difference[(v + 2) % 3][u] + difference[v % 3][u];
      const int gy = sum[v % 3][u] - sum[(v + 1) % 3][u];
      xx += gx * gx;
      yy += gy * gy;
      xy += gx * gy;
    }
  }
  return HarrisResponse(xx, yy, xy);
}

// Rows q of a lane's column of words, aligned to the ring's columns; row 0 is three above the first tested row.
struct AlignedRows {
  static constexpr int kCount = kRowsPerWarp + 2 * kFastRadius;
  uint32_t left3[kCount], left2[kCount], left1[kCount], centre[kCount], right1[kCount], right2[kCount], right3[kCount];

  __device__ __forceinline__ void Load(const uint32_t* word, int q) {
    const uint32_t before = word[q * kPitchWords - 1];
    const uint32_t here = word[q * kPitchWords];
    const uint32_t after = word[q * kPitchWords + 1];
    left3[q] = __funnelshift_l(before, here, 24);
    left2[q] = __funnelshift_l(before, here, 16);
    left1[q] = __funnelshift_l(before, here, 8);
    centre[q] = here;
    right1[q] = __funnelshift_r(here, after, 8);
    right2[q] = __funnelshift_r(here, after, 16);
    right3[q] = __funnelshift_r(here, after, 24);
  }

  // Of the pixels in row q.
  __device__ __forceinline__ Ring RingAt(int q) const {
    return {{centre[q + 3], right1[q + 3], right2[q + 2], right3[q + 1], right3[q], right3[q - 1], right2[q - 2],
             right1[q - 3], centre[q - 3], left1[q - 3], left2[q - 2], left3[q - 1], left3[q], left3[q + 1],
             left2[q + 2], left1[q + 3]}};
  }
};

// Bytes of a word of columns x..x+3 that lie in low..high-1, as 0xff each.
__device__ __forceinline__ uint32_t ColumnMask(int x, int low, int high) {
  uint32_t mask = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) mask |= x + i >= low && x + i < high ? 0xffu << (8 * i) : 0u;
  return mask;
}

// Bits r of each byte for which y + r is in low..high-1.
__device__ __forceinline__ uint32_t RowMask(int y, int low, int high) {
  const int first = Clamp(low - y, 0, 8);
  const int last = Clamp(high - y, 0, 8);
  return (((1u << last) - 1) & ~((1u << first) - 1)) * 0x01010101u;
}

__device__ __forceinline__ int FindLevel(const Frame& frame, int tile) {
  int l = 0;
  while (l + 1 < frame.levels && tile >= frame.level[l + 1].first_tile) ++l;
  return l;
}

template <int kArc, bool kHarris>
__global__ void __launch_bounds__(kThreads, kHarris ? 2 : 4) FindCornersKernel(GLINT_KERNEL_ARGUMENT Frame frame) {
  extern __shared__ __align__(16) uint8_t memory[];
  auto& tile = *reinterpret_cast<Tile<kHarris>*>(memory);
  using Response = typename Tile<kHarris>::Response;
  constexpr int kPadY = Tile<kHarris>::kPadY;

  AllowSuccessor();
  const int l = FindLevel(frame, blockIdx.x);
  const Level& level = frame.level[l];
  const int number = blockIdx.x - level.first_tile;
  const int border = Max(frame.edge, kFastRadius);
  const int x0 = level.tile_x0 + number % level.tiles_x * kColumns;
  const int y0 = border - kMarginY + number / level.tiles_x * kRows;
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;

  auto* responses = reinterpret_cast<uint4*>(&tile.response[0][0]);
  for (int i = threadIdx.x; i < static_cast<int>(sizeof(tile.response) / sizeof(uint4)); i += kThreads) {
    responses[i] = make_uint4(0, 0, 0, 0);
  }
  for (int i = threadIdx.x; i < Tile<kHarris>::kTileBins; i += kThreads) tile.histogram[i] = 0;
  if (blockIdx.x == 0) {
    auto* clear = frame.counters->shortlisted;
    constexpr int kClear = (sizeof(Counters) - offsetof(Counters, shortlisted)) / sizeof(uint32_t);
    if (static_cast<int>(threadIdx.x) < kClear) clear[threadIdx.x] = 0;
  }
  // Level 0 was there before the frame's first kernel: its tiles need not wait for the pyramid.
  if (l > 0 || blockIdx.x == gridDim.x - 1) WaitForPredecessor();

  constexpr int kVectors = kPitch / 8;
  for (int i = threadIdx.x; i < Tile<kHarris>::kLoadedRows * kVectors; i += kThreads) {
    const int row = i / kVectors;
    const int column = (i - row * kVectors) * 8;
    // Where the tile leaves the level its pixels do not matter, but for the one row that Harris reflects.
    int y = y0 - kPadY + row;
    if (kHarris && y == -1) y = 1;
    if (kHarris && y == level.height) y = level.height - 2;
    y = Clamp(y, 0, level.height - 1);
    const int x = Clamp(x0 - kPadX + column, 0, level.pitch - 8);
    const uint2 v = *reinterpret_cast<const uint2*>(level.image + static_cast<size_t>(y) * level.pitch + x);
    *reinterpret_cast<uint2*>(&tile.pixels[row][column]) = v;
    *reinterpret_cast<uint2*>(&tile.halved[row][column / 4]) = make_uint2(HalvePixels(v.x), HalvePixels(v.y));
  }
  __syncthreads();
  if (kHarris) {
    // And the one column.
    const int left = -1 - (x0 - kPadX);
    const int right = level.width - (x0 - kPadX);
    for (int row = threadIdx.x; row < Tile<kHarris>::kLoadedRows; row += kThreads) {
      if (left >= 0) tile.pixels[row][left] = tile.pixels[row][left + 2];
      if (right >= 2 && right < kPitch) tile.pixels[row][right] = tile.pixels[row][right - 2];
    }
    __syncthreads();
  }

  // Segment test. A pixel matters if it can be a corner and lies in the region or next to it.
  const int x_low = Max(kFastRadius, Max(border - 1, x0 + kMarginX - 1));
  const int x_high = Min(level.width - Max(kFastRadius, border - 1), x0 + kMarginX + kColumns + 1);
  const int y_low = Max(kFastRadius, border - 1);
  const int y_high = level.height - y_low;
  const int y_warp = y0 + warp * kRowsPerWarp;
  const uint32_t columns = ColumnMask(x0 + lane * 4, x_low, x_high);
  const uint32_t margin = static_cast<uint32_t>((frame.threshold + 1) >> 1) * 0x01010101u;
  uint32_t marks = 0;
  {
    const uint32_t* word = &tile.halved[warp * kRowsPerWarp + kPadY - kFastRadius][kPadX / 4 + lane];
    AlignedRows rows;
#pragma unroll
    for (int q = 0; q < 2 * kFastRadius; ++q) rows.Load(word, q);
#pragma unroll
    for (int r = 0; r < kRowsPerWarp; ++r) {
      const int q = r + kFastRadius;
      rows.Load(word, q + kFastRadius);
      const SegmentBounds bounds(rows.centre[q], margin);
      const uint32_t found = SegmentTest<kArc>(rows.RingAt(q), bounds, columns);
      marks |= (found & kTopBits) >> (7 - r);
    }
  }
  marks &= RowMask(y_warp, y_low, y_high);
  __syncthreads();  // the lists overwrite the halved tile

  // List them.
  uint16_t* list = tile.list[warp];
  int listed = __popc(marks);
  int place = listed;
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const int other = __shfl_up_sync(kFullWarp, place, step);
    if (lane >= step) place += other;
  }
  const int place_end = place;
  place -= listed;
  listed = __shfl_sync(kFullWarp, place_end, kWarp - 1);
  while (marks != 0) {
    const int bit = __ffs(static_cast<int>(marks)) - 1;
    marks &= marks - 1;
    list[place++] = static_cast<uint16_t>((bit & 7) << 7 | (lane * 4 + (bit >> 3)));
  }
  __syncwarp();

  // Score them.
  for (int i = lane; i < listed; i += kWarp) {
    const int row = warp * kRowsPerWarp + (list[i] >> 7);
    const int column = list[i] & 127;
    const uint8_t* centre = &tile.pixels[row + kPadY][column + kPadX];
    const int score = PackedFastScore<kArc, kPitch>(centre);
    if (score < frame.threshold) continue;
    if constexpr (kHarris) {
      tile.response[row][column] = OrderedKey(__float_as_uint(HarrisInTile(centre)));
    } else {
      tile.response[row][column] = static_cast<uint8_t>(score);
    }
  }
  __syncthreads();

  // Suppress. What remains moves to the front of the list.
  int kept = 0;
  for (int first = 0; first < listed; first += kWarp) {
    const int i = first + lane;
    const uint16_t entry = list[Min(i, listed - 1)];
    const int row = warp * kRowsPerWarp + (entry >> 7);
    const int column = entry & 127;
    const int x = x0 + column;
    const int y = y0 + row;
    bool keep = i < listed && row >= kMarginY && row < kTestedRows - kMarginY && column >= kMarginX &&
                column < kTestedColumns - kMarginX && x >= frame.edge && x < level.width - frame.edge &&
                y >= frame.edge && y < level.height - frame.edge;
    if (keep) {
      const Response* r = &tile.response[row][column];
      Response neighbours = Response{0};
#pragma unroll
      for (int v = -1; v <= 1; ++v) {
#pragma unroll
        for (int u = -1; u <= 1; ++u) {
          if (u != 0 || v != 0) neighbours = max(neighbours, r[v * kTestedColumns + u]);
        }
      }
      keep = *r > neighbours;
      if (level.mask != nullptr) keep = keep && level.mask[static_cast<size_t>(y) * level.pitch + x] != 0;
    }
    const unsigned kept_lanes = __ballot_sync(kFullWarp, keep);
    __syncwarp();
    if (keep) list[kept + __popc(kept_lanes & ((1u << lane) - 1))] = entry;
    kept += __popc(kept_lanes);
    __syncwarp();
  }
  uint32_t base = 0;
  if (lane == 0 && kept > 0) base = atomicAdd(&frame.counters->candidates, kept);
  base = __shfl_sync(kFullWarp, base, 0);
  for (int i = lane; i < kept; i += kWarp) {
    const int row = warp * kRowsPerWarp + (list[i] >> 7);
    const int column = list[i] & 127;
    const uint32_t key = tile.response[row][column];
    frame.candidates[base + i] = {PackPosition(l, x0 + column, y0 + row), key};
    atomicAdd(&tile.histogram[kHarris ? HarrisBin(key) : key], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < Tile<kHarris>::kTileBins; i += kThreads) {
    const uint32_t n = tile.histogram[i];
    if (n != 0) atomicAdd(&frame.counters->histogram[l][i], n);
  }
}

using Kernel = void (*)(Frame);

template <bool kHarris>
Kernel KernelFor(int arc_length) {
  switch (arc_length) {
    case 9:
      return FindCornersKernel<9, kHarris>;
    case 10:
      return FindCornersKernel<10, kHarris>;
    case 11:
      return FindCornersKernel<11, kHarris>;
    default:
      return FindCornersKernel<12, kHarris>;
  }
}

const void* KernelFor(int arc_length, bool harris) {
  return reinterpret_cast<const void*>(harris ? KernelFor<true>(arc_length) : KernelFor<false>(arc_length));
}

int SharedBytes(bool harris) { return static_cast<int>(harris ? sizeof(Tile<true>) : sizeof(Tile<false>)); }

}  // namespace

CornerTiling GetCornerTiling() { return {kTestedColumns, kTestedRows, kColumns, kRows, kMarginX, kMarginY, 8}; }

absl::Status PrepareCorners(Api* api) {
  for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
    for (bool harris : {false, true}) {
      GLINT_RETURN_IF_ERROR(ToStatus(api->FuncSetSharedBytes(KernelFor(arc, harris), SharedBytes(harris)),
                                     "reserving shared memory for the corner stage"));
    }
  }
  return absl::OkStatus();
}

absl::Status FindCorners(StreamView stream, const Frame& frame, int arc_length, bool harris) {
  if (arc_length < kMinArcLength || arc_length > kMaxArcLength) return absl::InternalError("corner stage: arc length");
  KernelLaunch launch;
  launch.kernel = KernelFor(arc_length, harris);
  launch.block = dim3(kThreads);
  launch.grid = dim3(frame.tiles);
  launch.shared_bytes = SharedBytes(harris);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the corner stage");
}

}  // namespace glint::cuda
