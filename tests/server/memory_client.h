// A client that hands memory to a server, well or badly: every step can be done wrongly.
#ifndef GLINT_TESTS_SERVER_MEMORY_CLIENT_H_
#define GLINT_TESTS_SERVER_MEMORY_CLIENT_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "proto/handoff.h"

namespace glint::testing {

inline constexpr int kGoodSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { Close(); }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// A memfd, mapped for writing.
class Memory {
 public:
  explicit Memory(size_t bytes, int seals = kGoodSeals)
      : fd_(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING)), bytes_(bytes) {
    if (ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0) fd_.Close();
    data_ = static_cast<uint8_t*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0));
    if (seals != 0) fcntl(fd_.get(), F_ADD_SEALS, seals);
  }
  ~Memory() {
    if (data_ != MAP_FAILED) munmap(data_, bytes_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  int fd() const { return fd_.get(); }
  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  Descriptor fd_;
  size_t bytes_;
  uint8_t* data_;
};

// A connection to a server's socket for memory.
class HandoffClient {
 public:
  explicit HandoffClient(const std::string& path) : connection_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    connected_ = connect(connection_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    const timeval patience = {10, 0};
    setsockopt(connection_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  bool connected() const { return connected_; }

  // `size` bytes from `data` with these descriptors.
  bool Send(const void* data, size_t size, const std::vector<int>& fds) {
    iovec part = {const_cast<void*>(data), size};
    std::vector<char> control(CMSG_SPACE(sizeof(int) * fds.size()));
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* const rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
      std::memcpy(CMSG_DATA(rights), fds.data(), sizeof(int) * fds.size());
    }
    return sendmsg(connection_.get(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
  }
  bool Send(const HandoffRequest& request, const std::vector<int>& fds) { return Send(&request, sizeof(request), fds); }

  static HandoffRequest Request(uint64_t bytes) {
    HandoffRequest request = {};
    std::memcpy(request.magic, kHandoffMagic, sizeof(request.magic));
    request.bytes = bytes;
    return request;
  }

  // The server's answer; `code` -1: none, it has closed.
  HandoffReply Receive() {
    HandoffReply reply = {};
    ssize_t received;
    do {  // libFuzzer's alarms interrupt
      received = recv(connection_.get(), &reply, sizeof(reply), 0);
    } while (received < 0 && errno == EINTR);
    if (received != static_cast<ssize_t>(sizeof(reply))) reply.code = -1;
    return reply;
  }
  HandoffReply HandOver(int fd, uint64_t bytes) {
    Send(Request(bytes), {fd});
    return Receive();
  }
  // As it should be; empty on error.
  std::string HandOver(const Memory& memory) {
    const HandoffReply reply = HandOver(memory.fd(), memory.bytes());
    return reply.code != 0 ? "" : std::string(reinterpret_cast<const char*>(reply.token), kTokenBytes);
  }
  // What the end of the process does.
  void Die() { connection_.Close(); }

 private:
  Descriptor connection_;
  bool connected_;
};

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_MEMORY_CLIENT_H_
