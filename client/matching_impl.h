// What is inside a MatchStream and a StereoStream. Internal to the library.
#ifndef GLINT_CLIENT_MATCHING_IMPL_H_
#define GLINT_CLIENT_MATCHING_IMPL_H_

#include <memory>

#include "client/matching.h"
#include "client/stream_core.h"
#include "glint/v1/matching.grpc.pb.h"

namespace glint::client {

struct MatchStream::Impl
    : StreamImpl<v1::FeatureMatching, v1::MatchStreamRequest, v1::MatchStreamResponse, MatchAnswer> {
  Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, const MatchStreamOptions& options,
       MatchCallback callback);
  absl::Status Open(const MatchStreamOptions& options);
};

struct StereoStream::Impl
    : StreamImpl<v1::FeatureMatching, v1::StereoStreamRequest, v1::StereoStreamResponse, StereoAnswer> {
  Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, const StereoStreamOptions& options,
       StereoCallback callback);
  absl::Status Open(const StereoStreamOptions& options);
};

// One call of Match. Its round trip is the caller's to measure.
absl::StatusOr<MatchFound> MatchOnce(v1::FeatureMatching::Stub* stub, grpc::ClientContext* context,
                                     const MatchSettings& settings, const MatchSide& query, const MatchSide& train,
                                     const QueryConditions& conditions, const GrayRange& gray_range);

}  // namespace glint::client

#endif  // GLINT_CLIENT_MATCHING_IMPL_H_
