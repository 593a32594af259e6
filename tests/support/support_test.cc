// The comparison that other tests trust: it must see every difference.
#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/features.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;

Features ThreeKeypoints() {
  Features f;
  f.Resize(3, 2);
  f.x = {1, 2, 3};
  f.y = {4, 5, 6};
  f.size = {31, 31, 37.2f};
  f.angle = {0, 90, 180};
  f.response = {3, 2, 7};
  f.octave = {0, 0, 1};
  f.descriptors = {0, 1, 2, 3, 4, 5};
  return f;
}

TEST(SameFeatures, HoldsForEqualOnes) { EXPECT_TRUE(SameFeatures(ThreeKeypoints(), ThreeKeypoints())); }

TEST(SameFeatures, SeesEveryField) {
  const std::function<void(Features*)> changes[] = {
      [](Features* f) { f->x[1] += 1; },           [](Features* f) { f->y[1] += 1; },
      [](Features* f) { f->size[2] = 37; },        [](Features* f) { f->angle[0] = -0.0f; },
      [](Features* f) { f->response[0] += 1; },    [](Features* f) { f->octave[2] = 2; },
      [](Features* f) { f->descriptors[5] ^= 1; }, [](Features* f) { f->truncated = true; },
      [](Features* f) { f->Resize(2, 2); },        [](Features* f) { f->y.pop_back(); },
      [](Features* f) { f->Resize(3, 0); },        [](Features* f) { std::swap(f->response[0], f->response[1]); }};
  int number = 0;
  for (const auto& change : changes) {
    Features changed = ThreeKeypoints();
    change(&changed);
    EXPECT_FALSE(SameFeatures(ThreeKeypoints(), changed)) << "change " << number;
    ++number;
  }
}

TEST(SameFeatures, NamesWhatIsMissingAndWhatIsExtra) {
  Features changed = ThreeKeypoints();
  changed.x[1] = 200;
  const std::string message = SameFeatures(ThreeKeypoints(), changed).message();
  EXPECT_THAT(message, HasSubstr("3 expected, 3 actual: 1 missing, 1 extra, 0 different"));
  EXPECT_THAT(message, HasSubstr("missing   octave 0 x 2 y 5"));
  EXPECT_THAT(message, HasSubstr("extra     octave 0 x 200 y 5"));
}

TEST(IsWellFormed, RefusesAnotherOrder) {
  Features f = ThreeKeypoints();
  std::swap(f.response[0], f.response[1]);
  EXPECT_FALSE(IsWellFormed(f));
  f.response[0] = f.response[1];
  EXPECT_TRUE(IsWellFormed(f));
  std::swap(f.y[0], f.y[1]);
  EXPECT_FALSE(IsWellFormed(f));
}

TEST(RandomOptions, AreValidAndVaried) {
  Random random(1);
  DetectorOptions previous = OrbOptions();
  for (int i = 0; i < 1000; ++i) {
    for (const DetectorOptions& base : {OrbOptions(), OrientedFastOptions()}) {
      const DetectorOptions options = RandomOptions(&random, base);
      EXPECT_TRUE(ValidateOptions(options).ok()) << ToString(options);
      EXPECT_NE(options, previous);
      previous = options;
    }
  }
}

TEST(StridedImage, HasThePixelsAtTheStride) {
  const Image image = Noise({7, 5}, 3);
  const StridedImage strided(image, 11);
  EXPECT_EQ(strided.view().stride, 11);
  EXPECT_TRUE(SamePixels(image, strided));
  EXPECT_FALSE(SamePixels(image, Noise({7, 5}, 4)));
  EXPECT_FALSE(SamePixels(image, Noise({5, 7}, 3)));
}

}  // namespace
}  // namespace glint::testing
