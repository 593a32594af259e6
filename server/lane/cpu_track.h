// Tracking on the processor.
#ifndef GLINT_SERVER_LANE_CPU_TRACK_H_
#define GLINT_SERVER_LANE_CPU_TRACK_H_

#include <array>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cpu/track/tracker.h"
#include "server/lane/lane.h"

namespace glint {

// Thread-compatible. Frames that one made may be used by another. As Lane's functions of these names.
class CpuTrack {
 public:
  // `threads` >= 1 share a call.
  explicit CpuTrack(int threads) : tracker_(threads) {}

  static std::unique_ptr<TrackFrames> MakeFrames(Shape shape, int levels);
  static ImageView SetNext(TrackFrames* frames, const Pixels& image);
  void Track(TrackFrames* frames, const TrackInput& points, const TrackOptions& options, TrackResult* result);

 private:
  cpu::Tracker tracker_;
};

}  // namespace glint

#endif  // GLINT_SERVER_LANE_CPU_TRACK_H_
