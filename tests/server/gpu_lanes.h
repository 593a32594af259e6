// Lanes on a GPU for a test, or the reason why it skips.
#ifndef GLINT_TESTS_SERVER_GPU_LANES_H_
#define GLINT_TESTS_SERVER_GPU_LANES_H_

#include <iostream>
#include <string>

#include "absl/status/statusor.h"
#include "lane/lane.h"

namespace glint::testing {

// For ctest, which shows the reason and counts the program as skipped.
inline void TellSkipped(const std::string& why) { std::cout << "GLINT_SKIP_ALL: " << why << std::endl; }

// One lane; without a usable GPU an error, which has been told.
inline absl::StatusOr<LaneSet> OneGpuLane() {
  LaneOptions options;
  options.backend = Backend::kCuda;
  options.lanes = 1;
  auto set = CreateLanes(options);
  if (!set.ok()) TellSkipped(std::string(set.status().message()));
  return set;
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_GPU_LANES_H_
