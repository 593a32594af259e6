// The maxima that a warp of dense Harris has found, on their way to the shortlist, and what it knows of the greatest
// measure.
#ifndef GLINT_CUDA_DENSE_FINDER_CUH_
#define GLINT_CUDA_DENSE_FINDER_CUH_

#include "cuda/dense_strip.cuh"

namespace glint::cuda {

// How many of what a warp found are over `least`. All lanes must call.
__device__ __forceinline__ uint32_t CountOver(const Candidate* found, int count, uint32_t least) {
  uint32_t over = 0;
#pragma unroll 1
  for (int first = 0; first < count; first += kWarp) {
    const int i = first + static_cast<int>(threadIdx.x) % kWarp;
    over += __popc(__ballot_sync(kFullWarp, i < count && found[i].key > least));
  }
  return over;
}

// Copies those. All lanes must call.
__device__ __forceinline__ void CopyOver(const Candidate* found, int count, uint32_t least, Candidate* to) {
#pragma unroll 1
  for (int first = 0; first < count; first += kWarp) {
    const int i = first + static_cast<int>(threadIdx.x) % kWarp;
    Candidate c = {0, 0};
    if (i < count) c = found[i];
    const unsigned lanes = __ballot_sync(kFullWarp, c.key > least);
    if (c.key > least) to[LanesBelow(lanes)] = c;
    to += __popc(lanes);
  }
}

// When a warp has no more room. All lanes must call.
static __device__ __noinline__ void MoveFound(const Candidate* found, int count, uint32_t least, uint32_t* total,
                                              Candidate* candidates) {
  __syncwarp();
  const uint32_t over = CountOver(found, count, least);
  uint32_t base = 0;
  if (threadIdx.x % kWarp == 0) base = atomicAdd(total, over);
  CopyOver(found, count, least, candidates + __shfl_sync(kFullWarp, base, 0));
  __syncwarp();
}

// What a warp lists and what it knows of the greatest measure.
template <bool kByOne>
struct Finder {
  const MapFrame& map;
  const Level& level;
  DenseTile<kByOne>& tile;
  Candidate* found;
  MapList& list;
  int warp;
  int lane;
  int x;                        // of the lane's leftmost column
  int x_low, x_high;            // columns of the image that are answered for
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
    if (!map.is_fraction) return;
    uint32_t known = WarpMax(has_measures ? OrderedKey(__float_as_uint(greatest)) : 0);
    if (warp == 0) known = max(known, seen);
    const uint32_t of_block = *static_cast<volatile const uint32_t*>(&tile.greatest);
    if (known > of_block && lane == 0) atomicMax(&tile.greatest, known);
    known = max(known, of_block);
    if (warp == 0) {
      if (known > seen && lane == 0) atomicMax(&list.greatest, known);
      seen = *static_cast<volatile const uint32_t*>(&list.greatest);  // on its way until the next call
    }
    SetLeast(known);
  }
  __device__ __forceinline__ void SetLeast(uint32_t known) {
    least = fmaxf(map.response_threshold * __uint_as_float(FromOrderedKey(known)), 0.0f);
  }

  __device__ __forceinline__ void MakeRoom(int wanted) {
    if (count <= kFound<kByOne> - wanted) return;
    MoveFound(found, count, LeastKey(), &list.count[0], level.shortlist);
    count = 0;
  }

  // Lists what the block's warps have found, all at once: so many additions to one place in memory take their time. All
  // threads must call.
  __device__ __forceinline__ void Finish() {
    if (map.is_fraction) {
      const uint32_t known = max(seen, WarpMax(has_measures ? OrderedKey(__float_as_uint(greatest)) : 0));
      if (lane == 0) atomicMax(&tile.greatest, known);
      __syncthreads();
      if (threadIdx.x == 0 && tile.greatest > seen) atomicMax(&list.greatest, tile.greatest);
      SetLeast(tile.greatest);
    }
    __syncwarp();
    const uint32_t over = CountOver(found, count, LeastKey());
    uint32_t place = 0;
    if (lane == 0 && over > 0) place = atomicAdd(&tile.listed, over);
    __syncthreads();
    if (threadIdx.x == 0 && tile.listed > 0) tile.base = atomicAdd(&list.count[0], tile.listed);
    __syncthreads();
    place = __shfl_sync(kFullWarp, place, 0);
    if (over > 0) CopyOver(found, count, LeastKey(), level.shortlist + tile.base + place);
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

#endif  // GLINT_CUDA_DENSE_FINDER_CUH_
