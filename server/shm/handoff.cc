#include "server/shm/handoff.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/status_macros.h"
#include "features/thread.h"
#include "proto/handoff.h"
#include "server/base/clock.h"
#include "server/net/accept.h"

namespace glint {
namespace {

// Time that a client has to send its request after connecting.
constexpr int64_t kPatienceNs = 5'000'000'000;
// Time without a frame after which a region may have to make way.
constexpr int64_t kUnusedNs = 1'000'000'000;
constexpr int kBacklog = 16;
// Limit of descriptors in one message, in Linux (SCM_MAX_FD).
constexpr size_t kMaxDescriptors = 253;

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  return address;
}

absl::Status CannotTakeMemory(const std::string& path, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat("listen: cannot take memory at ", path, ": ", why));
}

// Removes a socket that nobody listens on.
absl::Status MakeRoom(const std::string& path, const sockaddr_un& address) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return absl::OkStatus();
  if (!S_ISSOCK(info.st_mode)) return CannotTakeMemory(path, "a file of that name exists and is not a socket");
  const int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int connected = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int error = connected == 0 ? EADDRINUSE : errno;
  close(probe);
  if (error != ECONNREFUSED) return CannotTakeMemory(path, std::strerror(error));
  unlink(path.c_str());
  return absl::OkStatus();
}

void Reply(int fd, const absl::StatusOr<std::string>& token) {
  HandoffReply reply = {};
  std::memcpy(reply.magic, kHandoffMagic, sizeof(reply.magic));
  reply.code = static_cast<int32_t>(token.status().code());
  if (token.ok()) {
    std::memcpy(reply.token, token->data(), kTokenBytes);
  } else {
    const absl::string_view text = token.status().message();
    std::memcpy(reply.message, text.data(), std::min(text.size(), sizeof(reply.message) - 1));
  }
  // A client that does not read the reply has lost the region, which goes with the connection.
  send(fd, &reply, sizeof(reply), MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Receives one message and its descriptor, which the caller owns; -1: none, or more than one.
struct Received {
  ssize_t bytes = 0;
  HandoffRequest request = {};
  int fd = -1;
};

// Calls `take` for each descriptor of a message; this process owns all of them.
template <typename Take>
void ForEachDescriptor(msghdr* message, Take take) {
  for (cmsghdr* part = CMSG_FIRSTHDR(message); part != nullptr; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      take(fd);
    }
  }
}

Received Receive(int connection) {
  Received received;
  iovec data = {&received.request, sizeof(received.request)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)];
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  received.bytes = recvmsg(connection, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (received.bytes < 0) return received;
  int count = 0;
  ForEachDescriptor(&message, [&](int fd) {
    if (++count == 1) {
      received.fd = fd;
    } else {
      close(fd);
    }
  });
  // MSG_CTRUNC: descriptors were lost because this process may have no more of them.
  if (count > 1 || (count == 1 && (message.msg_flags & MSG_CTRUNC) != 0)) close(std::exchange(received.fd, -1));
  if ((message.msg_flags & MSG_TRUNC) != 0) received.bytes = sizeof(received.request) + 1;
  return received;
}

// Closes a connection with the reason. All input must have been read: otherwise the client gets an error instead.
void Refuse(int connection, const absl::Status& why) {
  shutdown(connection, SHUT_RD);
  if (const int fd = Receive(connection).fd; fd >= 0) close(fd);
  Reply(connection, why);
  close(connection);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Handoff>> Handoff::Start(const std::string& path, int max_connections,
                                                        SharedMemory* memory, Admit admit) {
  const sockaddr_un address = AddressOf(path);
  GLINT_RETURN_IF_ERROR(MakeRoom(path, address));
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0 || bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener, kBacklog) != 0) {
    const absl::Status status = CannotTakeMemory(path, std::strerror(errno));
    if (listener >= 0) close(listener);
    return status;
  }
  const int stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop < 0) {
    const absl::Status status = CannotTakeMemory(path, std::strerror(errno));
    close(listener);
    return status;
  }
  std::unique_ptr<Handoff> started(new Handoff(path, listener, stop, max_connections, memory, std::move(admit)));
  GLINT_ASSIGN_OR_RETURN(started->thread_, StartThread("shared-memory", [s = started.get()] { s->Main(); }));
  return started;
}

Handoff::Handoff(std::string path, int listener, int stop, int max_connections, SharedMemory* memory, Admit admit)
    : path_(std::move(path)),
      listener_(listener),
      stop_(stop),
      max_connections_(static_cast<size_t>(max_connections)),
      memory_(memory),
      admit_(std::move(admit)) {}

Handoff::~Handoff() {
  const uint64_t one = 1;
  (void)!write(stop_, &one, sizeof(one));
  if (thread_.joinable()) thread_.join();
  close(listener_);
  close(stop_);
  unlink(path_.c_str());
}

void Handoff::Main() {
  std::vector<pollfd> polled;
  for (;;) {
    polled.assign({{stop_, POLLIN, 0}, {listener_, POLLIN, 0}});
    int64_t next = std::numeric_limits<int64_t>::max();
    for (const Connection& connection : connections_) {
      polled.push_back({connection.fd, POLLIN, 0});
      if (connection.token.empty()) next = std::min(next, connection.deadline_ns);
    }
    const int wait = next == std::numeric_limits<int64_t>::max()
                         ? -1
                         : static_cast<int>(std::clamp<int64_t>((next - MonotonicNs()) / 1'000'000 + 1, 0, 60'000));
    if (poll(polled.data(), polled.size(), wait) < 0 && errno != EINTR) break;
    if (polled[0].revents != 0) break;
    const int64_t now = MonotonicNs();
    for (size_t i = connections_.size(); i-- > 0;) {
      Connection& connection = connections_[i];
      if (connection.over) continue;
      const bool late = connection.token.empty() && now >= connection.deadline_ns;
      if (polled[i + 2].revents != 0 ? Serve(&connection) : !late) continue;
      Close(&connection);
    }
    ForgetClosed();
    if (polled[1].revents != 0) Accept();
  }
  for (Connection& connection : connections_) Close(&connection);
}

void Handoff::Accept() {
  const int fd = AcceptPolled(listener_);
  if (fd < 0) return;
  absl::StatusOr<std::string> admitted = admit_ == nullptr ? std::string() : admit_(fd);
  const auto count = [this](const std::string& owner) {
    return std::count_if(connections_.begin(), connections_.end(),
                         [&](const Connection& other) { return !other.over && other.owner == owner; });
  };
  if (admitted.ok() && connections_.size() >= max_connections_ &&
      !MakeWay(*admitted, false, 1, static_cast<int64_t>(max_connections_), count)) {
    admitted = absl::ResourceExhaustedError(absl::StrCat("memory.regions: all ", max_connections_,
                                                         " of this server are taken (--shared-memory-max-regions)"));
  }
  if (!admitted.ok()) return Refuse(fd, admitted.status());
  ForgetClosed();
  connections_.push_back({fd, *std::move(admitted), MonotonicNs() + kPatienceNs, ""});
}

bool Handoff::Serve(Connection* connection) {
  const Received received = Receive(connection->fd);
  if (received.bytes < 0) return errno == EAGAIN || errno == EINTR;
  absl::StatusOr<std::string> token = absl::InvalidArgumentError("memory: not a request of Glint's with one memfd");
  const bool good = received.bytes == sizeof(received.request) && received.fd >= 0 &&
                    std::memcmp(received.request.magic, kHandoffMagic, sizeof(kHandoffMagic)) == 0;
  // After the hand-off a client sends nothing, and ends by closing.
  const bool first = connection->token.empty();
  const auto bytes =
      static_cast<int64_t>(std::min<uint64_t>(received.request.bytes, std::numeric_limits<int64_t>::max()));
  const auto bytes_of = [this](const std::string& owner) { return memory_->ShareOf(owner).bytes; };
  while (good && first && bytes <= memory_->max_bytes() && memory_->bytes() > memory_->max_bytes() - bytes &&
         MakeWay(connection->owner, true, bytes, memory_->max_bytes(), bytes_of)) {
  }
  if (good && first) token = memory_->Take(received.fd, received.request.bytes, connection->owner);
  if (received.fd >= 0) close(received.fd);
  if (received.bytes == 0) return false;
  if (first && token.ok()) connection->token = *token;
  Reply(connection->fd, token);
  return token.ok();
}

template <typename Share>
bool Handoff::MakeWay(const std::string& owner, bool with_region, int64_t more, int64_t total, Share share) {
  const int64_t unused_since = MonotonicNs() - kUnusedNs, wanted = share(owner) + more;
  Connection* last = nullptr;
  std::tuple<bool, int64_t, int64_t> rank;  // not used, what its owner has, for how long not used
  for (Connection& other : connections_) {
    const int64_t has = share(other.owner);
    if (other.over || other.owner == owner || has < wanted || (with_region && other.token.empty())) continue;
    const int64_t used_at = other.token.empty() ? other.deadline_ns - kPatienceNs : memory_->UsedAt(other.token);
    const bool is_unused = used_at < unused_since;
    // Two owners cannot keep all of it by use either.
    if (!is_unused && (has <= total / 2 || wanted > total / 2)) continue;
    const std::tuple<bool, int64_t, int64_t> its_rank(is_unused, has, -used_at);
    if (last == nullptr || its_rank > rank) std::tie(last, rank) = std::tuple(&other, its_rank);
  }
  if (last == nullptr) return false;
  Reply(last->fd, absl::ResourceExhaustedError("memory: another client that has less needs the place of this region"));
  Close(last);
  return true;
}

void Handoff::Close(Connection* connection) {
  if (std::exchange(connection->over, true)) return;
  if (!connection->token.empty()) memory_->Drop(connection->token);
  close(connection->fd);
}

void Handoff::ForgetClosed() {
  connections_.erase(
      std::remove_if(connections_.begin(), connections_.end(), [](const Connection& other) { return other.over; }),
      connections_.end());
}

}  // namespace glint
