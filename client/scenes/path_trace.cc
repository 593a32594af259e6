#include "client/scenes/path_trace.h"

#include <algorithm>

namespace glint::client {

PlaceFromAbove FromAbove(const Location& found) {
  const auto& p = found.pose.position;
  if (found.level) return {-p[1], p[0], true};
  return {p[0], p[2], false};
}

void PathTrace::Add(const Location& found) {
  const PlaceFromAbove at = FromAbove(found);
  if (std::exchange(level_, at.level) != at.level) steps_.clear();
  view::Step step;
  step.x = static_cast<float>(at.right);
  step.z = static_cast<float>(at.ahead);
  step.keyframe = found.is_keyframe;
  step.pose = {found.pose.rotation, found.pose.position};
  step.state = IsLocated(found.status)                     ? view::Step::kLocated
               : found.status == LocationStatus::kCoasting ? view::Step::kUncertain
                                                           : view::Step::kLost;
  steps_.push_back(step);
  if (steps_.size() < kMaxSteps) return;
  for (size_t i = 0; i < kMaxSteps / 2; ++i) {
    view::Step kept = steps_[2 * i + 1];
    kept.keyframe |= steps_[2 * i].keyframe;
    kept.state = std::max(kept.state, steps_[2 * i].state);
    steps_[i] = kept;
  }
  steps_.resize(kMaxSteps / 2);
}

Stages StagesOf(const Timings& timings, absl::Duration round_trip, const Stages& own) {
  const Timings& t = timings;
  Stages stages = {{"receive", t.receive_ns},
                   {"queue", t.queue_ns},
                   {"decode", t.decode_ns},
                   {"upload", t.upload_ns},
                   {"detect", t.detect_ns}};
  stages.insert(stages.end(), own.begin(), own.end());
  stages.emplace_back("download", t.download_ns);
  stages.emplace_back("serialize", t.serialize_ns);
  stages.emplace_back("order", t.order_ns);
  stages.emplace_back("network", std::max<int64_t>(0, absl::ToInt64Nanoseconds(round_trip) - t.total_ns));
  return stages;
}

}  // namespace glint::client
