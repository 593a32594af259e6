// `glint-microbench lanes`: frames a second against the number of lanes that work at the same time.
#ifndef GLINT_BENCH_LANES_BENCH_H_
#define GLINT_BENCH_LANES_BENCH_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/subject.h"
#include "features/options.h"
#include "features/types.h"

namespace glint::bench {

struct LanesBenchOptions {
  std::string picture;
  std::string preset;
  DetectorOptions detector;
  SubjectOptions subject;  // device_resident must be false: lanes run host to host
  std::vector<int> lane_counts = {1, 2, 4, 8};
  int repeat = 100;  // frames for each lane
};

struct LanesRow {
  int lanes = 0;
  double frames_per_second = 0;  // of all lanes together
};

struct LanesReport {
  LanesBenchOptions options;
  Shape shape;
  std::string device;
  std::vector<LanesRow> rows;
  // Upper bound: the frames per second of one pinned upload after another (CUDA), or of reading the pixels once (CPU).
  double floor_frames_per_second = 0;
  std::string floor;
};

absl::StatusOr<LanesReport> BenchLanes(const LanesBenchOptions& options);

std::string ToJson(const LanesReport& report, const std::string& command);
std::string ToTable(const LanesReport& report);

}  // namespace glint::bench

#endif  // GLINT_BENCH_LANES_BENCH_H_
