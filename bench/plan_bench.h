// `glint-microbench plan`: the launches of a frame on the CUDA backend, without a device.
#ifndef GLINT_BENCH_PLAN_BENCH_H_
#define GLINT_BENCH_PLAN_BENCH_H_

#include <string>

#include "absl/status/statusor.h"
#include "cuda/benchmark/plan_report.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::bench {

// Default: multiprocessors of an H100 and an H200.
inline constexpr int kDefaultMultiprocessors = 132;
inline constexpr int kMaxMultiprocessors = 1024;

struct PlanBenchOptions {
  std::string preset;
  DetectorOptions detector;
  std::string size;         // WIDTHxHEIGHT, pixels
  int multiprocessors = 0;  // 0: kDefaultMultiprocessors
};

struct PlanBenchReport {
  PlanBenchOptions options;
  Shape shape;
  cuda::PlanReport plan;
};

// INVALID_ARGUMENT for a size that does not parse, for options and numbers out of range; FAILED_PRECONDITION without
// CUDA.
absl::StatusOr<PlanBenchReport> BenchPlan(const PlanBenchOptions& options);

std::string ToJson(const PlanBenchReport& report, const std::string& command);
std::string ToTable(const PlanBenchReport& report);

}  // namespace glint::bench

#endif  // GLINT_BENCH_PLAN_BENCH_H_
