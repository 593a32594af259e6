// What is inside a DetectStream. Internal to the library.
#ifndef GLINT_CLIENT_STREAM_IMPL_H_
#define GLINT_CLIENT_STREAM_IMPL_H_

#include <grpcpp/client_context.h>

#include <deque>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/stream.h"
#include "glint/v1/feature_detection.grpc.pb.h"

namespace glint::client {

// Two locks, taken in the order write_mu, mu. write_mu is held while a message is written, which can take as long as
// the server likes; mu only for a moment. The reading thread needs write_mu just once, when the reading is over, and by
// then nothing that holds write_mu waits any more.
struct DetectStream::Impl {
  Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, int window, ResultCallback callback);
  ~Impl();

  absl::Status Open(const DetectorOptions& detector, const ImageInput& mask);
  absl::Status Write(uint64_t frame_id, const ImageInput& image, const ImageInput& mask);
  absl::Status Finish();
  void Cancel();

  grpc::ClientContext context;

 private:
  friend class DetectStream;
  struct Sent {
    uint64_t frame_id;
    absl::Time at;
  };

  void ReadResults();
  absl::Status Deliver(const v1::DetectStreamResponse& response, FrameResult* result);
  absl::Status WaitForEnd() ABSL_LOCKS_EXCLUDED(mu);
  bool RoomOrOver() const ABSL_SHARED_LOCKS_REQUIRED(mu) {
    return reading_over || static_cast<int>(sent.size()) < window;
  }

  const int window;
  const ResultCallback on_result;
  const std::unique_ptr<v1::FeatureDetection::Stub> stub;
  std::unique_ptr<grpc::ClientReaderWriter<v1::DetectStreamRequest, v1::DetectStreamResponse>> stream;

  mutable absl::Mutex write_mu;
  v1::DetectStreamRequest request ABSL_GUARDED_BY(write_mu);  // kept for its memory
  bool writing_over ABSL_GUARDED_BY(write_mu) = false;        // by the caller's wish

  mutable absl::Mutex mu ABSL_ACQUIRED_AFTER(write_mu);
  std::deque<Sent> sent ABSL_GUARDED_BY(mu);      // frames without a delivered result, oldest first
  bool reading_over ABSL_GUARDED_BY(mu) = false;  // nothing may be written any more
  bool over ABSL_GUARDED_BY(mu) = false;          // `end` is known
  absl::Status end ABSL_GUARDED_BY(mu);

  std::thread reader;
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_STREAM_IMPL_H_
