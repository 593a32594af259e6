// The implementation of DetectStream. Internal to the library.
#ifndef GLINT_CLIENT_STREAM_IMPL_H_
#define GLINT_CLIENT_STREAM_IMPL_H_

#include <grpcpp/client_context.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "client/stream.h"
#include "glint/v1/feature_detection.grpc.pb.h"

namespace glint::client {

// Two locks, taken in the order write_mu, mu. write_mu is held while a message is written, which lasts as long as
// the server takes to read; mu only for a moment. The reading thread needs write_mu just once, when the reading is
// over, and by then nothing that holds write_mu waits any more. The standard's mutexes, since the thread sanitizer
// understands them where Abseil is a packaged library.
struct DetectStream::Impl {
  Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, int window, ResultCallback callback);
  ~Impl();

  absl::Status Open(const StreamOptions& options);
  absl::Status Write(uint64_t frame_id, const ImageInput& image, const ImageInput& mask);
  absl::Status Finish();
  void Cancel();

  grpc::ClientContext context;

 private:
  friend class DetectStream;
  struct Sent {
    uint64_t frame_id;
    absl::Time at;
    SharedSlot image_slot, mask_slot;  // the server's until then
  };

  void ReadResults();
  absl::Status Deliver(const v1::DetectStreamResponse& response, FrameResult* result);
  absl::Status WaitForEnd();

  const int window;
  const ResultCallback on_result;
  const std::unique_ptr<v1::FeatureDetection::Stub> stub;
  std::unique_ptr<grpc::ClientReaderWriter<v1::DetectStreamRequest, v1::DetectStreamResponse>> stream;

  std::mutex write_mu;              // guards the next two
  v1::DetectStreamRequest request;  // kept for its memory
  bool writing_over = false;        // by the caller

  mutable std::mutex mu;            // guards the rest
  std::condition_variable changed;  // any of them
  std::deque<Sent> sent;            // frames without a delivered result, oldest first
  bool reading_over = false;        // nothing may be written any more
  bool over = false;                // `end` is known
  absl::Status end;

  std::thread reader;
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_STREAM_IMPL_H_
