// Brute-force matching. Queries pass in chunks whose prepared form stays in the second-level cache, trains in tiles
// that stay in the first: each tile serves a whole chunk, four queries at a time. A query's least keys are kept lane by
// lane until the trains are through.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/match/kernels.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "cpu/common/simd-inl.h"
#include "cpu/match/hamming-inl.h"
#include "cpu/match/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

constexpr size_t kTileBytes = 24 * 1024;

void Pack(const DescriptorView& train, int first, int last, uint8_t* packed) {
  for (int b = first; b < last; ++b) PackBlock(train, b, packed + static_cast<size_t>(b) * BlockBytes(train.bytes));
}

// Calls visit(i, prepared, first, last) for the queries [i, i + kGroup) of the chunk and the blocks [first, last).
// Where a chunk does not fill its last group, its last query is repeated.
template <class Visit>
HWY_INLINE void ForEachTile(const MatchJob& job, int first_query, int count, const Visit& visit) {
  const int bytes = job.query.bytes;
  const int filled = (count + kGroup - 1) / kGroup * kGroup;
  for (int i = 0; i < filled; ++i) {
    PrepareQuery(job.query.row(first_query + std::min(i, count - 1)), bytes,
                 job.scratch + static_cast<size_t>(i) * PreparedBytes(bytes));
  }
  const int tile = std::max(1, static_cast<int>(kTileBytes / BlockBytes(bytes)));
  for (int first = 0; first < job.blocks; first += tile) {
    for (int i = 0; i < filled; i += kGroup) {
      visit(i, job.scratch + static_cast<size_t>(i) * PreparedBytes(bytes), first, std::min(first + tile, job.blocks));
    }
  }
}

// The least key of a query, with kFull the two least; `lanes` are its vectors of the least and the second.
template <bool kFull>
void StoreNearest(const int32_t* lanes, int32_t* keys) {
  int32_t least = kNoKey;
  int32_t second = kNoKey;
  for (int i = 0; i < kLanes; ++i) {
    second = std::min(second, std::max(least, lanes[i]));
    least = std::min(least, lanes[i]);
    if (kFull) second = std::min(second, lanes[kLanes + i]);
  }
  keys[0] = least;
  if (kFull) keys[1] = second;
}

template <bool kFull, int kBytes>
void NearestOf(const MatchJob& job) {
  const D32 d;
  const int bytes = job.query.bytes;
  const int chunk = MatchChunk(bytes);
  const size_t block_bytes = BlockBytes(bytes);
  // Two vectors for each query of a chunk.
  int32_t* const state =
      reinterpret_cast<int32_t*>(job.scratch + static_cast<size_t>(chunk) * 32 * static_cast<size_t>(bytes));
  for (int from = job.first_query; from < job.last_query; from += chunk) {
    const int count = std::min(chunk, job.last_query - from);
    std::fill(state, state + 2 * kLanes * chunk, kNoKey);
    ForEachTile(job, from, count, [&](int i, const uint8_t* prepared, int first, int last) HWY_ATTR {
      V32 least[kGroup];
      V32 second[kGroup];
      V32 query[kGroup];
      int32_t* const lanes = state + i * 2 * kLanes;
      for (int g = 0; g < kGroup; ++g) {
        least[g] = hn::Load(d, lanes + g * 2 * kLanes);
        if (kFull) second[g] = hn::Load(d, lanes + (g * 2 + 1) * kLanes);
        query[g] = hn::Set(d, from + std::min(i + g, count - 1));
      }
      for (int b = first; b < last; ++b) {
        V32 distance[kGroup][kVectors];
        Distances<kBytes>(prepared, job.packed + static_cast<size_t>(b) * block_bytes, bytes, distance);
        for (int v = 0; v < kVectors; ++v) {
          const ptrdiff_t at = static_cast<ptrdiff_t>(b) * kBlock + v * kLanes;
          const V32 index = hn::Load(d, job.train_index + at);
          V32 column = kFull ? hn::Load(d, job.column + at) : hn::Zero(d);
          for (int g = 0; g < kGroup; ++g) {
            const V32 key = hn::Or(distance[g][v], index);
            if (kFull) {
              second[g] = hn::Min(second[g], hn::Max(least[g], key));
              column = hn::Min(column, hn::Or(distance[g][v], query[g]));
            }
            least[g] = hn::Min(least[g], key);
          }
          if (kFull) hn::Store(column, d, job.column + at);
        }
      }
      for (int g = 0; g < kGroup; ++g) {
        hn::Store(least[g], d, lanes + g * 2 * kLanes);
        if (kFull) hn::Store(second[g], d, lanes + (g * 2 + 1) * kLanes);
      }
    });
    for (int i = 0; i < count; ++i) {
      StoreNearest<kFull>(state + i * 2 * kLanes, job.keys + static_cast<ptrdiff_t>(from + i) * job.each);
    }
  }
}

void Nearest(const MatchJob& job) {
  const bool usual = job.query.bytes == kRbriefBytes;
  if (job.each == 1) return usual ? NearestOf<false, kRbriefBytes>(job) : NearestOf<false, 0>(job);
  return usual ? NearestOf<true, kRbriefBytes>(job) : NearestOf<true, 0>(job);
}

template <int kBytes>
void KNearestOf(const MatchJob& job) {
  const D32 d;
  const int bytes = job.query.bytes;
  const int chunk = MatchChunk(bytes);
  const size_t block_bytes = BlockBytes(bytes);
  for (int from = job.first_query; from < job.last_query; from += chunk) {
    const int count = std::min(chunk, job.last_query - from);
    std::fill(job.keys + static_cast<ptrdiff_t>(from) * job.each,
              job.keys + static_cast<ptrdiff_t>(from + count) * job.each, kNoKey);
    ForEachTile(job, from, count, [&](int i, const uint8_t* prepared, int first, int last) HWY_ATTR {
      const int queries = std::min(kGroup, count - i);
      HWY_ALIGN int32_t lanes[kVectors * kLanes];
      for (int b = first; b < last; ++b) {
        V32 distance[kGroup][kVectors];
        Distances<kBytes>(prepared, job.packed + static_cast<size_t>(b) * block_bytes, bytes, distance);
        for (int g = 0; g < queries; ++g) {
          int32_t* const keys = job.keys + static_cast<ptrdiff_t>(from + i + g) * job.each;
          V32 least = hn::Set(d, kNoKey);
          for (int v = 0; v < kVectors; ++v) {
            const V32 key = hn::Or(distance[g][v], hn::Load(d, job.train_index + b * kBlock + v * kLanes));
            least = hn::Min(least, key);
            hn::Store(key, d, lanes + v * kLanes);
          }
          // Seldom, once the first blocks are through.
          if (hn::AllFalse(d, hn::Lt(least, hn::Set(d, keys[job.each - 1])))) continue;
          for (const int32_t key : lanes) InsertKey(key, job.each, keys);
        }
      }
    });
  }
}

void KNearest(const MatchJob& job) {
  return job.query.bytes == kRbriefBytes ? KNearestOf<kRbriefBytes>(job) : KNearestOf<0>(job);
}

void Keys(const uint8_t* query, const DescriptorView& train, const int32_t* index, size_t count, int32_t* keys) {
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* row = train.row(index[i]);
    int distance = 0;
    for (int at = 0; at < train.bytes; at += 8) {
      uint64_t a, b;
      std::memcpy(&a, query + at, 8);
      std::memcpy(&b, row + at, 8);
      distance += __builtin_popcountll(a ^ b);
    }
    keys[i] = MakeKey(distance, index[i]);
  }
}

void AddMatchKernels(MatchKernels* kernels) { *kernels = {kBlock, &Pack, &Nearest, &KNearest, &Keys}; }

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glint::cpu {
HWY_EXPORT(AddMatchKernels);

MatchKernels MatchKernelsFor(int64_t target) {
  MatchKernels kernels;
  HWY_DISPATCH_TABLE(AddMatchKernels)[GLINT_CPU_TABLE_INDEX(target)](&kernels);
  return kernels;
}

}  // namespace glint::cpu
#endif
