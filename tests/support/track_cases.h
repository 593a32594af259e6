// Random cases of tracking for comparisons of backends: images of all small sizes, points inside, at borders and
// outside, predictions, and options of all kinds.
#ifndef GLINT_TESTS_SUPPORT_TRACK_CASES_H_
#define GLINT_TESTS_SUPPORT_TRACK_CASES_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "features/tracker.h"
#include "features/types.h"
#include "gtest/gtest.h"
#include "tests/support/images.h"
#include "tests/support/random.h"

namespace glint::testing {

// Every seed is another case. Its memory ends with the last pixel of each level, so that tools see reads past it.
class RandomTrackCase {
 public:
  explicit RandomTrackCase(uint32_t seed);
  RandomTrackCase(const RandomTrackCase&) = delete;
  RandomTrackCase& operator=(const RandomTrackCase&) = delete;

  const TrackInput& input() const { return input_; }
  const TrackOptions& options() const { return options_; }
  const std::string& name() const { return name_; }

 private:
  TrackInput input_;
  TrackOptions options_;
  std::string name_;
  std::vector<StridedImage> images_[2];
  std::vector<ImageView> views_[2];
  std::vector<float> x_, y_, to_x_, to_y_;
};

// Options in all their ranges; levels, patches and tests as users set them, and any.
TrackOptions RandomTrackOptions(Random* random);

// Bit for bit.
::testing::AssertionResult SameTracks(const TrackResult& expected, const TrackResult& actual);

// Whether a set of cases met every status.
class TrackStatusCounts {
 public:
  void Add(const TrackResult& result);
  void ExpectAll() const;

 private:
  std::array<int, kTrackStatuses> counts_ = {};
};

}  // namespace glint::testing

#endif  // GLINT_TESTS_SUPPORT_TRACK_CASES_H_
