// A client that speaks HTTP/2 to a unix socket byte by byte, to do what gRPC's own clients never would: stop in the
// middle of a message, announce one that never ends, and say nothing. It keeps nothing of what it sends.
#ifndef GLINT_TESTS_SERVER_HTTP2_CLIENT_H_
#define GLINT_TESTS_SERVER_HTTP2_CLIENT_H_

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>

namespace glint::testing {

// One connection. RFC 9113 for the frames, RFC 7541 for the headers. Not thread-safe.
class Http2Client {
 public:
  using Milliseconds = std::chrono::milliseconds;

  explicit Http2Client(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    const timeval patience = {10, 0};  // with a server that has stopped reading: against hanging
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    alive_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    SendFrame(kSettings, 0, 0, "");
    Pump(Milliseconds(0));
  }
  ~Http2Client() { close(fd_); }
  Http2Client(const Http2Client&) = delete;
  Http2Client& operator=(const Http2Client&) = delete;

  // The server has not closed the connection.
  bool alive() const { return alive_; }

  // Begins a call of "/package.Service/Method"; its stream.
  uint32_t Call(const std::string& method) {
    const uint32_t stream = next_stream_;
    next_stream_ += 2;
    streams_[stream].window = initial_window_;
    std::string headers;
    for (const auto& [name, value] : {std::pair<std::string, std::string>{":method", "POST"},
                                      {":scheme", "http"},
                                      {":path", method},
                                      {":authority", "localhost"},
                                      {"te", "trailers"},
                                      {"content-type", "application/grpc"}}) {
      headers += '\0' + Literal(name) + Literal(value);  // not indexed
    }
    SendFrame(kHeaders, kEndHeaders, stream, headers);
    return stream;
  }

  // What precedes a message of `size` bytes.
  static std::string Prefix(uint32_t size) {
    std::string prefix(5, '\0');
    for (int i = 0; i < 4; ++i) prefix[static_cast<size_t>(1 + i)] = static_cast<char>(size >> (24 - 8 * i));
    return prefix;
  }
  bool SendPrefix(uint32_t stream, uint32_t size) { return SendData(stream, Prefix(size), Milliseconds(1000)); }

  // Sends `bytes` as far as the server's windows allow within `patience` of silence; whether all went.
  bool SendData(uint32_t stream, const std::string& bytes, Milliseconds patience, bool end = false) {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const int64_t room = std::min({window_, streams_[stream].window, int64_t{kMaxFrame}});
      if (room <= 0 || streams_[stream].ended) {
        if (streams_[stream].ended || !Pump(patience)) return false;
        continue;
      }
      const std::string part = bytes.substr(sent, static_cast<size_t>(room));
      sent += part.size();
      if (!SendFrame(kData, end && sent == bytes.size() ? kEndStream : 0, stream, part)) return false;
      window_ -= static_cast<int64_t>(part.size());
      streams_[stream].window -= static_cast<int64_t>(part.size());
      Pump(Milliseconds(0));
    }
    return true;
  }
  // The same with `count` zeros; how many of them went.
  uint64_t SendZeros(uint32_t stream, uint64_t count, Milliseconds patience) {
    const std::string chunk(kMaxFrame, '\0');
    uint64_t sent = 0;
    while (sent < count) {
      const int64_t before = window_;
      const bool all = SendData(stream, chunk.substr(0, std::min<uint64_t>(count - sent, kMaxFrame)), patience);
      if (!all) return sent + static_cast<uint64_t>(std::max<int64_t>(0, before - window_));
      sent += std::min<uint64_t>(count - sent, kMaxFrame);
    }
    return sent;
  }

  // The server has sent the call's status, or taken the stream away.
  bool ended(uint32_t stream) const { return streams_.at(stream).ended; }
  int ended() const {
    return static_cast<int>(std::count_if(streams_.begin(), streams_.end(), [](auto& s) { return s.second.ended; }));
  }
  // Bytes of messages and their prefixes that came.
  size_t received(uint32_t stream) const { return streams_.at(stream).received; }

  // Takes in what the server sends, until it has been silent for `patience`. False if nothing came.
  bool Pump(Milliseconds patience) {
    bool any = false;
    while (alive_) {
      pollfd polled = {fd_, POLLIN, 0};
      if (poll(&polled, 1, any ? 0 : static_cast<int>(patience.count())) <= 0) break;
      char buffer[1 << 16];
      const ssize_t got = recv(fd_, buffer, sizeof(buffer), 0);
      if (got <= 0) {
        alive_ = false;
        for (auto& stream : streams_) stream.second.ended = true;
        break;
      }
      any = true;
      input_.append(buffer, static_cast<size_t>(got));
      while (TakeFrame()) continue;
    }
    return any;
  }

 private:
  static constexpr size_t kMaxFrame = 16384;
  static constexpr size_t kFrameHeader = 9;
  static constexpr int kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6, kGoAway = 7, kWindowUpdate = 8;
  static constexpr int kEndStream = 1, kAck = 1, kEndHeaders = 4;
  static constexpr uint32_t kInitialWindowSize = 4;  // of the settings

  struct Stream {
    int64_t window = 65535;
    size_t received = 0;
    bool ended = false;
  };

  static std::string Literal(const std::string& text) { return static_cast<char>(text.size()) + text; }

  static uint32_t Number(const std::string& bytes, size_t at, size_t count) {
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
    return value;
  }
  static std::string Bytes(uint32_t value, int count) {
    std::string bytes;
    for (int i = count - 1; i >= 0; --i) bytes += static_cast<char>(value >> (8 * i));
    return bytes;
  }

  bool Send(const std::string& bytes) {
    for (size_t sent = 0; alive_ && sent < bytes.size();) {
      const ssize_t n = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) alive_ = false;
      sent += static_cast<size_t>(std::max<ssize_t>(n, 0));
    }
    return alive_;
  }
  bool SendFrame(int type, int flags, uint32_t stream, const std::string& payload) {
    return Send(Bytes(static_cast<uint32_t>(payload.size()), 3) + static_cast<char>(type) + static_cast<char>(flags) +
                Bytes(stream, 4) + payload);
  }

  bool TakeFrame() {
    if (input_.size() < kFrameHeader) return false;
    const size_t size = Number(input_, 0, 3);
    if (input_.size() < kFrameHeader + size) return false;
    const int type = input_[3], flags = input_[4];
    const uint32_t stream = Number(input_, 5, 4);
    const std::string payload = input_.substr(kFrameHeader, size);
    input_.erase(0, kFrameHeader + size);
    switch (type) {
      case kData:
        streams_[stream].received += size;
        if (size > 0) SendFrame(kWindowUpdate, 0, 0, Bytes(static_cast<uint32_t>(size), 4));
        if (size > 0) SendFrame(kWindowUpdate, 0, stream, Bytes(static_cast<uint32_t>(size), 4));
        break;
      case kReset:
        streams_[stream].ended = true;
        break;
      case kSettings:
        if ((flags & kAck) == 0) TakeSettings(payload);
        break;
      case kPing:
        if ((flags & kAck) == 0) SendFrame(kPing, kAck, 0, payload);
        break;
      case kWindowUpdate:
        (stream == 0 ? window_ : streams_[stream].window) += Number(payload, 0, 4);
        break;
      default:
        break;
    }
    if ((type == kData || type == kHeaders) && (flags & kEndStream) != 0) streams_[stream].ended = true;
    return true;
  }

  void TakeSettings(const std::string& payload) {
    for (size_t i = 0; i + 6 <= payload.size(); i += 6) {
      if (Number(payload, i, 2) != kInitialWindowSize) continue;
      const int64_t window = Number(payload, i + 2, 4);
      for (auto& stream : streams_) stream.second.window += window - initial_window_;
      initial_window_ = window;
    }
    SendFrame(kSettings, kAck, 0, "");
  }

  const int fd_;
  bool alive_ = false;
  std::string input_;
  uint32_t next_stream_ = 1;
  int64_t window_ = 65535;
  int64_t initial_window_ = 65535;
  std::map<uint32_t, Stream> streams_;
};

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_HTTP2_CLIENT_H_
