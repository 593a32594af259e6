// A histogram of durations.
#ifndef GLINT_CLIENT_LOAD_LATENCIES_H_
#define GLINT_CLIENT_LOAD_LATENCIES_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace glint::load {

// Counts of durations in buckets that are never wider than 1/128 of the value, from 1 ns to centuries, in 57 KiB
// whatever the number of values. Allocates when it is made, and not after. Thread-compatible.
class Latencies {
 public:
  Latencies();

  void Add(int64_t nanoseconds);  // below 0: counted as 0
  void Merge(const Latencies& other);

  // The lower end of the bucket below which, itself included, at least `share` (0..1) of all values lie: the value to
  // 1/128. 0 without values.
  int64_t Percentile(double share) const;
  int64_t count() const { return count_; }
  int64_t min() const { return count_ > 0 ? min_ : 0; }
  int64_t max() const { return max_; }
  double mean() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0; }

  // Lower end and count of every bucket that has a value, smallest first.
  std::vector<std::pair<int64_t, int64_t>> Buckets() const;

 private:
  std::vector<int64_t> buckets_;
  int64_t count_ = 0;
  int64_t min_ = 0;
  int64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace glint::load

#endif  // GLINT_CLIENT_LOAD_LATENCIES_H_
