// A lane on processors.
#ifndef GLINT_LANE_CPU_LANE_H_
#define GLINT_LANE_CPU_LANE_H_

#include <memory>

#include "lane/lane.h"

namespace glint {

// `threads`, 1..kMaxThreadsPerLane, share a frame, the caller's included.
std::unique_ptr<Lane> MakeCpuLane(int threads);

}  // namespace glint

#endif  // GLINT_LANE_CPU_LANE_H_
