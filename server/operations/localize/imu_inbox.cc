#include "server/operations/localize/imu_inbox.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint {
namespace {

// Beyond what any sensor measures, in whatever unit, and 146 years. With clocks' offsets added it is still a time.
constexpr double kLargestValue = 1e6;
constexpr int64_t kLargestTimeNs = int64_t{1} << 62;

// Arrays of the readings that the field `of` of the message has. Texts are made of errors alone.
struct Arrays {
  absl::string_view of;
  const char* times;
  const char* values;
};

std::string Path(const Arrays& arrays, const char* field) { return absl::StrCat(arrays.of, ".", field); }

absl::Status CheckSizes(const Arrays& arrays, size_t times, size_t values) {
  if (times > kMaxImuReadings) return TooLargeError(Path(arrays, arrays.times), times, kMaxImuReadings, "readings");
  if (values == 3 * times) return absl::OkStatus();
  return ContradictionError(Path(arrays, arrays.values),
                            absl::StrCat(values, " values are not three for each of ", times, " times"));
}

// The first that is out of range, NaN among them.
template <typename T>
absl::Status CheckValues(const Arrays& arrays, const char* field, const std::vector<T>& values, T largest) {
  const auto bad =
      std::find_if_not(values.begin(), values.end(), [largest](T v) { return v >= -largest && v <= largest; });
  if (bad == values.end()) return absl::OkStatus();
  return OutOfRangeError(absl::StrCat(Path(arrays, field), "[", bad - values.begin(), "]"), *bad, -largest, largest);
}

absl::Status CheckArrays(const Arrays& arrays, const std::vector<int64_t>& times, const std::vector<double>& values) {
  GLINT_RETURN_IF_ERROR(CheckValues(arrays, arrays.times, times, kLargestTimeNs));
  return CheckValues(arrays, arrays.values, values, kLargestValue);
}

absl::Status CheckReadings(absl::string_view field, const WireImuReadings& sizes, const ImuValues& readings) {
  const Arrays gyroscope = {field, "gyroscope_time_ns", "angular_velocity"};
  const Arrays accelerometer = {field, "accelerometer_time_ns", "acceleration"};
  GLINT_RETURN_IF_ERROR(CheckSizes(gyroscope, sizes.gyroscope_times, sizes.angular_velocities));
  const bool has_times = sizes.accelerometer_times > 0;
  if (has_times || sizes.accelerations > 0) {
    const size_t times = has_times ? sizes.accelerometer_times : sizes.gyroscope_times;
    GLINT_RETURN_IF_ERROR(CheckSizes(accelerometer, times, sizes.accelerations));
  }
  GLINT_RETURN_IF_ERROR(CheckArrays(gyroscope, readings.gyroscope_time_ns, readings.angular_velocity));
  return CheckArrays(accelerometer, readings.accelerometer_time_ns, readings.acceleration);
}

}  // namespace

ImuInbox::ImuInbox() {
  gyroscope_.waiting.reserve(kCapacity);
  accelerometer_.waiting.reserve(kCapacity);
}

absl::Status ImuInbox::Receive(absl::string_view field, const WireImuReadings& sizes) {
  absl::Status status = CheckReadings(field, sizes, received_);
  if (!status.ok()) received_.Clear();
  return status;
}

void ImuInbox::Keep(int64_t turn) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Add(turn, received_.gyroscope_time_ns, received_.angular_velocity, &gyroscope_);
  const bool has_times = !received_.accelerometer_time_ns.empty();
  Add(turn, has_times ? received_.accelerometer_time_ns : received_.gyroscope_time_ns, received_.acceleration,
      &accelerometer_);
}

void ImuInbox::Add(int64_t turn, const std::vector<int64_t>& times, const std::vector<double>& values, Sensor* sensor) {
  std::vector<Waiting>& waiting = sensor->waiting;
  const size_t count = values.size() / 3;
  if (waiting.size() + count > kCapacity) {
    const size_t excess = waiting.size() + count - kCapacity;
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(excess));
    lost_ += static_cast<int64_t>(excess);
  }
  for (size_t i = 0; i < count; ++i) {
    waiting.push_back({turn, {times[i], {values[3 * i], values[3 * i + 1], values[3 * i + 2]}}});
    sensor->newest_ns = std::max(sensor->newest_ns, times[i]);
  }
}

bool ImuInbox::Take(int64_t turn, slam::ImuReadings* readings, int64_t* lost) {
  const auto take = [turn](std::vector<Waiting>* waiting, std::vector<slam::ImuReading>* taken) {
    taken->clear();
    auto end = waiting->begin();
    for (; end != waiting->end() && end->turn <= turn && taken->size() < kMaxImuReadings; ++end) {
      taken->push_back(end->reading);
    }
    waiting->erase(waiting->begin(), end);
  };
  const std::lock_guard<std::mutex> lock(mutex_);
  take(&gyroscope_.waiting, &readings->gyroscope);
  take(&accelerometer_.waiting, &readings->accelerometer);
  *lost = std::exchange(lost_, 0);
  return !readings->gyroscope.empty() || !readings->accelerometer.empty() || *lost > 0;
}

int64_t ImuInbox::newest_ns() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::min(gyroscope_.newest_ns, accelerometer_.newest_ns);
}

// Those before have been taken.
int64_t ImuInbox::Sensor::TurnOf(int64_t time_ns) const {
  if (newest_ns < time_ns) return INT64_MAX;
  const auto found = std::find_if(waiting.begin(), waiting.end(),
                                  [time_ns](const Waiting& w) { return w.reading.time_ns >= time_ns; });
  return found == waiting.end() ? INT64_MIN : found->turn;
}

int64_t ImuInbox::TurnOf(int64_t time_ns) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::max(gyroscope_.TurnOf(time_ns), accelerometer_.TurnOf(time_ns));
}

}  // namespace glint
