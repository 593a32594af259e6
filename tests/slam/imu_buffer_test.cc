// Readings of inertial sensors, put in order: any order of arrival, gaps, hostile times.
#include "slam/inertial/imu_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace glint::slam {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kLowest = std::numeric_limits<int64_t>::min(), kHighest = std::numeric_limits<int64_t>::max();

// Linear in the time, so that interpolation is exact.
Eigen::Vector3d Turn(int64_t time_ns) {
  const double t = static_cast<double>(time_ns) * 1e-9;
  return {0.5 + t, 0.25 - 2 * t, 3 * t};
}
Eigen::Vector3d Push(int64_t time_ns) {
  const double t = static_cast<double>(time_ns) * 1e-9;
  return {t, 9.81 - t, -0.5 * t};
}

// A gyroscope of 200 Hz, an accelerometer of 125 Hz.
ImuReadings Regular(int64_t from_ns, int64_t to_ns) {
  ImuReadings readings;
  for (int64_t t = from_ns; t < to_ns; t += 5 * kMs) readings.gyroscope.push_back({t, Turn(t)});
  for (int64_t t = from_ns; t < to_ns; t += 8 * kMs) readings.accelerometer.push_back({t, Push(t)});
  return readings;
}

void ExpectSame(const std::vector<ImuSample>& a, const std::vector<ImuSample>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].time_ns, b[i].time_ns);
    EXPECT_EQ(a[i].angular_velocity, b[i].angular_velocity);
    EXPECT_EQ(a[i].acceleration, b[i].acceleration);
  }
}

void Remove(int64_t from_ns, int64_t to_ns, std::vector<ImuReading>* readings) {
  const auto is_inside = [&](const ImuReading& r) { return r.time_ns >= from_ns && r.time_ns < to_ns; };
  readings->erase(std::remove_if(readings->begin(), readings->end(), is_inside), readings->end());
}

TEST(ImuBufferTest, AReadingFarAheadCoversNothing) {
  ImuBuffer buffer{ImuModel()};
  ImuReadings readings = Regular(0, 500 * kMs);
  readings.gyroscope.push_back({5000 * kMs, Turn(0)});
  readings.accelerometer.push_back({5000 * kMs, Push(0)});
  buffer.Add(readings);
  EXPECT_TRUE(buffer.Covers(100 * kMs, 500 * kMs));
  EXPECT_FALSE(buffer.Covers(100 * kMs, 700 * kMs));
  EXPECT_FALSE(buffer.Covers(100 * kMs, 5000 * kMs));
  EXPECT_FALSE(buffer.Covers(500 * kMs, 500 * kMs));
}

TEST(ImuBufferTest, SamplesAreInterpolatedAtBothEndsAndAtReadingsOfTheGyroscope) {
  ImuModel model;
  model.imu_time_minus_camera_time_ns = 300 * kMs;
  ImuBuffer buffer(model);
  ImuReadings readings = Regular(0, 1000 * kMs);
  for (auto* channel : {&readings.gyroscope, &readings.accelerometer}) {
    for (ImuReading& r : *channel) r.time_ns += 300 * kMs;
  }
  buffer.Add(readings);
  std::vector<ImuSample> samples;
  ASSERT_TRUE(buffer.Between(101 * kMs, 143 * kMs, &samples));
  // 101, 105, 110, ..., 140, 143
  ASSERT_EQ(samples.size(), 10u);
  for (size_t i = 0; i < samples.size(); ++i) {
    const int64_t expected = i == 0 ? 101 * kMs : i == 9 ? 143 * kMs : (100 + 5 * static_cast<int64_t>(i)) * kMs;
    EXPECT_EQ(samples[i].time_ns, expected);
    EXPECT_LT((samples[i].angular_velocity - Turn(expected)).norm(), 1e-12);
    EXPECT_LT((samples[i].acceleration - Push(expected)).norm(), 1e-12);
  }
  EXPECT_EQ(buffer.gyroscope_step_ns(), 5 * kMs);
  EXPECT_EQ(buffer.accelerometer_step_ns(), 8 * kMs);
  EXPECT_EQ(buffer.newest_ns(), 992 * kMs);
  EXPECT_EQ(buffer.counts().received, 325);
  EXPECT_EQ(buffer.counts().missing + buffer.counts().unsorted + buffer.counts().duplicate + buffer.counts().late, 0);
}

TEST(ImuBufferTest, EndsAreHeldForTwoAndAHalfStepsOnly) {
  ImuBuffer buffer({});
  buffer.Add(Regular(0, 1000 * kMs));  // up to 995 and 992 ms
  std::vector<ImuSample> samples;
  ASSERT_TRUE(buffer.Between(990 * kMs, 1007 * kMs, &samples));
  EXPECT_EQ(samples.back().time_ns, 1007 * kMs);
  EXPECT_EQ(samples.back().angular_velocity, Turn(995 * kMs));
  EXPECT_EQ(samples.back().acceleration, Push(992 * kMs));
  EXPECT_FALSE(buffer.Between(990 * kMs, 1008 * kMs, &samples));  // 13 ms behind the gyroscope's
  EXPECT_TRUE(samples.empty());
  ASSERT_TRUE(buffer.Between(1000 * kMs, 1005 * kMs, &samples));  // none inside
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples.front().angular_velocity, Turn(995 * kMs));
  ASSERT_TRUE(buffer.Between(-12 * kMs, 6 * kMs, &samples));
  EXPECT_EQ(samples.front().acceleration, Push(0));
  EXPECT_FALSE(buffer.Between(-13 * kMs, 6 * kMs, &samples));
  EXPECT_FALSE(buffer.Between(500 * kMs, 500 * kMs, &samples));
  EXPECT_FALSE(buffer.Between(500 * kMs, 400 * kMs, &samples));
}

// From the first readings of a stream on, so that it does not matter when they come.
TEST(ImuBufferTest, OfWhatIsBeyondOneReadingMatters) {
  const ImuReadings all = Regular(0, 600 * kMs);
  for (const int64_t from : {-30, -12, -3, 0, 2, 17, 411}) {
    for (const int64_t length : {1, 4, 9, 23, 51}) {
      const int64_t to = from + length;
      ImuBuffer with({}), without({});
      with.Add(all);
      ImuReadings up_to = all;
      for (auto* readings : {&up_to.gyroscope, &up_to.accelerometer}) {
        const auto beyond = std::find_if(readings->begin(), readings->end(),
                                         [to](const ImuReading& reading) { return reading.time_ns >= to * kMs; });
        readings->erase(beyond + 1, readings->end());
      }
      without.Add(up_to);
      std::vector<ImuSample> samples, expected;
      EXPECT_EQ(without.Between(from * kMs, to * kMs, &samples), with.Between(from * kMs, to * kMs, &expected))
          << from << " " << to;
      ExpectSame(samples, expected);
    }
  }
}

TEST(ImuBufferTest, ShortGapsAreBridgedAndLongOnesAreNot) {
  ImuReadings readings = Regular(0, 1000 * kMs);
  Remove(401 * kMs, 500 * kMs, &readings.gyroscope);      // 400 to 500 ms
  Remove(700 * kMs, 801 * kMs, &readings.accelerometer);  // 696 to 808 ms
  ImuBuffer buffer({});
  buffer.Add(readings);
  EXPECT_EQ(buffer.counts().missing, 19 + 13);
  std::vector<ImuSample> samples;
  ASSERT_TRUE(buffer.Between(390 * kMs, 510 * kMs, &samples));
  EXPECT_EQ(samples.size(), 6u);  // 390, 395, 400, 500, 505, 510
  ASSERT_TRUE(buffer.Between(420 * kMs, 460 * kMs, &samples));
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_LT((samples[0].angular_velocity - Turn(420 * kMs)).norm(), 1e-12);
  EXPECT_FALSE(buffer.Between(690 * kMs, 820 * kMs, &samples));
  EXPECT_FALSE(buffer.Between(690 * kMs, 740 * kMs, &samples));
  EXPECT_FALSE(buffer.Between(740 * kMs, 760 * kMs, &samples));
  EXPECT_TRUE(buffer.Between(690 * kMs, 716 * kMs, &samples));  // held
  EXPECT_TRUE(buffer.Between(788 * kMs, 900 * kMs, &samples));
}

TEST(ImuBufferTest, TheSetOfReadingsCountsNotTheirOrderOrBatches) {
  ImuReadings all = Regular(0, 2000 * kMs);
  Remove(900 * kMs, 940 * kMs, &all.gyroscope);
  for (size_t i = 200; i < 230; ++i) all.gyroscope[i].value = {1, 2, 3};
  ImuBuffer in_order({});
  in_order.Add(all);
  std::vector<ImuSample> expected, samples;
  ASSERT_TRUE(in_order.Between(3 * kMs, 1990 * kMs, &expected));
  EXPECT_EQ(in_order.counts().missing, 8);
  EXPECT_EQ(in_order.counts().frozen, 26);

  for (uint32_t seed = 1; seed <= 5; ++seed) {
    std::mt19937 random(seed);
    ImuReadings shuffled = all;
    std::shuffle(shuffled.gyroscope.begin(), shuffled.gyroscope.end(), random);
    std::shuffle(shuffled.accelerometer.begin(), shuffled.accelerometer.end(), random);
    ImuBuffer buffer({});
    for (size_t i = 0; i < shuffled.gyroscope.size();) {
      ImuReadings batch;
      for (size_t k = random() % 40; k > 0 && i < shuffled.gyroscope.size(); --k, ++i) {
        batch.gyroscope.push_back(shuffled.gyroscope[i]);
        if (i < shuffled.accelerometer.size()) batch.accelerometer.push_back(shuffled.accelerometer[i]);
      }
      buffer.Add(batch);
    }
    ASSERT_TRUE(buffer.Between(3 * kMs, 1990 * kMs, &samples));
    ExpectSame(samples, expected);
    EXPECT_EQ(buffer.counts().frozen, 26);
    EXPECT_GT(buffer.counts().unsorted, 500);
    EXPECT_EQ(buffer.counts().late + buffer.counts().duplicate, 0);
  }
}

TEST(ImuBufferTest, OfEqualTimesTheSmallerValueStays) {
  const Eigen::Vector3d small(1, -2, 3), large(1, -1, -9);
  for (const bool is_small_first : {true, false}) {
    ImuReadings readings = Regular(0, 100 * kMs);
    readings.gyroscope[4].value = is_small_first ? small : large;
    ImuBuffer buffer({});
    buffer.Add(readings);
    ImuReadings again;
    again.gyroscope = {{20 * kMs, is_small_first ? large : small}, {95 * kMs, Turn(95 * kMs)}};
    buffer.Add(again);
    std::vector<ImuSample> samples;
    ASSERT_TRUE(buffer.Between(20 * kMs, 30 * kMs, &samples));
    EXPECT_EQ(samples[0].angular_velocity, small);
    EXPECT_EQ(buffer.counts().duplicate, 2);
    EXPECT_EQ(buffer.counts().unsorted, 0);
  }
}

TEST(ImuBufferTest, CountsWhatComesLateFillsGapsOrIsSaturated) {
  ImuModel model;
  model.gyroscope_range = 2;
  ImuBuffer buffer(model);
  ImuReadings readings = Regular(0, 300 * kMs);
  for (ImuReading& r : readings.gyroscope) r.value = Eigen::Vector3d(0.1, 0.2, static_cast<double>(r.time_ns) * 1e-12);
  readings.gyroscope[3].value = {0, -2, 0};
  readings.gyroscope[4].value = {2.5, 0, 0};
  ImuReadings missing;
  missing.gyroscope.assign(readings.gyroscope.begin() + 40, readings.gyroscope.begin() + 44);
  Remove(200 * kMs, 220 * kMs, &readings.gyroscope);
  buffer.Add(readings);
  EXPECT_EQ(buffer.counts().missing, 4);
  EXPECT_EQ(buffer.counts().saturated, 2);
  buffer.Add(missing);
  EXPECT_EQ(buffer.counts().missing, 0);
  EXPECT_EQ(buffer.counts().unsorted, 4);

  buffer.DropBefore(250 * kMs);
  buffer.Add(missing);
  EXPECT_EQ(buffer.counts().late, 4);
  std::vector<ImuSample> samples;
  EXPECT_TRUE(buffer.Between(250 * kMs, 290 * kMs, &samples));
}

TEST(ImuBufferTest, FrozenIsTheFifthOfTheSameValues) {
  ImuBuffer buffer({});
  ImuReadings readings;
  for (int64_t i = 0; i < 7; ++i) {
    readings.gyroscope.push_back({i * kMs, {i % 2 == 0 ? 0.0 : -0.0, 1, 2}});
    readings.accelerometer.push_back({i * kMs, {0, static_cast<double>(i / 4), 2}});
  }
  buffer.Add(readings);
  EXPECT_EQ(buffer.counts().frozen, 3);
}

TEST(ImuBufferTest, DroppingKeepsWhatLaterTimesNeedAndTheUsualStep) {
  ImuBuffer buffer({}), whole({});
  std::vector<ImuSample> samples, expected;
  whole.Add(Regular(0, 20'000 * kMs));
  for (int64_t t = 50 * kMs; t < 20'000 * kMs; t += 50 * kMs) {
    ImuReadings readings = Regular(0, 0);
    for (int64_t g = t - 50 * kMs; g < t; g += 5 * kMs) readings.gyroscope.push_back({g, Turn(g)});
    for (int64_t a = (t - 50 * kMs + 8 * kMs - 1) / (8 * kMs) * 8 * kMs; a < t; a += 8 * kMs) {
      readings.accelerometer.push_back({a, Push(a)});
    }
    buffer.Add(readings);
    if (t < 200 * kMs) continue;
    ASSERT_TRUE(buffer.Between(t - 60 * kMs, t - 10 * kMs, &samples));
    ASSERT_TRUE(whole.Between(t - 60 * kMs, t - 10 * kMs, &expected));
    ExpectSame(samples, expected);
    buffer.DropBefore(t - 10 * kMs);
  }
  EXPECT_EQ(buffer.counts().late + buffer.counts().unsorted + buffer.counts().missing, 0);
  EXPECT_LT(buffer.MemoryBytes(), 50'000u);
}

TEST(ImuBufferTest, TheNewestReadingsStayWhereThereIsNoRoom) {
  ImuBuffer buffer({});
  constexpr int64_t kCount = 40'000;
  for (int64_t i = 0; i < kCount; i += 100) {
    ImuReadings readings;
    for (int64_t k = i; k < i + 100; ++k) readings.gyroscope.push_back({k * kMs, Turn(k * kMs)});
    readings.accelerometer = readings.gyroscope;
    buffer.Add(readings);
  }
  const auto capacity = static_cast<int64_t>(ImuBuffer::kCapacity);
  EXPECT_EQ(buffer.counts().dropped, 2 * (kCount - capacity));
  EXPECT_LE(buffer.MemoryBytes(), 8 * ImuBuffer::kCapacity * sizeof(ImuReading));
  std::vector<ImuSample> samples;
  EXPECT_TRUE(buffer.Between((kCount - capacity) * kMs, (kCount - 1) * kMs, &samples));
  EXPECT_EQ(samples.size(), ImuBuffer::kCapacity);
  EXPECT_FALSE(buffer.Between((kCount - capacity - 3) * kMs, (kCount - 1) * kMs, &samples));
  ImuReadings old;
  old.gyroscope = {{0, Turn(0)}};
  buffer.Add(old);
  EXPECT_EQ(buffer.counts().late, 1);
}

TEST(ImuBufferTest, TimesOfHostileClients) {
  const int64_t extremes[] = {kLowest, kLowest + 1, -1, 0, 1, 500 * kMs, 501 * kMs, kHighest - 1, kHighest};
  for (const int64_t offset : {-1000 * kMs, int64_t{0}, 1000 * kMs}) {
    ImuModel model;
    model.imu_time_minus_camera_time_ns = offset;
    ImuBuffer buffer(model);
    std::vector<ImuSample> samples;
    EXPECT_EQ(buffer.newest_ns(), kLowest);
    EXPECT_FALSE(buffer.Between(kLowest, kHighest, &samples));
    for (int round = 0; round < 3; ++round) {
      ImuReadings readings;
      for (const int64_t t : extremes) readings.gyroscope.push_back({t, {1e308, -1e308, 0}});
      readings.accelerometer.assign(readings.gyroscope.rbegin(), readings.gyroscope.rend());
      buffer.Add(readings);
      for (const int64_t from : extremes) {
        for (const int64_t to : extremes) {
          if (!buffer.Between(from, to, &samples)) continue;
          EXPECT_EQ(samples.front().time_ns, from);
          EXPECT_EQ(samples.back().time_ns, to);
        }
      }
    }
    EXPECT_LE(buffer.gyroscope_step_ns(), ImuBuffer::kSpanNs);
    const ImuReceived& counts = buffer.counts();
    EXPECT_EQ(counts.received, 54);
    EXPECT_GE(counts.duplicate, 36);
    EXPECT_GE(counts.missing, 0);
    buffer.DropBefore(kHighest);
    buffer.DropBefore(kLowest);
  }
  // A reading of a far future does not keep those that follow from being used.
  ImuBuffer buffer({});
  ImuReadings far;
  far.gyroscope = {{kHighest, Turn(0)}};
  buffer.Add(far);
  buffer.Add(Regular(0, 1000 * kMs));
  std::vector<ImuSample> samples;
  EXPECT_TRUE(buffer.Between(100 * kMs, 200 * kMs, &samples));
}

}  // namespace
}  // namespace glint::slam
