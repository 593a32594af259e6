// The connections that gRPC has accepted: how many there may be, and the guard of each (server/net/http2_guard.h).
//
// gRPC has no hooks for either. glint-server therefore has functions of its own in place of the C library's accept4(),
// recvmsg(), sendmsg() and close() and of OpenSSL's SSL_read() and SSL_write() (accept4.cc, socket_calls.cc,
// ssl_calls.cc): they call the original, and show what went through to the functions below. Nothing is copied. In a
// process without them there are neither limits nor guards. All functions are thread-safe.
#ifndef GLINT_SERVER_NET_CONNECTIONS_H_
#define GLINT_SERVER_NET_CONNECTIONS_H_

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "server/net/http2_guard.h"

namespace glint {

// Peer of an IP address: that of IPv4, the /64 of one of IPv6; all of 127.0.0.0/8 and ::1 are "loopback", because a
// client chooses among them. Those of unix sockets are named by their users ("user 1000").
std::string PeerOfAddress(const sockaddr* address);

struct ConnectionRules {
  int max = 1 << 30;           // connections at the same time
  int max_per_peer = 1 << 30;  // of these, those of one peer
  bool tls = false;            // TCP connections have TLS
  // Called for each connection that is closed, with its peer and what was over its limit.
  std::function<void(absl::string_view peer, absl::string_view what)> report;
};

// Says that this process has the functions above; returns true.
bool ConnectionsAreWatched();
// Rules for connections from now on. `report` is called until rules are set anew.
void SetConnectionRules(ConnectionRules rules);

// Registers a connected socket. False: it is one too many and has to be closed. Where all places are taken, the
// connection without calls that has been silent for longest is ended in its place: one of the peer's, if the peer has
// its share, else one of the peer that has most.
bool AdmitConnection(int fd);
// To be called when `count` bytes went through a socket, and before it is closed; other descriptors are ignored. False:
// the connection was over a limit and is shut down.
bool ReceivedOn(int fd, const msghdr& message, ssize_t count);
void SentOn(int fd, const msghdr& message, ssize_t count);
void ClosingConnection(int fd);

struct Connection;

// The guard of what is inside of a TLS connection. One thread at a time.
class TlsConnection {
 public:
  TlsConnection();
  // Bytes that the client has sent, decrypted. gRPC decrypts on the thread that has received, before that receives
  // anything else: the peer is that of the socket of the thread's last ReceivedOn(). What comes with the end of the
  // handshake is decrypted later: then the peer is not known yet, and all such connections are one. False: over a
  // limit.
  bool Receive(const void* bytes, size_t size);
  void Send(const void* bytes, size_t size);

 private:
  const std::shared_ptr<Http2Guard> guard_;
  std::shared_ptr<Connection> connection_;  // null as long as it is not known
};

// Lines of /metrics about connections.
std::string ConnectionMetrics();

}  // namespace glint

#endif  // GLINT_SERVER_NET_CONNECTIONS_H_
