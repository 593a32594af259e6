// Bearer tokens of calls. Internal to the library.
#ifndef GLINT_CLIENT_BEARER_H_
#define GLINT_CLIENT_BEARER_H_

#include <grpcpp/support/client_interceptor.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace glint::client {

// INVALID_ARGUMENT unless `token` can be a header's: 1 to 4096 printable ASCII characters without blanks.
absl::Status CheckToken(const std::string& token);

// For a channel all of whose calls show `token`, encrypted or not. Empty without one.
std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> BearerInterceptors(
    const std::string& token);

}  // namespace glint::client

#endif  // GLINT_CLIENT_BEARER_H_
