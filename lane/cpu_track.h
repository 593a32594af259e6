// Tracking on the processor.
#ifndef GLINT_LANE_CPU_TRACK_H_
#define GLINT_LANE_CPU_TRACK_H_

#include <array>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cpu/track/tracker.h"
#include "lane/lane.h"

namespace glint {

// Implements Lane's functions of these names. Thread-compatible. Frames made by one object may be used by another.
class CpuTrack {
 public:
  // `threads` >= 1 share a call.
  explicit CpuTrack(int threads) : tracker_(threads) {}

  static std::unique_ptr<TrackFrames> MakeFrames(Shape shape, int levels, int count);
  static ImageView SetFrame(TrackFrames* frames, int number, const Pixels& image);
  // StartFollow() and FinishFollow() in one call.
  void Follow(TrackFrames* frames, int to, const TrackInput& points, absl::Span<const TrackSegment> segments,
              const TrackOptions& options, TrackResult* result);

 private:
  cpu::Tracker tracker_;
  TrackResult part_;  // of a segment
};

}  // namespace glint

#endif  // GLINT_LANE_CPU_TRACK_H_
