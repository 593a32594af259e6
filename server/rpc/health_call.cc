#include "server/rpc/health_call.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/server_error.h"
#include "server/operations/operation.h"
#include "server/wire/wire_writer.h"

namespace glint {
namespace {

// HealthCheckResponse.ServingStatus
constexpr uint64_t kServing = 1, kNotServing = 2, kServiceUnknown = 3;

// A HealthCheckResponse.
std::string Response(uint64_t status) {
  std::string bytes;
  AppendVarintField(1, status, &bytes);
  return bytes;
}
std::string Response(bool serving) { return Response(serving ? kServing : kNotServing); }

// The service in a HealthCheckRequest; nullopt if malformed.
std::optional<std::string> ServiceOf(const std::string& message) {
  const absl::Span<const uint8_t> piece(reinterpret_cast<const uint8_t*>(message.data()), message.size());
  WireReader in({&piece, 1});
  std::string service;
  while (const uint32_t tag = in.NextField()) {
    if (tag == WireTag(1, WireType::kBytes)) {
      const WireBytes bytes = in.String();
      service = message.substr(bytes.begin, bytes.size);
    } else {
      in.Unknown(tag);
    }
  }
  if (!in.ok()) return std::nullopt;
  return service;
}

// True for "" (the whole server), and for services of the server or of operations.
bool IsKnown(const std::string& service) {
  const absl::Span<const OperationMethod> methods = OperationMethods();
  return service.empty() || service == "glint.v1.Server" ||
         std::any_of(methods.begin(), methods.end(),
                     [&](const OperationMethod& row) { return row.service == service; });
}

}  // namespace

void HealthCall::RequestCheck(Service* service, grpc::ServerCompletionQueue* queue) {
  (new HealthCall(service, queue, false))->Request(AsyncService::kHealthCheck);
}

void HealthCall::RequestWatch(Service* service, grpc::ServerCompletionQueue* queue) {
  (new HealthCall(service, queue, true))->Request(AsyncService::kHealthWatch);
}

HealthCall::Answer HealthCall::Serve(const std::string& message) {
  Answer answer;
  const std::optional<std::string> name = ServiceOf(message);
  const bool known = name.has_value() && IsKnown(*name);
  if (!name.has_value()) {
    answer.status = absl::InvalidArgumentError("request: not a serialized grpc.health.v1.HealthCheckRequest");
  } else if (watch_) {
    answer.status = MoveTo(service()->watcher_places(), PlaceKind::kWatcher);
    if (!answer.status.ok()) return answer;
    answer.then = Answer::Then::kStay;
    if (known) {
      service()->health_watchers()->Add(this);
    } else {
      Push(Response(kServiceUnknown));
    }
  } else if (known) {
    answer.reply = Response(service()->health_watchers()->serving());
  } else {
    answer.status = NotFoundError("service", *name, absl::StrCat("\"", Echo(*name), "\" is none of this server's"));
  }
  return answer;
}

void HealthCall::Ended() { service()->health_watchers()->Remove(this); }

void HealthCall::HealthIs(bool serving) { Push(Response(serving)); }

}  // namespace glint
