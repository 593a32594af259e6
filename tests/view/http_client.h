// A plain client of a view: raw sockets, so that a test decides on every header and on when to read.
#ifndef GLINT_TESTS_VIEW_HTTP_CLIENT_H_
#define GLINT_TESTS_VIEW_HTTP_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace glint::view {

// The whole answer, head and body, to a request at 127.0.0.1:`port`.
std::string SendRequest(int port, const std::string& text);
// The answer to a GET with this Host header.
std::string Get(int port, const std::string& path, const std::string& host);

// A connection that says nothing.
class SilentClient {
 public:
  explicit SilentClient(int port);
  ~SilentClient();
  SilentClient(const SilentClient&) = delete;
  SilentClient& operator=(const SilentClient&) = delete;

  static std::vector<std::unique_ptr<SilentClient>> Many(int port, int count);

 private:
  const int socket_;
};

// Thread-compatible. Reading fails the test after ten seconds.
class WebSocketClient {
 public:
  // Connects and sends the request to upgrade; `headers` ("Host: ...\r\n...") are all that it has beside those of
  // WebSocket. `receive_buffer`: bytes of the socket's, or 0 for the system's default.
  WebSocketClient(int port, const std::string& headers, int receive_buffer = 0);
  ~WebSocketClient();
  WebSocketClient(const WebSocketClient&) = delete;
  WebSocketClient& operator=(const WebSocketClient&) = delete;

  // The first line of the answer: "HTTP/1.1 101 Switching Protocols".
  const std::string& status_line() const { return status_line_; }
  // All lines of it, up to the empty one.
  const std::string& head() const { return head_; }

  struct Message {
    int opcode = 0;  // 1 text, 2 binary, 8 close; -1: the connection has ended
    std::string data;
  };
  // The next message that is no ping.
  Message Read();
  void SendText(const std::string& text) { Send(1, text); }
  void Send(int opcode, const std::string& data);
  // Bytes as they are.
  void SendRaw(const std::string& bytes);
  // A frame of this opcode with a length that is claimed and not sent.
  void SendClaim(int opcode, uint64_t length);

 private:
  bool ReadBytes(size_t count, std::string* bytes);

  int socket_ = -1;
  std::string status_line_, head_;
};

}  // namespace glint::view

#endif  // GLINT_TESTS_VIEW_HTTP_CLIENT_H_
