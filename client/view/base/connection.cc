#include "client/view/base/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "features/steady_time.h"

namespace glint::view {
namespace {

constexpr size_t kMaxHead = 8 << 10;
constexpr int kPatienceSeconds = 10;
constexpr size_t kShort = 125;                                           // bytes, without a longer length
constexpr char kHandshakeId[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // RFC 6455, 1.3

uint32_t RotateLeft(uint32_t value, int bits) { return value << bits | value >> (32 - bits); }

// One block of 64 bytes.
void Sha1Block(absl::string_view block, std::array<uint32_t, 5>* state) {
  std::array<uint32_t, 80> w = {};
  for (size_t i = 0; i < block.size(); ++i) w[i / 4] = w[i / 4] << 8 | static_cast<uint8_t>(block[i]);
  for (size_t t = 16; t < w.size(); ++t) w[t] = RotateLeft(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
  auto [a, b, c, d, e] = *state;
  for (size_t t = 0; t < w.size(); ++t) {
    uint32_t f = b ^ c ^ d, k = 0xca62c1d6;
    if (t < 20) {
      f = (b & c) | (~b & d);
      k = 0x5a827999;
    } else if (t < 40) {
      k = 0x6ed9eba1;
    } else if (t < 60) {
      f = (b & c) | (b & d) | (c & d);
      k = 0x8f1bbcdc;
    }
    const uint32_t next = RotateLeft(a, 5) + f + e + k + w[t];
    e = d;
    d = c;
    c = RotateLeft(b, 30);
    b = a;
    a = next;
  }
  const std::array<uint32_t, 5> sum = {a, b, c, d, e};
  for (size_t i = 0; i < sum.size(); ++i) (*state)[i] += sum[i];
}

std::string Sha1(std::string text) {
  const uint64_t bits = text.size() * 8;
  text += '\x80';
  text.append((120 - text.size() % 64) % 64, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(bits >> shift & 0xff);
  std::array<uint32_t, 5> state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (size_t at = 0; at < text.size(); at += 64) Sha1Block(absl::string_view(text).substr(at, 64), &state);
  std::string digest;
  for (const uint32_t word : state) {
    for (int shift = 24; shift >= 0; shift -= 8) digest += static_cast<char>(word >> shift & 0xff);
  }
  return digest;
}

std::optional<HttpRequest> ParseHead(absl::string_view head) {
  const std::vector<absl::string_view> lines = absl::StrSplit(head, "\r\n");
  const std::vector<absl::string_view> first = absl::StrSplit(lines[0], ' ');
  if (first.size() != 3) return std::nullopt;
  HttpRequest request;
  request.method = std::string(first[0]);
  request.path = std::string(first[1]);
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> field = absl::StrSplit(lines[i], absl::MaxSplits(':', 1));
    const std::string name = absl::AsciiStrToLower(field.first);
    // Two hosts, or two origins: neither is believed.
    if (!request.headers.emplace(name, absl::StripAsciiWhitespace(field.second)).second) return std::nullopt;
  }
  return request;
}

void SetTimeout(int socket, int option, int seconds) {
  const timeval time = {seconds, 0};
  setsockopt(socket, SOL_SOCKET, option, &time, sizeof(time));
}

}  // namespace

std::string HttpRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

std::string AcceptKey(absl::string_view key) { return absl::Base64Escape(Sha1(absl::StrCat(key, kHandshakeId))); }

Connection::Connection(int socket) : socket_(socket) {
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(socket_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  SetTimeout(socket_, SO_SNDTIMEO, kPatienceSeconds);
}

Connection::~Connection() { close(socket_); }

void Connection::End() { shutdown(socket_, SHUT_RDWR); }

std::optional<HttpRequest> Connection::ReadRequest() {
  const absl::Time end = SteadyNow() + absl::Seconds(kPatienceSeconds);
  SetTimeout(socket_, SO_RCVTIMEO, kPatienceSeconds);
  std::string head;
  std::array<char, 2048> buffer;
  while (head.size() <= kMaxHead && SteadyNow() < end) {
    const ssize_t n = recv(socket_, buffer.data(), buffer.size(), 0);
    if (n <= 0) return std::nullopt;
    head.append(buffer.data(), static_cast<size_t>(n));
    const size_t stop = head.find("\r\n\r\n");
    if (stop == std::string::npos) continue;
    ahead_ = head.substr(stop + 4);
    return ParseHead(absl::string_view(head).substr(0, stop));
  }
  return std::nullopt;
}

bool Connection::Read(size_t count, std::string* bytes) {
  *bytes = ahead_.substr(0, count);
  ahead_.erase(0, count);
  while (bytes->size() < count) {
    std::array<char, 2048> buffer;
    const ssize_t n = recv(socket_, buffer.data(), std::min(buffer.size(), count - bytes->size()), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes->append(buffer.data(), static_cast<size_t>(n));
  }
  return true;
}

bool Connection::Upgrade(const HttpRequest& request, absl::string_view protocol) {
  return Write(absl::StrCat(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ",
      AcceptKey(request.header("sec-websocket-key")), protocol.empty() ? "" : "\r\nSec-WebSocket-Protocol: ", protocol,
      "\r\n\r\n"));
}

void Connection::LimitUnsent(int bytes) { setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)); }

std::optional<WebSocketFrame> Connection::ReadFrame(size_t max_bytes) {
  SetTimeout(socket_, SO_RCVTIMEO, 0);
  std::string head, more, mask;
  WebSocketFrame frame;
  if (!Read(2, &head)) return std::nullopt;
  const auto first = static_cast<uint8_t>(head[0]), second = static_cast<uint8_t>(head[1]);
  const bool whole = (first & 0x80) != 0, reserved = (first & 0x70) != 0, masked = (second & 0x80) != 0;
  if (!whole || reserved || !masked) return std::nullopt;
  uint64_t bytes = second & 0x7f;
  if (bytes > kShort) {
    if (!Read(bytes == 126 ? 2 : 8, &more)) return std::nullopt;
    bytes = 0;
    for (const char c : more) bytes = bytes << 8 | static_cast<uint8_t>(c);
  }
  if (bytes > max_bytes) return std::nullopt;
  if (!Read(4, &mask) || !Read(bytes, &frame.data)) return std::nullopt;
  for (size_t i = 0; i < bytes; ++i) frame.data[i] = static_cast<char>(frame.data[i] ^ mask[i % mask.size()]);
  frame.opcode = static_cast<Opcode>(first & 0xf);
  return frame;
}

std::optional<WebSocketFrame> Connection::ReadMessage(size_t max_bytes) {
  while (std::optional<WebSocketFrame> frame = ReadFrame(max_bytes)) {
    if (frame->opcode == kCloseFrame) {
      WriteFrame(kCloseFrame, frame->data);
      return std::nullopt;
    }
    if (frame->opcode == kPingFrame) {
      WriteFrame(kPongFrame, frame->data);
    } else if (frame->opcode != kPongFrame) {
      return frame;
    }
  }
  return std::nullopt;
}

bool Connection::WriteAll(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool Connection::Write(absl::string_view bytes) {
  const std::lock_guard<std::mutex> lock(write_);
  return WriteAll(bytes);
}

bool Connection::WriteFrame(Opcode opcode, absl::string_view data, absl::string_view more) {
  const size_t bytes = data.size() + more.size();
  std::string head = {static_cast<char>(0x80 | opcode)};
  const int length_bytes = bytes <= kShort ? 0 : bytes <= 0xffff ? 2 : 8;
  head += static_cast<char>(length_bytes == 0 ? bytes : length_bytes == 2 ? 126 : 127);
  for (int i = length_bytes - 1; i >= 0; --i) head += static_cast<char>(bytes >> (8 * i) & 0xff);
  const std::lock_guard<std::mutex> lock(write_);
  return WriteAll(head) && WriteAll(data) && WriteAll(more);
}

void Connection::WriteClose(uint16_t code, absl::string_view reason) {
  const std::string data = {static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
  WriteFrame(kCloseFrame, data, reason);
}

}  // namespace glint::view
