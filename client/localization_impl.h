// What is inside a LocalizeStream. Internal to the library.
#ifndef GLINT_CLIENT_LOCALIZATION_IMPL_H_
#define GLINT_CLIENT_LOCALIZATION_IMPL_H_

#include <memory>

#include "client/localization.h"
#include "client/stream_core.h"
#include "glint/v1/localization.grpc.pb.h"

namespace glint::client {

struct LocalizeStream::Impl
    : StreamImpl<v1::Localization, v1::LocalizeStreamRequest, v1::LocalizeStreamResponse, LocalizeAnswer> {
  Impl(const std::shared_ptr<grpc::ChannelInterface>& channel, const LocalizeStreamOptions& options,
       LocalizeCallback callback);
  absl::Status Open(const LocalizeStreamOptions& options);
};

// The stream's first message.
absl::Status ToWire(const LocalizeStreamOptions& options, v1::LocalizeStreamOptions* wire);

}  // namespace glint::client

#endif  // GLINT_CLIENT_LOCALIZATION_IMPL_H_
