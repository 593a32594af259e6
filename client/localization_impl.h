// What is inside a LocalizeStream. Internal to the library.
#ifndef GLINT_CLIENT_LOCALIZATION_IMPL_H_
#define GLINT_CLIENT_LOCALIZATION_IMPL_H_

#include <memory>

#include "client/localization.h"
#include "client/stream_core.h"
#include "glint/v1/localization.grpc.pb.h"

namespace glint::client {

struct LocalizeStream::Impl {
  Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, const LocalizeStreamOptions& options,
       LocalizeCallback on_answer);
  absl::Status Open(const LocalizeStreamOptions& options);

  const LocalizeCallback on_answer;
  const std::unique_ptr<v1::Localization::Stub> stub;
  StreamCore<v1::LocalizeStreamRequest, v1::LocalizeStreamResponse> core;

 private:
  absl::Status Deliver(const v1::LocalizeStreamResponse& response, absl::Duration round_trip);
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_LOCALIZATION_IMPL_H_
