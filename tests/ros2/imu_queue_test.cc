// Readings that wait for their frame.
#include "ros2/operations/localize/imu_queue.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "features/steady_time.h"

namespace glint::ros2 {
namespace {

ros::Imu Reading(int64_t time_ns, double value = 1) {
  ros::Imu reading;
  reading.header.stamp = ros::TimeOf(time_ns);
  reading.angular_velocity = {value, 2, 3};
  reading.linear_acceleration = {4, 5, 6};
  return reading;
}

TEST(ImuQueueTest, GivesWhatCameInItsOrder) {
  ImuQueue queue;
  EXPECT_FALSE(queue.Add(Reading(1'500'000'000)));
  EXPECT_FALSE(queue.Add(Reading(1'600'000'000, -7)));
  EXPECT_FALSE(queue.Add(Reading(1'700'000'000, std::numeric_limits<double>::quiet_NaN())));
  EXPECT_FALSE(queue.Add(Reading(1'700'000'000, 2e6)));
  const client::ImuReadings& taken = queue.Take();
  EXPECT_EQ(taken.gyroscope_time_ns, (std::vector<int64_t>{1'500'000'000, 1'600'000'000}));
  EXPECT_EQ(taken.angular_velocity[1], (std::array<double, 3>{-7, 2, 3}));
  EXPECT_EQ(taken.acceleration[1], (std::array<double, 3>{4, 5, 6}));
  EXPECT_TRUE(queue.Take().empty());
  EXPECT_EQ(queue.counts().received, 4);
  EXPECT_EQ(queue.counts().bad, 2);
}

TEST(ImuQueueTest, IsBounded) {
  ImuQueue queue;
  for (int64_t i = 1; i <= 10000; ++i) {
    const bool many = queue.Add(Reading(i));
    EXPECT_EQ(many, queue.size() >= ImuQueue::kMany) << i;
  }
  EXPECT_EQ(queue.size(), 10000u - 4096u);
  EXPECT_EQ(queue.counts().dropped, 4096);
  const client::ImuReadings first = queue.Take();
  EXPECT_EQ(first.gyroscope_time_ns.size(), ImuQueue::kMessage);
  EXPECT_EQ(first.gyroscope_time_ns.front(), 4097);
  EXPECT_EQ(first.acceleration.size(), ImuQueue::kMessage);
  const client::ImuReadings& rest = queue.Take();
  EXPECT_EQ(rest.gyroscope_time_ns.front(), 4097 + 4096);
  EXPECT_EQ(rest.gyroscope_time_ns.back(), 10000);
}

TEST(ImuQueueTest, WaitsForTheFramesTimeButNotInVainForEver) {
  ImuQueue queue;
  queue.Add(Reading(100));
  queue.WaitFor(100, absl::InfiniteDuration());  // it is there
  std::thread later([&queue] {
    absl::SleepFor(absl::Milliseconds(20));
    queue.Add(Reading(150));
    queue.Add(Reading(205));
  });
  queue.WaitFor(200, absl::InfiniteDuration());
  EXPECT_EQ(queue.Take().gyroscope_time_ns.back(), 205);
  later.join();
  for (int i = 0; i < 3; ++i) queue.WaitFor(300, absl::Milliseconds(1));
  queue.WaitFor(300, absl::InfiniteDuration());  // no more, or this does not end
  queue.Add(Reading(300));
  queue.WaitFor(300, absl::InfiniteDuration());
  const absl::Time begin = SteadyNow();
  queue.WaitFor(400, absl::Milliseconds(5));  // waits again
  EXPECT_GE(SteadyNow() - begin, absl::Milliseconds(4));
  queue.Stop();
  queue.WaitFor(400, absl::InfiniteDuration());
}

}  // namespace
}  // namespace glint::ros2
