#include "server/session/session.h"

#include <utility>

namespace glint {

void Session::Configure(const SessionOptions& options) {
  options_ = options;
  const size_t replies_of_dropped = options.policy == OverloadPolicy::kBlock ? 0 : kDroppedReplies;
  window_.resize(static_cast<size_t>(options.max_in_flight) + replies_of_dropped);
  configured_ = true;
}

void Session::Add(FrameJob* job, bool done) {
  job->in_session.done = done;
  job->in_session.live = !done;
  window_[(first_ + count_) % window_.size()] = job;
  ++count_;
  if (job->in_session.live) ++live_;
}

void Session::AddEdit(FrameJob* job) {
  Add(job);
  job->in_session.live = false;
  --live_;
}

void Session::Hold(FrameJob* job) {
  held_ = job;
  job->in_session.live = false;
  --live_;
}

FrameJob* Session::TakeHeld() {
  if (held_ == nullptr || live_ >= options_.max_in_flight) return nullptr;
  held_->in_session.live = true;
  ++live_;
  return std::exchange(held_, nullptr);
}

void Session::Drop(FrameJob* job, DropReason reason, absl::Status status) {
  if (held_ == job) held_ = nullptr;
  if (std::exchange(job->in_session.live, false)) --live_;
  job->drop = reason;
  job->status = std::move(status);
  job->in_session.done = true;
}

void Session::PopFront() {
  if (std::exchange(window_[first_]->in_session.live, false)) --live_;
  first_ = (first_ + 1) % window_.size();
  --count_;
}

void Session::CancelAll() {
  for (size_t i = 0; i < count_; ++i) at(i)->cancelled = true;
}

}  // namespace glint
