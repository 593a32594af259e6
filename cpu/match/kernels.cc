// Matching. The queries of a job are so few that their prepared form stays in the second-level cache; trains pass in
// tiles that stay in the first: each tile serves all queries, four at a time. A query's least keys are kept lane by
// lane until the trains are through. Conditions are masks: what they forbid has a key after all others.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/match/kernels.cc"
#include "cpu/common/targets.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.
#include "cpu/common/simd-inl.h"
#include "cpu/match/conditions-inl.h"
#include "cpu/match/hamming-inl.h"
#include "cpu/match/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

constexpr size_t kTileBytes = 24 * 1024;

void Pack(const MatchJob& job, int first, int last, uint8_t* packed) {
  for (int b = first; b < last; ++b) PackBlock(job, b, packed + static_cast<size_t>(b) * BlockBytes(job.train.bytes));
}

// The number of the query at place i of a job. Where a job does not fill its last group, its last query is repeated.
HWY_INLINE int QueryAt(const MatchJob& job, int i) { return job.query_number[std::min(job.first + i, job.last - 1)]; }

struct BlockRange {
  int first, last;
};
// The blocks that the queries at places [i, i + count) of the job may match.
HWY_INLINE BlockRange BlocksOf(const MatchJob& job, int i, int count) {
  int from = job.train.count;
  int to = 0;
  for (int place = i; place < i + count; ++place) {
    const int q = QueryAt(job, place);
    from = std::min(from, job.from[q]);
    to = std::max(to, job.to[q]);
  }
  return {from / kBlock, (to + kBlock - 1) / kBlock};
}

// Calls visit(i, prepared, first, last) for the queries at places [i, i + kGroup) of the job and the blocks
// [first, last) of each tile that one of them may match.
template <class Visit>
HWY_INLINE void ForEachTile(const MatchJob& job, const Visit& visit) {
  const int bytes = job.query.bytes;
  const int filled = (job.last - job.first + kGroup - 1) / kGroup * kGroup;
  for (int i = 0; i < filled; ++i) {
    PrepareQuery(job.query.row(QueryAt(job, i)), bytes, job.scratch + static_cast<size_t>(i) * PreparedBytes(bytes));
  }
  const int tile = std::max(1, static_cast<int>(kTileBytes / BlockBytes(bytes)));
  const BlockRange all = BlocksOf(job, 0, filled);
  for (int begin = all.first; begin < all.last; begin += tile) {
    for (int i = 0; i < filled; i += kGroup) {
      const BlockRange own = BlocksOf(job, i, kGroup);
      const int first = std::max(own.first, begin);
      const int last = std::min(own.last, begin + tile);
      if (first < last) visit(i, job.scratch + static_cast<size_t>(i) * PreparedBytes(bytes), first, last);
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

// All bits of kNoKey where a pair is forbidden, whatever its distance and number.
HWY_INLINE V32 NoKeyIf(M32 forbidden) { return hn::IfThenElseZero(forbidden, hn::Set(D32(), kNoKey)); }

template <class Allowed, bool kFull, int kBytes>
void NearestOf(const MatchJob& job) {
  const D32 d;
  const Allowed allowed(job);
  const int bytes = job.query.bytes;
  const int count = job.last - job.first;
  const size_t block_bytes = BlockBytes(bytes);
  // Two vectors for each query.
  int32_t* const state = reinterpret_cast<int32_t*>(job.scratch + static_cast<size_t>(MatchChunk(bytes)) * 32 *
                                                                      static_cast<size_t>(bytes));
  std::fill(state, state + 2 * kLanes * MatchChunk(bytes), kNoKey);
  ForEachTile(job, [&](int i, const uint8_t* prepared, int first, int last) HWY_ATTR {
    V32 least[kGroup];
    V32 second[kGroup];
    int query[kGroup];
    int32_t* const lanes = state + i * 2 * kLanes;
    for (int g = 0; g < kGroup; ++g) {
      least[g] = hn::Load(d, lanes + g * 2 * kLanes);
      if (kFull) second[g] = hn::Load(d, lanes + (g * 2 + 1) * kLanes);
      query[g] = QueryAt(job, i + g);
    }
    for (int b = first; b < last; ++b) {
      V32 distance[kGroup][kVectors];
      Distances<kBytes>(prepared, job.packed + static_cast<size_t>(b) * block_bytes, bytes, distance);
      for (int v = 0; v < kVectors; ++v) {
        const size_t at = static_cast<size_t>(b) * kBlock + static_cast<size_t>(v) * kLanes;
        const V32 index = hn::Load(d, job.train_number + at);
        V32 column = kFull ? hn::Load(d, job.column + at) : hn::Zero(d);
        for (int g = 0; g < kGroup; ++g) {
          if (Allowed::kConditional) {
            distance[g][v] = hn::Or(distance[g][v], NoKeyIf(allowed.Forbidden(at, query[g])));
          }
          const V32 key = hn::Or(distance[g][v], index);
          if (kFull) {
            second[g] = hn::Min(second[g], hn::Max(least[g], key));
            column = hn::Min(column, hn::Or(distance[g][v], hn::Set(d, query[g])));
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
    StoreNearest<kFull>(state + i * 2 * kLanes, job.keys + static_cast<ptrdiff_t>(QueryAt(job, i)) * job.each);
  }
}

template <class Allowed>
void NearestOf(const MatchJob& job) {
  const bool usual = job.query.bytes == kRbriefBytes;
  if (job.each == 1) return usual ? NearestOf<Allowed, false, kRbriefBytes>(job) : NearestOf<Allowed, false, 0>(job);
  return usual ? NearestOf<Allowed, true, kRbriefBytes>(job) : NearestOf<Allowed, true, 0>(job);
}

void Nearest(const MatchJob& job) {
  if (job.stereo != nullptr) return NearestOf<AllowedByRows>(job);
  return job.keypoints != nullptr ? NearestOf<AllowedByKeypoints>(job) : NearestOf<AnyTrain>(job);
}

template <class Allowed, int kBytes>
void KNearestOf(const MatchJob& job) {
  const D32 d;
  const Allowed allowed(job);
  const int bytes = job.query.bytes;
  const int count = job.last - job.first;
  const size_t block_bytes = BlockBytes(bytes);
  const auto keys_of = [&job](int i) { return job.keys + static_cast<ptrdiff_t>(QueryAt(job, i)) * job.each; };
  for (int i = 0; i < count; ++i) std::fill(keys_of(i), keys_of(i) + job.each, kNoKey);
  ForEachTile(job, [&](int i, const uint8_t* prepared, int first, int last) HWY_ATTR {
    const int queries = std::min(kGroup, count - i);
    HWY_ALIGN int32_t lanes[kVectors * kLanes];
    for (int b = first; b < last; ++b) {
      V32 distance[kGroup][kVectors];
      Distances<kBytes>(prepared, job.packed + static_cast<size_t>(b) * block_bytes, bytes, distance);
      for (int g = 0; g < queries; ++g) {
        int32_t* const keys = keys_of(i + g);
        V32 least = hn::Set(d, kNoKey);
        for (int v = 0; v < kVectors; ++v) {
          const size_t at = static_cast<size_t>(b) * kBlock + static_cast<size_t>(v) * kLanes;
          V32 key = hn::Or(distance[g][v], hn::Load(d, job.train_number + at));
          if (Allowed::kConditional) key = hn::Or(key, NoKeyIf(allowed.Forbidden(at, QueryAt(job, i + g))));
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

template <class Allowed>
void KNearestOf(const MatchJob& job) {
  return job.query.bytes == kRbriefBytes ? KNearestOf<Allowed, kRbriefBytes>(job) : KNearestOf<Allowed, 0>(job);
}

void KNearest(const MatchJob& job) {
  return job.keypoints != nullptr ? KNearestOf<AllowedByKeypoints>(job) : KNearestOf<AnyTrain>(job);
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
