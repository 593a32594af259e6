// The messages of grpc.health.v1's Check. Internal to the library.
#ifndef GLINT_CLIENT_HEALTH_H_
#define GLINT_CLIENT_HEALTH_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/open_calls.h"
#include "client/result.h"

namespace grpc {
class ChannelInterface;
}

namespace glint::client {

// `calls` can cancel it.
absl::StatusOr<Health> CheckHealth(const std::shared_ptr<grpc::ChannelInterface>& channel, const std::string& service,
                                   absl::Duration timeout, const std::shared_ptr<OpenCalls>& calls);

}  // namespace glint::client

#endif  // GLINT_CLIENT_HEALTH_H_
