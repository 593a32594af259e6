#include "server/rpc/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "server/net/listen.h"

namespace glint {
namespace {

constexpr char kLoopbackPeer[] = "loopback";
constexpr absl::string_view kPeerNetwork = "/64";
constexpr size_t kPeerNetworkBytes = 8, kSiteBytes = 6;

// "2001:db8::" for the first `bytes` bytes of an address.
std::string PrefixOf(in6_addr address, size_t bytes) {
  std::fill(std::begin(address.s6_addr) + bytes, std::end(address.s6_addr), uint8_t{0});
  char shown[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, &address, shown, sizeof(shown));
  return shown;
}

std::string PeerOfIpv4(const std::string& address) {
  in_addr parsed = {};
  const bool is_loopback = inet_pton(AF_INET, address.c_str(), &parsed) == 1 && ntohl(parsed.s_addr) >> 24 == 127;
  return is_loopback ? kLoopbackPeer : address;
}

std::string PeerOfIpv6(absl::string_view address_and_port) {
  std::string text = absl::StrReplaceAll(address_and_port, {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  const size_t end = text.rfind(']');
  if (text.empty() || text[0] != '[' || end == std::string::npos) return text;
  text = text.substr(1, end - 1);
  in6_addr address = {};
  if (inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), &address) != 1) return text;
  if (IN6_IS_ADDR_LOOPBACK(&address)) return kLoopbackPeer;
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    char shown[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &address.s6_addr[12], shown, sizeof(shown));
    return PeerOfIpv4(shown);
  }
  return absl::StrCat(PrefixOf(address, kPeerNetworkBytes), kPeerNetwork);
}

}  // namespace

std::string PeerOf(absl::string_view grpc_peer) {
  if (IsUnixPeer(grpc_peer)) return "unix sockets";
  if (absl::ConsumePrefix(&grpc_peer, "ipv4:"))
    return PeerOfIpv4(std::string(grpc_peer.substr(0, grpc_peer.rfind(':'))));
  if (absl::ConsumePrefix(&grpc_peer, "ipv6:")) return PeerOfIpv6(grpc_peer);
  return "";
}

std::string SiteOf(const std::string& peer) {
  absl::string_view network = peer;
  in6_addr address = {};
  if (!absl::ConsumeSuffix(&network, kPeerNetwork)) return peer;
  if (inet_pton(AF_INET6, std::string(network).c_str(), &address) != 1) return peer;
  return absl::StrCat(PrefixOf(address, kSiteBytes), "/48");
}

}  // namespace glint
