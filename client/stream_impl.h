// What is inside a DetectStream. Internal to the library.
#ifndef GLINT_CLIENT_STREAM_IMPL_H_
#define GLINT_CLIENT_STREAM_IMPL_H_

#include <memory>

#include "client/stream.h"
#include "client/stream_core.h"
#include "glint/v1/feature_detection.grpc.pb.h"

namespace glint::client {

struct DetectStream::Impl {
  Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, int window, ResultCallback callback);

  absl::Status Open(const StreamOptions& options);
  absl::Status Write(uint64_t frame_id, const ImageInput& image, const ImageInput& mask);

  const ResultCallback on_result;
  const std::unique_ptr<v1::FeatureDetection::Stub> stub;
  FrameResult result;  // of the reading thread; kept for its memory
  StreamCore<v1::DetectStreamRequest, v1::DetectStreamResponse> core;

 private:
  absl::Status Deliver(const v1::DetectStreamResponse& response, absl::Duration round_trip);
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_STREAM_IMPL_H_
