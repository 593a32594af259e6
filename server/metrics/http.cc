#include "server/metrics/http.h"

#include <civetweb.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace glint {
namespace {

// Scrapes are rare and the page is small; a second thread keeps /healthz answered while one client is slow.
constexpr char kThreads[] = "2";
constexpr char kTimeoutMs[] = "10000";

int Send(mg_connection* connection, const char* status, const char* type, const std::string& body,
         const char* more_headers = "") {
  const bool head = absl::string_view(mg_get_request_info(connection)->request_method) == "HEAD";
  mg_printf(connection,
            "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nCache-Control: no-store\r\n%sConnection: "
            "close\r\n\r\n",
            status, type, body.size(), more_headers);
  if (!head) mg_write(connection, body.data(), body.size());
  return 1;  // handled
}

}  // namespace

int HttpEndpoint::Answer(mg_connection* connection) {
  const mg_request_info* const request = mg_get_request_info(connection);
  const absl::string_view method = request->request_method;
  const absl::string_view path = request->local_uri;
  constexpr char kText[] = "text/plain; charset=utf-8";
  if (method != "GET" && method != "HEAD") {
    return Send(connection, "405 Method Not Allowed", kText, "only GET and HEAD\n", "Allow: GET, HEAD\r\n");
  }
  if (path == "/metrics") {
    return Send(connection, "200 OK", "text/plain; version=0.0.4; charset=utf-8", pages_.metrics());
  }
  if (path == "/healthz") return Send(connection, "200 OK", kText, "ok\n");
  if (path == "/readyz") {
    return pages_.ready() ? Send(connection, "200 OK", kText, "ready\n")
                          : Send(connection, "503 Service Unavailable", kText, "not ready\n");
  }
  return Send(connection, "404 Not Found", kText, "there are /metrics, /healthz and /readyz\n");
}

// Keeps why listening failed; afterwards civetweb's remarks about its peers are of no interest.
int HttpEndpoint::OnLog(const mg_connection* connection, const char* message) {
  auto* const self = static_cast<HttpEndpoint*>(mg_get_user_data(mg_get_context(connection)));
  if (self != nullptr && self->context_ == nullptr) absl::StrAppend(&self->start_error_, ": ", message);
  return 1;
}

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Create(const std::string& listen, Pages pages) {
  std::unique_ptr<HttpEndpoint> endpoint(new HttpEndpoint(std::move(pages)));
  const char* options[] = {"listening_ports", listen.c_str(),      "num_threads", kThreads, "request_timeout_ms",
                           kTimeoutMs,        "enable_keep_alive", "no",          nullptr};
  mg_callbacks callbacks = {};
  callbacks.log_message = OnLog;
  mg_init_library(0);
  endpoint->context_ = mg_start(&callbacks, endpoint.get(), options);
  if (endpoint->context_ == nullptr) {
    mg_exit_library();
    return absl::UnavailableError(absl::StrCat("metrics-listen: cannot listen on ", listen, endpoint->start_error_));
  }
  mg_set_request_handler(
      endpoint->context_, "/",
      [](mg_connection* connection, void* self) { return static_cast<HttpEndpoint*>(self)->Answer(connection); },
      endpoint.get());
  mg_server_port port = {};
  mg_get_server_ports(endpoint->context_, 1, &port);
  endpoint->address_ = absl::StrCat(listen.substr(0, listen.rfind(':')), ":", port.port);
  return endpoint;
}

HttpEndpoint::~HttpEndpoint() {
  if (context_ == nullptr) return;
  mg_stop(context_);
  mg_exit_library();
}

}  // namespace glint
