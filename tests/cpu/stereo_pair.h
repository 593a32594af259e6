// A stereo pair with everything that StereoMatcher takes.
#ifndef GLINT_TESTS_CPU_STEREO_PAIR_H_
#define GLINT_TESTS_CPU_STEREO_PAIR_H_

#include <vector>

#include "cpu/pipeline.h"
#include "features/reference/pyramid.h"
#include "features/stereo.h"
#include "gtest/gtest.h"

namespace glint::testing {

// Both eyes with their features and pyramids.
class StereoPair {
 public:
  StereoPair(const DetectorOptions& options, const ImageView& left, const ImageView& right) {
    input_.plan = PlanPyramid(options, left.shape());
    cpu::Pipeline pipeline;
    const ImageView* images[2] = {&left, &right};
    StereoEye* eyes[2] = {&input_.left, &input_.right};
    for (size_t e = 0; e < 2; ++e) {
      EXPECT_TRUE(pipeline.Detect(options, *images[e], {}, &features_[e], nullptr).ok());
      levels_[e] = reference::BuildPyramid(options.pyramid, input_.plan, *images[e]);
      for (const Image& level : levels_[e]) views_[e].push_back(level.view());
      *eyes[e] = {&features_[e], views_[e].data()};
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

}  // namespace glint::testing

#endif  // GLINT_TESTS_CPU_STEREO_PAIR_H_
