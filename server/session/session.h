// State of a stream that is independent of its operation: common options, and the window of unanswered frames in order.
#ifndef GLINT_SERVER_SESSION_SESSION_H_
#define GLINT_SERVER_SESSION_SESSION_H_

#include <cstddef>
#include <vector>

#include "features/gray_range.h"
#include "proto/terms.h"
#include "server/schedule/frame_job.h"

namespace glint {

// Options that all streams have.
struct SessionOptions {
  OverloadPolicy policy = OverloadPolicy::kBlock;
  int max_in_flight = 1;   // frames that are unanswered and not dropped
  int64_t max_age_ns = 0;  // of frames without a max_age_ns of their own; 0: no limit
  GrayRange gray_range;    // of all images
};

// Thread-compatible. Allocates in Configure() only; owns no jobs.
//
// A frame is live from Add() until its reply has been sent, unless it is held, dropped, or failed when it was added.
// Replies to dropped frames hold no pixels and no features, so the window has room for many of them; when that is full
// too, because the client takes no replies, no frame is read any more, whatever the policy.
class Session {
 public:
  static constexpr size_t kDroppedReplies = 256;

  // The stream's first message. Once.
  void Configure(const SessionOptions& options);
  bool configured() const { return configured_; }
  const SessionOptions& options() const { return options_; }

  // Appends a frame; replies are sent in the order of Add(). The window must not be full. `done`: the frame failed
  // before it was queued; it is not live, but its reply may have to wait for that of a held frame, which waits for live
  // ones.
  void Add(FrameJob* job, bool done = false);
  // Appends an edit, which waits for the frames before it. It is not live, so that a held frame does not wait for it.
  void AddEdit(FrameJob* job);
  bool full() const { return configured_ && count_ == window_.size(); }
  bool empty() const { return count_ == 0; }
  // True if more frames are live than max_in_flight.
  bool overloaded() const { return live_ > options_.max_in_flight; }

  // The one frame that waits, outside every queue, until others are answered; null if there is none. Held frames are
  // not live.
  FrameJob* held() const { return held_; }
  void Hold(FrameJob* job);
  // Makes the held frame live again and returns it; null if there is none or no room for it.
  FrameJob* TakeHeld();

  // Drops a frame, held or live, that no lane has: it is done.
  void Drop(FrameJob* job, DropReason reason, absl::Status status);

  // The window, oldest first.
  size_t size() const { return count_; }
  FrameJob* at(size_t i) const { return window_[(first_ + i) % window_.size()]; }
  // The oldest frame of the window; null if there is none.
  FrameJob* oldest() const { return count_ > 0 ? window_[first_] : nullptr; }
  // The oldest frame if it is done, so that its reply is next; else null.
  FrameJob* NextReply() const { return count_ > 0 && window_[first_]->in_session.done ? window_[first_] : nullptr; }
  // Removes the oldest frame.
  void PopFront();

  // Marks all frames as cancelled: lanes skip those that they have not begun.
  void CancelAll();

 private:
  bool configured_ = false;
  SessionOptions options_;
  std::vector<FrameJob*> window_;  // a ring
  size_t first_ = 0;
  size_t count_ = 0;
  int live_ = 0;
  FrameJob* held_ = nullptr;
};

}  // namespace glint

#endif  // GLINT_SERVER_SESSION_SESSION_H_
