// What the final ranking (rank.cuh) works with: shared memory, the bins of a key, and how a shortlist is read.
#ifndef GLINT_CUDA_SELECT_RANK_BINS_CUH_
#define GLINT_CUDA_SELECT_RANK_BINS_CUH_

#include "cuda/select/rank_ties.cuh"

namespace glint::cuda {

inline constexpr int kRankBins = 2048;
inline constexpr int kRankRoom = 2048;        // corners in shared memory
inline constexpr uint32_t kLargestBin = 512;  // corners of one that rank_ties.cuh is not for
static_assert(kRanksAtATime + kLargestBin <= kRankRoom, "a bin belongs to the block of its first rank");
static_assert(kEntriesPerThread * kWideRankThreads <= kSpeculativeEntries,
              "read before it is known whether they exist");

struct RankMemory {
  uint32_t above[kRankBins];  // corners in higher bins; before that, in the bin itself
  union {
    uint32_t taken[kRankBins];  // corners of the bin that are in `precedence`
    uint32_t kept[kRankRoom];   // later: elements of it that stay and have no angle yet, plus their ranks * kRankRoom
    TieMemory ties;             // last
  };
  uint64_t precedence[kRankRoom];  // by descending bin
  float angle[kRankRoom];
  uint32_t warp_sum[kWarp];
  uint32_t may_stay;    // see RanksThatMayStay()
  uint32_t begin, end;  // of the bins in `precedence`
  uint32_t kept_count;
  bool has_large;  // bins of more than kLargestBin
};

// How many of a level precede a corner, have a larger key, have a key as large or larger.
struct Rank {
  uint32_t preceding;
  uint32_t better;
  uint32_t not_worse;
};

// Monotonic in Precedence(). Harris responses are at most 1: above 0 there are 64 bins an octave, below it, where few
// are kept, 16. FAST scores, of which many tie, get a bin for each quarter of the level's height.
template <bool kHarrisKeys>
__device__ __forceinline__ int RankBin(Candidate c, int height) {
  if (kHarrisKeys) {
    constexpr int kNegative = 512;
    constexpr int kPositive = kRankBins - kNegative;
    if (c.key >= 0x80000000u)
      return kNegative +
             Clamp(static_cast<int>(c.key >> 17) - static_cast<int>(0xbf800000u >> 17) + kPositive, 0, kPositive - 1);
    return Clamp(static_cast<int>(c.key >> 19) - static_cast<int>(0x40800000u >> 19), 0, kNegative - 1);
  }
  const int y4 = 4 * YOf(c.position);
  return static_cast<int>(c.key) * 4 + 3 - ((y4 >= height) + (y4 >= 2 * height) + (y4 >= 3 * height));
}

// What bins are made of, of a thread's share of some entries of a shortlist: with Harris keys no positions.
template <bool kHarrisKeys>
struct ListWindow {
  Candidate corner[kEntriesPerThread];

  __device__ __forceinline__ void Load(const Level& level, uint32_t first) {
    const uint32_t at = first + kEntriesPerThread * threadIdx.x;
    uint4 a{}, b{};
    const uint4 keys = *reinterpret_cast<const uint4*>(level.shortlist_keys + at);
    if (!kHarrisKeys) a = *reinterpret_cast<const uint4*>(level.shortlist_entries + at);
    if (!kHarrisKeys) b = *reinterpret_cast<const uint4*>(level.shortlist_entries + at + 2);
    corner[0] = {a.x, keys.x}, corner[1] = {a.z, keys.y}, corner[2] = {b.x, keys.z}, corner[3] = {b.z, keys.w};
  }
};

// What the first window's entries of a thread say; there may be fewer.
__device__ __forceinline__ void LoadShortlistEntries(const Level& level, ShortlistEntry (&listed)[kEntriesPerThread]) {
#pragma unroll
  for (int j = 0; j < kEntriesPerThread; ++j) listed[j] = level.shortlist_entries[kEntriesPerThread * threadIdx.x + j];
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_SELECT_RANK_BINS_CUH_
