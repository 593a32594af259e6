#include "ros2/operations/stream_figures.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace glint::ros2 {

void AddFigure(absl::string_view key, std::string value, ros::DiagnosticStatus* status) {
  ros::KeyValue& added = status->values.emplace_back();
  added.key = std::string(key);
  added.value = std::move(value);
}

double RecentTimes::Median() const {
  const size_t count = std::min(count_, values_.size());
  if (count == 0) return 0;
  std::array<int64_t, 256> sorted = values_;
  const auto middle = sorted.begin() + count / 2;
  std::nth_element(sorted.begin(), middle, sorted.begin() + count);
  return 1e-6 * static_cast<double>(*middle);
}

double RecentTimes::Largest() const {
  const size_t count = std::min(count_, values_.size());
  return count == 0 ? 0 : 1e-6 * static_cast<double>(*std::max_element(values_.begin(), values_.begin() + count));
}

void StreamFigures::Describe(absl::Time now, ros::DiagnosticStatus* status) {
  if (described_ != absl::InfinitePast() && now > described_) {
    const double seconds = absl::ToDoubleSeconds(now - described_);
    rate_in = static_cast<double>(frames - described_frames_) / seconds;
    rate_answered = static_cast<double>(answered - described_answered_) / seconds;
  }
  described_ = now;
  described_frames_ = frames;
  described_answered_ = answered;

  AddFigure("frames", absl::StrCat(frames), status);
  AddFigure("answered", absl::StrCat(answered), status);
  AddFigure("dropped", absl::StrCat(dropped), status);
  AddFigure("dropped by server", absl::StrCat(dropped_by_server), status);
  AddFigure("failed", absl::StrCat(failed), status);
  AddFigure("unanswered", absl::StrCat(unanswered), status);
  AddFigure("reconnects", absl::StrCat(std::max<int64_t>(0, streams - 1)), status);
  AddFigure("frames/s", absl::StrFormat("%.1f", rate_in), status);
  AddFigure("answered/s", absl::StrFormat("%.1f", rate_answered), status);
  const auto add_times = [status](absl::string_view name, const RecentTimes& times) {
    if (times.empty()) return;
    AddFigure(absl::StrCat(name, " p50"), absl::StrFormat("%.3f", times.Median()), status);
    AddFigure(absl::StrCat(name, " max"), absl::StrFormat("%.3f", times.Largest()), status);
  };
  add_times("latency_ms", latency);
  add_times("bridge_ms", bridge);
  add_times("server_ms", server);
}

}  // namespace glint::ros2
