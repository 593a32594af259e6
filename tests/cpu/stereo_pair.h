// A stereo pair with everything that StereoMatcher takes; what its tests on each backend share.
#ifndef GLINT_TESTS_CPU_STEREO_PAIR_H_
#define GLINT_TESTS_CPU_STEREO_PAIR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/pipeline.h"
#include "features/reference/pyramid.h"
#include "features/stereo.h"
#include "gtest/gtest.h"
#include "tests/support/random.h"

namespace glint::testing {

// Both images with their features and pyramids.
class StereoPair {
 public:
  StereoPair(const DetectorOptions& options, const ImageView& left, const ImageView& right)
      : StereoPair(options, ImagePair{left, right}) {}
  StereoPair(const DetectorOptions& options, const ImagePair& pair) {
    const ImageView &left = pair.left, &right = pair.right;
    input_.plan = PlanPyramid(options, left.shape());
    cpu::Pipeline pipeline;
    const ImageView* images[2] = {&left, &right};
    const ImageView* masks[2] = {&pair.left_mask, &pair.right_mask};
    StereoImage* sides[2] = {&input_.left, &input_.right};
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(pipeline.Detect(options, *images[i], *masks[i], &features_[i], nullptr).ok());
      levels_[i] =
          reference::BuildPyramid(options.pyramid, input_.plan, *images[i], reference::InterpolationOf(options));
      for (const Image& level : levels_[i]) views_[i].push_back(level.view());
      *sides[i] = {&features_[i], views_[i].data()};
    }
  }
  StereoPair(const StereoPair&) = delete;
  StereoPair& operator=(const StereoPair&) = delete;

  const StereoInput& input() const { return input_; }
  Features& left() { return features_[0]; }
  Features& right() { return features_[1]; }

 private:
  StereoInput input_;
  Features features_[2];
  std::vector<Image> levels_[2];
  std::vector<ImageView> views_[2];
};

inline DetectorOptions OrbWithDescriptors(int features) {
  DetectorOptions options = *PresetOptions("orb");
  options.max_features = features;
  return options;
}

// Element for element.
inline void ExpectSame(const StereoResult& expected, const StereoResult& actual) {
  EXPECT_EQ(expected.right_index, actual.right_index);
  EXPECT_EQ(expected.distance, actual.distance);
  EXPECT_EQ(expected.right_x, actual.right_x);
  EXPECT_EQ(expected.disparity, actual.disparity);
  EXPECT_EQ(expected.depth, actual.depth);
  EXPECT_EQ(expected.matches, actual.matches);
  EXPECT_EQ(expected.checks.matches, actual.checks.matches);
  EXPECT_EQ(expected.checks.sure, actual.checks.sure);
  EXPECT_EQ(expected.checks.median_dy, actual.checks.median_dy);
  EXPECT_EQ(expected.checks.negative_disparities, actual.checks.negative_disparities);
}

// Every rule, on and off.
inline std::vector<StereoOptions> StereoOptionsToTry() {
  std::vector<StereoOptions> all(8);
  all[0].focal_length = 500;
  all[0].baseline = 0.12;  // no float
  all[1].cross_check = false;
  all[1].check_pair = false;
  all[2].median_cut = false;
  all[2].max_octave_difference = 7;
  all[2].band = 6;
  all[3].min_disparity = 3;
  all[3].max_disparity = 11.5f;
  all[3].max_distance = 40;
  all[4].band = 0;
  all[4].max_octave_difference = 0;
  all[5].min_disparity = -50;
  all[5].max_distance = 256;
  all[6].refine = false;
  // Nearly every pair is allowed.
  all[7].band = kMaxStereoBand;
  all[7].max_octave_difference = 7;
  all[7].min_disparity = -400;
  return all;
}

// Ties everywhere: few descriptors, keypoints of all octaves, up to the edges of an image of 160x120.
inline void MakeTies(uint32_t seed, StereoPair* pair) {
  Random random(seed);
  for (Features* features : {&pair->left(), &pair->right()}) {
    for (size_t i = 0; i < features->count(); ++i) {
      features->x[i] = random.OneIn(3) ? static_cast<float>(random.Uniform(0, 159)) : random.Uniform(0.0f, 159.9f);
      features->y[i] = random.OneIn(3) ? static_cast<float>(random.Uniform(0, 119)) : random.Uniform(0.0f, 119.9f);
      features->octave[i] = random.Uniform(0, 3);
      std::fill_n(features->descriptors.begin() + static_cast<ptrdiff_t>(i) * 32, 32,
                  static_cast<uint8_t>(random.Uniform(0, 3)));
    }
  }
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_CPU_STEREO_PAIR_H_
