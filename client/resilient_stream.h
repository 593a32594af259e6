// A stream that reconnects: when it breaks, another one is opened, to the server that the channel or a load balancer
// picks, and unanswered frames are sent again.
//
//   ResilientStream stream(&client, {}, {}, [](const FrameResult& result) { ... });
//   for (...) status = stream.Write(id, frame);
//   status = stream.Finish();
//
// Every frame is delivered once, in the order of the writes. A server may work on one twice, which changes nothing:
// the same frame gets the same answer everywhere.
#ifndef GLINT_CLIENT_RESILIENT_STREAM_H_
#define GLINT_CLIENT_RESILIENT_STREAM_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/client.h"
#include "client/image.h"
#include "client/stream.h"

namespace glint::client {

struct RetryOptions {
  // Given up when no frame was answered for so long: since the last answer or, if nothing was unanswered then, since
  // the oldest unanswered frame was written. Zero: one stream, and no other after it.
  absl::Duration patience = absl::Seconds(30);
  // Between attempts: doubled each time, up to the second.
  absl::Duration pause = absl::Milliseconds(20);
  absl::Duration max_pause = absl::Seconds(1);
  // A stream of this age is finished and followed by a new one, so that servers which joined or came back get their
  // share of long-lived streams. Costs one round trip each time.
  absl::Duration max_age = absl::InfiniteDuration();
  // If set, asked before each attempt to open another stream; true gives up at once.
  std::function<bool()> stop;
};

// Thread-compatible: Write() and Finish() by one thread at a time; Cancel() by any. Results come on a reading thread,
// as in DetectStream. A stream that breaks, or has no answer for the options' timeout, is noticed, and another one
// opened, by the next Write() or Finish().
class ResilientStream {
 public:
  // `client` must outlive this. The mask's pixels in `options` must live as long, too.
  ResilientStream(const Client* client, const StreamOptions& options, const RetryOptions& retry,
                  ResultCallback on_result);
  ~ResilientStream();
  ResilientStream(const ResilientStream&) = delete;
  ResilientStream& operator=(const ResilientStream&) = delete;

  // As DetectStream::Write(); keeps a copy of the frame until it is answered. INVALID_ARGUMENT: the image cannot be
  // sent, the stream lives on. Other errors, such as bad options, are those that another attempt would not change, and
  // the last one after `patience`: DEADLINE_EXCEEDED if a stream was open then.
  absl::Status Write(uint64_t frame_id, const ImageInput& image);

  // Waits until all frames are answered.
  absl::Status Finish();

  // Ends it at once: Write() and Finish() return CANCELLED. Does not wait. May be called by the callback.
  void Cancel() ABSL_LOCKS_EXCLUDED(mu_);

  // Streams opened after the first, for whatever reason. For the thread that writes.
  int reopened() const { return opened_ > 0 ? opened_ - 1 : 0; }

 private:
  struct Kept {
    uint64_t frame_id;
    absl::Time written;
    std::string bytes;
    ImageInput image;  // of `bytes`, or of the caller's and not looked at again
  };

  void Deliver(const FrameResult& result) ABSL_LOCKS_EXCLUDED(mu_);
  // Opens a stream and sends the frames kept, again and again while that helps; `why` is how the last one ended.
  absl::Status Reopen(absl::Status why) ABSL_LOCKS_EXCLUDED(mu_);
  // Makes sure that there is a stream which takes frames, young enough.
  absl::Status Renew() ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status OpenOnce() ABSL_LOCKS_EXCLUDED(mu_);
  // Cancels the open stream when patience is over; on a thread of its own.
  void Watch() ABSL_LOCKS_EXCLUDED(mu_);
  // How long no frame has been answered.
  absl::Duration Waited() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Client* const client_;
  const StreamOptions options_;
  const RetryOptions retry_;
  const ResultCallback on_result_;
  int opened_ = 0;
  absl::Time opened_at_ = absl::InfinitePast();
  absl::Duration pause_;  // before the next attempt

  mutable absl::Mutex mu_;
  std::deque<Kept> kept_ ABSL_GUARDED_BY(mu_);  // not answered, oldest first; never moved by either end's changes
  bool refused_ ABSL_GUARDED_BY(mu_) = false;   // the server drains: further results of this stream are ignored
  absl::Time answered_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  bool trying_ ABSL_GUARDED_BY(mu_) = false;                      // a stream has broken since the last answer
  absl::Time tried_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();  // since when, if nothing was waited for before
  absl::Status reason_ ABSL_GUARDED_BY(mu_);                      // why the last one broke
  bool delivering_ ABSL_GUARDED_BY(mu_) = false;                  // the callback runs
  bool late_ ABSL_GUARDED_BY(mu_) = false;                        // the open stream was cancelled
  bool destroyed_ ABSL_GUARDED_BY(mu_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  DetectStream* open_ ABSL_GUARDED_BY(mu_) = nullptr;  // stream_, while Cancel() may reach for it

  std::unique_ptr<DetectStream> stream_;  // its reading thread uses the others
  std::thread watcher_;
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_RESILIENT_STREAM_H_
