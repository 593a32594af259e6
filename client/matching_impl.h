// What is inside a MatchStream and a StereoStream. Internal to the library.
#ifndef GLINT_CLIENT_MATCHING_IMPL_H_
#define GLINT_CLIENT_MATCHING_IMPL_H_

#include <memory>

#include "client/matching.h"
#include "client/stream_core.h"
#include "glint/v1/matching.grpc.pb.h"

namespace glint::client {

struct MatchStream::Impl {
  Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, const MatchStreamOptions& options,
       MatchCallback on_answer);
  absl::Status Open(const MatchStreamOptions& options);

  const int k;
  const MatchCallback on_answer;
  const std::unique_ptr<v1::FeatureMatching::Stub> stub;
  MatchAnswer answer;  // of the reading thread; kept for its memory
  StreamCore<v1::MatchStreamRequest, v1::MatchStreamResponse> core;

 private:
  absl::Status Deliver(const v1::MatchStreamResponse& response, absl::Duration round_trip);
};

struct StereoStream::Impl {
  Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, const StereoStreamOptions& options,
       StereoCallback on_answer);
  absl::Status Open(const StereoStreamOptions& options);

  const StereoCallback on_answer;
  const std::unique_ptr<v1::FeatureMatching::Stub> stub;
  StereoAnswer answer;  // of the reading thread; kept for its memory
  StreamCore<v1::StereoStreamRequest, v1::StereoStreamResponse> core;

 private:
  absl::Status Deliver(const v1::StereoStreamResponse& response, absl::Duration round_trip);
};

// One call of Match.
absl::StatusOr<MatchFound> MatchOnce(v1::FeatureMatching::Stub* stub, grpc::ClientContext* context,
                                     const MatchSettings& settings, const MatchSide& query, const MatchSide& train,
                                     const QueryConditions& conditions);

}  // namespace glint::client

#endif  // GLINT_CLIENT_MATCHING_IMPL_H_
