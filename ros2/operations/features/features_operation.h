// What the operations "detect", "stereo" and "track" have in common.
#ifndef GLINT_ROS2_OPERATIONS_FEATURES_FEATURES_OPERATION_H_
#define GLINT_ROS2_OPERATIONS_FEATURES_FEATURES_OPERATION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "features/operation_defaults.h"
#include "features/options.h"
#include "features/warning.h"
#include "ros2/operations/stream_operation.h"
#include "ros2/operations/topic.h"

namespace glint::ros2 {

// Frames that are with the server: one that it works on, and one that is on the way to it.
inline constexpr int kInFlight = 2;
// A server that answers nothing for so long is given up.
inline constexpr absl::Duration kAnswerPatience = absl::Seconds(10);

// INVALID_ARGUMENT names the key: "stereo.detector: ...".
absl::StatusOr<DetectorOptions> DetectorOf(const std::string& operation, const FeaturesConfig& config,
                                           const DetectorDefaults& defaults);

// A topic of messages whose `data` are bytes that they only point to.
template <class T>
struct BytesTopic {
  Topic<T> topic;
  std::vector<uint8_t> bytes;

  // Publishes what `fill(&bytes, &message)` makes, if it is wanted.
  template <class Fill>
  void Publish(Fill fill) {
    if (!topic.wanted()) return;
    fill(&bytes, &topic.message);
    topic.Publish();
  }
};

class FeaturesOperation : public StreamOperation {
 protected:
  // Frames that wait beside those in flight: two that come at once.
  FeaturesOperation(const Context& context, std::string name, bool needs_cameras)
      : StreamOperation(context, std::move(name), 2, needs_cameras) {}

  // What an answer had, for Diagnose().
  void Note(size_t found, const std::vector<Warning>& warnings) ABSL_LOCKS_EXCLUDED(notes_);
  FrameNames NamesOf(const Frame& frame) const { return FrameNamesOf(*context().config, frame); }

 private:
  void AddFigures(ros::DiagnosticStatus* status) override ABSL_LOCKS_EXCLUDED(notes_);

  absl::Mutex notes_;
  size_t found_ ABSL_GUARDED_BY(notes_) = 0;
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(notes_);  // of the last answer
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_OPERATIONS_FEATURES_FEATURES_OPERATION_H_
