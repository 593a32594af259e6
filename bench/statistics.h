// Statistics of a series of measurements. Thread-safe.
#ifndef GLINT_BENCH_STATISTICS_H_
#define GLINT_BENCH_STATISTICS_H_

#include <vector>

namespace glint::bench {

// The value below which a fraction q of the sorted samples lies: linear between the two nearest, so that 0 is the
// smallest, 0.5 the median and 1 the largest. q in 0..1; `samples` must not be empty and need not be sorted.
double Quantile(std::vector<double> samples, double q);

// Any unit. All 0 without samples.
struct Summary {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  double min = 0;
};
Summary Summarize(const std::vector<double>& samples);

}  // namespace glint::bench

#endif  // GLINT_BENCH_STATISTICS_H_
