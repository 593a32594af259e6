// The HTTP endpoint for Prometheus and for orchestrators: GET /metrics, /healthz (the process answers) and /readyz
// (frames are being served; 503 otherwise).
//
// One thread serves all connections with non-blocking sockets, so a slow client does not delay the others. Beyond
// kMaxConnections the oldest connection of the peer that has most is closed.
#ifndef GLINT_SERVER_METRICS_HTTP_H_
#define GLINT_SERVER_METRICS_HTTP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/metrics/http_connection.h"
#include "server/session/places.h"

namespace glint {

class HttpEndpoint {
 public:
  struct Pages {
    std::function<std::string()> metrics;  // the page
    std::function<bool()> ready;
  };

  static constexpr size_t kMaxConnections = 64;

  // Listens on "HOST:PORT". UNAVAILABLE says why that failed; RESOURCE_EXHAUSTED: no thread can be made. The functions
  // are called on the endpoint's thread until it is destroyed.
  static absl::StatusOr<std::unique_ptr<HttpEndpoint>> Create(const std::string& listen, Pages pages);
  ~HttpEndpoint();
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;

  // "HOST:PORT" with the port that was bound.
  const std::string& address() const { return address_; }

 private:
  struct Client final : PlaceHolder {
    Client(int fd, int64_t expires_at) : connection(fd, expires_at) {}
    void PlaceGranted() override {}
    void Preempt() override { preempted = true; }

    HttpConnection connection;
    Place place{this};
    bool preempted = false;
  };

  explicit HttpEndpoint(Pages pages);
  absl::Status Listen(const std::string& listen);
  void Main();
  bool Accept();
  template <typename IsOver>
  void EndIf(IsOver is_over);
  std::string Respond(absl::string_view method, absl::string_view path) const;

  const Pages pages_;
  const HttpConnection::Respond respond_;
  std::string address_;
  int listener_ = -1;
  int stop_ = -1;  // an eventfd, readable once the thread should end
  // Used by the thread only.
  Places places_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::thread thread_;
};

}  // namespace glint

#endif  // GLINT_SERVER_METRICS_HTTP_H_
