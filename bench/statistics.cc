#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace glint::bench {
namespace {

double SortedQuantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(std::floor(at));
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

double Quantile(std::vector<double> samples, double q) {
  std::sort(samples.begin(), samples.end());
  return SortedQuantile(samples, q);
}

Summary Summarize(const std::vector<double>& samples) {
  if (samples.empty()) return {};
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  return {SortedQuantile(sorted, 0.5), SortedQuantile(sorted, 0.1), SortedQuantile(sorted, 0.9), sorted.front()};
}

}  // namespace glint::bench
