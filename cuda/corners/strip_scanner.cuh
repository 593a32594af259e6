// A warp of the corner stage on its way down a strip.
#ifndef GLINT_CUDA_CORNERS_STRIP_SCANNER_CUH_
#define GLINT_CUDA_CORNERS_STRIP_SCANNER_CUH_

#include "cuda/common/suppression.cuh"
#include "cuda/corners/strip.cuh"

namespace glint::cuda {

// The sum over the lanes below this one; the sum over all is in *total.
__device__ __forceinline__ int SumBelow(int v, int* total) {
  const int sum = SumUpTo(v);
  *total = __shfl_sync(kFullWarp, sum, kWarp - 1);
  return sum - v;
}

// A warp on its way down a strip. All methods are called by all lanes together.
template <int kArc>
class StripScanner {
 public:
  static constexpr int kPad = Strip::kPad;
  static constexpr int kHeld = Strip::kHeld;

  __device__ __forceinline__ StripScanner(const Frame& frame, int l, int x0, int y0, Strip& memory, uint32_t* histogram)
      : frame_(frame),
        level_(frame.level[l]),
        l_(l),
        x0_(x0),
        loaded_x_((x0 - 4) & ~(kVector - 1)),
        y0_(y0),
        lane_(threadIdx.x % kWarp),
        memory_(memory),
        histogram_(histogram) {}

  __device__ __forceinline__ void Scan(int steps) {
    const int border = Max(frame_.edge, kFastRadius);
    // A pixel matters if it can be a corner and lies in the region or next to it.
    const int x_low = Max(kFastRadius, Max(border - 1, x0_ + kHaloX - 1));
    const int x_high = Min(level_.width - Max(kFastRadius, border - 1), x0_ + kHaloX + kOwnedColumns + 1);
    const int y_low = Max(kFastRadius, border - 1);
    const int y_high = level_.height - y_low;
    steps = Min(steps, (level_.height - border - y0_) / kStep + 1);
    const uint32_t columns = ColumnMask(x0_ + lane_ * 4, x_low, x_high);
    const uint32_t margin = CompassMargin(frame_.threshold);

    LoadRows(-kPad, 0);
    LoadRows(-kPad + kStep, kStep);
    auto* responses = reinterpret_cast<uint4*>(memory_.response);
    for (int i = lane_; i < static_cast<int>(sizeof(memory_.response) / sizeof(uint4)); i += kWarp) {
      responses[i] = make_uint4(0, 0, 0, 0);
    }
    WaitForRows();

    const uint8_t* own = &memory_.pixels[kPad][x0_ - loaded_x_ + 4 * lane_];  // row 0 of the step, this lane's word
    Window window;
#pragma unroll
    for (int j = -kFastRadius; j < kFastRadius; ++j) window.Load(j + kFastRadius, own + j * kPitch);
    int carried = 0;  // listed corners of the row above
    for (;;) {
      uint32_t marks = 0;
#pragma unroll
      for (int r = 0; r < kStep; ++r) {
        window.Load((r + 2 * kFastRadius) % kStep, own + (r + kFastRadius) * kPitch);
        const uint32_t passed = window.Test((r + kFastRadius) % kStep, margin);
        marks |= (passed & kTopBits) >> (7 - r);
      }
      marks &= columns & RowMask(y0_, y_low, y_high);
      int listed = carried;
      if (__any_sync(kFullWarp, marks != 0)) listed = Score(marks, carried);
      --steps;
      if (steps > 0) MoveRows();
      carried = listed > 0 ? Suppress(listed) : 0;
      if (steps == 0) break;
      MoveResponses();
      WaitForRows();
      y0_ += kStep;
    }
    if (found_ > 0) Flush();
  }

 private:
  // Begins to load kStep rows, from level row y0_ + first on, to held row `to` and those below it, as far as there are.
  // Where they leave the level their pixels do not matter.
  __device__ __forceinline__ void LoadRows(int first, int to) {
    int lane = lane_;
    // What follows from the lane alone is quick to compute, but kept from step to step it would take registers that
    // scoring needs.
    asm volatile("" : "+r"(lane));
    const int row0 = lane / kRowVectors;
    const int vector = lane - row0 * kRowVectors;
    const int x = Clamp(loaded_x_ + vector * kVector, 0, level_.pitch - kVector);
#pragma unroll
    for (int i = 0; i < kStep; i += kRowsPerLoad) {
      const int row = row0 + i;
      if (row0 >= kRowsPerLoad || row >= kStep || to + row >= kHeld) continue;
      const int y = Clamp(y0_ + first + row, 0, level_.height - 1);
      CopyAsync16(&memory_.pixels[to + row][vector * kVector],
                  level_.image + static_cast<size_t>(y) * level_.pitch + x);
    }
  }

  // Until the rows are there, for all lanes.
  __device__ __forceinline__ static void WaitForRows() {
    WaitForCopies();
    __syncwarp();
  }

  // Lists what is marked after the `carried` first entries, and leaves the corners listed, with their responses
  // written; how many entries there then are.
  __device__ __forceinline__ int Score(uint32_t marks, int carried) {
    uint16_t* list = memory_.list + carried;
    int marked;
    uint16_t* to = list + SumBelow(__popc(marks), &marked);
    while (marks != 0) {
      const int bit = __ffs(static_cast<int>(marks)) - 1;
      marks &= marks - 1;
      *to++ = static_cast<uint16_t>(lane_ * kWarp + bit);
    }
    __syncwarp();
    int corners = 0;
    for (int first = 0; first < marked; first += kWarp) {
      const int mark = list[Min(first + lane_, marked - 1)];
      const int row = mark & 7;
      const int column = (mark >> 5) * 4 + (mark >> 3 & 3);
      __syncwarp();  // read by all before the first corner is written to their place
      const int score = PackedFastScore<kArc, kPitch>(PixelAt(row, column));
      const bool is_corner = score >= frame_.threshold && first + lane_ < marked;
      if (is_corner) memory_.response[row + 2][column] = static_cast<uint8_t>(score);
      const unsigned lanes = __ballot_sync(kFullWarp, is_corner);
      if (is_corner) list[corners + CountBelow(lanes)] = static_cast<uint16_t>((row + 1) << 7 | column);
      corners += __popc(lanes);
    }
    __syncwarp();
    return carried + corners;
  }

  // Suppresses listed corners whose neighbours are all scored, and leaves those of the last row tested, which it
  // counts.
  __device__ __forceinline__ int Suppress(int listed) {
    const int x_low = Max(frame_.edge, x0_ + kHaloX);
    const int x_high = Min(level_.width - frame_.edge, x0_ + kHaloX + kOwnedColumns);
    int carried = 0;
    for (int first = 0; first < listed; first += kWarp) {
      const int entry = memory_.list[Min(first + lane_, listed - 1)];
      const int row = (entry >> 7) - 1;
      const int column = entry & 127;
      const int x = x0_ + column;
      const int y = y0_ + row;
      const bool exists = first + lane_ < listed;
      const bool too_early = exists && row == kStep - 1;
      bool keep = exists && !too_early && x >= x_low && x < x_high && y >= first_y_ && y >= frame_.edge &&
                  y < level_.height - frame_.edge;
      uint32_t key = 0;
      if (keep) {
        const uint8_t* r = &memory_.response[row + 2][column];
        key = *r;
        keep = IsMaximum<kTestedColumns>(r);
        if (level_.mask != nullptr) keep = keep && level_.mask[static_cast<size_t>(y) * level_.pitch + x] != 0;
      }
      const unsigned early = __ballot_sync(kFullWarp, too_early);
      const unsigned kept = __ballot_sync(kFullWarp, keep);
      __syncwarp();  // entries move to the front, where all lanes have read
      if (too_early) memory_.list[carried + CountBelow(early)] = static_cast<uint16_t>(column);
      carried += __popc(early);
      if (kept != 0) {
        if (keep) {
          memory_.found[found_ + CountBelow(kept)] = {PackPosition(l_, x, y), key};
          atomicAdd(&histogram_[key], 1u);
        }
        found_ += __popc(kept);
        if (found_ > kBufferedCorners - kWarp) Flush();
      }
    }
    __syncwarp();
    return carried;
  }

  __device__ __forceinline__ void Flush() {
    __syncwarp();
    uint32_t base = 0;
    if (lane_ == 0) base = atomicAdd(&frame_.counters->candidates, static_cast<uint32_t>(found_));
    base = __shfl_sync(kFullWarp, base, 0);
    for (int i = lane_; i < found_; i += kWarp) frame_.candidates[base + i] = memory_.found[i];
    __syncwarp();
    found_ = 0;
  }

  // The rows that the next step reads too go to their place for it, and the others begin to load.
  __device__ __forceinline__ void MoveRows() {
    constexpr int kVectors = 2 * kPad * kRowVectors;
    constexpr int kPerLane = (kVectors + kWarp - 1) / kWarp;
    uint4 v[kPerLane];
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const int k = lane_ + i * kWarp;
      if (k < kVectors) v[i] = *VectorOf(kStep, k);
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const int k = lane_ + i * kWarp;
      if (k < kVectors) *VectorOf(0, k) = v[i];
    }
    LoadRows(kStep + kPad, 2 * kPad);
  }
  __device__ __forceinline__ uint4* VectorOf(int row, int k) {
    return reinterpret_cast<uint4*>(&memory_.pixels[row + k / kRowVectors][k % kRowVectors * kVector]);
  }

  // The last two rows of responses become the first two; the others are no corners until they are scored.
  __device__ __forceinline__ void MoveResponses() {
    constexpr int kTwoRows = 2 * kTestedColumns / sizeof(uint4);
    constexpr int kAll = sizeof(memory_.response) / sizeof(uint4);
    auto* v = reinterpret_cast<uint4*>(memory_.response);
    for (int i = lane_; i < kTwoRows; i += kWarp) v[i] = v[kAll - kTwoRows + i];
    __syncwarp();
    for (int i = kTwoRows + lane_; i < kAll; i += kWarp) v[i] = make_uint4(0, 0, 0, 0);
  }

  // Row and column among those tested in this step.
  __device__ __forceinline__ const uint8_t* PixelAt(int row, int column) const {
    return &memory_.pixels[row + kPad][x0_ - loaded_x_ + column];
  }
  __device__ __forceinline__ int CountBelow(unsigned lanes) const { return __popc(lanes & ((1u << lane_) - 1)); }

  const Frame& frame_;
  const Level& level_;
  const int l_;
  const int x0_;        // leftmost column tested
  const int loaded_x_;  // and loaded
  int y0_;              // first row tested in this step
  const int first_y_ = y0_ + 1;
  const int lane_;
  Strip& memory_;
  uint32_t* const histogram_;
  int found_ = 0;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_STRIP_SCANNER_CUH_
