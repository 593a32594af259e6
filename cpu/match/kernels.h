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

// Rule 1 of features/matcher.h: what queries ask, by their number, and what trains are, in the order of matching.
struct KeypointConditions {
  QueryConditions query;
  TrainKeypoints train;  // PaddedTrains() elements of each array that is there
  float max_angle_difference = 180;
};

// Rule 1 of features/stereo.h: left keypoints by their number, right ones in the order of matching.
struct StereoConditions {
  const float* left_x = nullptr;
  const float* left_row = nullptr;  // y rounded down
  const int32_t* left_octave = nullptr;
  const float *x = nullptr, *low = nullptr, *high = nullptr;  // PaddedTrains() elements; a StereoBand
  const int32_t* octave = nullptr;                            // likewise
  float min_disparity = 0, max_disparity = 0;
  int max_octave_difference = 0;
};

struct MatchJob {
  DescriptorView query;
  DescriptorView train;
  // The queries in the order of matching: neighbours share work if they have much the same trains. Only the trains at
  // [from[q], to[q]) of their order may be allowed to query number q.
  const int32_t* query_number = nullptr;
  const int32_t* from = nullptr;
  const int32_t* to = nullptr;
  const int32_t* train_number = nullptr;  // PaddedTrains(): the trains in the order of matching, then kNoKey
  // At most one of them; without, every train is allowed.
  const KeypointConditions* keypoints = nullptr;
  const StereoConditions* stereo = nullptr;
  int each = 1;  // keys of a query; 2: the column minima, too

  // Set for each call of a kernel.
  int first = 0;  // queries [first, last) of their order, at most MatchChunk() of them
  int last = 0;
  const uint8_t* packed = nullptr;  // the whole train set, in its order
  int32_t* keys = nullptr;          // of query number q: [q * each, (q + 1) * each), the least first, then kNoKey
  int32_t* column = nullptr;   // PaddedTrains(): of each train in its order, the least key of a query; made smaller
  uint8_t* scratch = nullptr;  // MatchScratchBytes(), 64-byte aligned
};

struct MatchKernels {
  int block;  // trains in a block
  // Blocks [first, last) of the train set in its order. `packed` is 64-byte aligned.
  void (*pack)(const MatchJob& job, int first, int last, uint8_t* packed);
  // each == 1: the nearest. each == 2: the two nearest and the column minima, in one pass.
  void (*nearest)(const MatchJob& job);
  // Any number of keys; no columns; not for `stereo`.
  void (*k_nearest)(const MatchJob& job);
  // Keys of one query with the trains index[0..count).
  void (*keys)(const uint8_t* query, const DescriptorView& train, const int32_t* index, size_t count, int32_t* keys);
};

MatchKernels MatchKernelsFor(int64_t target);

}  // namespace glint::cpu

#endif  // GLINT_CPU_MATCH_KERNELS_H_
