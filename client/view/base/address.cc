#include "client/view/base/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "features/error.h"

namespace glint::view {
namespace {

constexpr char kLoopback[] = "127.0.0.1";
constexpr int kBacklog = 16;

struct HostAndPort {
  absl::string_view host, port;
};

// "[::1]:80" and "::1" alike; the port is what follows the last colon outside of brackets.
HostAndPort Split(absl::string_view text) {
  if (absl::ConsumePrefix(&text, "[")) {
    const size_t end = text.find(']');
    if (end == absl::string_view::npos) return {text, ""};
    absl::string_view port = text.substr(end + 1);
    absl::ConsumePrefix(&port, ":");
    return {text.substr(0, end), port};
  }
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

bool IsNumeric(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes = {};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 || inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

using Resolved = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Resolved Resolve(const std::string& host, int port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &hints, &found);
  return {error == 0 ? found : nullptr, freeaddrinfo};
}

}  // namespace

std::string Address::text() const {
  return absl::StrContains(ip, ':') ? absl::StrCat("[", ip, "]:", port) : absl::StrCat(ip, ":", port);
}

absl::StatusOr<Address> ParseAddress(absl::string_view option, absl::string_view text) {
  HostAndPort parts = Split(text);
  if (!absl::StrContains(text, ':')) parts = {"", text};
  Address address;
  address.option = std::string(option);
  if (!absl::SimpleAtoi(parts.port, &address.port) || address.port < 0 || address.port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '", option, "': '", Echo(text), "' is not HOST:PORT with a port in 0..65535"));
  }
  address.name = parts.host.empty() ? kLoopback : std::string(parts.host);
  address.ip = address.name == "localhost" ? kLoopback : address.name;
  if (IsNumeric(address.ip)) return address;
  const Resolved found = Resolve(address.name, address.port);
  std::array<char, NI_MAXHOST> ip = {};
  if (found == nullptr ||
      getnameinfo(found->ai_addr, found->ai_addrlen, ip.data(), ip.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("option '", option, "': '", Echo(address.name), "' is no address of this machine"));
  }
  address.ip = ip.data();
  return address;
}

absl::StatusOr<int> Listen(Address* address) {
  const Resolved found = Resolve(address->ip, address->port);
  const int fd = found == nullptr ? -1 : socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));  // a port in TIME_WAIT is free
  if (fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, kBacklog) == 0) {
    sockaddr_storage bound = {};
    socklen_t length = sizeof(bound);
    getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length);
    // The port lies at the same place in both families.
    address->port = ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
    return fd;
  }
  const int error = errno;
  if (fd >= 0) close(fd);
  if (error == EADDRINUSE) {
    return absl::AlreadyExistsError(absl::StrCat("option '", address->option, "': another program listens at ",
                                                 address->text(), "; give another port, or port 0 for any free one"));
  }
  return absl::InvalidArgumentError(absl::StrCat("option '", address->option, "': cannot listen at ", address->text(),
                                                 ": ", std::strerror(error), "; give an address of this machine"));
}

bool IsAllowedHost(const Address& address, absl::string_view host) {
  const std::string name(Split(host).host);
  return IsNumeric(name) || absl::EqualsIgnoreCase(name, "localhost") || absl::EqualsIgnoreCase(name, address.name);
}

bool IsAllowedOrigin(absl::string_view origin, absl::string_view host) {
  return origin.empty() || (absl::ConsumePrefix(&origin, "http://") && absl::EqualsIgnoreCase(origin, host));
}

}  // namespace glint::view
