// Puts pictures of two topics together by the stamps of their headers.
#ifndef GLINT_ROS2_INPUT_PAIRS_H_
#define GLINT_ROS2_INPUT_PAIRS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "ros2/input/frame.h"

namespace glint::ros2 {

// Counts of pictures, since the beginning.
struct PairCounts {
  int64_t pairs = 0;               // or pictures of one camera
  std::array<int64_t, 2> alone{};  // of each side: without a partner
  int64_t late = 0;                // older than the last pair
  int64_t repeated = 0;            // with a stamp that there was
  int64_t restarts = 0;            // clocks that were set back
  int64_t apart_ns = 0;  // how far the last picture was from the nearest of the other side, if too far; else 0
};

// A pair is two pictures that are at most `max_difference_ns` apart, and less than half of what pictures of one side
// are: else it would be chance which ones belong together. (Before that is known: at most kUnknownPeriod / 2.) Of
// several the nearest is taken. A pair is there as soon as its second picture is; the pictures before it, of both
// sides, never will be in one. A stamp over kFarBack before the newest one of its side is of a clock that was set back:
// that side begins anew. Thread-compatible, but for counts(), which any thread may call.
class Pairs {
 public:
  static constexpr size_t kMostWaiting = 8;                       // pictures of a side
  static constexpr size_t kMostWaitingBytes = size_t{256} << 20;  // of a side, in memory that is no slot
  static constexpr int64_t kFarBack = 1'000'000'000;              // ns
  static constexpr int64_t kUnknownPeriod = 10'000'000;           // ns

  // `sides`: 2, or 1: pictures of a single camera in the order of their stamps. `drop` is called for pictures that are
  // in no pair.
  Pairs(int sides, int64_t max_difference_ns, std::function<void(Picture*)> drop);

  // Adds the picture of a side, 0 or 1. True: *pair is one, whose stamps are greater than those of the last; or the
  // picture of the one side that there is.
  bool Add(size_t side, Picture picture, std::array<Picture, 2>* pair);

  PairCounts counts() const;

 private:
  struct Side {
    std::vector<Picture> waiting;   // by stamps; all after `last`
    int64_t newest = 0, last = 0;   // stamps: seen; of the last pair. 0: none
    std::array<int64_t, 8> gaps{};  // between stamps, the last ones
    size_t gaps_seen = 0;
    std::atomic<int64_t> alone{0};
  };

  // Whether the picture is to be taken.
  bool Note(Side* side, int64_t stamp_ns);
  void Drop(Side* side, std::vector<Picture>::iterator end);  // those before `end`
  void Wait(Side* side, Picture picture);
  int64_t Tolerance() const;

  const size_t sides_count_;
  const int64_t max_difference_ns_;
  const std::function<void(Picture*)> drop_;
  std::array<Side, 2> sides_;
  std::atomic<int64_t> pairs_{0}, late_{0}, repeated_{0}, restarts_{0}, apart_ns_{0};
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_INPUT_PAIRS_H_
