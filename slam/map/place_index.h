// Place recognition: an inverted file of the keyframes' binary descriptors, by multi-index hashing.
//
// Each 16 bits of a descriptor are a word of a table of their own; two descriptors that differ in a tenth of their bits
// share some word with near certainty (Norouzi, Punjani and Fleet: Fast Exact Search in Hamming Space with Multi-Index
// Hashing, 2014). Every descriptor that shares a word is compared as a whole, so nothing has to be trained. Words that
// are too common to discriminate are skipped.
#ifndef GLINT_SLAM_MAP_PLACE_INDEX_H_
#define GLINT_SLAM_MAP_PLACE_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "slam/map/global_map.h"

namespace glint::slam {

// Bits in which two descriptors differ, whose length is a multiple of 4 bytes.
int HammingDistance(const uint8_t* a, const uint8_t* b, int bytes);

// Not thread-safe. Memory: 8 MiB from the first keyframe on, and 0.1 KiB for each descriptor.
class PlaceIndex {
 public:
  static constexpr size_t kStrongest = 300;  // descriptors of a keyframe that are indexed

  struct Candidate {
    int64_t keyframe;
    int votes;  // descriptors of the query with a similar one in the keyframe
  };

  // All keyframes must have descriptors of one length.
  void Add(int64_t keyframe, const KeyframeFeatures& features);
  // Forgets the others. Their memory is given back once they are an eighth of all.
  void Retain(const std::function<bool(int64_t keyframe)>& is_kept);
  // At most `count` keyframes up to `last`, of the most votes first, the older one among equals.
  std::vector<Candidate> Query(const KeyframeFeatures& features, int64_t last, size_t count);
  size_t MemoryBytes() const;

 private:
  static constexpr size_t kWords = 65536;
  static constexpr int64_t kForgotten = -1;

  void AddEntry(uint32_t owner, const uint8_t* descriptor);

  std::vector<int64_t> keyframes_;      // in the order of Add(); or kForgotten
  std::vector<uint32_t> owner_;         // of each descriptor: place in keyframes_
  std::vector<uint8_t> descriptors_;    // one after another
  int bytes_ = 0;                       // of a descriptor
  std::vector<int32_t> next_;           // of each descriptor, for each table: the one before with this word, or -1
  std::vector<int32_t> head_;           // of each table and word: the last descriptor
  std::vector<uint32_t> frequency_;     // likewise: how many
  std::vector<int32_t> votes_, voter_;  // of each keyframe: votes, and whose was the last
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_MAP_PLACE_INDEX_H_
