// A stream of frames to a Glint server and of results back. Opened by Client::OpenStream().
//
//   auto stream = client.OpenStream({}, [](const FrameResult& result) { ... });
//   for (...) status = (*stream)->Write(id, frame);   // blocks while `in_flight` frames are unanswered
//   status = (*stream)->Finish();                     // every frame is answered
//
// Frames are written by the caller's thread and results are read by a thread of the stream, always; so a server that
// waits for its results to be taken before it takes more frames cannot block the stream for ever.
#ifndef GLINT_CLIENT_STREAM_H_
#define GLINT_CLIENT_STREAM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/image.h"
#include "client/result.h"
#include "features/camera/camera.h"
#include "features/gray_range.h"
#include "features/operation_defaults.h"
#include "features/options.h"
#include "proto/terms.h"

namespace glint::client {

using glint::OverloadPolicy;

struct StreamOptions {
  DetectorOptions detector = DefaultDetector(kDetectDefaults);
  // GRAY8 of the frames' size; for frames without a mask of their own. Read by OpenStream() only.
  ImageInput mask;
  // What the server does with more frames than it takes from a stream (its --max-in-flight). Without effect if
  // in_flight is smaller, since Write() blocks before.
  OverloadPolicy overload_policy = OverloadPolicy::kBlock;
  // The server drops frames that have waited longer than this for a lane; 0: never.
  absl::Duration max_age = absl::ZeroDuration();
  // Region of interest of frames that have none of their own.
  Region region;
  // Of all frames' images, whose size it has: results then have rays. The images are not changed.
  std::optional<Camera> camera;
  // How samples of 16 bits become grey; all images must then have them.
  GrayRange gray_range;
  // Frames written whose result has not been delivered: 1..4096. With 1, the round trip adds to each frame; with
  // enough, all lanes of the server are busy.
  int in_flight = 8;
  // W3C Trace Context: "00-<trace id>-<parent id>-<flags>". The server's log of the stream has the trace id. Empty:
  // none.
  std::string traceparent;
  // Longest wait for an answer: since the last one was delivered or, if nothing was unanswered then, since the oldest
  // unanswered frame began to be written. The stream then ends with DEADLINE_EXCEEDED. A stream without unanswered
  // frames, and one whose callback runs, waits for nothing.
  absl::Duration timeout = absl::InfiniteDuration();
};

// Called for each frame, in the order of the writes, on the stream's reading thread. While it runs no further result
// is delivered, and Write() blocks once the window is full: a slow callback slows the stream, and no queue grows.
// It may call Cancel(), but not Write() or Finish(), and must not destroy the stream. The result is reused afterwards:
// copy what is to be kept.
using ResultCallback = std::function<void(const FrameResult& result)>;

// Thread-safe, apart from destruction. Frames written by several threads at once go out in some order.
class DetectStream {
 public:
  // Cancels what is unfinished and waits for the callback; none runs afterwards.
  ~DetectStream();
  DetectStream(const DetectStream&) = delete;
  DetectStream& operator=(const DetectStream&) = delete;

  // Sends one frame; its bytes have been copied on return. `frame_id` comes back in the result and means nothing
  // else. INVALID_ARGUMENT: the image cannot be sent (no pixels, a side < 1), the stream lives on. FAILED_PRECONDITION:
  // after Finish(). Anything else is why the stream has ended.
  absl::Status Write(uint64_t frame_id, const ImageInput& image, const ImageInput& mask = {});

  // Sends no more, waits until all results are delivered, and returns how the stream ended; again and again the same.
  absl::Status Finish();

  // Ends the stream at once: Write() and Finish() return CANCELLED. Does not wait.
  void Cancel();

  // Frames written whose result has not been delivered.
  int in_flight() const;

 private:
  friend class Client;
  struct Impl;
  explicit DetectStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_STREAM_H_
