// `glint-microbench stages`: each stage of the CPU backend on one image, one call a stage, beside OpenCV's.
#ifndef GLINT_BENCH_STAGE_BENCH_H_
#define GLINT_BENCH_STAGE_BENCH_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/rounds.h"
#include "bench/statistics.h"
#include "features/types.h"

namespace glint::bench {

struct StageBenchOptions {
  std::string picture;
  int fast_threshold = 20;
  int repeat = 100;
  Clock clock = Clock::kWall;
  bool opencv_peer = false;
};

struct StageReport {
  std::string stage;
  Summary us;
  size_t items = 0;  // corners or keypoints that the stage found or worked on; 0 for stages on pixels
  std::string peer;  // empty without one
  Summary peer_us;
  size_t peer_items = 0;
};

struct StagesReport {
  StageBenchOptions options;
  Shape shape;
  std::string device;
  double read_pass_us = 0;  // the floor, median
  std::vector<StageReport> stages;
};

// INVALID_ARGUMENT for a picture narrower than the stages take, otherwise as BenchDetector().
absl::StatusOr<StagesReport> BenchStages(const StageBenchOptions& options);

std::string ToJson(const StagesReport& report, const std::string& command);
std::string ToTable(const StagesReport& report);

}  // namespace glint::bench

#endif  // GLINT_BENCH_STAGE_BENCH_H_
