// Matches and stereo pairs as jobs: what a lane is asked beside the options of the detector, and what it found.
#ifndef GLINT_SERVER_OPERATIONS_MATCH_PAIR_H_
#define GLINT_SERVER_OPERATIONS_MATCH_PAIR_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "features/matcher.h"
#include "features/stereo.h"
#include "features/types.h"

namespace glint {

// Bytes of descriptors for each of the descriptors that a server takes, on average.
inline constexpr int64_t kSetBytesPerDescriptor = 64;

// What a lane does with a frame.
enum class Work { kDetect, kMatch, kStereo, kEditSet, kTrack, kEditTracks, kLocalize, kMap };
inline constexpr int kWorkCount = 8;

// How much a DescriptorSet holds, or would.
struct SetSizes {
  size_t rows = 0;     // bytes
  uint32_t bytes = 0;  // of one descriptor
  size_t x = 0, y = 0, octave = 0, angle = 0;

  size_t count() const { return bytes == 0 ? 0 : rows / bytes; }
};

// Descriptors side by side, with what conditions ask of their keypoints: arrays that are empty or complete.
struct DescriptorSet {
  std::vector<uint8_t> rows;
  int bytes = 0;  // of one descriptor
  std::vector<float> x, y, angle;
  std::vector<int32_t> octave;

  SetSizes sizes() const {
    return {rows.size(), static_cast<uint32_t>(bytes), x.size(), y.size(), octave.size(), angle.size()};
  }
  int count() const { return bytes == 0 ? 0 : static_cast<int>(rows.size() / static_cast<size_t>(bytes)); }
  DescriptorView view() const { return {rows.data(), count(), bytes}; }
  // Keeps the memory.
  void Clear() {
    rows.clear();
    for (auto* v : {&x, &y, &angle}) v->clear();
    octave.clear();
    bytes = 0;
  }
};

// Conditions of each query; arrays that are empty or complete.
struct ConditionArrays {
  std::vector<float> x, y, radius;
  std::vector<int32_t> min_octave, max_octave;

  void Clear() {
    for (auto* v : {&x, &y, &radius}) v->clear();
    for (auto* v : {&min_octave, &max_octave}) v->clear();
  }
};

// Descriptors and conditions that lie in a message, which a lane unpacks into memory of its own.
class PackedMatch {
 public:
  virtual ~PackedMatch() = default;
  // Fills the sides that have descriptors in the message, and the conditions; clears the others.
  virtual absl::Status Unpack(DescriptorSet* query, DescriptorSet* train, ConditionArrays* conditions) const = 0;
};

// Of Work::kMatch. A side is a set that is kept, or else an image or in the message.
struct MatchRequest {
  MatchOptions options;            // valid
  float window_radius = 0;         // around each query's own position, without windows in the message; 0: none
  int max_octave_difference = -1;  // without octave ranges in the message; -1: any
  const PackedMatch* packed = nullptr;
  struct Side {
    bool is_image = false;
    const DescriptorSet* kept = nullptr;
  };
  Side query, train;
  int64_t pixels = 0;  // that the matching is charged as
};

// Of Work::kStereo.
struct StereoRequest {
  StereoOptions options;                        // valid
  int64_t max_time_difference_ns = 5'000'000;   // more is a warning
  int64_t left_time_ns = 0, right_time_ns = 0;  // of capture; 0: unknown
  bool side_by_side = false;
};

// What a lane found beside the features of the first image.
struct PairFound {
  int queries = 0, trains = 0;
  const Features* second = nullptr;      // of the train image or the right eye; null if there is none
  const MatchResult* matches = nullptr;  // of Work::kMatch
  const StereoResult* stereo = nullptr;  // of Work::kStereo
};

// About 1 ns a pixel for a detector, and 1/32 of that for a pair of descriptors.
inline int64_t MatchPixels(int64_t queries, int64_t trains) { return queries * trains / 32; }

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_PAIR_H_
