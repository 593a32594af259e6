// The readings of a stream, put in order and judged.
#ifndef GLINT_SLAM_INERTIAL_IMU_BUFFER_H_
#define GLINT_SLAM_INERTIAL_IMU_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "features/location_report.h"
#include "slam/inertial/imu.h"

namespace glint::slam {

// Keeps the newest kCapacity readings of each sensor (allocated as they come). Times are of the images' clock; one that
// is out of the numbers' range is its end. A plain value: thread-compatible.
class ImuBuffer {
 public:
  static constexpr size_t kCapacity = 16384;
  static constexpr int64_t kSpanNs = 20'000'000'000;

  explicit ImuBuffer(const ImuModel& model) : model_(model) {}

  // Takes readings in any order; their values must be finite. What is kept depends on the set of readings, not on the
  // batches or the order that they came in, but for late ones. So do the counts, but for `unsorted`, and for `missing`,
  // which takes the usual step as it is then; what fills a gap later is taken from it. Readings in order cost O(1)
  // each, others O(n) a batch, n being those that are newer.
  void Add(const ImuReadings& readings);

  // Samples from `from_ns` to `to_ns` in order, the first and the last exactly at these times: one at each reading of
  // the gyroscope between them, accelerations and both ends interpolated. Readings may be extrapolated (held) by at
  // most 2.5 usual steps, and kLongestGapNs, at the ends; beyond that, where there is a gap of over kLongestGapNs
  // inside, and unless from_ns < to_ns: false, and `samples` is empty. Of the readings from `to_ns` on only the first
  // of each sensor matters.
  static constexpr int64_t kLongestGapNs = 100'000'000;
  bool Between(int64_t from_ns, int64_t to_ns, std::vector<ImuSample>* samples) const;
  // Whether Between() gives samples.
  bool Covers(int64_t from_ns, int64_t to_ns) const;

  // Forgets readings that no call for times from `time_ns` on needs. Those that come later and are older are late.
  void DropBefore(int64_t time_ns);
  // Up to when there are readings of both sensors, or INT64_MIN.
  int64_t newest_ns() const;
  // The usual step between readings of a sensor: the median of the newest 64, at most kSpanNs; 0: not known.
  int64_t gyroscope_step_ns() const;
  int64_t accelerometer_step_ns() const;
  // Where a rule speaks of readings before, it is by their times.
  const ImuReceived& counts() const { return counts_; }
  size_t MemoryBytes() const;

 private:
  struct Channel {
    struct Tally {
      int64_t missing = 0, frozen = 0;
    };
    size_t FirstFrom(int64_t time_ns) const;                 // the index of the first reading that is not earlier
    int64_t UsualStep(size_t end, size_t fewest = 3) const;  // of the readings up to there, by as many steps at least
    Tally TallyBetween(size_t first, size_t end, int64_t step) const;
    void Drop(size_t count);
    // The readings that tell values from `from_ns` to `to_ns`: at least one; those at the ends are held beyond.
    bool Cover(int64_t from_ns, int64_t to_ns, size_t* first, size_t* end) const;

    std::vector<ImuReading> readings;  // by time, of the images' clock, from `begin` on
    size_t begin = 0;
    int64_t dropped_before = INT64_MIN;
  };
  void AddTo(Channel* channel, const std::vector<ImuReading>& readings, double range);

  ImuModel model_;
  Channel gyroscope_, accelerometer_;
  ImuReceived counts_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_INERTIAL_IMU_BUFFER_H_
