#include "ros2/operations/localize/imu_queue.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace glint::ros2 {
namespace {

constexpr double kMostValue = 1e6;  // that the server takes

bool IsReading(const std::array<double, 3>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::abs(v) <= kMostValue; });
}

// Removes the first `count`; they go to the end of *to.
void Move(size_t count, client::ImuReadings* from, client::ImuReadings* to) {
  const auto move = [count](auto* source, auto* target) {
    const auto end = source->begin() + static_cast<ptrdiff_t>(count);
    target->insert(target->end(), source->begin(), end);
    source->erase(source->begin(), end);
  };
  move(&from->gyroscope_time_ns, &to->gyroscope_time_ns);
  move(&from->angular_velocity, &to->angular_velocity);
  move(&from->acceleration, &to->acceleration);
}

void Clear(client::ImuReadings* readings) {
  readings->gyroscope_time_ns.clear();
  readings->angular_velocity.clear();
  readings->acceleration.clear();
}

}  // namespace

bool ImuQueue::Add(const ros::Imu& reading) {
  const std::array<double, 3> turn = {reading.angular_velocity.x, reading.angular_velocity.y,
                                      reading.angular_velocity.z};
  const std::array<double, 3> push = {reading.linear_acceleration.x, reading.linear_acceleration.y,
                                      reading.linear_acceleration.z};
  const int64_t time_ns = ros::NanosecondsOf(reading.header.stamp);
  const absl::MutexLock lock(&mutex_);
  ++counts_.received;
  if (!IsReading(turn) || !IsReading(push)) {
    ++counts_.bad;
    return false;
  }
  if (waiting_.gyroscope_time_ns.size() == kMost) {
    client::ImuReadings oldest;
    Move(kMost / 2, &waiting_, &oldest);
    counts_.dropped += static_cast<int64_t>(kMost / 2);
  }
  waiting_.Add(time_ns, turn, push);
  newest_ns_ = time_ns;  // a clock that was set back counts from there
  return waiting_.gyroscope_time_ns.size() >= kMany;
}

void ImuQueue::WaitFor(int64_t sensor_time_ns, absl::Duration most) {
  const absl::MutexLock lock(&mutex_);
  const auto is_there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return newest_ns_ >= sensor_time_ns; };
  const auto is_over = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopped_ || is_there(); };
  if (vain_waits_ < kVainWaits) mutex_.AwaitWithTimeout(absl::Condition(&is_over), most);
  vain_waits_ = is_there() ? 0 : vain_waits_ + 1;
}

void ImuQueue::Stop() {
  const absl::MutexLock lock(&mutex_);
  stopped_ = true;
}

void ImuQueue::Begin() {
  const absl::MutexLock lock(&mutex_);
  stopped_ = false;
}

const client::ImuReadings& ImuQueue::Take() {
  Clear(&taken_);
  const absl::MutexLock lock(&mutex_);
  if (waiting_.gyroscope_time_ns.size() <= kMessage) {
    std::swap(taken_, waiting_);
  } else {
    Move(kMessage, &waiting_, &taken_);
  }
  return taken_;
}

size_t ImuQueue::size() const {
  const absl::MutexLock lock(&mutex_);
  return waiting_.gyroscope_time_ns.size();
}

ImuQueue::Counts ImuQueue::counts() const {
  const absl::MutexLock lock(&mutex_);
  return counts_;
}

}  // namespace glint::ros2
