// Whole frames of tracked points, from pixels in the host's memory to tracks there: what a lane does for a frame of a
// TrackStream, without the network. Built with the service only.
#ifndef GLINT_BENCH_TRACK_FRAME_BENCH_H_
#define GLINT_BENCH_TRACK_FRAME_BENCH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "bench/track_bench.h"
#include "features/types.h"

namespace glint::bench {

// Frames alternate between two pictures. For each number of cameras, interleaved: points are followed alone; and they
// are followed and sought in empty cells, as a tenth of the tracks is forgotten between frames (not timed). One lane.
// UNIMPLEMENTED: built without the service.
absl::StatusOr<std::vector<TrackFrameReport>> BenchTrackFrames(const TrackBenchOptions& options, const Image& from,
                                                               const Image& to, int points);

}  // namespace glint::bench

#endif  // GLINT_BENCH_TRACK_FRAME_BENCH_H_
