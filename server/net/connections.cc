#include "server/net/connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/base/clock.h"
#include "server/base/names.h"
#include "server/net/unix_listener.h"

namespace glint {
namespace {

struct KnownPeer {
  KnownPeer(std::string its_name, Http2Peer* all) : name(std::move(its_name)), budget(all) {}
  const std::string name;
  Http2Peer budget;
  int connections = 0;
  int64_t left_ns = 0;  // when the last connection was closed
};

}  // namespace

struct Connection : std::enable_shared_from_this<Connection> {
  Connection(int descriptor, bool with_tls, std::shared_ptr<KnownPeer> of)
      : fd(descriptor), tls(with_tls), peer(std::move(of)), accepted_ns(MonotonicNs()) {}
  const int fd;
  const bool tls;
  const std::shared_ptr<KnownPeer> peer;
  const int64_t accepted_ns;
  std::shared_ptr<Http2Guard> guard =
      std::make_shared<Http2Guard>(&CoarseMonotonicNs);  // set by TLS under the registry's mutex
  bool counted = true;                                   // false once it is shut down
  bool closed = false;
};

namespace {

constexpr int kMaxDescriptors = 1 << 20;
// A connection is silent, and may be ended for another one, after this time without calls, or with silent ones.
constexpr int64_t kSilentNs = 1'000'000'000, kSilentCallsNs = 60'000'000'000;
// The budgets of a peer without connections are kept until they are whole again.
constexpr int64_t kForgetPeerNs = 10'000'000'000;
constexpr size_t kRememberedPeers = 1024;

// By descriptor; those of other things than connections of gRPC have none. Pages that are not used take no memory.
std::atomic<Connection*> by_fd[kMaxDescriptors];
std::atomic<bool> watched{false};

constexpr char kLoopback[] = "loopback";
constexpr uint8_t kLoopbackNetwork = 127;

enum Reason { kLimitReached, kDisplaced, kFlood, kReasons };
constexpr const char* kReasonNames[] = {"limit", "displaced", "flood"};

class Registry {
 public:
  void SetRules(ConnectionRules rules) {
    std::lock_guard<std::mutex> lock(mutex_);
    rules_ = std::move(rules);
  }

  bool Admit(int fd, const sockaddr* address, const std::string& name) {
    std::lock_guard<std::mutex> lock(mutex_);
    const int64_t now = MonotonicNs();
    const std::shared_ptr<KnownPeer> peer = FindPeer(name, now);
    if (fd >= kMaxDescriptors) return Refuse(*peer, "--max-connections");
    if (peer->connections >= rules_.max_per_peer && !EndSilent(*peer, now)) {
      return Refuse(*peer, "--max-connections-per-peer");
    }
    if (live_ >= rules_.max && !EndSilent(*Largest(peer), now)) return Refuse(*peer, "--max-connections");
    const bool tls = rules_.tls && address->sa_family != AF_UNIX;
    auto connection = std::make_shared<Connection>(fd, tls, peer);
    by_fd[fd].store(connection.get(), std::memory_order_release);
    connections_[fd] = std::move(connection);
    ++peer->connections;
    ++live_;
    return true;
  }

  void Close(int fd) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = connections_.find(fd);
    if (found == connections_.end()) return;
    found->second->closed = true;
    Uncount(found->second.get());
    by_fd[fd].store(nullptr, std::memory_order_release);
    connections_.erase(found);
  }

  void End(Connection* connection, absl::string_view what) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!connection->closed) End(connection, kFlood, what);
  }

  // Peer of TLS connections that have said something before it is known whose they are.
  KnownPeer* unknown() { return &unknown_; }
  void EndUnknown(absl::string_view what) {
    std::lock_guard<std::mutex> lock(mutex_);
    Report(kFlood, unknown_, what);
  }

  void Share(Connection* connection, const std::shared_ptr<Http2Guard>& guard) {
    std::lock_guard<std::mutex> lock(mutex_);
    connection->guard = guard;
  }

  std::string Metrics() {
    std::lock_guard<std::mutex> lock(mutex_);
    std::string text;
    const metric::Name& open = metric::kConnections;
    absl::StrAppendFormat(&text, "# HELP %s %s\n# TYPE %s gauge\n%s %d\n", open.name, open.help, open.name, open.name,
                          live_);
    const metric::Name& closed = metric::kConnectionsClosed;
    absl::StrAppendFormat(&text, "# HELP %s %s\n# TYPE %s counter\n", closed.name, closed.help, closed.name);
    for (int i = 0; i < kReasons; ++i) {
      absl::StrAppendFormat(&text, "%s{reason=\"%s\"} %d\n", closed.name, kReasonNames[i], closed_[i]);
    }
    return text;
  }

 private:
  std::shared_ptr<KnownPeer> FindPeer(const std::string& name, int64_t now) {
    if (peers_.size() > kRememberedPeers && now - swept_ns_ > kForgetPeerNs) {
      swept_ns_ = now;
      for (auto it = peers_.begin(); it != peers_.end();) {
        const KnownPeer& peer = *it->second;
        it = peer.connections == 0 && now - peer.left_ns > kForgetPeerNs ? peers_.erase(it) : std::next(it);
      }
    }
    std::shared_ptr<KnownPeer>& peer = peers_[name];
    if (peer == nullptr) peer = std::make_shared<KnownPeer>(name, &all_peers_);
    return peer;
  }

  // The peer with most connections, were there one more of `newcomer`.
  std::shared_ptr<KnownPeer> Largest(const std::shared_ptr<KnownPeer>& newcomer) const {
    std::shared_ptr<KnownPeer> largest = newcomer;
    for (const auto& [name, peer] : peers_) {
      if (peer->connections > largest->connections + (largest == newcomer ? 1 : 0)) largest = peer;
    }
    return largest;
  }

  bool EndSilent(const KnownPeer& peer, int64_t now) {
    Connection* longest = nullptr;
    int64_t since = now - kSilentNs;
    for (const auto& [fd, connection] : connections_) {
      if (!connection->counted || connection->peer.get() != &peer) continue;
      const bool calls = connection->guard->open_calls() > 0;
      const int64_t last = std::max(connection->accepted_ns, connection->guard->last_call_ns());
      if (last >= since || (calls && now - last < kSilentCallsNs)) continue;
      since = last;
      longest = connection.get();
    }
    if (longest == nullptr) return false;
    End(longest, kDisplaced, "silent, and its place was wanted");
    return true;
  }

  bool Refuse(const KnownPeer& peer, absl::string_view flag) {
    Report(kLimitReached, peer, flag);
    return false;
  }

  void End(Connection* connection, Reason reason, absl::string_view what) {
    if (!connection->counted) return;
    Uncount(connection);
    shutdown(connection->fd, SHUT_RDWR);
    Report(reason, *connection->peer, what);
  }

  void Report(Reason reason, const KnownPeer& peer, absl::string_view what) {
    ++closed_[reason];
    if (rules_.report != nullptr) rules_.report(peer.name, what);
  }

  void Uncount(Connection* connection) {
    if (!std::exchange(connection->counted, false)) return;
    --live_;
    --connection->peer->connections;
    connection->peer->left_ns = MonotonicNs();
  }

  Http2Peer all_peers_{nullptr};
  KnownPeer unknown_{"unknown", &all_peers_};
  std::mutex mutex_;  // guards the rest
  ConnectionRules rules_;
  std::unordered_map<int, std::shared_ptr<Connection>> connections_;
  std::unordered_map<std::string, std::shared_ptr<KnownPeer>> peers_;
  int live_ = 0;
  int64_t swept_ns_ = 0;
  int64_t closed_[kReasons] = {};
};

Registry& TheRegistry() {
  static Registry* const registry = new Registry;  // never deleted: descriptors are closed until the process ends
  return *registry;
}

// The TLS connection that this thread has received from last and that nobody has asked for.
thread_local std::shared_ptr<Connection> received;

// Null if `fd` is no connection of gRPC. Stays valid until the descriptor is closed.
Connection* Find(int fd) {
  return fd >= 0 && fd < kMaxDescriptors ? by_fd[fd].load(std::memory_order_acquire) : nullptr;
}

// Calls `look(bytes, size)` for the first `count` bytes of a message's pieces.
template <typename Look>
void ForEachPiece(const msghdr& message, ssize_t count, Look look) {
  for (size_t i = 0; i < message.msg_iovlen && count > 0; ++i) {
    const iovec& piece = message.msg_iov[i];
    const size_t size = std::min(piece.iov_len, static_cast<size_t>(count));
    look(static_cast<const uint8_t*>(piece.iov_base), size);
    count -= static_cast<ssize_t>(size);
  }
}

std::string PeerOfAddress6(const in6_addr& address) {
  char shown[INET6_ADDRSTRLEN] = "";
  if (IN6_IS_ADDR_LOOPBACK(&address)) return kLoopback;
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    if (address.s6_addr[12] == kLoopbackNetwork) return kLoopback;
    inet_ntop(AF_INET, &address.s6_addr[12], shown, sizeof(shown));
    return shown;
  }
  in6_addr network = address;
  std::fill(std::begin(network.s6_addr) + 8, std::end(network.s6_addr), uint8_t{0});
  inet_ntop(AF_INET6, &network, shown, sizeof(shown));
  return absl::StrCat(shown, "/64");
}

}  // namespace

std::string PeerOfAddress(const sockaddr* address) {
  if (address->sa_family == AF_INET6) return PeerOfAddress6(reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  if (address->sa_family != AF_INET) return "unix sockets";
  const in_addr& v4 = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  if (ntohl(v4.s_addr) >> 24 == kLoopbackNetwork) return kLoopback;
  char shown[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &v4, shown, sizeof(shown));
  return shown;
}

bool ConnectionsAreWatched() { return watched = true; }

void SetConnectionRules(ConnectionRules rules) { TheRegistry().SetRules(std::move(rules)); }

bool AdmitConnection(int fd) {
  if (!watched) return true;
  sockaddr_storage address = {};
  socklen_t length = sizeof(address);
  auto* const peer = reinterpret_cast<sockaddr*>(&address);
  if (getpeername(fd, peer, &length) != 0) return false;  // has gone already
  const std::optional<uint32_t> user = peer->sa_family == AF_UNIX ? UserOf(fd) : std::nullopt;
  return TheRegistry().Admit(fd, peer, user.has_value() ? absl::StrCat("user ", *user) : PeerOfAddress(peer));
}

bool ReceivedOn(int fd, const msghdr& message, ssize_t count) {
  Connection* const connection = Find(fd);
  if (connection == nullptr || count <= 0) return true;
  if (connection->tls) {
    received = connection->shared_from_this();
    return true;
  }
  const char* over = nullptr;
  ForEachPiece(message, count, [&](const uint8_t* bytes, size_t size) {
    over = connection->guard->Receive(bytes, size, &connection->peer->budget);
  });
  if (over != nullptr) TheRegistry().End(connection, over);
  return over == nullptr;
}

void SentOn(int fd, const msghdr& message, ssize_t count) {
  Connection* const connection = Find(fd);
  if (connection == nullptr || connection->tls) return;
  ForEachPiece(message, count, [&](const uint8_t* bytes, size_t size) { connection->guard->Send(bytes, size); });
}

void ClosingConnection(int fd) {
  if (Find(fd) != nullptr) TheRegistry().Close(fd);
}

TlsConnection::TlsConnection() : guard_(std::make_shared<Http2Guard>(&CoarseMonotonicNs)) {}

bool TlsConnection::Receive(const void* bytes, size_t size) {
  if (const auto connection = std::exchange(received, nullptr); connection != nullptr && connection != connection_) {
    connection_ = connection;
    TheRegistry().Share(connection.get(), guard_);
  }
  Registry& registry = TheRegistry();
  KnownPeer* const peer = connection_ == nullptr ? registry.unknown() : connection_->peer.get();
  const char* const over = guard_->Receive(static_cast<const uint8_t*>(bytes), size, &peer->budget);
  if (over != nullptr && connection_ != nullptr) registry.End(connection_.get(), over);
  if (over != nullptr && connection_ == nullptr) registry.EndUnknown(over);
  return over == nullptr;
}

void TlsConnection::Send(const void* bytes, size_t size) { guard_->Send(static_cast<const uint8_t*>(bytes), size); }

std::string ConnectionMetrics() { return watched ? TheRegistry().Metrics() : ""; }

}  // namespace glint
