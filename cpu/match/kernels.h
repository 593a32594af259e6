// The vector work of matching as a table of functions, one table per SIMD target. Internal to Glint: Matcher strings
// them together, tests run each target. No function allocates. All are pure functions: thread-safe.
#ifndef GLINT_CPU_MATCH_KERNELS_H_
#define GLINT_CPU_MATCH_KERNELS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "features/limits.h"
#include "features/match_limits.h"
#include "features/matcher.h"

namespace glint::cpu {

// A candidate in 31 bits: distance, then index. The order of keys is the order of candidates.
inline constexpr int kKeyShift = 18;
inline constexpr int32_t kNoKey = 0x7fffffff;  // after all others
static_assert(kMaxMatchDescriptors < 1 << kKeyShift, "an index fits");
static_assert((int64_t{8 * kMaxDescriptorBytes} << kKeyShift) + kMaxMatchDescriptors < kNoKey, "a distance fits");
inline int32_t MakeKey(int distance, int index) { return distance << kKeyShift | index; }
inline int KeyDistance(int32_t key) { return key >> kKeyShift; }
inline int KeyIndex(int32_t key) { return key & ((1 << kKeyShift) - 1); }

// Puts `key` in its place among the `count` least keys so far, which are in order.
inline void InsertKey(int32_t key, int count, int32_t* keys) {
  if (key >= keys[count - 1]) return;
  int place = count - 1;
  for (; place > 0 && key < keys[place - 1]; --place) keys[place] = keys[place - 1];
  keys[place] = key;
}

// Trains are packed in blocks of up to kMaxTrainBlock, so that a vector holds the same bytes of different trains.
inline constexpr int kMaxTrainBlock = 64;
inline size_t PaddedTrains(int count) {
  return (static_cast<size_t>(count) + kMaxTrainBlock - 1) / kMaxTrainBlock * kMaxTrainBlock;
}
inline size_t PackedTrainBytes(int count, int bytes) { return PaddedTrains(count) * 2 * static_cast<size_t>(bytes); }

// Queries that are prepared together: a multiple of 4. Prepared, 32-byte descriptors take 128 KiB, which stays in L2.
inline int MatchChunk(int bytes) { return 4 * std::clamp(1024 / bytes, 2, 32); }
inline size_t MatchScratchBytes(int bytes) {
  return static_cast<size_t>(MatchChunk(bytes)) * (32 * static_cast<size_t>(bytes) + 2 * 64);
}

struct MatchJob {
  DescriptorView query;
  int first_query;  // queries [first_query, last_query)
  int last_query;
  const uint8_t* packed;       // the whole train set
  const int32_t* train_index;  // PaddedTrains(): each train's number, then kNoKey
  int blocks;
  int each;          // keys of a query
  int32_t* keys;     // of query q: [q * each, (q + 1) * each), the least first; kNoKey where there are no more
  int32_t* column;   // PaddedTrains(): of each train, the least key of a query so far; made smaller. Only for each == 2
  uint8_t* scratch;  // MatchScratchBytes(), 64-byte aligned
};

struct MatchKernels {
  int block;  // trains in a block
  // Blocks [first, last) of the train set. `packed` is 64-byte aligned.
  void (*pack)(const DescriptorView& train, int first, int last, uint8_t* packed);
  // each == 1: the nearest. each == 2: the two nearest and the column minima, in one pass.
  void (*nearest)(const MatchJob& job);
  // Any number of keys; no columns.
  void (*k_nearest)(const MatchJob& job);
  // Keys of one query with the trains index[0..count).
  void (*keys)(const uint8_t* query, const DescriptorView& train, const int32_t* index, size_t count, int32_t* keys);
};

MatchKernels MatchKernelsFor(int64_t target);

}  // namespace glint::cpu

#endif  // GLINT_CPU_MATCH_KERNELS_H_
