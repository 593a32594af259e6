#include "slam/inertial/imu_buffer.h"

#include <algorithm>
#include <array>
#include <limits>

namespace glint::slam {
namespace {

constexpr size_t kSteps = 64;  // newest ones, whose median is the usual step
constexpr size_t kFrozen = 4;  // readings before that are the same

// Saturates.
int64_t Difference(int64_t to, int64_t from) {
  int64_t result = 0;
  if (!__builtin_sub_overflow(to, from, &result)) return result;
  return to > from ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

bool IsEarlier(const ImuReading& reading, int64_t time_ns) { return reading.time_ns < time_ns; }

// A total order, so that which of two readings of one time is the first does not depend on which one came first.
bool IsBefore(const ImuReading& a, const ImuReading& b) {
  if (a.time_ns != b.time_ns) return a.time_ns < b.time_ns;
  return std::lexicographical_compare(a.value.data(), a.value.data() + 3, b.value.data(), b.value.data() + 3);
}

bool HasSameTime(const ImuReading& a, const ImuReading& b) { return a.time_ns == b.time_ns; }

}  // namespace

size_t ImuBuffer::Channel::FirstFrom(int64_t time_ns) const {
  const auto from = readings.begin() + static_cast<ptrdiff_t>(begin);
  return static_cast<size_t>(std::lower_bound(from, readings.end(), time_ns, IsEarlier) - readings.begin());
}

int64_t ImuBuffer::Channel::UsualStep(size_t end, size_t fewest) const {
  if (end < begin + fewest + 1) return 0;
  std::array<int64_t, kSteps> steps;
  const size_t count = std::min(kSteps, end - begin - 1);
  for (size_t i = 0; i < count; ++i) {
    steps[i] = Difference(readings[end - 1 - i].time_ns, readings[end - 2 - i].time_ns);
  }
  const auto middle = steps.begin() + static_cast<ptrdiff_t>(count / 2);
  std::nth_element(steps.begin(), middle, steps.begin() + static_cast<ptrdiff_t>(count));
  return std::min(*middle, kSpanNs);
}

ImuBuffer::Channel::Tally ImuBuffer::Channel::TallyBetween(size_t first, size_t end, int64_t step) const {
  Tally tally;
  for (size_t i = std::max(first, begin + 1); i < end; ++i) {
    const int64_t gap = std::min(Difference(readings[i].time_ns, readings[i - 1].time_ns), kSpanNs);
    if (step > 0 && 2 * gap > 5 * step) tally.missing += (gap + step / 2) / step - 1;
    size_t same = 0;
    while (same < kFrozen && i - same > begin && readings[i - same - 1].value == readings[i].value) ++same;
    tally.frozen += same == kFrozen ? 1 : 0;
  }
  return tally;
}

void ImuBuffer::Channel::Drop(size_t count) {
  begin += count;
  if (2 * begin < readings.size()) return;
  readings.erase(readings.begin(), readings.begin() + static_cast<ptrdiff_t>(begin));
  begin = 0;
}

bool ImuBuffer::Channel::Cover(int64_t from_ns, int64_t to_ns, size_t* first, size_t* end) const {
  size_t inside = FirstFrom(from_ns), beyond = FirstFrom(to_ns);
  const bool has_before = inside > begin, has_after = beyond < readings.size();
  // One step tells it, if there are no more: what came beyond must not matter.
  const int64_t step = std::min(UsualStep(beyond + (has_after ? 1 : 0), /*fewest=*/1), kLongestGapNs);
  const int64_t hold = std::min(5 * step / 2, kLongestGapNs);
  const auto gap = [this](size_t i) { return Difference(readings[i].time_ns, readings[i - 1].time_ns); };
  *first = inside;
  *end = beyond;
  if (inside == beyond) {
    // None inside: between two of one neighbourhood, or after the last one.
    if (has_before && has_after && gap(inside) <= kLongestGapNs) {
      --*first;
      ++*end;
    } else if (has_before && Difference(to_ns, readings[inside - 1].time_ns) <= hold) {
      --*first;
    } else if (has_after && Difference(readings[beyond].time_ns, from_ns) <= hold) {
      ++*end;
    } else {
      return false;
    }
    return true;
  }
  for (size_t i = inside + 1; i < beyond; ++i) {
    if (gap(i) > kLongestGapNs) return false;
  }
  if (has_before && gap(inside) <= kLongestGapNs) {
    --*first;
  } else if (Difference(readings[inside].time_ns, from_ns) > hold) {
    return false;
  }
  if (has_after && gap(beyond) <= kLongestGapNs) {
    ++*end;
  } else if (Difference(to_ns, readings[beyond - 1].time_ns) > hold) {
    return false;
  }
  return true;
}

void ImuBuffer::Add(const ImuReadings& readings) {
  AddTo(&gyroscope_, readings.gyroscope, model_.gyroscope_range);
  AddTo(&accelerometer_, readings.accelerometer, model_.accelerometer_range);
}

void ImuBuffer::AddTo(Channel* channel, const std::vector<ImuReading>& readings, double range) {
  std::vector<ImuReading>& kept = channel->readings;
  const size_t old_size = kept.size();
  const int64_t old_step = channel->UsualStep(old_size);
  int64_t earliest = std::numeric_limits<int64_t>::max(), newest = old_size > channel->begin ? kept.back().time_ns : 0;
  int64_t ahead = 0;
  counts_.received += static_cast<int64_t>(readings.size());
  for (const ImuReading& reading : readings) {
    const int64_t time = Difference(reading.time_ns, model_.imu_time_minus_camera_time_ns);
    if (time < channel->dropped_before) {
      ++counts_.late;
      continue;
    }
    if (range > 0 && reading.value.cwiseAbs().maxCoeff() >= range) ++counts_.saturated;
    if (kept.size() == channel->begin || time > newest) {
      newest = time;
      ++ahead;
    }
    earliest = std::min(earliest, time);
    kept.push_back({time, reading.value + Eigen::Vector3d::Zero()});  // -0 becomes 0: equal values are the same
  }
  const auto added = static_cast<int64_t>(kept.size() - old_size);
  if (added == 0) return;

  // Counts of what is in order are differences: behind the first place that changes, they are made again.
  size_t first = old_size;
  Channel::Tally before;
  if (ahead < added) {
    first = static_cast<size_t>(std::lower_bound(kept.begin() + static_cast<ptrdiff_t>(channel->begin),
                                                 kept.begin() + static_cast<ptrdiff_t>(old_size), earliest, IsEarlier) -
                                kept.begin());
    const auto from = kept.begin() + static_cast<ptrdiff_t>(first);
    const auto middle = kept.begin() + static_cast<ptrdiff_t>(old_size);
    before = channel->TallyBetween(first, old_size, old_step);
    std::sort(middle, kept.end(), IsBefore);
    std::inplace_merge(from, middle, kept.end(), IsBefore);
    kept.erase(std::unique(from, kept.end(), HasSameTime), kept.end());
  }
  const auto duplicates = added - static_cast<int64_t>(kept.size() - old_size);
  counts_.duplicate += duplicates;
  counts_.unsorted += added - ahead - duplicates;
  const Channel::Tally after =
      channel->TallyBetween(first, kept.size(), old_step > 0 ? old_step : channel->UsualStep(kept.size()));
  counts_.missing = std::max(int64_t{0}, counts_.missing + after.missing - before.missing);
  counts_.frozen += after.frozen - before.frozen;

  if (const size_t count = kept.size() - channel->begin; count > kCapacity) {
    channel->Drop(count - kCapacity);
    counts_.dropped += static_cast<int64_t>(count - kCapacity);
    channel->dropped_before = std::max(channel->dropped_before, kept[channel->begin].time_ns);
  }
}

bool ImuBuffer::Covers(int64_t from_ns, int64_t to_ns) const {
  size_t first = 0, end = 0;
  return from_ns < to_ns && gyroscope_.Cover(from_ns, to_ns, &first, &end) &&
         accelerometer_.Cover(from_ns, to_ns, &first, &end);
}

bool ImuBuffer::Between(int64_t from_ns, int64_t to_ns, std::vector<ImuSample>* samples) const {
  samples->clear();
  size_t first = 0, end = 0, at = 0, accelerometer_end = 0;
  if (from_ns >= to_ns || !gyroscope_.Cover(from_ns, to_ns, &first, &end) ||
      !accelerometer_.Cover(from_ns, to_ns, &at, &accelerometer_end)) {
    return false;
  }
  // `i` goes on to the last reading up to the time, in [i, end).
  const auto value_at = [](const std::vector<ImuReading>& readings, size_t end, int64_t time_ns,
                           size_t* i) -> Eigen::Vector3d {
    while (*i + 1 < end && readings[*i + 1].time_ns <= time_ns) ++*i;
    const ImuReading& a = readings[*i];
    if (*i + 1 == end || time_ns <= a.time_ns) return a.value;
    const ImuReading& b = readings[*i + 1];
    const double part = static_cast<double>(time_ns - a.time_ns) / static_cast<double>(b.time_ns - a.time_ns);
    return a.value + part * (b.value - a.value);
  };
  const auto add = [&](int64_t time_ns) {
    samples->push_back({time_ns, value_at(gyroscope_.readings, end, time_ns, &first),
                        value_at(accelerometer_.readings, accelerometer_end, time_ns, &at)});
  };
  add(from_ns);
  for (size_t i = first; i < end; ++i) {
    const int64_t time = gyroscope_.readings[i].time_ns;
    if (time > from_ns && time < to_ns) add(time);
  }
  add(to_ns);
  return true;
}

void ImuBuffer::DropBefore(int64_t time_ns) {
  for (Channel* channel : {&gyroscope_, &accelerometer_}) {
    channel->dropped_before = std::max(channel->dropped_before, time_ns);
    const size_t older = channel->FirstFrom(time_ns) - channel->begin;
    if (older > kSteps + 1) channel->Drop(older - kSteps - 1);  // what tells the usual step stays
  }
}

int64_t ImuBuffer::newest_ns() const {
  int64_t newest = std::numeric_limits<int64_t>::max();
  for (const Channel* channel : {&gyroscope_, &accelerometer_}) {
    newest = std::min(newest, channel->begin < channel->readings.size() ? channel->readings.back().time_ns
                                                                        : std::numeric_limits<int64_t>::min());
  }
  return newest;
}

int64_t ImuBuffer::gyroscope_step_ns() const { return gyroscope_.UsualStep(gyroscope_.readings.size()); }
int64_t ImuBuffer::accelerometer_step_ns() const { return accelerometer_.UsualStep(accelerometer_.readings.size()); }

size_t ImuBuffer::MemoryBytes() const {
  return (gyroscope_.readings.capacity() + accelerometer_.readings.capacity()) * sizeof(ImuReading);
}

}  // namespace glint::slam
