// What a frame's plan is, as text and numbers: levels, launches, memory. Needs no device.
#ifndef GLINT_CUDA_BENCHMARK_PLAN_REPORT_H_
#define GLINT_CUDA_BENCHMARK_PLAN_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::cuda {

struct PlannedLevel {
  int width = 0, height = 0;  // 0: vanished
  int pitch = 0;              // bytes
  int keypoints = 0;          // its share; 0 where levels have none
};

struct PlannedLaunch {
  std::string stage, kernel;
  std::string variant;  // empty where the kernel has one
  int grid[3] = {}, block[3] = {};
  int shared_bytes = 0;  // dynamic
  bool overlaps_predecessor = false;
};

struct PlanReport {
  int multiprocessors = 0;
  int parts = 1;  // in which an image comes to an idle device
  std::vector<PlannedLevel> levels;
  std::vector<PlannedLaunch> launches;  // of a frame whose image comes whole, in order
  // Of a frame whose image comes in parts, part after part; empty where none does.
  std::vector<std::vector<PlannedLaunch>> part_launches;
  // Device memory: images and lists; tables; what is kept from frame to frame. Host memory: the result.
  int64_t scratch_bytes = 0, table_bytes = 0, state_bytes = 0, result_bytes = 0;
};

// The plan of frames of `shape`, without a mask, on `multiprocessors`. Arguments must be valid (ValidateOptions,
// ValidateShape; multiprocessors >= 1). FAILED_PRECONDITION: built without CUDA.
absl::StatusOr<PlanReport> ReportPlan(const DetectorOptions& options, Shape shape, int multiprocessors);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_BENCHMARK_PLAN_REPORT_H_
