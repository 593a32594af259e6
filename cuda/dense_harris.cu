// The Harris measure at every pixel (CornerTest::kEveryPixel), its maxima within the suppression's radius, and the
// greatest measure.
//
// A warp walks down a strip of 64 columns, two neighbouring ones per lane, with everything in registers: the last three
// rows' differences and sums give the gradients of the row before; products enter and leave the columns' sums as their
// row enters and leaves the window; neighbouring lanes' sums, by shuffles, make the window's. Only responses go to
// shared memory, 16 rows of them, for suppression. Outside the image the products of gradients are reflected: the
// gradients of a reflected image are those of the pixel that it mirrors but for their sign, which is put right.
//
// Shared memory: for each warp the responses and what was found; a histogram: 22 KiB.
#include <cstddef>

#include "cuda/map_device.cuh"
#include "cuda/map_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarp;
constexpr int kStripColumns = 2 * kWarp;
constexpr int kHeldRows = 16;  // of responses; a power of 2, more than 2 * kMaxSuppressionRadius
constexpr int kFound = 3 * kWarp;
constexpr float kOutside = -3.0e38f;  // less than any measure

struct Strip {
  float response[kHeldRows][kStripColumns];
  Candidate found[kFound];
};
struct Block {
  Strip strip[kWarps];
  uint32_t histogram[kBins];
};

// Pairs of columns at each side whose window leaves the strip, for a window of this radius.
__host__ __device__ constexpr int SidePairs(int block_radius) {
  return block_radius % 2 == 1 ? (block_radius + 1) / 2 : block_radius / 2 + 1;
}
// Columns at each side that are not answered for, even.
__host__ __device__ constexpr int SideColumns(int block_radius, int radius) {
  return (2 * SidePairs(block_radius) + radius + 1) / 2 * 2;
}

// Whether Reflect101(i, n) runs backwards at i: gradients along the axis then have the other sign. Where it turns they
// are 0.
__device__ __forceinline__ bool IsMirrored(int i, int n) {
  if (n == 1) return false;
  const int period = n - 1;
  const int lap = i >= 0 ? i / period : -((period - 1 - i) / period);
  return (lap & 1) != 0;
}

// The window's sum for both columns of each lane, from the columns' sums (a, b).
template <int kRadius>
__device__ __forceinline__ int2 WindowSums(int a, int b) {
  const int pair = a + b;
  int middle = pair;  // over the pairs that both windows hold
  constexpr int kPairs = (kRadius - 1) / 2;
#pragma unroll
  for (int i = 1; i <= kPairs; ++i) {
    middle += __shfl_up_sync(kFullWarp, pair, i) + __shfl_down_sync(kFullWarp, pair, i);
  }
  constexpr int kNext = kPairs + 1;
  if (kRadius % 2 == 1) {
    // Columns 2i - R .. 2i + R and 2i + 1 - R .. 2i + 1 + R: one more at the left, at the right.
    return make_int2(middle + __shfl_up_sync(kFullWarp, b, kNext), middle + __shfl_down_sync(kFullWarp, a, kNext));
  }
  // R even: a pair and a column more at each side: left pair and right column, left column and right pair.
  const int left = __shfl_up_sync(kFullWarp, pair, kNext);
  const int left_b = __shfl_up_sync(kFullWarp, b, kNext);
  const int right = __shfl_down_sync(kFullWarp, pair, kNext);
  const int right_a = __shfl_down_sync(kFullWarp, a, kNext);
  return make_int2(middle + left + right_a, middle + left_b + right);
}

// Row q's two pixels of a lane and its neighbours': differences p(x + 1) - p(x - 1) and sums p(x - 1) + 2 p(x) + p(x +
// 1).
struct PixelRow {
  int difference[2];
  int sum[2];
};

// A warp on its way down a strip.
template <int kRadius>
struct Walker {
  static constexpr int kSide = 2 * kRadius + 1;

  const Frame& frame;
  const MapFrame& map;
  const Level& level;
  Strip& strip;
  uint32_t* histogram;
  int lane;
  int x;          // of the lane's left column
  bool inside_x;  // the strip does not leave the image
  int column[2];  // where the lane's pixels are
  bool mirrored[2];
  int found = 0;

  __device__ __forceinline__ uint32_t LoadPair(int y) const {
    const uint8_t* row = map.harris_image + static_cast<size_t>(Reflect101(y, level.height)) * level.pitch;
    if (inside_x) return *reinterpret_cast<const uint16_t*>(row + x);
    return row[column[0]] | static_cast<uint32_t>(row[column[1]]) << 8;
  }
  __device__ __forceinline__ PixelRow MakeRow(uint32_t pixels) const {
    const int left = static_cast<int>(__shfl_up_sync(kFullWarp, pixels, 1) >> 8);
    const int right = static_cast<int>(__shfl_down_sync(kFullWarp, pixels, 1) & 0xff);
    const int a = static_cast<int>(pixels & 0xff);
    const int b = static_cast<int>(pixels >> 8);
    return {{b - left, right - a}, {left + 2 * a + b, a + 2 * b + right}};
  }

  __device__ __forceinline__ void Flush() {
    __syncwarp();
    uint32_t base = 0;
    if (lane == 0) base = atomicAdd(&frame.counters->candidates, static_cast<uint32_t>(found));
    base = __shfl_sync(kFullWarp, base, 0);
    for (int i = lane; i < found; i += kWarp) {
      frame.candidates[base + i] = strip.found[i];
      atomicAdd(&histogram[HarrisBin(strip.found[i].key)], 1u);
    }
    __syncwarp();
    found = 0;
  }

  // Appends the row's maxima, one per lane at most. All lanes must call.
  __device__ __forceinline__ void Append(bool keep, int px, int y, float response) {
    if (__any_sync(kFullWarp, keep) == 0) return;
    if (keep && level.mask != nullptr) keep = level.mask[static_cast<size_t>(y) * level.pitch + px] != 0;
    const unsigned lanes = __ballot_sync(kFullWarp, keep);
    if (keep) {
      strip.found[found + LanesBelow(lanes)] = {PackPosition(0, px, y), OrderedKey(__float_as_uint(response))};
    }
    found += __popc(lanes);
    if (found > kFound - kWarp) Flush();
  }

  // Row y's maxima, when the rows around it are in shared memory.
  __device__ __forceinline__ void Suppress(int y, int x_low, int x_high, float least) {
    const int radius = map.radius;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int at = 2 * lane + k;
      const float own = strip.response[y & (kHeldRows - 1)][at];
      bool keep = x + k >= x_low && x + k < x_high && own > least;
      if (keep) {
        float most = kOutside;
        for (int v = -radius; v <= radius; ++v) {
          const float* row = &strip.response[(y + v) & (kHeldRows - 1)][at];
          for (int u = -radius; u <= radius; ++u) {
            if (u != 0 || v != 0) most = fmaxf(most, row[u]);
          }
        }
        keep = own > most;
      }
      Append(keep, x + k, y, own);
    }
  }

  // The same for a radius of 1, from the last three rows in registers.
  struct Neighbours {
    float2 own;   // the row's measures
    float2 side;  // the greater of those left and right of each
    float2 all;   // and of itself
  };
  __device__ __forceinline__ Neighbours NeighboursOf(float2 own) const {
    const float left = __shfl_up_sync(kFullWarp, own.y, 1);
    const float right = __shfl_down_sync(kFullWarp, own.x, 1);
    const float2 side = {fmaxf(left, own.y), fmaxf(own.x, right)};
    return {own, side, {fmaxf(side.x, own.x), fmaxf(side.y, own.y)}};
  }
  __device__ __forceinline__ void SuppressByOne(int y, int x_low, int x_high, float least, const Neighbours& above,
                                                const Neighbours& row, const Neighbours& below) {
    const bool first = row.own.x > fmaxf(fmaxf(row.side.x, least), fmaxf(above.all.x, below.all.x));
    const bool second = row.own.y > fmaxf(fmaxf(row.side.y, least), fmaxf(above.all.y, below.all.y));
    if (__any_sync(kFullWarp, first || second) == 0) return;
    // Neighbours are never both maxima.
    const int px = first ? x : x + 1;
    Append((first || second) && px >= x_low && px < x_high, px, y, first ? row.own.x : row.own.y);
  }

  // Answers for columns x0..x1 - 1 and rows y0..y1 - 1 of the image; returns the greatest measure seen by this lane.
  __device__ __forceinline__ float Walk(int x0, int x1, int y0, int y1) {
    const int radius = map.radius;
    const int x_low = Max(x0, frame.edge);
    const int x_high = Min(x1, level.width - frame.edge);
    const int y_low = Max(y0, frame.edge);
    const int y_high = Min(y1, level.height - frame.edge);
    // What is below the threshold of the greatest measure so far will be below that of the greatest.
    float least = fmaxf(map.response_threshold, 0.0f);
    if (map.is_fraction) {
      const uint32_t so_far = *static_cast<volatile const uint32_t*>(&map.counters->greatest);
      least = so_far != 0 ? fmaxf(least * __uint_as_float(FromOrderedKey(so_far)), 0.0f) : 0.0f;
    }
    const bool is_column = lane >= SidePairs(kRadius) && lane < kWarp - SidePairs(kRadius);
    float greatest = kOutside;

    uint32_t gradient[kSide][2];  // of the window's rows: dx << 16 | dy & 0xffff
#pragma unroll
    for (int j = 0; j < kSide; ++j) gradient[j][0] = gradient[j][1] = 0;
    int xx[2] = {0, 0}, yy[2] = {0, 0}, xy[2] = {0, 0};

    const int first = y0 - radius - kRadius;  // row of gradients
    const int last = y1 - 1 + radius + kRadius;
    PixelRow above = MakeRow(LoadPair(first - 1));
    PixelRow at = MakeRow(LoadPair(first));
    uint32_t next = LoadPair(first + 1);
    const bool mirrors = !inside_x || first < 0 || last >= level.height;
    Neighbours before = {}, row = {};  // of the two rows of responses before
    for (int v0 = first; v0 <= last; v0 += kSide) {
#pragma unroll
      for (int j = 0; j < kSide; ++j) {
        const int v = v0 + j;
        if (v > last) break;
        const PixelRow below = MakeRow(next);
        next = LoadPair(Min(v + 2, last + 1));
        const bool mirrored_y = mirrors && IsMirrored(v, level.height);
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          int dx = above.difference[k] + 2 * at.difference[k] + below.difference[k];
          const int dy = below.sum[k] - above.sum[k];
          if (mirrors && mirrored[k] != mirrored_y) dx = -dx;
          const int old_dx = static_cast<int>(gradient[j][k]) >> 16;
          const int old_dy = static_cast<int16_t>(gradient[j][k] & 0xffff);
          xx[k] += dx * dx - old_dx * old_dx;
          yy[k] += dy * dy - old_dy * old_dy;
          xy[k] += dx * dy - old_dx * old_dy;
          gradient[j][k] = static_cast<uint32_t>(dx) << 16 | (static_cast<uint32_t>(dy) & 0xffff);
        }
        above = at;
        at = below;

        const int y = v - kRadius;  // row of responses
        if (y < y0 - radius) continue;
        const int2 sums_xx = WindowSums<kRadius>(xx[0], xx[1]);
        const int2 sums_yy = WindowSums<kRadius>(yy[0], yy[1]);
        const int2 sums_xy = WindowSums<kRadius>(xy[0], xy[1]);
        float2 response = {HarrisResponse(sums_xx.x, sums_yy.x, sums_xy.x, map.harris_k, map.harris_scale4),
                           HarrisResponse(sums_xx.y, sums_yy.y, sums_xy.y, map.harris_k, map.harris_scale4)};
        const bool is_row = is_column && y >= 0 && y < level.height;
        if (!is_row || x < 0 || x >= level.width) response.x = kOutside;
        if (!is_row || x + 1 < 0 || x + 1 >= level.width) response.y = kOutside;
        greatest = fmaxf(greatest, fmaxf(response.x, response.y));
        if (radius == 1) {
          const Neighbours below = NeighboursOf(response);
          if (y - 1 >= y_low && y - 1 < y_high) SuppressByOne(y - 1, x_low, x_high, least, before, row, below);
          before = row;
          row = below;
          continue;
        }
        *reinterpret_cast<float2*>(&strip.response[y & (kHeldRows - 1)][2 * lane]) = response;
        __syncwarp();
        if (y - radius >= y_low && y - radius < y_high) Suppress(y - radius, x_low, x_high, least);
        __syncwarp();
      }
    }
    if (found > 0) Flush();
    return greatest;
  }
};

template <int kRadius>
__global__ void __launch_bounds__(kThreads)
    DenseHarrisKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT MapFrame map) {
  __shared__ Block block;
  AllowSuccessor();
  for (int i = threadIdx.x; i < kBins; i += kThreads) block.histogram[i] = 0;
  if (blockIdx.x == 0) {
    auto* clear = frame.counters->shortlisted;
    constexpr int kClear = (sizeof(Counters) - offsetof(Counters, shortlisted)) / sizeof(uint32_t);
    if (static_cast<int>(threadIdx.x) < kClear) clear[threadIdx.x] = 0;
  }
  WaitForPredecessor();
  __syncthreads();
  const Level& level = frame.level[0];
  const int lane = threadIdx.x % kWarp;
  const int number = blockIdx.x * kWarps + threadIdx.x / kWarp;
  if (number < map.strips) {
    const int side = SideColumns(kRadius, map.radius);
    const int answered = kStripColumns - 2 * side;
    const int x0 = number % map.strips_x * answered;
    const int y0 = number / map.strips_x * map.strip_rows;
    const int x = x0 - side + 2 * lane;
    const bool inside_x = x0 - side >= 0 && x0 - side + kStripColumns <= level.width;
    Walker<kRadius> walker{frame,
                           map,
                           level,
                           block.strip[threadIdx.x / kWarp],
                           block.histogram,
                           lane,
                           x,
                           inside_x,
                           {Reflect101(x, level.width), Reflect101(x + 1, level.width)},
                           {!inside_x && IsMirrored(x, level.width), !inside_x && IsMirrored(x + 1, level.width)}};
    const float greatest = walker.Walk(x0, Min(x0 + answered, level.width), y0, Min(y0 + map.strip_rows, level.height));
    if (map.is_fraction) {
      uint32_t key = OrderedKey(__float_as_uint(greatest));
#pragma unroll
      for (int step = kWarp / 2; step > 0; step /= 2) key = max(key, __shfl_xor_sync(kFullWarp, key, step));
      if (lane == 0) atomicMax(&map.counters->greatest, key);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kBins; i += kThreads) {
    const uint32_t n = block.histogram[i];
    if (n != 0) atomicAdd(&frame.counters->histogram[0][i], n);
  }
}

// reference::Smooth(). A thread per pixel.
__global__ void __launch_bounds__(256)
    SmoothKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT MapFrame map) {
  AllowSuccessor();
  WaitForPredecessor();
  const Level& level = frame.level[0];
  const int x = blockIdx.x * kWarp + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= level.width || y >= level.height) return;
  int sum = 0;
#pragma unroll
  for (int v = -1; v <= 1; ++v) {
    const uint8_t* row = level.image + static_cast<size_t>(Reflect101(y + v, level.height)) * level.pitch;
    sum += (2 - v * v) * (row[Reflect101(x - 1, level.width)] + 2 * row[x] + row[Reflect101(x + 1, level.width)]);
  }
  map.smooth[static_cast<size_t>(y) * level.pitch + x] = static_cast<uint8_t>((sum + 8) >> 4);
}

const void* KernelFor(int radius) {
  switch (radius) {
    case 1:
      return reinterpret_cast<const void*>(&DenseHarrisKernel<1>);
    case 2:
      return reinterpret_cast<const void*>(&DenseHarrisKernel<2>);
    case 3:
      return reinterpret_cast<const void*>(&DenseHarrisKernel<3>);
    case 4:
      return reinterpret_cast<const void*>(&DenseHarrisKernel<4>);
    case 5:
      return reinterpret_cast<const void*>(&DenseHarrisKernel<5>);
    case 6:
      return reinterpret_cast<const void*>(&DenseHarrisKernel<6>);
    default:
      return reinterpret_cast<const void*>(&DenseHarrisKernel<7>);
  }
}

}  // namespace

int DenseHarrisColumns(int block_radius, int radius) { return kStripColumns - 2 * SideColumns(block_radius, radius); }

absl::Status FindDenseHarris(StreamView stream, const Frame& frame, const MapFrame& map) {
  const Level& level = frame.level[0];
  void* arguments[] = {const_cast<Frame*>(&frame), const_cast<MapFrame*>(&map)};
  KernelLaunch launch;
  launch.overlaps_predecessor = true;
  if (map.smooth != nullptr) {
    constexpr int kRows = 8;
    launch.kernel = reinterpret_cast<const void*>(&SmoothKernel);
    launch.block = dim3(kWarp, kRows);
    launch.grid = dim3((level.width + kWarp - 1) / kWarp, (level.height + kRows - 1) / kRows);
    GLINT_RETURN_IF_ERROR(
        ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the smoothing"));
  }
  launch.kernel = KernelFor(map.block_radius);
  launch.block = dim3(kThreads);
  launch.grid = dim3((map.strips + kWarps - 1) / kWarps);
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the Harris measure");
}

}  // namespace glint::cuda
