// `glint-microbench track`: tracking points between two pictures on the CPU, beside OpenCV's; or on the GPU, with
// pyramids that are there.
#ifndef GLINT_BENCH_TRACK_BENCH_H_
#define GLINT_BENCH_TRACK_BENCH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/rounds.h"
#include "bench/statistics.h"
#include "features/tracker.h"

namespace glint::bench {

struct TrackBenchOptions {
  std::string picture;              // as LoadPicture takes it
  std::string to;                   // likewise; empty: `picture` moved by 5 and 3 pixels
  std::vector<int> points = {100};  // one measurement each: the strongest FAST corners of `picture`
  std::vector<int> cameras;         // whole frames of so many cameras, 1..8, too; empty: none
  TrackOptions track;
  bool cuda = false;
  // CUDA: frames of `cameras` lie in ordinary memory, as those of messages; else pinned, as those of shared memory.
  bool pageable = false;
  int device = 0;    // CUDA: ordinal
  int sm_limit = 0;  // CUDA: as cuda::TrackerOptions
  int threads = 1;
  int repeat = 100;
  Clock clock = Clock::kWall;
  bool opencv_peer = false;
};

// Whole frames, host to host.
struct TrackFrameReport {
  int cameras = 0;
  bool detects = false;  // in each frame
  int tracks = 0;        // that live after the last frame, of all cameras
  Summary us;
};

struct TrackReport {
  int points = 0;
  int tracked = 0;
  double iterations = 0;  // mean of a point
  Summary call_us;        // both pyramids and the tracking; CUDA: all 0
  Summary kept_us;  // tracking alone, with pyramids that are there; CUDA: on the device, of kTrackLaunches in a row
  int peer_tracked = 0;  // all 0 without a peer
  Summary peer_call_us;
  Summary peer_kept_us;
  std::vector<TrackFrameReport> frames;
};

struct TracksReport {
  TrackBenchOptions options;
  std::string device;
  std::string peer;  // empty without one
  std::vector<TrackReport> points;
};

inline constexpr int kTrackLaunches = 20;

// INVALID_ARGUMENT for options out of range, pictures of two sizes, or a peer of CUDA; FAILED_PRECONDITION for a peer
// or a device that is not there; errors of LoadPicture.
absl::StatusOr<TracksReport> BenchTrack(const TrackBenchOptions& options);

std::string ToJson(const TracksReport& report, const std::string& command);
std::string ToTable(const TracksReport& report);

}  // namespace glint::bench

#endif  // GLINT_BENCH_TRACK_BENCH_H_
