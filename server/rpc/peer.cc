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

std::string NetworkOf(absl::string_view address_and_port) {
  std::string text = absl::StrReplaceAll(address_and_port, {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  const size_t end = text.rfind(']');
  if (text.empty() || text[0] != '[' || end == std::string::npos) return text;
  text = text.substr(1, end - 1);
  in6_addr address = {};
  if (inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), &address) != 1) return text;
  char shown[INET6_ADDRSTRLEN] = "";
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    inet_ntop(AF_INET, &address.s6_addr[12], shown, sizeof(shown));
    return shown;
  }
  std::fill(std::begin(address.s6_addr) + 8, std::end(address.s6_addr), uint8_t{0});
  inet_ntop(AF_INET6, &address, shown, sizeof(shown));
  return absl::StrCat(shown, "/64");
}

}  // namespace

std::string PeerOf(absl::string_view grpc_peer) {
  if (IsUnixPeer(grpc_peer)) return "unix sockets";
  if (absl::ConsumePrefix(&grpc_peer, "ipv4:")) return std::string(grpc_peer.substr(0, grpc_peer.rfind(':')));
  if (absl::ConsumePrefix(&grpc_peer, "ipv6:")) return NetworkOf(grpc_peer);
  return "";
}

}  // namespace glint
