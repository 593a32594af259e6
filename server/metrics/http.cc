#include "server/metrics/http.h"

#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/status_macros.h"
#include "features/thread.h"
#include "server/base/clock.h"
#include "server/net/connections.h"
#include "server/net/listen.h"

namespace glint {
namespace {

// Time for a request and its response.
constexpr int64_t kTimeoutNs = 10'000'000'000;
// New connections accepted before existing ones are served: too few to displace one that has sent its request.
constexpr int kAcceptsPerTurn = 16;
// Pause of accepting when the process is out of file descriptors.
constexpr int kNoDescriptorsMs = 100;

Places::Limits ConnectionPlaces() {
  Places::Limits limits;
  limits.total = HttpEndpoint::kMaxConnections;
  limits.own_patience_ns = 0;
  return limits;
}

constexpr char kText[] = "text/plain; charset=utf-8";

int BoundPort(int fd) {
  sockaddr_storage name = {};
  socklen_t length = sizeof(name);
  char port[NI_MAXSERV] = "0";
  getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length);
  getnameinfo(reinterpret_cast<const sockaddr*>(&name), length, nullptr, 0, port, sizeof(port), NI_NUMERICSERV);
  return std::stoi(port);
}

}  // namespace

HttpEndpoint::HttpEndpoint(Pages pages)
    : pages_(std::move(pages)),
      respond_([this](absl::string_view method, absl::string_view path) { return Respond(method, path); }),
      places_(ConnectionPlaces()) {}

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Create(const std::string& listen, Pages pages) {
  std::unique_ptr<HttpEndpoint> endpoint(new HttpEndpoint(std::move(pages)));
  if (absl::Status s = endpoint->Listen(listen); !s.ok()) {
    return absl::UnavailableError(absl::StrCat("metrics-listen: cannot listen on ", listen, ": ", s.message()));
  }
  GLINT_ASSIGN_OR_RETURN(endpoint->thread_, StartThread("metrics-listen", [e = endpoint.get()] { e->Main(); }));
  return endpoint;
}

HttpEndpoint::~HttpEndpoint() {
  if (thread_.joinable()) {
    eventfd_write(stop_, 1);
    thread_.join();
  }
  for (const int fd : {listener_, stop_}) {
    if (fd >= 0) close(fd);
  }
}

absl::Status HttpEndpoint::Listen(const std::string& listen) {
  std::string host = listen.substr(0, listen.rfind(':'));
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string port = listen.substr(listen.rfind(':') + 1);
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return absl::UnavailableError(gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  int error = 0;
  for (const addrinfo* a = found; a != nullptr && listener_ < 0; a = a->ai_next) {
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int yes = 1;
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        bind(fd, a->ai_addr, a->ai_addrlen) == 0 && ::listen(fd, SOMAXCONN) == 0) {
      listener_ = fd;
    } else {
      error = errno;
      if (fd >= 0) close(fd);
    }
  }
  if (listener_ < 0) return absl::UnavailableError(std::strerror(error));
  stop_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop_ < 0) return absl::UnavailableError(std::strerror(errno));
  address_ = WithPort(listen, BoundPort(listener_));
  return absl::OkStatus();
}

void HttpEndpoint::Main() {
  bool accepting = true;  // else there are no file descriptors for now
  std::vector<pollfd> polled;
  for (;;) {
    polled = {{stop_, POLLIN, 0}, {listener_, static_cast<short>(accepting ? POLLIN : 0), 0}};
    int64_t wake_at = MonotonicNs() + kTimeoutNs;
    for (const auto& client : clients_) {
      polled.push_back({client->connection.fd(), client->connection.events(), 0});
      wake_at = std::min(wake_at, client->connection.expires_at());
    }
    int timeout_ms = static_cast<int>(std::max<int64_t>(0, (wake_at - MonotonicNs()) / 1'000'000 + 1));
    if (!accepting) timeout_ms = std::min(timeout_ms, kNoDescriptorsMs);
    poll(polled.data(), polled.size(), timeout_ms);
    if (polled[0].revents != 0) return;

    const int64_t now = MonotonicNs();
    size_t at = 2;
    EndIf([&](Client* client) {
      const bool goes_on = polled[at++].revents == 0 || client->connection.Continue(respond_);
      return !goes_on || client->connection.expires_at() <= now;
    });
    accepting = !accepting || polled[1].revents == 0 || Accept();
  }
}

template <typename IsOver>
void HttpEndpoint::EndIf(IsOver is_over) {
  clients_.erase(
      std::remove_if(clients_.begin(), clients_.end(), [&](const auto& client) { return is_over(client.get()); }),
      clients_.end());
}

// False if the process has no file descriptors left.
bool HttpEndpoint::Accept() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    sockaddr_storage address = {};
    socklen_t length = sizeof(address);
    const int fd = accept4(listener_, reinterpret_cast<sockaddr*>(&address), &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
    auto client = std::make_unique<Client>(fd, MonotonicNs() + kTimeoutNs);
    if (!client->connection.Continue(respond_)) continue;  // most have sent their request by now
    const std::string peer = PeerOfAddress(reinterpret_cast<const sockaddr*>(&address));
    places_.Enter({peer, peer}, nullptr, &client->place);  // never refused: somebody's has been silent for longer
    clients_.push_back(std::move(client));
    EndIf([](const Client* other) { return other->preempted; });
  }
  return true;
}

std::string HttpEndpoint::Respond(absl::string_view method, absl::string_view path) const {
  const bool body = method != "HEAD";
  if (method != "GET" && method != "HEAD") {
    return HttpResponse("405 Method Not Allowed", kText, "only GET and HEAD\n", true, "Allow: GET, HEAD\r\n");
  }
  if (path == "/metrics") {
    return HttpResponse("200 OK", "text/plain; version=0.0.4; charset=utf-8", pages_.metrics(), body);
  }
  if (path == "/healthz") return HttpResponse("200 OK", kText, "ok\n", body);
  if (path == "/readyz") {
    return pages_.ready() ? HttpResponse("200 OK", kText, "ready\n", body)
                          : HttpResponse("503 Service Unavailable", kText, "not ready\n", body);
  }
  return HttpResponse("404 Not Found", kText, "there are /metrics, /healthz and /readyz\n", body);
}

}  // namespace glint
