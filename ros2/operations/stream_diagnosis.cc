// StreamOperation's part of /diagnostics.
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "features/steady_time.h"
#include "ros2/operations/stream_operation.h"

namespace glint::ros2 {

void StreamOperation::Summarise(ros::DiagnosticStatus* status) {
  const auto say = [status](std::byte level, std::string text) {
    status->level = level;
    status->message = std::move(text);
  };
  const int64_t frames = figures_.frames - diagnosed_frames_;
  const int64_t dropped = figures_.dropped + figures_.dropped_by_server - diagnosed_dropped_;
  const int64_t failed = figures_.failed - diagnosed_failed_;
  using Level = ros::DiagnosticStatus;
  if (!error_.ok()) {
    say(Level::kError, absl::StrCat(refused_ ? "the server refuses the stream: " : "the stream ended: ",
                                    absl::StatusCodeToString(error_.code()), ": ", error_.message()));
  } else if (!waits_for_.empty()) {
    say(Level::kWarn, absl::StrCat("waits for ", waits_for_));
  } else if (frames == 0) {
    say(Level::kWarn, figures_.frames == 0 ? "no images yet" : "no images come");
  } else if (failed > 0) {
    say(Level::kWarn, absl::StrCat("the server refused ", failed, " frames: ", frame_error_));
  } else if (dropped > 0) {
    say(Level::kWarn, absl::StrFormat("%d of %d frames dropped: the server is too slow for them", dropped, frames));
  } else {
    say(Level::kOk, absl::StrFormat("%.1f frames/s answered", figures_.rate_answered));
  }
  diagnosed_frames_ = figures_.frames;
  diagnosed_dropped_ = figures_.dropped + figures_.dropped_by_server;
  diagnosed_failed_ = figures_.failed;
}

ros::DiagnosticStatus StreamOperation::Diagnose() {
  ros::DiagnosticStatus status;
  status.name = name_;
  {
    absl::MutexLock lock(&mutex_);
    figures_.Describe(SteadyNow(), &status);
    Summarise(&status);
  }
  AddFigures(&status);
  return status;
}

}  // namespace glint::ros2
