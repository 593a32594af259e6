// State of a stream that does not depend on what it asks for: its options, and the window of unanswered frames, in
// order.
#ifndef GLINT_SERVER_SESSION_SESSION_H_
#define GLINT_SERVER_SESSION_SESSION_H_

#include <cstddef>
#include <vector>

#include "proto/terms.h"
#include "server/schedule/frame_job.h"

namespace glint {

// What the options of all streams have.
struct SessionOptions {
  OverloadPolicy policy = OverloadPolicy::kBlock;
  int max_in_flight = 1;   // frames that are unanswered and not dropped
  int64_t max_age_ns = 0;  // of frames without one of their own; 0: any
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

  // Frames go out in the order of Add(). Must not be full. One that is done already is not live: its reply may have to
  // wait for that of a held frame, which waits for live ones.
  void Add(FrameJob* job, bool done = false);
  // The same for an edit, which waits for the frames before it. It is not live: a held frame must not wait for it.
  void AddEdit(FrameJob* job);
  bool full() const { return configured_ && count_ == window_.size(); }
  bool empty() const { return count_ == 0; }
  // More frames are live than may be.
  bool overloaded() const { return live_ > options_.max_in_flight; }

  // The one frame that was added and has to wait, outside every queue, until others are answered; null if there is
  // none. Held frames are not live.
  FrameJob* held() const { return held_; }
  void Hold(FrameJob* job);
  // Live again, if there is a held frame and room for it; else null.
  FrameJob* TakeHeld();

  // Gives up a frame, held or live, that no lane has: it is done.
  void Drop(FrameJob* job, DropReason reason, absl::Status status);

  // The oldest frame of the window; null if there is none.
  FrameJob* oldest() const { return count_ > 0 ? window_[first_] : nullptr; }
  // The oldest frame if it is done, that is, whose reply is next; else null.
  FrameJob* NextReply() const { return count_ > 0 && window_[first_]->in_session.done ? window_[first_] : nullptr; }
  // Forgets the oldest frame.
  void PopFront();

  // Lanes that have not begun one of the frames need not.
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
