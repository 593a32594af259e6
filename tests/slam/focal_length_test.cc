// The watch of the focal length: what turns of a camera with a wrong one tell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "features/trigonometry.h"
#include "slam/localizer.h"
#include "tests/slam/point_world.h"

namespace glint::slam {
namespace {

using ::testing::HasSubstr;

// Warnings of the focal length after 80 pairs along a road, with turns of up to `degrees` to both sides, where the true
// one is `ratio` times what the localizer is given.
std::vector<Warning> WarningsOf(double ratio, double degrees, uint32_t seed) {
  PointWorld world(CameraOfTest(), 60, seed);
  StereoCamera given = CameraOfTest();
  given.focal_length /= ratio;
  const auto localizer = *Localizer::Create(given, {}, &world);
  const Image picture(800, 400);
  LocalizerResult result;
  for (int i = 0; i < 80; ++i) {
    const double yaw = degrees / 57.29577951308232 * SineCosineOf(0.3 * i).sine;
    world.Look({RotationOf({0, yaw, 0}), {0, 0, 0.4 * i}});
    EXPECT_TRUE(localizer->Track(picture, picture, {0, (i + 1) * int64_t{100'000'000}}, &result).ok());
  }
  std::vector<Warning> of_focal_length;
  for (const Warning& w : result.warnings) {
    if (w.kind == WarningKind::kFocalLength) of_focal_length.push_back(w);
  }
  return of_focal_length;
}

TEST(FocalLengthWatch, TurnsTellTheTrueOne) {
  for (const double ratio : {0.9, 0.95, 1.06, 1.12}) {
    for (uint32_t seed = 1; seed <= 2; ++seed) {
      const std::vector<Warning> warnings = WarningsOf(ratio, 15, seed);
      ASSERT_EQ(warnings.size(), 1U) << ratio;
      EXPECT_NEAR(warnings[0].figure, ratio, 0.012) << ratio;
      EXPECT_STREQ(warnings[0].unit, "1");
      EXPECT_THAT(warnings[0].text, HasSubstr("the focal length seems to be wrong: turns of the camera tell "));
    }
  }
}

TEST(FocalLengthWatch, IsSilentOfTheTrueOneAndWithoutTurns) {
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    EXPECT_TRUE(WarningsOf(1, 15, seed).empty());
    EXPECT_TRUE(WarningsOf(1.01, 15, seed).empty());  // hurts little
    EXPECT_TRUE(WarningsOf(1, 0, seed).empty());
  }
  EXPECT_TRUE(WarningsOf(1.06, 0, 1).empty());  // nothing tells
}

}  // namespace
}  // namespace glint::slam
