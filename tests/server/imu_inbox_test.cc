// Readings between messages and localization: what is refused, that each takes its turn, and that there is an end.
#include "server/operations/localize/imu_inbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "features/error.h"
#include "glint/v1/localization.pb.h"

namespace glint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Readings of both sensors at these times, whose values tell the time.
v1::ImuReadings ReadingsAt(const std::vector<int64_t>& times) {
  v1::ImuReadings readings;
  for (const int64_t time : times) {
    readings.add_gyroscope_time_ns(time);
    for (int axis = 0; axis < 3; ++axis) {
      readings.add_angular_velocity(static_cast<double>(time) + 0.1 * axis);
      readings.add_acceleration(-static_cast<double>(time) - 0.1 * axis);
    }
  }
  return readings;
}

absl::Status Receive(const v1::ImuReadings& readings, ImuInbox* inbox) {
  v1::LocalizeStreamRequest request;
  *request.mutable_pair()->mutable_imu() = readings;
  const std::string bytes = request.SerializeAsString();
  const absl::Span<const uint8_t> piece(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  WireLocalizeStreamRequest wire;
  EXPECT_TRUE(ParseLocalizeStreamRequest({&piece, 1}, &wire, inbox->values()));
  return inbox->Receive("imu", wire.imu);
}

std::string ErrorOf(const v1::ImuReadings& readings) {
  ImuInbox inbox;
  return std::string(Receive(readings, &inbox).message());
}

std::vector<int64_t> TimesOf(const std::vector<slam::ImuReading>& readings) {
  std::vector<int64_t> times;
  for (const slam::ImuReading& reading : readings) times.push_back(reading.time_ns);
  return times;
}

// Gyroscope's times that are taken at this turn.
std::vector<int64_t> Take(int64_t turn, ImuInbox* inbox) {
  std::vector<int64_t> times;
  slam::ImuReadings readings;
  int64_t lost = 0;
  while (inbox->Take(turn, &readings, &lost)) {
    EXPECT_EQ(lost, 0);
    for (const int64_t time : TimesOf(readings.gyroscope)) times.push_back(time);
  }
  return times;
}

TEST(ImuInboxTest, ReadingsAreTakenInTheTurnOfTheirMessage) {
  ImuInbox inbox;
  ASSERT_TRUE(Receive(ReadingsAt({1, 2}), &inbox).ok());
  inbox.Keep(10);
  ASSERT_TRUE(Receive(ReadingsAt({3}), &inbox).ok());
  inbox.Keep(11);
  ASSERT_TRUE(Receive(ReadingsAt({5, 4}), &inbox).ok());
  inbox.Keep(13);
  EXPECT_THAT(Take(9, &inbox), IsEmpty());
  EXPECT_THAT(Take(12, &inbox), ElementsAre(1, 2, 3));
  EXPECT_THAT(Take(12, &inbox), IsEmpty());
  EXPECT_THAT(Take(13, &inbox), ElementsAre(5, 4));
}

// Of both sensors, taken or not.
TEST(ImuInboxTest, TellsByWhichTurnATimeIsCovered) {
  ImuInbox inbox;
  EXPECT_EQ(inbox.newest_ns(), INT64_MIN);
  EXPECT_EQ(inbox.TurnOf(INT64_MIN + 1), INT64_MAX);
  ASSERT_TRUE(Receive(ReadingsAt({5, 3}), &inbox).ok());
  inbox.Keep(10);
  v1::ImuReadings gyroscope = ReadingsAt({7, 9});
  gyroscope.clear_acceleration();
  ASSERT_TRUE(Receive(gyroscope, &inbox).ok());
  inbox.Keep(11);
  EXPECT_EQ(inbox.newest_ns(), 5);
  EXPECT_EQ(inbox.TurnOf(5), 10);
  EXPECT_EQ(inbox.TurnOf(6), INT64_MAX);
  v1::ImuReadings accelerometer = ReadingsAt({});
  accelerometer.add_accelerometer_time_ns(8);
  for (int axis = 0; axis < 3; ++axis) accelerometer.add_acceleration(0);
  ASSERT_TRUE(Receive(accelerometer, &inbox).ok());
  inbox.Keep(12);
  EXPECT_EQ(inbox.newest_ns(), 8);
  EXPECT_EQ(inbox.TurnOf(6), 12);
  EXPECT_EQ(inbox.TurnOf(9), INT64_MAX);
  EXPECT_THAT(Take(11, &inbox), ElementsAre(5, 3, 7, 9));
  EXPECT_EQ(inbox.TurnOf(6), 12);
  EXPECT_THAT(Take(12, &inbox), IsEmpty());
  EXPECT_EQ(inbox.TurnOf(8), INT64_MIN);
  EXPECT_EQ(inbox.newest_ns(), 8);
}

TEST(ImuInboxTest, ValuesAreThoseOfTheMessage) {
  ImuInbox inbox;
  v1::ImuReadings apart = ReadingsAt({7, 8});
  apart.add_accelerometer_time_ns(-100);
  apart.add_accelerometer_time_ns(200);
  ASSERT_TRUE(Receive(apart, &inbox).ok());
  inbox.Keep(1);
  ASSERT_TRUE(Receive(ReadingsAt({9}), &inbox).ok());
  inbox.Keep(2);
  v1::ImuReadings gyroscope = ReadingsAt({10});
  gyroscope.clear_acceleration();
  ASSERT_TRUE(Receive(gyroscope, &inbox).ok());
  inbox.Keep(3);
  slam::ImuReadings taken;
  int64_t lost = 0;
  ASSERT_TRUE(inbox.Take(3, &taken, &lost));
  EXPECT_THAT(TimesOf(taken.gyroscope), ElementsAre(7, 8, 9, 10));
  EXPECT_THAT(TimesOf(taken.accelerometer), ElementsAre(-100, 200, 9));
  EXPECT_EQ(taken.gyroscope[1].value, Eigen::Vector3d(8, 8.1, 8.2));
  EXPECT_EQ(taken.accelerometer[1].value, Eigen::Vector3d(-8, -8.1, -8.2));
}

TEST(ImuInboxTest, OnesThatHaveNoRoomAreCounted) {
  ImuInbox inbox;
  std::vector<int64_t> times(kMaxImuReadings);
  constexpr int kMessages = ImuInbox::kCapacity / kMaxImuReadings + 1;
  for (int turn = 0; turn < kMessages; ++turn) {
    for (size_t i = 0; i < times.size(); ++i) times[i] = turn * 10000 + static_cast<int64_t>(i);
    ASSERT_TRUE(Receive(ReadingsAt(times), &inbox).ok());
    inbox.Keep(turn);
  }
  slam::ImuReadings taken;
  int64_t lost = 0;
  for (int turn = 1; turn < kMessages; ++turn) {  // the first one's had to go
    ASSERT_TRUE(inbox.Take(kMessages, &taken, &lost));
    EXPECT_EQ(taken.gyroscope.size(), kMaxImuReadings);
    EXPECT_EQ(taken.gyroscope.front().time_ns, turn * 10000);
    EXPECT_EQ(taken.accelerometer.back().time_ns, turn * 10000 + static_cast<int64_t>(kMaxImuReadings) - 1);
    EXPECT_EQ(lost, turn == 1 ? 2 * static_cast<int64_t>(kMaxImuReadings) : 0);
  }
  EXPECT_FALSE(inbox.Take(kMessages, &taken, &lost));
}

TEST(ImuInboxTest, BadReadingsAreRefusedAsAWhole) {
  v1::ImuReadings bad = ReadingsAt({1, 2});
  bad.mutable_angular_velocity()->RemoveLast();
  EXPECT_EQ(ErrorOf(bad), "imu.angular_velocity: 5 values are not three for each of 2 times");
  bad = ReadingsAt({1, 2});
  bad.add_acceleration(1);
  EXPECT_EQ(ErrorOf(bad), "imu.acceleration: 7 values are not three for each of 2 times");
  bad = ReadingsAt({1, 2});
  bad.add_accelerometer_time_ns(1);
  EXPECT_EQ(ErrorOf(bad), "imu.acceleration: 6 values are not three for each of 1 times");
  bad.clear_acceleration();
  EXPECT_EQ(ErrorOf(bad), "imu.acceleration: 0 values are not three for each of 1 times");
  bad = ReadingsAt({});
  bad.add_acceleration(1);
  EXPECT_EQ(ErrorOf(bad), "imu.acceleration: 1 values are not three for each of 0 times");
  bad = ReadingsAt(std::vector<int64_t>(kMaxImuReadings + 1, 3));
  EXPECT_EQ(ErrorOf(bad), "imu.gyroscope_time_ns: 4097 readings are more than 4096");
  bad = ReadingsAt({});
  bad.mutable_accelerometer_time_ns()->Resize(5000, 1);
  EXPECT_EQ(ErrorOf(bad), "imu.accelerometer_time_ns: 5000 readings are more than 4096");
  for (const double value : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), 1.1e6, -1e300}) {
    bad = ReadingsAt({1, 2});
    bad.set_angular_velocity(4, value);
    EXPECT_THAT(ErrorOf(bad), HasSubstr("imu.angular_velocity[4]: "));
    bad = ReadingsAt({1, 2});
    bad.set_acceleration(0, value);
    EXPECT_THAT(ErrorOf(bad), HasSubstr("imu.acceleration[0]: "));
  }
  bad = ReadingsAt({1, 2});
  bad.set_gyroscope_time_ns(1, INT64_MIN);
  EXPECT_THAT(ErrorOf(bad), HasSubstr("imu.gyroscope_time_ns[1]: -9223372036854775808 is not in "));
  bad = ReadingsAt({1});
  bad.add_accelerometer_time_ns(INT64_MAX);
  EXPECT_THAT(ErrorOf(bad), HasSubstr("imu.accelerometer_time_ns[0]: 9223372036854775807 is not in "));

  // Nothing of them is kept.
  ImuInbox inbox;
  const absl::Status refused = Receive(bad, &inbox);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorInfoOf(refused)->reason, "OUT_OF_RANGE");
  inbox.Keep(1);
  EXPECT_THAT(Take(1, &inbox), IsEmpty());
}

TEST(ImuInboxTest, TakesAsManyAsItSaysAndNone) {
  EXPECT_EQ(ErrorOf(ReadingsAt(std::vector<int64_t>(kMaxImuReadings, 3))), "");
  EXPECT_EQ(ErrorOf({}), "");
  v1::ImuReadings edge = ReadingsAt({int64_t{1} << 62, -(int64_t{1} << 62)});
  edge.mutable_angular_velocity()->Set(0, 1e6);
  for (double& value : *edge.mutable_angular_velocity()) value = -1e6;
  for (double& value : *edge.mutable_acceleration()) value = 1e6;
  EXPECT_EQ(ErrorOf(edge), "");
}

}  // namespace
}  // namespace glint
