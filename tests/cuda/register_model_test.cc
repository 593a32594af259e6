// Registration of depth as the kernels do it, run on the host: the reference's depths.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "cuda/rectify/register_params.h"
#include "gtest/gtest.h"
#include "tests/support/depth_cases.h"
#include "tests/support/random.h"

namespace glint::cuda {
namespace {

using testing::DepthCase;
using testing::Depths;

// As DepthRegistrar sets the parameters, the kernels' threads one after another; those of pixels from the last one on
// if `backwards`. What they find is 0 again afterwards.
std::vector<uint16_t> Registered(const DepthCase& c, bool backwards) {
  const DepthView depth = c.depths.view();
  const DepthTable& table = c.table;
  // No element more than there are, for tools to see what is read beyond.
  std::vector<uint16_t> source, registered;
  for (int y = 0; y < depth.height; ++y) {
    for (int x = 0; x < depth.width; ++x) source.push_back(depth.at(x, y));
  }
  std::vector<uint32_t> nearest(static_cast<size_t>(table.shape.pixels()), 0);
  RegisterParams params{};
  params.x = table.x.data();
  params.y = table.y.data();
  params.w = table.w.data();
  params.centre_w = table.centre_w.data();
  std::copy_n(table.OffsetIn(depth.sensor.unit).begin(), 3, params.offset);
  params.measured = MeasuredSamples(depth.sensor);
  params.source = source.data();
  params.source_shape = table.source;
  params.nearest = nearest.data();
  params.shape = table.shape;
  const int pixels = depth.width * depth.height;
  for (int i = 0; i < pixels; ++i) {
    const int pixel = backwards ? pixels - 1 - i : i;
    RegisterPixel(params, pixel % depth.width, pixel / depth.width);
  }
  for (const uint32_t value : nearest) registered.push_back(static_cast<uint16_t>(DepthOfNearest(value)));
  return registered;
}

// The number of pixels with a depth.
int64_t ExpectTheReference(const DepthCase& c) {
  const std::vector<uint16_t> expected = c.Expected();
  for (const bool backwards : {false, true}) {
    EXPECT_EQ(Registered(c, backwards), expected) << c.table.source.width << "x" << c.table.source.height << " to "
                                                  << c.table.shape.width << "x" << c.table.shape.height;
  }
  return std::count_if(expected.begin(), expected.end(), [](uint16_t d) { return d != 0; });
}

TEST(RegisterModelTest, IsTheReferenceOnRandomRigs) {
  int64_t seen = 0;
  for (uint32_t seed = 0; seed < 400 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    seen += ExpectTheReference(testing::RandomRig(seed));
  }
  EXPECT_GT(seen, 400'000);
}

// NaN and infinity beside numbers, too, which no camera has.
TEST(RegisterModelTest, IsTheReferenceOnWildTables) {
  for (const bool is_number : {true, false}) {
    int64_t seen = 0;
    for (uint32_t seed = 0; seed < 2000 && !HasFailure(); ++seed) {
      SCOPED_TRACE(seed);
      seen += ExpectTheReference(testing::WildDepths(seed, is_number));
    }
    EXPECT_GT(seen, 50'000);
  }
}

TEST(RegisterModelTest, RoundsAsTheReference) {
  int64_t seen = 0;
  for (uint32_t seed = 0; seed < 20'000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    seen += ExpectTheReference(testing::DepthsOnBorders(seed));
  }
  EXPECT_GT(seen, 100'000);
}

// One pixel of the sensor, at (from, from) to (to, to) of an image of `side` pixels each way.
DepthCase OnePixel(float from, float to, int side, int sample, const DepthSensor& sensor) {
  DepthTable table;
  table.source = {1, 1};
  table.shape = {side, side};
  table.x = {from, to, from, to};
  table.y = {from, from, to, to};
  table.w = {1, 1, 1, 1};
  table.centre_w = {1};
  for (auto* const values : {&table.x, &table.y}) {  // of pixels at the sample's depth
    for (float& value : *values) value /= static_cast<float>(sample);
  }
  for (float& value : table.w) value /= static_cast<float>(sample);
  return {std::move(table), Depths({1, 1}, sensor, [&](int, int) { return sample; })};
}

// Of a power of two, by which the table is divided without rounding.
TEST(RegisterModelTest, BordersOfWhatIsCovered) {
  constexpr int kSample = 1024, kSide = 50;
  const auto covered = [&](float from, float to) { return ExpectTheReference(OnePixel(from, to, kSide, kSample, {})); };
  EXPECT_EQ(covered(9.75F, 10.25F), 1);
  EXPECT_EQ(covered(10.25F, 10.75F), 4);  // the margin's ends are in it
  EXPECT_EQ(covered(std::nextafter(10.25F, 20.0F), std::nextafter(10.75F, 0.0F)), 0);
  EXPECT_EQ(covered(5, 5 + DepthTable::kMostPixels), 33 * 33);
  EXPECT_EQ(covered(5, std::nextafter(5 + DepthTable::kMostPixels, 99.0F)), 0);
  EXPECT_EQ(covered(-3, -0.25F), 1);
  EXPECT_EQ(covered(-3, std::nextafter(-0.25F, -1.0F)), 0);
  EXPECT_EQ(covered(kSide - 0.75F, kSide + 9), 1);
  EXPECT_EQ(covered(std::nextafter(kSide - 0.75F, 99.0F), kSide + 9), 0);
  EXPECT_EQ(covered(2e6F, 2e6F), 0);
  EXPECT_EQ(covered(-3e38F, -3e38F), 0);
  EXPECT_EQ(covered(3e38F, 3e38F), 0);
  EXPECT_EQ(covered(-0.0F, -0.0F), 1);
}

TEST(RegisterModelTest, LimitsOfDepth) {
  const auto registered = [&](int sample, const DepthSensor& sensor, double offset) {
    DepthCase c = OnePixel(0, 0, 1, 1, sensor);
    c.depths = Depths({1, 1}, sensor, [&](int, int) { return sample; });
    c.table.offset[2] = offset;
    ExpectTheReference(c);
    return Registered(c, false)[0];
  };
  const DepthSensor limits = {0.001, 0.5, 3};
  EXPECT_EQ(registered(499, limits, 0), 0);
  EXPECT_EQ(registered(500, limits, 0), 500);
  EXPECT_EQ(registered(3000, limits, 0), 3000);
  EXPECT_EQ(registered(3001, limits, 0), 0);
  EXPECT_EQ(registered(1, {}, 0), 1);
  EXPECT_EQ(registered(0, {}, 0.5), 0);
  EXPECT_EQ(registered(65535, {}, 0), 65535);
  EXPECT_EQ(registered(65535, {}, 0.0004), 65535);
  EXPECT_EQ(registered(65535, {}, 0.0006), 0);
  EXPECT_EQ(registered(65535, {1, 0, 0}, -65534), 1);
  EXPECT_EQ(registered(65535, {1, 0, 0}, -65534.6), 0);
  EXPECT_EQ(registered(1000, {0.001, 2, 1}, 0), 0);
  EXPECT_EQ(registered(1000, {1e-6, 0.001, 0.001}, 0), 1000);
}

TEST(RegisterModelTest, FromManyPixelsToFewAndFromFewToMany) {
  for (const auto& [source, shape] :
       {std::pair{Shape{2048, 1200}, Shape{200, 119}}, std::pair{Shape{61, 40}, Shape{1400, 900}}}) {
    const Camera from = testing::PinholeOf(source, source.width), to = testing::PinholeOf(shape, shape.width);
    testing::Random random(7);
    DepthTable table = MakeDepthTable(from, Turned(0.01, 0.02, 0.03, {0.005, 0, 0.01}), to);
    EXPECT_GT(ExpectTheReference({std::move(table), testing::RandomDepths(&random, source)}), 2'000);
  }
}

}  // namespace
}  // namespace glint::cuda
