#include "server/rpc/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "server/net/connections.h"
#include "server/net/listen.h"

namespace glint {
namespace {

constexpr absl::string_view kNetworkEnd = "/64";  // of an IPv6 peer's name
constexpr size_t kSiteBytes = 6;

std::string PeerOfIpv4(absl::string_view address_and_port) {
  std::string text(address_and_port.substr(0, address_and_port.rfind(':')));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  if (inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1) return text;
  return PeerOfAddress(reinterpret_cast<const sockaddr*>(&address));
}

std::string PeerOfIpv6(absl::string_view address_and_port) {
  std::string text = absl::StrReplaceAll(address_and_port, {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  const size_t end = text.rfind(']');
  if (text.empty() || text[0] != '[' || end == std::string::npos) return text;
  std::string inside = text.substr(1, end - 1);
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  if (inet_pton(AF_INET6, inside.substr(0, inside.find('%')).c_str(), &address.sin6_addr) != 1) return inside;
  return PeerOfAddress(reinterpret_cast<const sockaddr*>(&address));
}

}  // namespace

std::string PeerOf(absl::string_view grpc_peer) {
  if (IsUnixPeer(grpc_peer)) return "unix sockets";
  if (absl::ConsumePrefix(&grpc_peer, "ipv4:")) return PeerOfIpv4(grpc_peer);
  if (absl::ConsumePrefix(&grpc_peer, "ipv6:")) return PeerOfIpv6(grpc_peer);
  return "";
}

std::string SiteOf(const std::string& peer) {
  absl::string_view network = peer;
  in6_addr address = {};
  if (!absl::ConsumeSuffix(&network, kNetworkEnd)) return peer;
  if (inet_pton(AF_INET6, std::string(network).c_str(), &address) != 1) return peer;
  std::fill(std::begin(address.s6_addr) + kSiteBytes, std::end(address.s6_addr), uint8_t{0});
  char shown[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, &address, shown, sizeof(shown));
  return absl::StrCat(shown, "/48");
}

}  // namespace glint
