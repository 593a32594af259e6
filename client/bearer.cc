#include "client/bearer.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace glint::client {
namespace {

using grpc::experimental::ClientInterceptorFactoryInterface;
using grpc::experimental::ClientRpcInfo;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;

constexpr size_t kMaxTokenBytes = 4096;

class BearerInterceptor final : public Interceptor {
 public:
  explicit BearerInterceptor(const std::string& header) : header_(header) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->emplace("authorization", header_);
    }
    methods->Proceed();
  }

 private:
  const std::string header_;
};

// gRPC's own call credentials would need an encrypted channel; unix sockets and loopback have none.
class BearerFactory final : public ClientInterceptorFactoryInterface {
 public:
  explicit BearerFactory(const std::string& token) : header_(absl::StrCat("Bearer ", token)) {}
  Interceptor* CreateClientInterceptor(ClientRpcInfo*) override { return new BearerInterceptor(header_); }

 private:
  const std::string header_;
};

}  // namespace

absl::Status CheckToken(const std::string& token) {
  const auto good = [](unsigned char c) { return absl::ascii_isgraph(c); };
  if (!token.empty() && token.size() <= kMaxTokenBytes && std::all_of(token.begin(), token.end(), good)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("token: is not 1..", kMaxTokenBytes, " printable ASCII characters without blanks"));
}

std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> BearerInterceptors(const std::string& token) {
  std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> factories;
  if (!token.empty()) factories.push_back(std::make_unique<BearerFactory>(token));
  return factories;
}

}  // namespace glint::client
