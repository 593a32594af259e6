#include "bench/track_frame_bench.h"

namespace glint::bench {

absl::StatusOr<std::vector<TrackFrameReport>> BenchTrackFrames(const TrackBenchOptions&, const Image&, const Image&,
                                                               int) {
  return absl::UnimplementedError("cameras: this glint-microbench was built without the service (GLINT_SERVICE=OFF)");
}

}  // namespace glint::bench
