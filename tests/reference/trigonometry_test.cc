// Sine, cosine and arc tangent beside the mathematical library's, and bit for bit.
#include "features/trigonometry.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace glint {
namespace {

TEST(Trigonometry, IsThatOfTheMathematicalLibrary) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> share(-1, 1);
  double worst = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double angle = std::pow(10.0, 2.5 + 2.5 * share(random)) * share(random);  // up to 1e5
    const SineCosine found = SineCosineOf(angle);
    worst = std::max({worst, std::abs(static_cast<double>(found.sine - std::sin(static_cast<long double>(angle)))),
                      std::abs(static_cast<double>(found.cosine - std::cos(static_cast<long double>(angle))))});
  }
  EXPECT_LT(worst, 2e-16);
  worst = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double x = std::pow(10.0, 5 * share(random)) * share(random), y = std::abs(share(random));
    const long double true_angle = std::atan2(static_cast<long double>(y), static_cast<long double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(AngleOfPoint(y, x) - true_angle)));
    const double small = 1e-6 * y;  // to the last bits of small ones, too
    EXPECT_NEAR(SineCosineOf(small).sine / std::sin(small), 1, 3e-16);
    EXPECT_NEAR(AngleOfPoint(small, 1) / std::atan(small), 1, 3e-16);
  }
  EXPECT_LT(worst, 5e-16);
}

// On every processor, with every compiler and C library.
TEST(Trigonometry, HasTheSameBitsEverywhere) {
  EXPECT_EQ(SineCosineOf(0.5).sine, 0x1.eaee8744b05fp-2);
  EXPECT_EQ(SineCosineOf(2.5).cosine, -0x1.9a2f7ef858b7dp-1);
  EXPECT_EQ(AngleOfPoint(0.3, 0.7), 0x1.9e9bf3d20dc72p-2);
  EXPECT_EQ(AngleOfPoint(1, -2), 0x1.56c6e7397f5aep+1);
}

TEST(Trigonometry, Ends) {
  const double infinity = std::numeric_limits<double>::infinity(), none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(AngleOfPoint(0, 0), 0);
  EXPECT_EQ(AngleOfPoint(0, 1), 0);
  EXPECT_EQ(AngleOfPoint(0, -1), std::acos(-1.0));
  EXPECT_EQ(AngleOfPoint(1, 0), std::acos(-1.0) / 2);
  for (const double angle : {infinity, -infinity, none}) {
    EXPECT_TRUE(std::isnan(SineCosineOf(angle).sine));
    EXPECT_TRUE(std::isnan(SineCosineOf(angle).cosine));
  }
  EXPECT_TRUE(std::isnan(AngleOfPoint(none, 1)));
  EXPECT_TRUE(std::isnan(AngleOfPoint(1, none)));
}

TEST(ArcTangent, IsTheArcTangent) {
  EXPECT_EQ(ArcTangent(0), 0);
  for (double t = 1e-9; t < 1e12; t *= 1.0137) EXPECT_NEAR(ArcTangent(t) / std::atan(t), 1, 5e-16) << t;
  EXPECT_NEAR(ArcTangent(HUGE_VAL), M_PI / 2, 1e-15);
  EXPECT_TRUE(std::isnan(ArcTangent(std::nan(""))));
}

}  // namespace
}  // namespace glint
