// The HTTP endpoint for Prometheus and for orchestrators: GET /metrics, /healthz (the process answers) and /readyz
// (frames are being served; 503 otherwise).
#ifndef GLINT_SERVER_METRICS_HTTP_H_
#define GLINT_SERVER_METRICS_HTTP_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct mg_connection;
struct mg_context;

namespace glint {

class HttpEndpoint {
 public:
  struct Pages {
    std::function<std::string()> metrics;  // the page
    std::function<bool()> ready;
  };

  // Listens on "HOST:PORT", HOST numeric. UNAVAILABLE says why that failed. The functions are called on threads of the
  // endpoint until it is destroyed.
  static absl::StatusOr<std::unique_ptr<HttpEndpoint>> Create(const std::string& listen, Pages pages);
  ~HttpEndpoint();
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;

  // "HOST:PORT" with the port that was bound.
  const std::string& address() const { return address_; }

 private:
  explicit HttpEndpoint(Pages pages) : pages_(std::move(pages)) {}
  int Answer(mg_connection* connection);
  static int OnLog(const mg_connection* connection, const char* message);

  const Pages pages_;
  mg_context* context_ = nullptr;
  std::string address_;
  std::string start_error_;
};

}  // namespace glint

#endif  // GLINT_SERVER_METRICS_HTTP_H_
