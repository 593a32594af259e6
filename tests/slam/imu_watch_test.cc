// Faults of inertial sensors beside a camera that moves: each is named, and a sensor that is right has none.
#include "slam/inertial/imu_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/slam/imu_ride.h"

namespace glint::slam {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Until there is a fault, or for `seconds` after it begins; which one it then is, and its first warning.
void ExpectFault(const std::string& path, const Case& c, double seconds, ImuFault fault, const std::string& text,
                 double least, double most) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(path + ", seed " + std::to_string(seed));
    Ride ride(PathOf(path), c, seed);
    while (ride.watch().fault() == ImuFault::kNone && ride.time() < c.from + seconds) ride.Go();
    ASSERT_GE(ride.time(), c.from);
    ASSERT_EQ(ride.watch().fault(), fault);
    ASSERT_FALSE(ride.watch().warnings().empty());
    const Warning& warning = ride.watch().warnings()[0];
    EXPECT_THAT(warning.text, HasSubstr(text));
    EXPECT_GE(warning.figure, least);
    EXPECT_LE(warning.figure, most);
    EXPECT_EQ(warning.kind, fault == ImuFault::kNoSamples || fault == ImuFault::kFrozen || fault == ImuFault::kSaturated
                                ? WarningKind::kImuSamples
                                : WarningKind::kImuContradicts);
  }
}

void ExpectSilence(const Path& path, const Case& c, double seconds, uint32_t seed) {
  SCOPED_TRACE(path.name + ", seed " + std::to_string(seed));
  Ride ride(path, c, seed);
  while (ride.time() < seconds) {
    ride.Go();
    ASSERT_EQ(ride.watch().fault(), ImuFault::kNone) << ride.time() << " s: " << ride.watch().warnings()[0].text;
  }
  EXPECT_THAT(ride.watch().warnings(), IsEmpty());
  if (ride.watch().knows_offset()) {
    EXPECT_LT(std::abs(static_cast<double>(ride.watch().offset_ns())), 2.5e6);
  }
}

TEST(ImuWatchTest, ARightSensorIsSilentInEveryMotion) {
  for (const Path& path : Paths()) {
    for (uint32_t seed = 1; seed <= 5; ++seed) ExpectSilence(path, {}, 20, seed);
  }
}

TEST(ImuWatchTest, ARightSensorIsSilentAtOtherRatesAndWithMoreNoise) {
  for (const Path& path : Paths()) {
    Case c;
    c.noise = 3;
    for (const double frames : {5.0, 12.0, 60.0}) {
      c.frames = frames;
      ExpectSilence(path, c, 15, 6);
    }
    Case jumps;
    jumps.jump = 0.06;
    jumps.gyroscope = 100;
    jumps.accelerometer = 400;
    ExpectSilence(path, jumps, 15, 7);
    Case poor_images;
    poor_images.image_error = 0.3;
    ExpectSilence(path, poor_images, 15, 8);
  }
}

TEST(ImuWatchTest, MinutesOfRestAreSilent) {
  ExpectSilence(PathOf("rest"), {}, 180, 9);
  Case noiseless;  // as in a simulation: all readings are the same, to the bit
  noiseless.noise = 0;
  ExpectSilence(PathOf("rest"), noiseless, 30, 9);
}

TEST(ImuWatchTest, ASmallErrorOfTheAxesIsSilent) {
  Case c;
  c.axes = Eigen::AngleAxisd(4 * kDegree, Eigen::Vector3d(1, 2, -1).normalized()).toRotationMatrix();
  for (const Path& path : Paths()) ExpectSilence(path, c, 15, 10);
}

TEST(ImuWatchTest, DegreesForRadians) {
  Case c;
  c.turn_scale = 180 / kPi;
  for (const char* const path : {"hand", "flight", "shaken", "slow", "town", "wobble"}) {
    ExpectFault(path, c, 5, ImuFault::kDegrees, "degrees a second", 40, 80);
  }
  c.frames = 5;
  ExpectFault("hand", c, 5, ImuFault::kDegrees, "degrees a second", 40, 80);
  c.frames = 60;
  ExpectFault("flight", c, 5, ImuFault::kDegrees, "degrees a second", 50, 65);
}

TEST(ImuWatchTest, UnitsOfAcceleration) {
  const struct {
    double scale;
    const char* text;
  } kUnits[] = {{1 / 9.81, "units of g"}, {1000, "mm/s^2"}, {100, "cm/s^2"}, {0.03, "do not take gravity off"}};
  for (const auto& unit : kUnits) {
    Case c;
    c.push_scale = unit.scale;
    for (const char* const path : {"hand", "rest", "straight road", "robot"}) {
      ExpectFault(path, c, 5, ImuFault::kGravityUnits, unit.text, 0.9 * unit.scale, 1.1 * unit.scale);
    }
  }
}

TEST(ImuWatchTest, OtherAxes) {
  Case exchanged;  // the sensor's x, y, z are those that the model has as y, z, x
  exchanged.axes << 0, 1, 0, 0, 0, 1, 1, 0, 0;
  for (const char* const path : {"hand", "flight", "shaken", "slow"}) {
    ExpectFault(path, exchanged, 5, ImuFault::kAxes, "imu.camera_from_imu seems to be turned by 1", 115, 125);
  }
  ExpectFault("town", exchanged, 5, ImuFault::kAxes, "turned by", 110, 130);

  Case turned;
  turned.axes = Eigen::AngleAxisd(30 * kDegree, Eigen::Vector3d(1, 2, 3).normalized()).toRotationMatrix();
  for (const char* const path : {"hand", "flight", "shaken"}) {
    ExpectFault(path, turned, 5, ImuFault::kAxes, "imu.camera_from_imu seems to be turned by", 28, 32);
  }
  Case mirrored;
  mirrored.axes = Eigen::Vector3d(1, 1, -1).asDiagonal();
  for (const char* const path : {"hand", "flight", "shaken"}) {
    ExpectFault(path, mirrored, 5, ImuFault::kAxes, "mirrored", 0, 180);
  }
  Case inverse;
  inverse.model.camera_from_imu.rotation = Eigen::Quaterniond(CameraFromImu().transpose());
  for (const char* const path : {"hand", "flight", "shaken", "slow"}) {
    ExpectFault(path, inverse, 5, ImuFault::kAxes, "seems to be its inverse", 160, 180);
  }
}

TEST(ImuWatchTest, NamesTheAxesThatItSeemsToHave) {
  Case c;
  c.model.camera_from_imu.rotation = Eigen::Quaterniond::Identity();  // but it is about a quarter of a turn about z
  ExpectFault("hand", c, 5, ImuFault::kAxes, "the camera's x, y, z seem to be the sensor's -y, +x, +z", 80, 95);
}

TEST(ImuWatchTest, OffsetsOfTheTime) {
  for (const double ahead : {-0.08, -0.03, 0.03, 0.08}) {
    Case c;
    c.ahead = ahead;
    c.model.imu_time_minus_camera_time_ns = 0;
    for (const char* const path : {"hand", "flight", "shaken"}) {
      const double ms = 1e3 * ahead;
      ExpectFault(path, c, 5, ImuFault::kTimeOffset, ahead > 0 ? "ms ahead" : "ms behind", ms - 6, ms + 6);
    }
  }
}

TEST(ImuWatchTest, AnOffsetIsKnownToAMillisecondWhereMotionTells) {
  for (const double ahead : {-0.014, -0.004, 0.0, 0.006, 0.014}) {
    for (const double frames : {10.0, 30.0}) {
      Case c;
      c.ahead = ahead;
      c.frames = frames;
      Ride ride(PathOf("flight"), c, 11);
      while (ride.time() < 15) ride.Go();
      EXPECT_TRUE(ride.watch().knows_offset());
      EXPECT_NEAR(static_cast<double>(ride.watch().offset_ns()), ahead * 1e9, 1e6);
      EXPECT_EQ(ride.watch().fault(), std::abs(ahead) > 0.01 ? ImuFault::kTimeOffset : ImuFault::kNone);
    }
  }
  Ride rest(PathOf("rest"), {}, 12);
  while (rest.time() < 15) rest.Go();
  EXPECT_FALSE(rest.watch().knows_offset());
}

TEST(ImuWatchTest, FrozenSaturatedAndSilentSensors) {
  Case frozen;
  frozen.is_frozen = true;
  for (const char* const path : {"hand", "flight", "shaken"}) {
    ExpectFault(path, frozen, 5, ImuFault::kFrozen, "the same values all the time", 1, 1);
  }
  Case saturated;
  saturated.clip = saturated.model.gyroscope_range = 0.5;
  ExpectFault("flight", saturated, 5, ImuFault::kSaturated, "at the sensor's range", 0.5, 1);
  Case silent;
  silent.is_silent = true;
  for (const char* const path : {"hand", "rest", "straight road"}) {
    ExpectFault(path, silent, 5, ImuFault::kNoSamples, "100 % of the pairs", 1, 1);
  }
}

TEST(ImuWatchTest, AGyroscopeThatMeasuresNothingContradicts) {
  Case c;
  c.turn_scale = 0.01;
  for (const char* const path : {"hand", "flight", "shaken"}) {
    ExpectFault(path, c, 5, ImuFault::kContradiction, "no units, axes or offset", 16, 1e6);
  }
}

// In the middle of a stream: named within 5 s, and it ends.
TEST(ImuWatchTest, FaultsBeginAndEnd) {
  Case degrees, units, axes, offset, frozen, silent;
  degrees.turn_scale = 180 / kPi;
  units.push_scale = 1 / 9.81;
  axes.axes << 0, 1, 0, 0, 0, 1, 1, 0, 0;
  offset.ahead = 0.05;
  frozen.is_frozen = true;
  silent.is_silent = true;
  const struct {
    Case fault;
    ImuFault kind;
  } kFaults[] = {{degrees, ImuFault::kDegrees},   {units, ImuFault::kGravityUnits}, {axes, ImuFault::kAxes},
                 {offset, ImuFault::kTimeOffset}, {frozen, ImuFault::kFrozen},      {silent, ImuFault::kNoSamples}};
  for (const auto& [fault, kind] : kFaults) {
    for (const char* const path : {"hand", "flight"}) {
      for (uint32_t seed = 1; seed <= 2; ++seed) {
        SCOPED_TRACE(std::string(path) + ", fault " + std::to_string(static_cast<int>(kind)) + ", seed " +
                     std::to_string(seed));
        Case c = fault;
        c.from = 10;
        c.to = 20;
        Ride ride(PathOf(path), c, seed);
        while (ride.time() < 30) {
          ride.Go();
          const ImuFault now = ride.watch().fault();
          if (ride.time() < 10 || ride.time() > 25 || now != kind) {
            ASSERT_EQ(now, ImuFault::kNone) << ride.time();
          }
          if (ride.time() > 15 && ride.time() < 20) {
            ASSERT_EQ(now, kind) << ride.time();
          }
        }
      }
    }
  }
}

TEST(ImuWatchTest, ACameraAtRestEndsNoFaultOfTheAxes) {
  Case c;
  c.axes << 0, 1, 0, 0, 0, 1, 1, 0, 0;
  const Path path{"then at rest", [](double t) { return Sway(0.5, 0.5)(std::min(t, 6.0)); }, Nowhere};
  Ride ride(path, c, 1);
  while (ride.time() < 30) ride.Go();
  EXPECT_EQ(ride.watch().fault(), ImuFault::kAxes);
}

TEST(ImuWatchTest, TheSameInputGivesTheSame) {
  Case c;
  c.ahead = 0.03;
  Ride a(PathOf("hand"), c, 3), b(PathOf("hand"), c, 3);
  while (a.time() < 10) {
    a.Go();
    b.Go();
    ASSERT_EQ(a.watch().fault(), b.watch().fault());
    ASSERT_EQ(a.watch().offset_ns(), b.watch().offset_ns());
    ASSERT_EQ(a.watch().warnings().size(), b.watch().warnings().size());
    for (size_t i = 0; i < a.watch().warnings().size(); ++i) {
      ASSERT_EQ(a.watch().warnings()[i].text, b.watch().warnings()[i].text);
    }
  }
  EXPECT_EQ(a.watch().fault(), ImuFault::kTimeOffset);
}

TEST(ImuWatchTest, HostileReadingsAndTimes) {
  const double values[] = {0, 1e-300, 1e5, 1e7, 1e200, 1.7e308};
  const int64_t times[] = {std::numeric_limits<int64_t>::min() / 2, -1, 0, 1, 1'000'000'000,
                           std::numeric_limits<int64_t>::max() / 2};
  std::mt19937 random(13);
  ImuWatch watch{ImuModel()};
  for (int i = 0; i < 10'000; ++i) {
    std::vector<ImuSample> samples(random() % 4);
    const int64_t t = i % 100 < 3 ? times[random() % 6] : int64_t{50'000'000} * i;
    for (ImuSample& s : samples) {
      s.time_ns = t + static_cast<int64_t>(random() % 50'000'000);
      s.angular_velocity = values[random() % (i % 400 < 200 ? 3 : 6)] * Eigen::Vector3d(1, -1, 0.5);
      s.acceleration = values[random() % (i % 400 < 200 ? 3 : 6)] * Eigen::Vector3d(-1, 1, 1);
    }
    if (random() % 100 == 0) watch.Break();
    watch.Add(t, {RotationOf({0.1 * i, 0.2, 0}), {1.0 * i, 0, 0}}, samples);
  }
  for (const Warning& warning : watch.warnings()) EXPECT_TRUE(std::isfinite(warning.figure));
}

}  // namespace
}  // namespace glint::slam
