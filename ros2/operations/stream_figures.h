// What became of an operation's frames, for /diagnostics.
#ifndef GLINT_ROS2_OPERATIONS_STREAM_FIGURES_H_
#define GLINT_ROS2_OPERATIONS_STREAM_FIGURES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "ros/messages.h"

namespace glint::ros2 {

void AddFigure(absl::string_view key, std::string value, ros::DiagnosticStatus* status);

// The last 256 of some times. Thread-compatible; its memory is its own.
class RecentTimes {
 public:
  void Add(int64_t nanoseconds) { values_[count_++ % values_.size()] = nanoseconds; }
  bool empty() const { return count_ == 0; }
  // Milliseconds; of an even number the upper one in the middle. 0 if there are none.
  double Median() const;
  double Largest() const;

 private:
  std::array<int64_t, 256> values_ = {};
  size_t count_ = 0;  // since the beginning
};

// Thread-compatible.
struct StreamFigures {
  // Since the beginning. Each frame that came is one of the others in the end.
  int64_t frames = 0;             // that came
  int64_t answered = 0;           // well
  int64_t dropped = 0;            // here: others came that were newer, or their server is gone
  int64_t dropped_by_server = 0;  // as the stream's options ask for
  int64_t failed = 0;             // refused by the server, each for itself
  int64_t unanswered = 0;         // when their stream ended
  int64_t streams = 0;            // opened
  RecentTimes latency;            // from a frame's last picture until its messages were published
  RecentTimes bridge;             // of this, until it was written and from its answer on
  RecentTimes server;             // of this, in the server

  // Adds rates since the last call, counts and times.
  void Describe(absl::Time now, ros::DiagnosticStatus* status);
  // Frames per second, in and answered, of the last Describe(); 0 before the second.
  double rate_in = 0, rate_answered = 0;

 private:
  absl::Time described_ = absl::InfinitePast();
  int64_t described_frames_ = 0, described_answered_ = 0;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_STREAM_FIGURES_H_
