// Corners of all levels in one launch, for any score, bounded arcs and suppression of any radius; what survives goes to
// the candidates or, in the same pass, to the cells that it falls in.
//
// A block tests a tile of 128 x 32 pixels of one level and answers for the 120 x (32 - 2 radius) in the middle. A lane
// owns one word of four neighbouring pixels and walks down the 8 rows of its warp with the ring's rows in registers; a
// conservative test of four opposite pairs, four pixels at once, marks what may be a corner. The marked pixels are
// listed per warp and decided exactly and scored with full warps: the ring as 16 bits of brighter and of darker pixels,
// runs by shifting. Survivors of suppression that fall in one cell meet in the warp (match, maximum of the lanes)
// before one of them goes to the cell by a 64-bit atomic maximum, which makes the winner independent of order.
//
// Shared memory, dynamic: pixels (pitch 144), scores, lists, histogram: 26 KiB, with Harris 34 KiB.
#include <cstddef>
#include <type_traits>

#include "cuda/fast.cuh"
#include "cuda/map_device.cuh"
#include "cuda/map_stages.h"
#include "cuda/ring.cuh"
#include "cuda/runtime/error.h"
#include "cuda/segment.cuh"

namespace glint::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kRowsPerWarp = 8;  // as many as a byte has bits
constexpr int kThreads = kWarps * kWarp;
constexpr int kTestedRows = kWarps * kRowsPerWarp;
constexpr int kTestedColumns = kWarp * 4;
constexpr int kMarginX = 4;  // tested but not answered for: one word
static_assert(kMarginX >= kMaxSuppressionRadius);
constexpr int kColumns = kTestedColumns - 2 * kMarginX;
constexpr int kPadX = 8;  // columns loaded beyond the tested ones, at each side: a vector load
constexpr int kPitch = kTestedColumns + 2 * kPadX;
constexpr int kLoadedRows = kTestedRows + 2 * kFastRadius;
constexpr int kListed = kRowsPerWarp * kTestedColumns;

template <Score kScore>
struct Tile {
  // Harris: OrderedKeys.
  using Response = std::conditional_t<kScore == Score::kHarris, uint32_t, uint16_t>;
  alignas(16) uint8_t pixels[kLoadedRows][kPitch];
  alignas(16) Response response[kTestedRows][kTestedColumns];  // 0: not a corner
  uint16_t list[kWarps][kListed];                              // row of the warp << 7 | column
  uint32_t histogram[kBins];                                   // of the tile's candidates; last: only with Sink::kList
};

// The score of the pixel at `centre`, 0 if it is no corner.
template <int kArc, Score kScore>
__device__ __forceinline__ uint32_t ScoreAt(const uint8_t* centre, int threshold, int max_arc) {
  if (kScore == Score::kMaxThreshold) {
    const int score = PackedFastScore<kArc, kPitch>(centre);
    if (score < threshold) return 0;
    if (max_arc < kFastRing && RingAt<kPitch>(centre).HasRun(threshold, max_arc + 1)) return 0;
    return static_cast<uint32_t>(score);
  }
  const RingPixels ring = RingAt<kPitch>(centre);
  const RingBits bits = ring.Bits(threshold);
  const uint32_t bright = Runs(bits.brighter, kArc);
  const uint32_t dark = Runs(bits.darker, kArc);
  if ((bright | dark) == 0) return 0;
  if (max_arc < kFastRing && (Runs(bits.brighter, max_arc + 1) | Runs(bits.darker, max_arc + 1)) != 0) return 0;
  if (kScore == Score::kSadCircle) return ring.SumOfDifferences();
  if (kScore == Score::kSadArc) return ring.SumOfDifferences(Cover(bright | dark, kArc));
  return 1;  // Harris follows
}

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

// Rows q of a lane's column of words, halved and aligned to the ring's columns; row 0 is three above the first tested
// row.
struct AlignedRows {
  static constexpr int kCount = kRowsPerWarp + 2 * kFastRadius;
  uint32_t left3[kCount], left2[kCount], left1[kCount], centre[kCount], right1[kCount], right2[kCount], right3[kCount];

  __device__ __forceinline__ void Load(const uint8_t* pixels, int q) {
    const auto* word = reinterpret_cast<const uint32_t*>(pixels + q * kPitch);
    const uint32_t before = HalvePixels(word[-1]);
    const uint32_t here = HalvePixels(word[0]);
    const uint32_t after = HalvePixels(word[1]);
    left3[q] = __funnelshift_l(before, here, 24);
    left2[q] = __funnelshift_l(before, here, 16);
    left1[q] = __funnelshift_l(before, here, 8);
    centre[q] = here;
    right1[q] = __funnelshift_r(here, after, 8);
    right2[q] = __funnelshift_r(here, after, 16);
    right3[q] = __funnelshift_r(here, after, 24);
  }
  // Of the pixels in row q.
  __device__ __forceinline__ Ring RingOf(int q) const {
    return {{centre[q + 3], right1[q + 3], right2[q + 2], right3[q + 1], right3[q], right3[q - 1], right2[q - 2],
             right1[q - 3], centre[q - 3], left1[q - 3], left2[q - 2], left3[q - 1], left3[q], left3[q + 1],
             left2[q + 2], left1[q + 3]}};
  }
};

__device__ __forceinline__ bool IsUnmasked(const Frame& frame, const MapFrame& map, const Level& level, int x, int y) {
  if (level.mask == nullptr) return true;
  if (map.pyramid == Pyramid::kCascaded) return level.mask[static_cast<size_t>(y) * level.pitch + x] != 0;
  const Level& image = frame.level[0];
  const int image_y = ImagePosition(y, level.scale, image.height);
  return image.mask[static_cast<size_t>(image_y) * image.pitch + ImagePosition(x, level.scale, image.width)] != 0;
}

template <typename Response>
__device__ __forceinline__ bool IsMaximum(const Response* own, int radius) {
  Response neighbours = Response{0};
  if (radius == 1) {
#pragma unroll
    for (int v = -1; v <= 1; ++v) {
#pragma unroll
      for (int u = -1; u <= 1; ++u) {
        if (u != 0 || v != 0) neighbours = max(neighbours, own[v * kTestedColumns + u]);
      }
    }
    return *own > neighbours;
  }
  for (int v = -radius; v <= radius; ++v) {
    for (int u = -radius; u <= radius; ++u) {
      if (u != 0 || v != 0) neighbours = max(neighbours, own[v * kTestedColumns + u]);
    }
  }
  return *own > neighbours;
}

__device__ __forceinline__ int DivideByCell(int at, uint32_t reciprocal) {
  return reciprocal == 0 ? at : static_cast<int>(__umulhi(static_cast<uint32_t>(at), reciprocal));
}

__device__ __forceinline__ uint32_t CellAt(const Frame& frame, const MapFrame& map, int l, int x, int y) {
  const MapLevel& cells = map.level[l];
  if (map.sink == Sink::kImageCells) {
    x = ImagePosition(x, frame.level[l].scale, frame.level[0].width);
    y = ImagePosition(y, frame.level[l].scale, frame.level[0].height);
  }
  return static_cast<uint32_t>(cells.first_cell + DivideByCell(y, cells.cell_height_reciprocal) * cells.cells_x +
                               DivideByCell(x, cells.cell_width_reciprocal));
}

// Offers corners to cells. All lanes of the warp must call; `has`: this lane has one.
__device__ __forceinline__ void OfferToCells(uint64_t* cells, bool has, uint32_t cell, uint32_t raw,
                                             uint32_t position) {
  const unsigned lanes = __ballot_sync(kFullWarp, has);
  if (!has) return;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const unsigned same = __match_any_sync(lanes, cell);
  const uint32_t most = __reduce_max_sync(same, raw);
  const uint32_t first = __reduce_max_sync(same, raw == most ? ~position : 0u);
  if (raw != most || ~position != first) return;
#endif
  (void)lanes;
  AtomicMax(&cells[cell], CellEntry(position, raw));
}

template <int kArc, Score kScore>
__global__ void __launch_bounds__(kThreads, 6)
    FindMapCornersKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT MapFrame map) {
  extern __shared__ __align__(16) uint8_t memory[];
  auto& tile = *reinterpret_cast<Tile<kScore>*>(memory);
  using Response = typename Tile<kScore>::Response;

  AllowSuccessor();
  int l = 0;
  while (l + 1 < frame.levels && static_cast<int>(blockIdx.x) >= map.level[l + 1].first_tile) ++l;
  const Level& level = frame.level[l];
  const MapLevel& tiles = map.level[l];
  const int number = blockIdx.x - tiles.first_tile;
  const int radius = map.radius;
  const int border = Max(frame.edge, kFastRadius);
  const int x0 = tiles.tile_x0 + number % tiles.tiles_x * kColumns;
  const int y0 = tiles.tile_y0 + number / tiles.tiles_x * (kTestedRows - 2 * radius);
  const int warp = threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;

  auto* responses = reinterpret_cast<uint4*>(&tile.response[0][0]);
  for (int i = threadIdx.x; i < static_cast<int>(sizeof(tile.response) / sizeof(uint4)); i += kThreads) {
    responses[i] = make_uint4(0, 0, 0, 0);
  }
  if (map.sink == Sink::kList) {
    for (int i = threadIdx.x; i < kBins; i += kThreads) tile.histogram[i] = 0;
  }
  if (blockIdx.x == 0) {
    auto* clear = frame.counters->shortlisted;
    constexpr int kClear = (sizeof(Counters) - offsetof(Counters, shortlisted)) / sizeof(uint32_t);
    if (static_cast<int>(threadIdx.x) < kClear) clear[threadIdx.x] = 0;
  }
  for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < map.slot_count; i += gridDim.x * kThreads) {
    *reinterpret_cast<uint4*>(&map.slots[i]) = make_uint4(0, 0, 0, 0);
  }
  // Level 0 was there before the frame's first kernel: its tiles need not wait for the pyramid.
  if (l > 0 || blockIdx.x == gridDim.x - 1) WaitForPredecessor();

  constexpr int kVectors = kPitch / 8;
  for (int i = threadIdx.x; i < kLoadedRows * kVectors; i += kThreads) {
    const int row = i / kVectors;
    const int column = (i - row * kVectors) * 8;
    // Where the tile leaves the level its pixels do not matter.
    const int y = Clamp(y0 - kFastRadius + row, 0, level.height - 1);
    const int x = Clamp(x0 - kPadX + column, 0, level.pitch - 8);
    *reinterpret_cast<uint2*>(&tile.pixels[row][column]) =
        *reinterpret_cast<const uint2*>(level.image + static_cast<size_t>(y) * level.pitch + x);
  }
  __syncthreads();

  // A pixel matters if it can be a corner and lies in the region or within the radius of it.
  const int x_low = Max(kFastRadius, Max(border, x0 + kMarginX) - radius);
  const int x_high = Min(level.width - Max(kFastRadius, border - radius), x0 + kMarginX + kColumns + radius);
  const int y_low = Max(kFastRadius, border - radius);
  const int y_high = level.height - y_low;
  uint32_t marks = 0;
  {
    const uint8_t* pixels = &tile.pixels[warp * kRowsPerWarp][kPadX + 4 * lane];
    const uint32_t margin = static_cast<uint32_t>((frame.threshold + 1) >> 1) * 0x01010101u;
    const uint32_t columns = ColumnMask(x0 + lane * 4, x_low, x_high);
    AlignedRows rows;
#pragma unroll
    for (int q = 0; q < 2 * kFastRadius; ++q) rows.Load(pixels, q);
#pragma unroll
    for (int r = 0; r < kRowsPerWarp; ++r) {
      const int q = r + kFastRadius;
      rows.Load(pixels, q + kFastRadius);
      const SegmentBounds bounds(rows.centre[q], margin);
      marks |= (SegmentTest<kArc>(rows.RingOf(q), bounds, columns) & kTopBits) >> (7 - r);
    }
  }
  marks &= RowMask(y0 + warp * kRowsPerWarp, y_low, y_high);

  // List what is marked.
  uint16_t* list = tile.list[warp];
  const int marked = __popc(marks);
  int place = marked;
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const int other = __shfl_up_sync(kFullWarp, place, step);
    if (lane >= step) place += other;
  }
  const int listed = __shfl_sync(kFullWarp, place, kWarp - 1);
  place -= marked;
  while (marks != 0) {
    const int bit = __ffs(static_cast<int>(marks)) - 1;
    marks &= marks - 1;
    list[place++] = static_cast<uint16_t>((bit & 7) << 7 | (lane * 4 + (bit >> 3)));
  }
  __syncwarp();

  // Decide and score; corners move to the front of the list.
  int corners = 0;
  for (int first = 0; first < listed; first += kWarp) {
    const uint16_t entry = list[Min(first + lane, listed - 1)];
    const int row = warp * kRowsPerWarp + (entry >> 7);
    const int column = entry & 127;
    uint32_t score =
        ScoreAt<kArc, kScore>(&tile.pixels[row + kFastRadius][column + kPadX], frame.threshold, map.max_arc);
    if (first + lane >= listed) score = 0;
    if (kScore == Score::kHarris && score != 0) {
      score = OrderedKey(__float_as_uint(HarrisAt(level, x0 + column, y0 + row)));
    }
    if (score != 0) tile.response[row][column] = static_cast<Response>(score);
    const unsigned lanes = __ballot_sync(kFullWarp, score != 0);
    __syncwarp();
    if (score != 0) list[corners + LanesBelow(lanes)] = entry;
    corners += __popc(lanes);
    __syncwarp();
  }
  __syncthreads();

  // Suppress.
  const int keep_x0 = Max(x0 + kMarginX, frame.edge);
  const int keep_x1 = Min(x0 + kMarginX + kColumns, level.width - frame.edge);
  const int keep_y1 = level.height - frame.edge;
  int kept = 0;
  for (int first = 0; first < corners; first += kWarp) {
    const uint16_t entry = list[Min(first + lane, corners - 1)];
    const int row = warp * kRowsPerWarp + (entry >> 7);
    const int column = entry & 127;
    const int x = x0 + column;
    const int y = y0 + row;
    bool keep = first + lane < corners && row >= radius && row < kTestedRows - radius && x >= keep_x0 && x < keep_x1 &&
                y >= frame.edge && y < keep_y1;
    keep = keep && IsMaximum(&tile.response[row][column], radius) && IsUnmasked(frame, map, level, x, y);
    if (map.sink != Sink::kList) {
      OfferToCells(map.cells, keep, CellAt(frame, map, l, x, y), tile.response[row][column], PackPosition(l, x, y));
      __syncwarp();
      continue;
    }
    const unsigned lanes = __ballot_sync(kFullWarp, keep);
    __syncwarp();
    if (keep) list[kept + LanesBelow(lanes)] = entry;
    kept += __popc(lanes);
    __syncwarp();
  }
  if (map.sink != Sink::kList) return;

  uint32_t base = 0;
  if (lane == 0 && kept > 0) base = atomicAdd(&frame.counters->candidates, static_cast<uint32_t>(kept));
  base = __shfl_sync(kFullWarp, base, 0);
  for (int i = lane; i < kept; i += kWarp) {
    const int row = warp * kRowsPerWarp + (list[i] >> 7);
    const int column = list[i] & 127;
    const uint32_t key = KeyOf(map, tile.response[row][column]);
    frame.candidates[base + i] = {PackPosition(l, x0 + column, y0 + row), key};
    atomicAdd(&tile.histogram[HarrisBin(key)], 1u);
  }
  __syncthreads();
  uint32_t* histogram = frame.counters->histogram[map.cut_by_level ? l : 0];
  for (int i = threadIdx.x; i < kBins; i += kThreads) {
    const uint32_t n = tile.histogram[i];
    if (n != 0) atomicAdd(&histogram[i], n);
  }
}

template <Score kScore>
const void* KernelFor(int arc_length) {
  switch (arc_length) {
    case 9:
      return reinterpret_cast<const void*>(&FindMapCornersKernel<9, kScore>);
    case 10:
      return reinterpret_cast<const void*>(&FindMapCornersKernel<10, kScore>);
    case 11:
      return reinterpret_cast<const void*>(&FindMapCornersKernel<11, kScore>);
    default:
      return reinterpret_cast<const void*>(&FindMapCornersKernel<12, kScore>);
  }
}

const void* KernelFor(int arc_length, Score score) {
  switch (score) {
    case Score::kMaxThreshold:
      return KernelFor<Score::kMaxThreshold>(arc_length);
    case Score::kSadCircle:
      return KernelFor<Score::kSadCircle>(arc_length);
    case Score::kSadArc:
      return KernelFor<Score::kSadArc>(arc_length);
    default:
      return KernelFor<Score::kHarris>(arc_length);
  }
}

// The histogram is at the end, and left out where it is not used.
int SharedBytes(Score score, Sink sink) {
  const size_t bytes = score == Score::kHarris ? sizeof(Tile<Score::kHarris>) : sizeof(Tile<Score::kSadCircle>);
  return static_cast<int>(bytes - (sink == Sink::kList ? 0 : kBins * sizeof(uint32_t)));
}

}  // namespace

MapTiling GetMapTiling() { return {kTestedColumns, kTestedRows, kMarginX, 8}; }

absl::Status PrepareMapCorners(Api* api) {
  for (int arc = kMinArcLength; arc <= kMaxArcLength; ++arc) {
    for (Score score : {Score::kMaxThreshold, Score::kHarris, Score::kSadCircle, Score::kSadArc}) {
      GLINT_RETURN_IF_ERROR(ToStatus(api->FuncSetSharedBytes(KernelFor(arc, score), SharedBytes(score, Sink::kList)),
                                     "reserving shared memory for the corner stage"));
    }
  }
  return absl::OkStatus();
}

absl::Status FindMapCorners(StreamView stream, const Frame& frame, const MapFrame& map) {
  KernelLaunch launch;
  launch.kernel = KernelFor(map.arc_length, map.score);
  launch.block = dim3(kThreads);
  launch.grid = dim3(map.tiles);
  launch.shared_bytes = SharedBytes(map.score, map.sink);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame), const_cast<MapFrame*>(&map)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the corner stage");
}

}  // namespace glint::cuda
