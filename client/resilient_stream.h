// A stream that outlives the server at its other end: when it breaks, another one is opened, to whichever server the
// channel or a load balancer picks, and the frames that were not answered are sent again.
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
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/client.h"
#include "client/image.h"
#include "client/stream.h"

namespace glint::client {

struct RetryOptions {
  // Given up when no frame was answered for so long since the stream broke.
  absl::Duration patience = absl::Seconds(30);
  // Between attempts: doubled each time, up to the second.
  absl::Duration pause = absl::Milliseconds(20);
  absl::Duration max_pause = absl::Seconds(1);
};

// Thread-compatible: Write() and Finish() by one thread at a time. Results come on a reading thread, as in
// DetectStream.
class ResilientStream {
 public:
  // `client` must outlive this. The mask's pixels in `options` must live as long, too.
  ResilientStream(const Client* client, const StreamOptions& options, const RetryOptions& retry,
                  ResultCallback on_result);
  ~ResilientStream();
  ResilientStream(const ResilientStream&) = delete;
  ResilientStream& operator=(const ResilientStream&) = delete;

  // As DetectStream::Write(); keeps a copy of the frame until it is answered. Errors that another attempt would not
  // change, such as bad options, and the last error after `patience`.
  absl::Status Write(uint64_t frame_id, const ImageInput& image);

  // Waits until all frames are answered.
  absl::Status Finish();

  // Streams opened after the first. For the thread that writes.
  int reopened() const { return opened_ > 0 ? opened_ - 1 : 0; }

 private:
  struct Kept {
    uint64_t frame_id;
    std::string bytes;
    ImageInput image;  // of `bytes`
  };

  void Deliver(const FrameResult& result) ABSL_LOCKS_EXCLUDED(mu_);
  // Opens a stream and sends the frames kept, again and again while that helps; `why` is how the last one ended.
  absl::Status Reopen(absl::Status why) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status OpenOnce() ABSL_LOCKS_EXCLUDED(mu_);

  const Client* const client_;
  const StreamOptions options_;
  const RetryOptions retry_;
  const ResultCallback on_result_;
  int opened_ = 0;

  mutable absl::Mutex mu_;
  std::deque<Kept> kept_ ABSL_GUARDED_BY(mu_);  // not answered, oldest first; never moved by either end's changes
  bool refused_ ABSL_GUARDED_BY(mu_) = false;   // the server drains: what else this stream says is not an answer
  absl::Time answered_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();

  std::unique_ptr<DetectStream> stream_;  // last: its reading thread uses the others
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_RESILIENT_STREAM_H_
