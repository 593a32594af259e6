#include "client/view/base/server.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "features/status_macros.h"

namespace glint::view {
namespace {

constexpr std::chrono::milliseconds kAcceptAgain(50);
// Nothing from elsewhere, nothing inline, and no frame around it.
constexpr char kSecurityHeaders[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n";

// Guest::peer
std::string PeerOf(const sockaddr_storage& from) {
  constexpr char kLoopbackNetwork = 127;
  constexpr size_t kIpv4 = 4, kNetwork = 8;  // bytes; the latter of IPv6
  std::string bytes(reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in&>(from).sin_addr), kIpv4);
  if (from.ss_family == AF_INET6) {
    const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(from).sin6_addr;
    bytes.assign(reinterpret_cast<const char*>(address.s6_addr), sizeof(address));
    if (IN6_IS_ADDR_LOOPBACK(&address)) return std::string(1, kLoopbackNetwork);
    bytes = IN6_IS_ADDR_V4MAPPED(&address) ? bytes.substr(bytes.size() - kIpv4) : bytes.substr(0, kNetwork);
  }
  return bytes.size() == kIpv4 && bytes[0] == kLoopbackNetwork ? std::string(1, kLoopbackNetwork) : bytes;
}

}  // namespace

void Answer(Connection* connection, absl::string_view status, absl::string_view type, absl::string_view body) {
  connection->Write(absl::StrCat("HTTP/1.1 ", status, "\r\nContent-Type: ", type, "\r\nContent-Length: ", body.size(),
                                 "\r\nConnection: close\r\n", kSecurityHeaders, "\r\n", body));
}

bool AsksForWebSocket(const HttpRequest& request) {
  return request.method == "GET" && !request.header("sec-websocket-key").empty();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(Address address, size_t places, Handler handler) {
  GLINT_ASSIGN_OR_RETURN(const int socket, Listen(&address));
  return std::unique_ptr<Server>(new Server(std::move(address), socket, places, std::move(handler)));
}

Server::Server(Address address, int socket, size_t places, Handler handler)
    : address_(std::move(address)), socket_(socket), places_(places), handler_(std::move(handler)) {
  acceptor_ = std::thread([this] { Accept(); });
}

Server::~Server() {
  ending_ = true;
  shutdown(socket_, SHUT_RDWR);  // ends accept4()
  acceptor_.join();
  for (Served& one : served_) {
    one.connection.End();
    one.thread.join();
  }
  close(socket_);
}

// Takes connections, each to a thread of its own.
void Server::Accept() {
  while (true) {
    sockaddr_storage from = {};
    socklen_t length = sizeof(from);
    const int accepted = accept4(socket_, reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC);
    served_.remove_if([](Served& one) {
      if (one.done) one.thread.join();
      return one.done.load();
    });
    if (ending_) {
      if (accepted >= 0) close(accepted);
      return;
    }
    if (accepted < 0) {
      std::this_thread::sleep_for(kAcceptAgain);  // no descriptors are left, for example
    } else if (!MakeRoom()) {
      close(accepted);
    } else {
      Served* one = &served_.emplace_back(accepted, PeerOf(from));
      one->thread = std::thread([this, one] {
        Serve(one);
        one->connection.End();
        one->done = true;
      });
    }
  }
}

bool Server::MakeRoom() {
  std::map<std::string, int> held;
  size_t open = 0;
  for (const Served& one : served_) {
    if (one.ended) continue;
    ++open;
    if (!one.stays) ++held[one.peer];
  }
  if (open < places_) return true;
  Served* last = nullptr;  // the first of these is the oldest
  for (Served& one : served_) {
    if (!one.ended && !one.stays && (last == nullptr || held[one.peer] > held[last->peer])) last = &one;
  }
  if (last == nullptr) return false;
  last->ended = true;
  last->connection.End();
  if (served_.size() < 2 * places_) return true;
  // Connections come faster than threads of ended ones get processors: waits for one, which has nothing left to do.
  const auto oldest = std::find_if(served_.begin(), served_.end(), [](const Served& one) { return one.ended; });
  oldest->thread.join();
  served_.erase(oldest);
  return true;
}

void Server::Serve(Served* one) {
  const std::optional<HttpRequest> request = one->connection.ReadRequest();
  if (!request.has_value()) return;
  if (IsAllowedHost(address_, request->header("host"))) return handler_(*request, one);
  Answer(&one->connection, "403 Forbidden", kPlainText,
         absl::StrCat("This view answers to numeric addresses, to localhost and to the name that ", address_.option,
                      " has.\n"));
}

}  // namespace glint::view
