// A block of the corner stage on a tile: its warps test their own rows and share what is to score.
#ifndef GLINT_CUDA_CORNERS_FAST_TILE_CUH_
#define GLINT_CUDA_CORNERS_FAST_TILE_CUH_

#include <type_traits>

#include "cuda/common/suppression.cuh"
#include "cuda/corners/harris.cuh"
#include "cuda/corners/strip.cuh"

namespace glint::cuda {

// Of each warp, the rows that it tests: at most kStep.
template <bool kQuick>
struct TileShape {
  static constexpr int kWarps = TileWarps(kQuick);
  static constexpr int kOwnRows = TileWarpRows(kQuick);
  static constexpr int kThreads = kWarps * kWarp;
  static constexpr int kRows = kWarps * kOwnRows;
};

// kHarris: responses are OrderedKeys of Harris measures, and the rows are there that those read.
template <bool kHarris, bool kQuick>
struct CornerTile {
  using Shape = TileShape<kQuick>;
  using Response = std::conditional_t<kHarris, uint32_t, uint8_t>;
  static constexpr int kPad = kHarris ? kHarrisRadius : kFastRadius;  // rows held beyond those tested
  static constexpr int kHeld = Shape::kRows + 2 * kPad;

  alignas(16) uint8_t pixels[kHeld][kPitch];
  alignas(16) Response response[Shape::kRows][kTestedColumns];  // 0: not a corner
  uint16_t list[Shape::kRows * kTestedColumns];                 // warp << 10 | column << 3 | row of the warp's
  alignas(8) Candidate found[Shape::kWarps][kBufferedCorners];
  int listed;
};

// HarrisResponse() of the pixel at `centre`.
__device__ inline float HarrisInTile(const uint8_t* centre) {
  return HarrisOver([centre](int v, int(&p)[kHarrisBlock + 2]) {
    const uint8_t* row = centre + (v - kHarrisRadius) * kPitch - kHarrisRadius;
#pragma unroll
    for (int u = 0; u < kHarrisBlock + 2; ++u) p[u] = row[u];
  });
}

// All methods are called by all threads of the block together.
template <int kArc, bool kHarris, bool kQuick>
class TileSearch {
 public:
  using Memory = CornerTile<kHarris, kQuick>;
  using Shape = typename Memory::Shape;
  using Response = typename Memory::Response;
  static constexpr int kPad = Memory::kPad;
  static constexpr int kHeld = Memory::kHeld;

  // x0, y0: leftmost column and first row tested. `histogram`: of FAST scores.
  __device__ __forceinline__ TileSearch(const Frame& frame, int l, int x0, int y0, Memory& memory, uint32_t* histogram)
      : frame_(frame),
        level_(frame.level[l]),
        l_(l),
        x0_(x0),
        loaded_x_((x0 - 4) & ~(kVector - 1)),
        y0_(y0),
        lane_(threadIdx.x % kWarp),
        warp_(threadIdx.x / kWarp),
        memory_(memory),
        found_(frame, l, memory.found[warp_], histogram) {}

  // Whether anything passed the test.
  __device__ __forceinline__ bool Run() {
    Load();
    List(Test());
    __syncthreads();
    const int listed = memory_.listed;
    if (listed == 0) return false;
    const int corners = Score(listed);
    __syncthreads();
    Suppress(corners);
    found_.Flush();
    return true;
  }

 private:
  // Until pixels are there and no responses. Where rows leave the level their pixels do not matter, but for the one row
  // and column that Harris reflects.
  __device__ __forceinline__ void Load() {
    constexpr int kVectors = kHeld * kRowVectors;
#pragma unroll
    for (int i = 0; i < kVectors; i += Shape::kThreads) {
      const int k = i + static_cast<int>(threadIdx.x);
      const int row = k / kRowVectors;
      const int vector = k - row * kRowVectors;
      if (k >= kVectors) break;
      int y = y0_ - kPad + row;
      if (kHarris && y == -1) y = 1;
      if (kHarris && y == level_.height) y = level_.height - 2;
      y = Clamp(y, 0, level_.height - 1);
      const int x = Clamp(loaded_x_ + vector * kVector, 0, level_.pitch - kVector);
      CopyAsync16(&memory_.pixels[row][vector * kVector], level_.image + static_cast<size_t>(y) * level_.pitch + x);
    }
    auto* responses = reinterpret_cast<uint4*>(memory_.response);
    for (int i = threadIdx.x; i < static_cast<int>(sizeof(memory_.response) / sizeof(uint4)); i += Shape::kThreads) {
      responses[i] = make_uint4(0, 0, 0, 0);
    }
    if (threadIdx.x == 0) memory_.listed = 0;
    WaitForCopies();
    __syncthreads();
    if (!kHarris) return;
    const int left = -1 - loaded_x_;
    const int right = level_.width - loaded_x_;
    if (left < 0 && right >= kRowVectors * kVector) return;
    if (threadIdx.x < kHeld) {
      uint8_t* line = memory_.pixels[threadIdx.x];
      if (left >= 0) line[left] = line[left + 2];
      if (right >= 2 && right < kRowVectors * kVector) line[right] = line[right - 2];
    }
    __syncthreads();
  }

  // Bit r of byte i: the lane's i-th pixel of the warp's row r may be a corner.
  __device__ __forceinline__ uint32_t Test() const {
    const int border = Max(frame_.edge, kFastRadius);
    // A pixel matters if it can be a corner and lies in the region or next to it.
    const int x_low = Max(kFastRadius, Max(border - 1, x0_ + kHaloX - 1));
    const int x_high = Min(level_.width - Max(kFastRadius, border - 1), x0_ + kHaloX + kOwnedColumns + 1);
    const int y_low = Max(kFastRadius, border - 1);
    const int y_high = level_.height - y_low;
    const uint32_t margin = CompassMargin(frame_.threshold);
    const uint8_t* own = &memory_.pixels[warp_ * Shape::kOwnRows + kPad][x0_ - loaded_x_ + 4 * lane_];
    Window window;
#pragma unroll
    for (int j = -kFastRadius; j < kFastRadius; ++j) window.Load(j + kFastRadius, own + j * kPitch);
    uint32_t marks = 0;
#pragma unroll
    for (int r = 0; r < Shape::kOwnRows; ++r) {
      window.Load((r + 2 * kFastRadius) % kStep, own + (r + kFastRadius) * kPitch);
      const uint32_t passed = window.Test((r + kFastRadius) % kStep, margin);
      marks |= (passed & kTopBits) >> (7 - r);
    }
    return marks & ColumnMask(x0_ + lane_ * 4, x_low, x_high) & RowMask(y0_ + warp_ * Shape::kOwnRows, y_low, y_high);
  }

  __device__ __forceinline__ void List(uint32_t marks) {
    if (!__any_sync(kFullWarp, marks != 0)) return;
    const int up_to = SumUpTo(__popc(marks));
    int first = 0;
    if (lane_ == kWarp - 1) first = atomicAdd(&memory_.listed, up_to);
    first = __shfl_sync(kFullWarp, first, kWarp - 1);
    uint16_t* to = &memory_.list[first + up_to - __popc(marks)];
    const int of_lane = static_cast<int>(threadIdx.x) << 5;
    while (marks != 0) {
      const int bit = __ffs(static_cast<int>(marks)) - 1;
      marks &= marks - 1;
      *to++ = static_cast<uint16_t>(of_lane + bit);
    }
  }

  // The warps take a full warp's entries of the list each, one warp after the other. Into the entries that a warp has
  // taken go the corners that it finds, one after the other: its i-th is there.
  __device__ __forceinline__ int IndexOf(int i) const {
    return (i / kWarp * Shape::kWarps + warp_) * kWarp + i % kWarp;
  }

  // Finds the corners among what is listed, and writes their responses; how many this warp has found.
  __device__ __forceinline__ int Score(int listed) {
    int corners = 0;
    for (int first = warp_ * kWarp; first < listed; first += Shape::kThreads) {
      const int entry = memory_.list[Min(first + lane_, listed - 1)];
      __syncwarp();  // read by all before the first corner is written to their place
      const int score = PackedFastScore<kArc, kPitch>(PixelAt(entry));
      const bool is_corner = score >= frame_.threshold && first + lane_ < listed;
      if (!kHarris && is_corner) ResponseAt(entry) = static_cast<uint8_t>(score);
      const unsigned lanes = __ballot_sync(kFullWarp, is_corner);
      if (is_corner) memory_.list[IndexOf(corners + LanesBelow(lanes))] = static_cast<uint16_t>(entry);
      corners += __popc(lanes);
    }
    __syncwarp();
    if (kHarris) {
      for (int i = lane_; i < corners; i += kWarp) {
        const int entry = memory_.list[IndexOf(i)];
        ResponseAt(entry) = OrderedKey(__float_as_uint(HarrisInTile(PixelAt(entry))));
      }
    }
    return corners;
  }

  __device__ __forceinline__ void Suppress(int corners) {
    const int x_low = Max(frame_.edge, x0_ + kHaloX);
    const int x_high = Min(level_.width - frame_.edge, x0_ + kHaloX + kOwnedColumns);
    const int y_low = y0_ + 1;
    const int y_high = Min(level_.height - frame_.edge, y0_ + Shape::kRows - 1);
    for (int first = 0; first < corners; first += kWarp) {
      const int entry = memory_.list[IndexOf(Min(first + lane_, corners - 1))];
      const int x = x0_ + ColumnOf(entry);
      const int y = y0_ + RowOf(entry);
      bool keep = first + lane_ < corners && x >= x_low && x < x_high && y >= y_low && y < y_high;
      uint32_t key = 0;
      if (keep) {
        const Response* r = &ResponseAt(entry);
        key = *r;
        keep = IsMaximum<kTestedColumns>(r);
        if (level_.mask != nullptr) keep = keep && level_.mask[static_cast<size_t>(y) * level_.pitch + x] != 0;
      }
      found_.Add(keep, {PackPosition(l_, x, y), key});
    }
  }

  // Of an entry of the list, among what is tested.
  __device__ __forceinline__ static int RowOf(int entry) { return (entry >> 10) * Shape::kOwnRows + (entry & 7); }
  __device__ __forceinline__ static int ColumnOf(int entry) { return entry >> 3 & (kTestedColumns - 1); }
  __device__ __forceinline__ const uint8_t* PixelAt(int entry) const {
    return &memory_.pixels[RowOf(entry) + kPad][x0_ - loaded_x_ + ColumnOf(entry)];
  }
  __device__ __forceinline__ Response& ResponseAt(int entry) const {
    return memory_.response[RowOf(entry)][ColumnOf(entry)];
  }

  const Frame& frame_;
  const Level& level_;
  const int l_;
  const int x0_;
  const int loaded_x_;
  const int y0_;
  const int lane_;
  const int warp_;
  Memory& memory_;
  WarpCornerBuffer<kHarris> found_;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_FAST_TILE_CUH_
