// A call by HTTP/2 written by hand (RFC 9113, RFC 7541), for what gRPC's own client never does: messages cut into DATA
// frames of any size, and silence anywhere.
#ifndef GLINT_TESTS_SERVER_RAW_HTTP2_H_
#define GLINT_TESTS_SERVER_RAW_HTTP2_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace glint::testing {

// Thread-compatible. Reads give up after ten seconds, which is no measurement but a hung test.
class RawHttp2Call {
 public:
  // `address` is "IPV4:PORT", `path` the method's, with a slash first. `window`: bytes of messages that the server may
  // send.
  RawHttp2Call(const std::string& address, const std::string& path, uint32_t window = 65535)
      : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    const size_t colon = address.rfind(':');
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
    inet_pton(AF_INET, address.substr(0, colon).c_str(), &name.sin_addr);
    const timeval patience = {10, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    ok_ = connect(fd_, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
    std::string headers;
    const std::vector<std::pair<std::string, std::string>> fields = {{":method", "POST"},
                                                                     {":scheme", "http"},
                                                                     {":path", path},
                                                                     {":authority", "test"},
                                                                     {"content-type", "application/grpc"},
                                                                     {"te", "trailers"}};
    for (const auto& [key, value] : fields) {
      // A literal, not to be indexed, of less than 127 bytes each.
      absl::StrAppend(&headers, std::string(1, '\0'), std::string(1, static_cast<char>(key.size())), key,
                      std::string(1, static_cast<char>(value.size())), value);
    }
    Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, 0, std::string("\0\4", 2) + Number(window)) +
         Frame(kHeaders, kEndHeaders, 1, headers));
  }
  ~RawHttp2Call() { close(fd_); }
  RawHttp2Call(const RawHttp2Call&) = delete;
  RawHttp2Call& operator=(const RawHttp2Call&) = delete;

  // One message in DATA frames of `piece` bytes. False once the call has ended or the server takes nothing more.
  bool Write(const std::string& message, size_t piece) {
    std::string prefix(5, '\0');
    for (int i = 0; i < 4; ++i) prefix[static_cast<size_t>(1 + i)] = static_cast<char>(message.size() >> (24 - 8 * i));
    const std::string bytes = prefix + message;
    std::string out;
    for (size_t at = 0; at < bytes.size() && ok_; at += piece) {
      const std::string payload = bytes.substr(at, piece);
      while (ok_ && std::min(connection_window_, stream_window_) < static_cast<int64_t>(payload.size())) {
        Send(std::exchange(out, ""));
        ReadFrame();
      }
      connection_window_ -= static_cast<int64_t>(payload.size());
      stream_window_ -= static_cast<int64_t>(payload.size());
      out += Frame(kData, 0, 1, payload);
      if (out.size() > 1 << 16) Send(std::exchange(out, ""));
    }
    Send(out);
    return ok_;
  }

  // A message without its second half. False once the call has ended.
  bool WriteHalf(const std::string& message) {
    std::string whole(5, '\0');
    for (int i = 0; i < 4; ++i) whole[static_cast<size_t>(1 + i)] = static_cast<char>(message.size() >> (24 - 8 * i));
    whole += message.substr(0, std::min(message.size() / 2, kMaxFrame - whole.size()));
    Send(Frame(kData, 0, 1, whole));
    return ok_;
  }

  void WritesDone() { Send(Frame(kData, kEndStream, 1, "")); }

  // Waits for `bytes` of DATA from the server, all in all. False once the call has ended.
  bool WaitForData(size_t bytes) {
    while (ok_ && received_ < bytes) ReadFrame();
    return received_ >= bytes;
  }

 private:
  enum Type : uint8_t { kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6, kGoAway = 7, kWindowUpdate = 8 };
  static constexpr size_t kMaxFrame = 16384;
  static constexpr uint8_t kAck = 1, kEndStream = 1, kEndHeaders = 4;

  static std::string Number(uint32_t value) {
    std::string bytes(4, '\0');
    for (size_t i = 0; i < 4; ++i) bytes[i] = static_cast<char>(value >> (24 - 8 * i));
    return bytes;
  }
  static uint32_t NumberAt(const std::string& bytes, size_t at, size_t size) {
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) value = value << 8 | static_cast<uint8_t>(bytes.at(at + i));
    return value;
  }
  static std::string Frame(Type type, uint8_t flags, uint32_t stream, const std::string& payload) {
    return Number(static_cast<uint32_t>(payload.size())).substr(1) + static_cast<char>(type) +
           static_cast<char>(flags) + Number(stream) + payload;
  }

  void Send(const std::string& bytes) {
    for (size_t sent = 0; ok_ && sent < bytes.size();) {
      const ssize_t n = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) ok_ = false;
      sent += n > 0 ? static_cast<size_t>(n) : 0;
    }
  }
  std::string Receive(size_t count) {
    std::string bytes(count, '\0');
    for (size_t got = 0; ok_ && got < count;) {
      const ssize_t n = recv(fd_, &bytes[got], count - got, 0);
      if (n <= 0) ok_ = false;
      got += n > 0 ? static_cast<size_t>(n) : 0;
    }
    return bytes;
  }

  void ReadFrame() {
    const std::string header = Receive(9);
    const std::string payload = Receive(ok_ ? NumberAt(header, 0, 3) : 0);
    if (!ok_) return;
    const auto flags = static_cast<uint8_t>(header[4]);
    switch (static_cast<uint8_t>(header[3])) {
      case kData:
        received_ += payload.size();
        break;
      case kHeaders:
        if ((flags & kEndStream) != 0) ok_ = false;
        break;
      case kReset:
      case kGoAway:
        ok_ = false;
        break;
      case kSettings:
        if ((flags & kAck) != 0) break;
        for (size_t at = 0; at + 6 <= payload.size(); at += 6) {
          if (NumberAt(payload, at, 2) != 4) continue;  // INITIAL_WINDOW_SIZE
          const int64_t window = NumberAt(payload, at + 2, 4);
          stream_window_ += window - std::exchange(initial_window_, window);
        }
        Send(Frame(kSettings, kAck, 0, ""));
        break;
      case kPing:
        if ((flags & kAck) == 0) Send(Frame(kPing, kAck, 0, payload));
        break;
      case kWindowUpdate:
        (NumberAt(header, 5, 4) == 0 ? connection_window_ : stream_window_) += NumberAt(payload, 0, 4);
        break;
      default:
        break;
    }
  }

  const int fd_;
  bool ok_ = true;
  int64_t connection_window_ = 65535, stream_window_ = 65535, initial_window_ = 65535;
  size_t received_ = 0;
};

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_RAW_HTTP2_H_
