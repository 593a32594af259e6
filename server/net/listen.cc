#include "server/net/listen.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "features/error.h"
#include "proto/handoff.h"

namespace glint {
namespace {

constexpr absl::string_view kUnix = "unix:";
constexpr absl::string_view kAccepted = "fd:";  // gRPC's peer of a UnixListener

class Socket {
 public:
  explicit Socket(int family) : fd_(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

absl::Status CannotListen(const std::string& address, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat("listen: cannot listen on ", address, ": ", why));
}

absl::Status CheckUnixFree(const std::string& address) {
  const std::string path = address.substr(kUnix.size());
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return absl::OkStatus();
  if (!S_ISSOCK(info.st_mode)) return CannotListen(address, "a file of that name exists and is not a socket");
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, path.c_str(), sizeof(name.sun_path) - 1);
  const Socket probe(AF_UNIX);
  // EAGAIN: someone listens and is too busy to accept.
  const bool taken =
      connect(probe.fd(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0 || errno == EAGAIN;
  return taken ? CannotListen(address, std::strerror(EADDRINUSE)) : absl::OkStatus();
}

// Splits at the last colon, which in "[::1]:80" is the one before the port.
bool SplitHostPort(absl::string_view address, std::string* host, std::string* port) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return false;
  absl::string_view name = address.substr(0, colon);
  if (absl::ConsumePrefix(&name, "[")) {
    if (!absl::ConsumeSuffix(&name, "]")) return false;
  } else if (absl::StrContains(name, ":")) {
    return false;
  }
  *host = std::string(name);
  *port = std::string(address.substr(colon + 1));
  return !host->empty();
}

}  // namespace

bool IsUnixAddress(absl::string_view address) { return absl::StartsWith(address, kUnix); }

absl::string_view UnixPathOf(absl::string_view unix_address) { return unix_address.substr(kUnix.size()); }

bool IsUnixPeer(absl::string_view peer) { return absl::StartsWith(peer, kUnix) || absl::StartsWith(peer, kAccepted); }

bool IsLoopbackAddress(absl::string_view address) {
  std::string host, port;
  if (IsUnixAddress(address)) return true;
  if (!SplitHostPort(address, &host, &port)) return false;
  in6_addr v6 = {};
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
  }
  in_addr v4 = {};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  return host == "localhost";
}

bool IsLoopbackPeer(absl::string_view peer) {
  // Brackets may be percent-encoded. The last form is IPv4 on a dual-stack socket.
  for (const absl::string_view local :
       {kUnix, kAccepted, absl::string_view("inproc"), absl::string_view("ipv4:127."), absl::string_view("ipv6:[::1]:"),
        absl::string_view("ipv6:%5B::1%5D:"), absl::string_view("ipv6:[::ffff:127."),
        absl::string_view("ipv6:%5B::ffff:127.")}) {
    if (absl::StartsWith(peer, local)) return true;
  }
  return false;
}

absl::Status CheckTcpAddress(absl::string_view flag, absl::string_view address) {
  std::string host, port;
  int number = -1;
  if (!SplitHostPort(address, &host, &port) || !absl::SimpleAtoi(port, &number) || number < 0 || number > 65535 ||
      !absl::ascii_isdigit(static_cast<unsigned char>(port[0]))) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": \"", address, "\" is not HOST:PORT with a port in 0..65535"));
  }
  return absl::OkStatus();
}

absl::Status CheckListenAddress(absl::string_view flag, absl::string_view address) {
  if (!IsUnixAddress(address)) return CheckTcpAddress(flag, address);
  const size_t length = address.size() - kUnix.size();
  const size_t longest = sizeof(sockaddr_un::sun_path) - 1;
  if (length == 0 || length > longest) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": \"", address, "\" is not unix:PATH with a path of 1..", longest, " bytes"));
  }
  return absl::OkStatus();
}

std::string HandoffPath(absl::string_view unix_address) {
  return absl::StrCat(UnixPathOf(unix_address), kHandoffSuffix);
}

absl::Status CheckCanListen(const std::string& address) {
  if (IsUnixAddress(address)) return CheckUnixFree(address);
  std::string host, port;
  SplitHostPort(address, &host, &port);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return CannotListen(address, gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  int error = 0;
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    const Socket probe(a->ai_family);
    const int yes = 1;
    if (probe.fd() < 0) continue;
    setsockopt(probe.fd(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(probe.fd(), a->ai_addr, a->ai_addrlen) == 0) return absl::OkStatus();
    error = errno;
  }
  return CannotListen(address, std::strerror(error));
}

std::string WithPort(const std::string& address, int port) {
  return absl::StrCat(address.substr(0, address.rfind(':')), ":", port);
}

}  // namespace glint
