#include "client/load/latencies.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "tests/support/random.h"

namespace glint::load {
namespace {

using ::glint::testing::Random;

// Values of all magnitudes.
std::vector<int64_t> Values(uint32_t seed, int count) {
  Random random(seed);
  std::vector<int64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<int64_t>(random.Bits()) >> random.Uniform(0, 31));
  return values;
}

TEST(LatenciesTest, PercentilesAreExactToOnePart128) {
  Latencies latencies;
  std::vector<int64_t> values = Values(2, 20000);
  for (const int64_t value : values) latencies.Add(value);
  std::sort(values.begin(), values.end());
  for (const double share : {0.01, 0.5, 0.95, 0.99, 1.0}) {
    const int64_t exact = values[static_cast<size_t>(std::ceil(share * 20000)) - 1];
    EXPECT_LE(latencies.Percentile(share), exact);
    EXPECT_GE(latencies.Percentile(share), exact - exact / 128) << share;
  }
  EXPECT_EQ(latencies.count(), 20000);
  EXPECT_EQ(latencies.min(), values.front());
  EXPECT_EQ(latencies.max(), values.back());
  double sum = 0;
  for (const int64_t value : values) sum += static_cast<double>(value);
  EXPECT_NEAR(latencies.mean(), sum / 20000, 1e-6 * sum / 20000);
}

TEST(LatenciesTest, TakesEveryValue) {
  Latencies latencies;
  EXPECT_EQ(latencies.Percentile(0.5), 0);
  EXPECT_EQ(latencies.min(), 0);
  latencies.Add(-5);
  EXPECT_EQ(latencies.Percentile(1), 0);
  latencies.Add(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(latencies.max(), std::numeric_limits<int64_t>::max());
  EXPECT_GT(latencies.Percentile(1), std::numeric_limits<int64_t>::max() / 256 * 255);
}

TEST(LatenciesTest, MergingEqualsAddingAll) {
  Latencies all, merged;
  for (const uint32_t seed : {3u, 4u, 5u}) {
    Latencies part;
    for (const int64_t value : Values(seed, 1000)) {
      part.Add(value);
      all.Add(value);
    }
    merged.Merge(part);
    merged.Merge(Latencies());
  }
  EXPECT_EQ(merged.Buckets(), all.Buckets());
  EXPECT_EQ(merged.count(), 3000);
  EXPECT_EQ(merged.min(), all.min());
  EXPECT_EQ(merged.max(), all.max());
  EXPECT_NEAR(merged.mean(), all.mean(), 1e-6 * all.mean());
}

TEST(LatenciesTest, BucketsHoldTheirValues) {
  for (const int64_t value : Values(6, 1000)) {
    Latencies one;
    one.Add(value);
    ASSERT_EQ(one.Buckets().size(), 1u);
    const auto [from, count] = one.Buckets().front();
    EXPECT_EQ(count, 1);
    EXPECT_LE(from, value);
    EXPECT_LE(value - from, value / 128);
  }
}

}  // namespace
}  // namespace glint::load
