// Stereo pairs on the processor: one eye after the other, with the pyramids that the detector has made.
//
// Thread-compatible. Memory grows to the largest pair seen and is then reused.
#ifndef GLINT_SERVER_LANE_CPU_STEREO_H_
#define GLINT_SERVER_LANE_CPU_STEREO_H_

#include <array>

#include "absl/status/status.h"
#include "cpu/pipeline.h"
#include "cpu/stereo/stereo_matcher.h"
#include "server/lane/lane.h"

namespace glint {

class CpuStereo {
 public:
  // `threads` >= 1 share a pair. `pipeline` must outlive this; its threads are its own.
  CpuStereo(cpu::Pipeline* pipeline, int threads) : pipeline_(pipeline), matcher_(threads) {}

  // As Lane::RunStereo().
  absl::Status Run(const DetectorOptions& options, const StereoOptions& stereo, const Pixels& left, const Pixels& right,
                   StereoFound* found, StageTimes* times);

 private:
  cpu::Pipeline* const pipeline_;
  cpu::StereoMatcher matcher_;
  Image left_, right_;                   // for pixels that do not lie side by side
  std::array<Image, kMaxLevels> above_;  // the left pyramid but for level 0, while the pipeline has the right one
};

}  // namespace glint

#endif  // GLINT_SERVER_LANE_CPU_STEREO_H_
