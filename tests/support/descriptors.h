// Descriptor sets and conditions that matchers are tested on, and comparison of what they answer.
#ifndef GLINT_TESTS_SUPPORT_DESCRIPTORS_H_
#define GLINT_TESTS_SUPPORT_DESCRIPTORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "features/matcher.h"
#include "gtest/gtest.h"
#include "tests/support/random.h"

namespace glint::testing {

enum class Likeness {
  kRandom,     // every bit independent
  kNoisy,      // copies of the same few hundred descriptors with some bits turned over: real matches exist
  kFewValues,  // few different descriptors: most distances tie
  kAllEqual,
};

// An owner. All sets of a width have the same prototypes, so that sets of different seeds match each other.
class DescriptorSet {
 public:
  DescriptorSet(int count, int bytes, Likeness likeness, uint32_t seed);
  DescriptorView view() const { return {rows_.data(), count_, bytes_}; }
  uint8_t* row(int i) { return rows_.data() + static_cast<ptrdiff_t>(i) * bytes_; }

 private:
  std::vector<uint8_t> rows_;  // exactly as long as the view, so that tools see reads past it
  int count_;
  int bytes_;
};

// Random positions, octaves and angles for both sets.
class RandomConditions {
 public:
  RandomConditions(int queries, int trains, uint32_t seed);

  // Pointers to the arrays of all conditions, or of some of them.
  QueryConditions windows() const;
  QueryConditions octaves() const;
  QueryConditions angles() const;
  QueryConditions all() const;
  TrainKeypoints keypoints() const;

 private:
  std::vector<float> x_, y_, radius_, angle_, train_x_, train_y_, train_angle_;
  std::vector<int32_t> min_octave_, max_octave_, train_octave_;
};

// Every option at least once, valid for any input with RandomConditions::all().
std::vector<MatchOptions> OptionsToTry();
std::string ToString(const MatchOptions& options);

// Success if both have the same entries; otherwise the first that differ are in the message.
::testing::AssertionResult SameMatches(const MatchResult& expected, const MatchResult& actual);

}  // namespace glint::testing

#endif  // GLINT_TESTS_SUPPORT_DESCRIPTORS_H_
