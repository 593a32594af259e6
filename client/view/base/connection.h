// One connection of a browser or of Foxglove: as much of HTTP/1.1 (RFC 9112) and WebSocket (RFC 6455) as a view needs,
// with bounds on all that a peer can make it read, keep or wait for. Not civetweb's: its threads have stacks of 100
// KiB, of which the libraries of glint take so much for thread-local variables that it overflows.
#ifndef GLINT_CLIENT_VIEW_BASE_CONNECTION_H_
#define GLINT_CLIENT_VIEW_BASE_CONNECTION_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace glint::view {

struct HttpRequest {
  std::string method, path;
  std::map<std::string, std::string> headers;  // names in lower case

  // Empty if there is none.
  std::string header(const std::string& name) const;
};

// Of WebSocket frames.
enum Opcode : uint8_t { kTextFrame = 1, kBinaryFrame = 2, kCloseFrame = 8, kPingFrame = 9, kPongFrame = 10 };

struct WebSocketFrame {
  Opcode opcode = kTextFrame;
  std::string data;
};

// Sec-WebSocket-Accept of a Sec-WebSocket-Key: base64 of a SHA-1 (FIPS 180-4).
std::string AcceptKey(absl::string_view key);

// One thread reads and any write. Ends a peer that takes nothing for ten seconds.
class Connection {
 public:
  // Owns the socket.
  explicit Connection(int socket);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Nothing if no whole head of at most 8 KiB came within ten seconds, or it is none.
  std::optional<HttpRequest> ReadRequest();
  // False: the peer has gone. So with WriteFrame().
  bool Write(absl::string_view bytes);
  // Accepts a request to open a WebSocket; `protocol`: the subprotocol, or none. False as Write().
  bool Upgrade(const HttpRequest& request, absl::string_view protocol);
  // Keeps at most about so many bytes that the peer has not taken, so that what it gets is new.
  void LimitUnsent(int bytes);
  // Waits as long as it takes, and answers pings and a closing frame itself. Nothing at the end, and for what no client
  // of a view sends: frames in parts or without a mask, and data of more than `max_bytes`.
  std::optional<WebSocketFrame> ReadMessage(size_t max_bytes);
  // One frame of `data` and `more`.
  bool WriteFrame(Opcode opcode, absl::string_view data, absl::string_view more = {});
  // Closes, with a code of RFC 6455, 7.4.
  void WriteClose(uint16_t code, absl::string_view reason);
  // Ends all reading and writing, also by other threads.
  void End();

 private:
  bool Read(size_t count, std::string* bytes);
  // Any frame; nothing as ReadMessage().
  std::optional<WebSocketFrame> ReadFrame(size_t max_bytes);
  bool WriteAll(absl::string_view bytes);

  const int socket_;
  std::string ahead_;  // read after the head
  std::mutex write_;   // held for a whole frame
};

}  // namespace glint::view

#endif  // GLINT_CLIENT_VIEW_BASE_CONNECTION_H_
