// What is inside a TrackStream. Internal to the library.
#ifndef GLINT_CLIENT_TRACKING_IMPL_H_
#define GLINT_CLIENT_TRACKING_IMPL_H_

#include <memory>

#include "client/stream_core.h"
#include "client/tracking.h"
#include "glint/v1/tracking.grpc.pb.h"

namespace glint::client {

struct TrackStream::Impl
    : StreamImpl<v1::FeatureTracking, v1::TrackStreamRequest, v1::TrackStreamResponse, TrackAnswer> {
  Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, const TrackStreamOptions& options,
       TrackCallback callback);
  absl::Status Open(const TrackStreamOptions& options);
};

// The stream's first message: what differs from the server's defaults. INVALID_ARGUMENT: a mask that cannot be sent.
absl::Status ToWire(const TrackStreamOptions& options, v1::TrackStreamOptions* wire);

}  // namespace glint::client

#endif  // GLINT_CLIENT_TRACKING_IMPL_H_
