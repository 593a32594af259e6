// What is inside a DetectStream. Internal to the library.
#ifndef GLINT_CLIENT_STREAM_IMPL_H_
#define GLINT_CLIENT_STREAM_IMPL_H_

#include <memory>

#include "client/stream.h"
#include "client/stream_core.h"
#include "glint/v1/feature_detection.grpc.pb.h"

namespace glint::client {

struct DetectStream::Impl
    : StreamImpl<v1::FeatureDetection, v1::DetectStreamRequest, v1::DetectStreamResponse, FrameResult> {
  Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, const StreamOptions& options, ResultCallback callback);
  absl::Status Open(const StreamOptions& options);
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_STREAM_IMPL_H_
