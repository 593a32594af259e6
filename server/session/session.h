// What a stream remembers: its options, its mask, and the window of frames that were read and not answered yet, in
// order.
#ifndef GLINT_SERVER_SESSION_SESSION_H_
#define GLINT_SERVER_SESSION_SESSION_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "features/options.h"
#include "server/schedule/frame_job.h"
#include "server/schedule/stream_mask.h"

namespace glint {

// Thread-compatible. Allocates in the constructor and Configure() only; owns no jobs.
class Session {
 public:
  explicit Session(int max_in_flight) : window_(static_cast<size_t>(max_in_flight)) {}

  // The stream's first message. `mask` may be null. Once.
  void Configure(const DetectorOptions& options, std::unique_ptr<StreamMask> mask) {
    options_ = options;
    mask_ = std::move(mask);
    configured_ = true;
  }
  bool configured() const { return configured_; }
  const DetectorOptions& options() const { return options_; }
  StreamMask* mask() const { return mask_.get(); }

  // Frames go out in the order of Add(). Must not be full.
  void Add(FrameJob* job) {
    job->done = false;
    window_[(first_ + count_) % window_.size()] = job;
    ++count_;
  }
  bool full() const { return count_ == window_.size(); }
  bool empty() const { return count_ == 0; }

  // The oldest frame if it is done, that is, whose reply is next; else null.
  FrameJob* NextReply() const { return count_ > 0 && window_[first_]->done ? window_[first_] : nullptr; }
  // Forgets the oldest frame.
  void PopFront() {
    first_ = (first_ + 1) % window_.size();
    --count_;
  }

  // Lanes that have not begun one of the frames need not.
  void CancelAll() {
    for (size_t i = 0; i < count_; ++i) window_[(first_ + i) % window_.size()]->cancelled = true;
  }

 private:
  bool configured_ = false;
  DetectorOptions options_;
  std::unique_ptr<StreamMask> mask_;
  std::vector<FrameJob*> window_;  // a ring
  size_t first_ = 0;
  size_t count_ = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_SESSION_SESSION_H_
