// What is inside a TrackStream. Internal to the library.
#ifndef GLINT_CLIENT_TRACKING_IMPL_H_
#define GLINT_CLIENT_TRACKING_IMPL_H_

#include <memory>

#include "client/stream_core.h"
#include "client/tracking.h"
#include "glint/v1/tracking.grpc.pb.h"

namespace glint::client {

struct TrackStream::Impl {
  Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, const TrackStreamOptions& options,
       TrackCallback on_answer);
  absl::Status Open(const TrackStreamOptions& options);

  const TrackCallback on_answer;
  const std::unique_ptr<v1::FeatureTracking::Stub> stub;
  TrackAnswer answer;  // of the reading thread; kept for its memory
  StreamCore<v1::TrackStreamRequest, v1::TrackStreamResponse> core;

 private:
  absl::Status Deliver(const v1::TrackStreamResponse& response, absl::Duration round_trip);
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_TRACKING_IMPL_H_
