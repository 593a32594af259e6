// What lanes took for past work.
#ifndef GLINT_SERVER_SCHEDULE_LANE_RATES_H_
#define GLINT_SERVER_SCHEDULE_LANE_RATES_H_

#include <algorithm>
#include <array>
#include <cstddef>

namespace glint {

// Recent time on lanes per pixel of nominal cost, for each kind of work. Thread-compatible, allocates nothing.
class LaneRates {
 public:
  // Kinds that are equal modulo this number share a rate.
  static constexpr size_t kKinds = 32;

  // Nanoseconds a pixel: exponential mean over jobs; 0: there was none.
  double of(size_t kind) const { return means_[kind % kKinds]; }
  // `ns_per_pixel` > 0. Counts as at most kMostGrowth times the mean: a lane that waited for a processor once says
  // little of what comes next.
  void Add(size_t kind, double ns_per_pixel) {
    constexpr double kMeanWeight = 8;  // of the old mean; a new value has weight 1
    constexpr double kMostGrowth = 4;
    double& mean = means_[kind % kKinds];
    mean = mean == 0 ? ns_per_pixel : mean + (std::min(ns_per_pixel, kMostGrowth * mean) - mean) / kMeanWeight;
  }

 private:
  std::array<double, kKinds> means_{};
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_LANE_RATES_H_
