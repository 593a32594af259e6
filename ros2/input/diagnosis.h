// What Input::Diagnose() says.
#ifndef GLINT_ROS2_INPUT_DIAGNOSIS_H_
#define GLINT_ROS2_INPUT_DIAGNOSIS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ros/messages.h"
#include "ros2/dds/participant.h"
#include "ros2/input/pairs.h"
#include "ros2/input/topic_watch.h"

namespace glint::ros2 {

// A status whose level is that of the worst that was said, and whose message is the first of that.
class Diagnosis {
 public:
  explicit Diagnosis(std::string name);

  void Warn(absl::string_view what) { Say(ros::DiagnosticStatus::kWarn, what); }
  void Fail(absl::string_view what) { Say(ros::DiagnosticStatus::kError, what); }
  void Add(absl::string_view key, const absl::AlphaNum& value);

  // Of a topic, at `now_ns` since the epoch. `needed`: without a publisher, with several, or with nothing new for long,
  // it is worth a warning.
  void AddTopic(const std::string& topic, bool needed, const TopicFigures& figures, const SubscriptionCounts& counts,
                int64_t now_ns);
  // Of both sides, by what they are: "left", "right". `before`: the counts of the last time; images that come on both
  // sides and make no pair, and a clock that was set back since, are worth a warning.
  void AddPairs(const PairCounts& counts, const PairCounts& before, absl::string_view first, absl::string_view second);

  // "images come" if nothing was said.
  ros::DiagnosticStatus Take();

 private:
  void Say(std::byte level, absl::string_view what);

  ros::DiagnosticStatus status_;
};

}  // namespace glint::ros2

#endif  // GLINT_ROS2_INPUT_DIAGNOSIS_H_
