// The maxima that a warp of dense Harris has found, on their way to the ranking, and what it knows of the greatest
// measure.
#ifndef GLINT_CUDA_CORNERS_DENSE_FINDER_CUH_
#define GLINT_CUDA_CORNERS_DENSE_FINDER_CUH_

#include "cuda/corners/dense_strip.cuh"
#include "cuda/select/bins.cuh"

namespace glint::cuda {

// Puts what of the maxima that a warp has found is over `least` into the ranking's buckets, kAtOnce of each lane at a
// time. All lanes must call.
template <int kAtOnce>
__device__ __forceinline__ void ListFound(const Frame& frame, const SelectionParams& params, uint32_t buffer,
                                          const Candidate* found, int count, uint32_t least) {
  __syncwarp();
#pragma unroll 1
  for (int first = 0; first < count; first += kAtOnce * kWarp) {
    Candidate c[kAtOnce];
    BucketSlot slot[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int at = first + i * kWarp + static_cast<int>(threadIdx.x) % kWarp;
      c[i] = {0, 0};
      if (at < count) c[i] = found[at];
      if (c[i].key > least) slot[i].Take(params, buffer, c[i]);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) slot[i].Put(frame, params, buffer, c[i]);
  }
  __syncwarp();
}

// When a warp has no more than `room` for others: keeps only what is over `least`; if that is not less, none of it.
// Returns how many are kept. In a few registers. All lanes must call.
static __device__ __noinline__ int MakeRoomIn(const Frame& frame, const SelectionParams& params, uint32_t buffer,
                                              Candidate* found, int count, int room, uint32_t least) {
  __syncwarp();
  int over = 0;
#pragma unroll 1
  for (int first = 0; first < count; first += kWarp) {
    const int i = first + static_cast<int>(threadIdx.x) % kWarp;
    Candidate c = {0, 0};
    if (i < count) c = found[i];
    const unsigned lanes = __ballot_sync(kFullWarp, c.key > least);
    __syncwarp();
    if (c.key > least) found[over + LanesBelow(lanes)] = c;
    over += __popc(lanes);
  }
  if (over <= room) return over;
  ListFound<1>(frame, params, buffer, found, over, least);
  return 0;
}

// What a warp lists and what it knows of the greatest measure.
template <bool kSuppress3x3>
struct Finder {
  const Frame& frame;
  const SelectionParams& params;
  const Level& level;
  DenseTile<kSuppress3x3>& tile;
  Candidate* found;
  int warp;
  int lane;
  int x;                        // of the lane's leftmost column
  int x_low, x_high;            // columns of the image that are owned for
  int y_low, y_high;            // and rows
  bool has_measures;            // all of the lane's columns have one
  float least;                  // a measure must be greater
  int count = 0;                // of found
  uint32_t seen = 0x80000000u;  // of what all have found, at the last look
  float greatest = kOutside;    // of the lane

  __device__ __forceinline__ uint32_t LeastKey() const { return OrderedKey(__float_as_uint(least)); }

  // What is not over the threshold of the greatest measure so far will not be over that of the greatest. All lanes must
  // call. The block's first warp asks what others have found: all of them would be too many for one place in memory.
  __device__ __forceinline__ void RaiseLeast() {
    if (!params.is_fraction) return;
    uint32_t known = WarpMax(has_measures ? OrderedKey(__float_as_uint(greatest)) : 0);
    if (warp == 0) known = max(known, seen);
    const uint32_t of_block = *static_cast<volatile const uint32_t*>(&tile.greatest);
    if (known > of_block && lane == 0) atomicMax(&tile.greatest, known);
    known = max(known, of_block);
    if (warp == 0) {
      if (known > seen && lane == 0) atomicMax(&params.counters->list[tile.buffer].greatest, known);
      seen = *static_cast<volatile const uint32_t*>(
          &params.counters->list[tile.buffer].greatest);  // on its way until the next call
    }
    SetLeast(known);
  }
  __device__ __forceinline__ void SetLeast(uint32_t known) {
    least = fmaxf(params.response_threshold * __uint_as_float(FromOrderedKey(known)), 0.0f);
  }

  __device__ __forceinline__ void MakeRoom(int wanted) {
    constexpr int kRoom = kDenseFound<kSuppress3x3>;
    if (count <= kRoom - wanted) return;
    count = MakeRoomIn(frame, params, tile.buffer, found, count, kRoom - wanted, LeastKey());
  }

  // Lists what is left, when all of the block know the greatest measure of them. All threads must call.
  __device__ __forceinline__ void Finish() {
    if (params.is_fraction) {
      const uint32_t known = max(seen, WarpMax(has_measures ? OrderedKey(__float_as_uint(greatest)) : 0));
      if (lane == 0) atomicMax(&tile.greatest, known);
      __syncthreads();
      if (threadIdx.x == 0 && tile.greatest > seen)
        atomicMax(&params.counters->list[tile.buffer].greatest, tile.greatest);
      SetLeast(tile.greatest);
    }
    ListFound<4>(frame, params, tile.buffer, found, count, LeastKey());
  }

  // Appends maxima, one per lane at most. All lanes must call.
  __device__ __forceinline__ void Append(bool keep, int px, int y, float response) {
    keep = keep && px >= x_low && px < x_high && y >= y_low && y < y_high;
    if (keep && level.mask != nullptr) keep = level.mask[static_cast<size_t>(y) * level.pitch + px] != 0;
    const unsigned lanes = __ballot_sync(kFullWarp, keep);
    if (keep) found[count + LanesBelow(lanes)] = {PackPosition(0, px, y), OrderedKey(__float_as_uint(response))};
    count += __popc(lanes);
  }
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_DENSE_FINDER_CUH_
