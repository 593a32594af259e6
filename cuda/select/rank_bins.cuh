// What the final ranking (rank.cuh) works with: shared memory, the bins of a key, and how a shortlist is read.
#ifndef GLINT_CUDA_SELECT_RANK_BINS_CUH_
#define GLINT_CUDA_SELECT_RANK_BINS_CUH_

#include "cuda/select/rank_ties.cuh"

namespace glint::cuda {

inline constexpr int kRankBins = 2048;
inline constexpr int kRankRoom = 2048;        // corners in shared memory
inline constexpr uint32_t kLargestBin = 256;  // corners of one that rank_ties.cuh is not for
static_assert(kRanksAtATime + kLargestBin <= kRankRoom, "a bin belongs to the block of its first rank");
static_assert(kRankRoom == kTieRoom);
static_assert(kEntriesPerThread * kWideRankThreads <= kSpeculativeEntries,
              "read before it is known whether they exist");

struct RankMemory {
  BinSums<kRankBins> bins;
  union {
    uint32_t taken[kRankBins];  // corners of the bin that are in `precedence`
    uint32_t kept[kRankRoom];   // later: elements of it that stay and have no angle yet, plus their ranks * kRankRoom
    TieMemory ties;             // last
  };
  uint64_t precedence[kRankRoom];  // by bin
  float angle[kRankRoom];
  uint32_t kept_count;
  bool has_large;  // bins of more than kLargestBin
};

// How many of a level precede a corner, have a larger key, have a key as large or larger.
struct Rank {
  uint32_t preceding;
  uint32_t better;
  uint32_t not_worse;
};

// Best first. Harris responses are at most 1: above 0 there are 64 bins an octave, below it, where few are kept, 16.
// FAST scores, of which many tie, get a bin for each quarter of the level's height.
template <bool kHarrisKeys>
__device__ __forceinline__ int RankBin(Candidate c, int height) {
  if (kHarrisKeys) {
    constexpr int kNegative = 512;
    constexpr int kPositive = kRankBins - kNegative;
    if (c.key >= 0x80000000u)
      return Clamp(static_cast<int>(0xbf800000u >> 17) - static_cast<int>(c.key >> 17) - 1, 0, kPositive - 1);
    return kPositive +
           Clamp(static_cast<int>(0x40800000u >> 19) + kNegative - 1 - static_cast<int>(c.key >> 19), 0, kNegative - 1);
  }
  const int y4 = 4 * YOf(c.position);
  return (kFastScores - 1 - static_cast<int>(c.key)) * 4 + (y4 >= height) + (y4 >= 2 * height) + (y4 >= 3 * height);
}
// Bits of Precedence() in which a bin's corners may differ.
template <bool kHarrisKeys>
__device__ __forceinline__ uint64_t RankBinDiffers(int bin) {
  const bool is_open = bin == 0 || bin == kRankBins - 512 - 1 || bin >= kRankBins - 512;
  return !kHarrisKeys ? 0xffffffffu : is_open ? ~uint64_t{0} : (uint64_t{1} << (32 + 17)) - 1;
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
