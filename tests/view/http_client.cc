#include "tests/view/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace glint::view {
namespace {

constexpr int kOpcodePing = 9;
constexpr char kMask[] = {1, 2, 3, 4};

int Connect(int port, int receive_buffer) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_buffer > 0) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
  const timeval patience = {10, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

void SendAll(int fd, const std::string& bytes) {
  EXPECT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

}  // namespace

std::string SendRequest(int port, const std::string& text) {
  const int fd = Connect(port, 0);
  SendAll(fd, text);
  std::string answer;
  char buffer[4096];
  while (true) {
    const ssize_t n = recv(fd, buffer, sizeof(buffer), 0);
    EXPECT_GE(n, 0) << "no answer";
    if (n <= 0) break;
    answer.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return answer;
}

std::string Get(int port, const std::string& path, const std::string& host) {
  return SendRequest(port, absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: ", host, "\r\nConnection: close\r\n\r\n"));
}

SilentClient::SilentClient(int port) : socket_(Connect(port, 0)) {}

SilentClient::~SilentClient() { close(socket_); }

std::vector<std::unique_ptr<SilentClient>> SilentClient::Many(int port, int count) {
  std::vector<std::unique_ptr<SilentClient>> clients;
  for (int i = 0; i < count; ++i) clients.push_back(std::make_unique<SilentClient>(port));
  return clients;
}

WebSocketClient::WebSocketClient(int port, const std::string& headers, int receive_buffer)
    : socket_(Connect(port, receive_buffer)) {
  SendAll(socket_, absl::StrCat("GET /frames HTTP/1.1\r\n", headers,
                                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"));
  std::string byte;
  while (head_.size() < 4 || head_.compare(head_.size() - 4, 4, "\r\n\r\n") != 0) {
    if (!ReadBytes(1, &byte)) break;
    head_ += byte;
  }
  status_line_ = head_.substr(0, head_.find("\r\n"));
}

WebSocketClient::~WebSocketClient() { close(socket_); }

bool WebSocketClient::ReadBytes(size_t count, std::string* bytes) {
  bytes->resize(count);
  for (size_t done = 0; done < count;) {
    const ssize_t n = recv(socket_, bytes->data() + done, count - done, 0);
    EXPECT_FALSE(n < 0 && errno == EAGAIN) << "nothing came for ten seconds";
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

WebSocketClient::Message WebSocketClient::Read() {
  while (true) {
    std::string head, more;
    if (!ReadBytes(2, &head)) return {-1, ""};
    uint64_t length = static_cast<uint8_t>(head[1]) & 0x7f;
    const int length_bytes = length == 126 ? 2 : length == 127 ? 8 : 0;
    if (length_bytes > 0) {
      if (!ReadBytes(static_cast<size_t>(length_bytes), &more)) return {-1, ""};
      length = 0;
      for (const char c : more) length = length << 8 | static_cast<uint8_t>(c);
    }
    Message message = {head[0] & 0xf, ""};
    if (!ReadBytes(length, &message.data)) return {-1, ""};
    if (message.opcode != kOpcodePing) return message;
  }
}

void WebSocketClient::Send(int opcode, const std::string& data) {
  ASSERT_LE(data.size(), 0xffffu);
  std::string frame = {static_cast<char>(0x80 | opcode)};
  if (data.size() < 126) {
    frame += static_cast<char>(0x80 | data.size());
  } else {
    frame += {'\xfe', static_cast<char>(data.size() >> 8), static_cast<char>(data.size() & 0xff)};
  }
  frame.append(kMask, sizeof(kMask));
  for (size_t i = 0; i < data.size(); ++i) frame += static_cast<char>(data[i] ^ kMask[i % sizeof(kMask)]);
  SendAll(socket_, frame);
}

void WebSocketClient::SendRaw(const std::string& bytes) { SendAll(socket_, bytes); }

void WebSocketClient::SendClaim(int opcode, uint64_t length) {
  std::string frame = {static_cast<char>(0x80 | opcode), '\xff'};
  for (int shift = 56; shift >= 0; shift -= 8) frame += static_cast<char>(length >> shift & 0xff);
  frame.append(kMask, sizeof(kMask));
  SendAll(socket_, frame);
}

}  // namespace glint::view
