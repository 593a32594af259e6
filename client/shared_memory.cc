#include "client/shared_memory.h"

#include <fcntl.h>
#include <grpcpp/client_context.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/wire.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "features/steady_time.h"
#include "glint/v1/server.grpc.pb.h"
#include "proto/grpc_deadline.h"
#include "proto/handoff.h"

namespace glint::client {
namespace {

constexpr int kMaxSlots = 4096;
constexpr size_t kPage = 4096;
constexpr int kHandoffSeconds = 5;
constexpr absl::Duration kCallTimeout = absl::Seconds(5);

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

absl::Status SystemError(absl::string_view what) {
  const int error = errno;
  return absl::UnavailableError(absl::StrCat("shared memory: ", what, ": ", std::strerror(error)));
}

// Makes a call of the system again where a signal interrupted it, as timers and profilers do all the time.
template <typename Call>
auto Uninterrupted(Call call) {
  const absl::Time give_up = SteadyNow() + absl::Seconds(kHandoffSeconds);
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR || SteadyNow() > give_up) return result;
  }
}

// A connection to the server's socket for shared memory.
absl::StatusOr<Descriptor> Connect(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return ContradictionError("socket", absl::StrCat("\"", path, "\" is not the path of a socket"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  Descriptor connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const timeval patience = {kHandoffSeconds, 0};
  if (connection.get() < 0 || setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0 ||
      setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0) {
    return SystemError("socket");
  }
  if (Uninterrupted([&] {
        return connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
      }) != 0) {
    return SystemError(absl::StrCat("no server takes any at ", path));
  }
  return connection;
}

// Hands the memory over; the token that the server answered.
absl::StatusOr<std::string> HandOver(int connection, int memory, size_t bytes) {
  HandoffRequest request = {};
  std::memcpy(request.magic, kHandoffMagic, sizeof(request.magic));
  request.bytes = bytes;
  iovec data = {&request, sizeof(request)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &memory, sizeof(int));
  // A server that has no room answers and closes without reading: its answer is there all the same.
  const bool sent = Uninterrupted([&] { return sendmsg(connection, &message, MSG_NOSIGNAL); }) ==
                    static_cast<ssize_t>(sizeof(request));
  HandoffReply reply = {};
  const ssize_t received = Uninterrupted([&] { return recv(connection, &reply, sizeof(reply), 0); });
  if (received != static_cast<ssize_t>(sizeof(reply)) ||
      std::memcmp(reply.magic, kHandoffMagic, sizeof(reply.magic)) != 0) {
    return SystemError(sent ? "no answer from the server" : "handing it to the server");
  }
  reply.message[sizeof(reply.message) - 1] = '\0';
  if (reply.code != 0) return absl::Status(static_cast<absl::StatusCode>(reply.code), reply.message);
  return std::string(reinterpret_cast<const char*>(reply.token), kTokenBytes);
}

// A name that no other client has.
absl::StatusOr<std::string> NewName() {
  char random[16];
  if (getrandom(random, sizeof(random), 0) != sizeof(random)) return SystemError("random bytes");
  return absl::StrCat("ring-", absl::BytesToHexString(absl::string_view(random, sizeof(random))));
}

}  // namespace

struct SharedMemoryRing::State {
  ~State() {
    if (data != nullptr) munmap(data, slot_bytes * static_cast<size_t>(slots));
  }

  int slots = 0;
  size_t slot_bytes = 0;
  uint8_t* data = nullptr;
  std::string name, shared_name;
  Descriptor connection;  // the server keeps the memory while it is open

  std::mutex mutex;
  std::condition_variable freed;
  std::vector<int> free;
};

struct SharedSlot::Lease {
  ~Lease() {
    if (ring == nullptr) return;
    {
      std::lock_guard<std::mutex> lock(ring->mutex);
      ring->free.push_back(index);  // has room for all
    }
    ring->freed.notify_one();
  }

  std::shared_ptr<SharedMemoryRing::State> ring;  // null: another client's memory
  int index = 0;
  std::string region;
  size_t offset = 0, bytes = 0;
  uint8_t* data = nullptr;
};

SharedSlot SharedSlot::OfOther(std::string region, size_t offset, size_t bytes) {
  SharedSlot slot;
  slot.lease_ = std::make_shared<Lease>();
  slot.lease_->region = std::move(region);
  slot.lease_->offset = offset;
  slot.lease_->bytes = bytes;
  return slot;
}

uint8_t* SharedSlot::data() const { return lease_->data; }
size_t SharedSlot::bytes() const { return lease_->bytes; }
const std::string& SharedSlot::region() const { return lease_->region; }
size_t SharedSlot::offset() const { return lease_->offset; }

absl::StatusOr<std::unique_ptr<SharedMemoryRing>> SharedMemoryRing::Create(
    const std::shared_ptr<grpc::ChannelInterface>& channel, const std::string& socket, const RingOptions& options) {
  if (options.slots < 1 || options.slots > kMaxSlots) return OutOfRangeError("slots", options.slots, 1, kMaxSlots);
  constexpr size_t kMost = size_t{1} << 40;
  if (options.slot_bytes < 1 || options.slot_bytes > kMost) {
    return OutOfRangeError("slot_bytes", options.slot_bytes, size_t{1}, kMost);
  }
  auto state = std::make_shared<State>();
  state->slots = options.slots;
  state->slot_bytes = (options.slot_bytes + kPage - 1) / kPage * kPage;
  const size_t bytes = state->slot_bytes * static_cast<size_t>(options.slots);

  const Descriptor memory(memfd_create("glint-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory.get() < 0 || ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return SystemError(absl::StrCat("making ", bytes, " bytes"));
  }
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (data == MAP_FAILED) return SystemError("mapping it");
  state->data = static_cast<uint8_t*>(data);

  GLINT_ASSIGN_OR_RETURN(auto connection, Connect(socket));
  GLINT_ASSIGN_OR_RETURN(const auto token, HandOver(connection.get(), memory.get(), bytes));
  state->connection = std::move(connection);
  GLINT_ASSIGN_OR_RETURN(auto name, NewName());

  grpc::ClientContext context;
  context.set_deadline(GrpcDeadline(kCallTimeout));
  v1::RegisterSharedMemoryRequest request;
  request.set_token(token);
  request.set_name(name);
  for (const std::string& reader : options.shared_with) request.add_shared_with(reader);
  v1::RegisterSharedMemoryResponse response;
  const auto stub = v1::Server::NewStub(channel);
  if (const grpc::Status s = stub->RegisterSharedMemory(&context, request, &response); !s.ok()) return FromGrpc(s);
  state->shared_name = absl::StrCat(response.owner(), "/", name);
  state->name = std::move(name);
  for (int i = options.slots; i-- > 0;) state->free.push_back(i);
  return std::unique_ptr<SharedMemoryRing>(new SharedMemoryRing(std::move(state)));
}

SharedMemoryRing::SharedMemoryRing(std::shared_ptr<State> state) : state_(std::move(state)) {}

SharedMemoryRing::~SharedMemoryRing() = default;

SharedSlot SharedMemoryRing::Acquire(absl::Duration timeout) {
  const absl::Time deadline = SteadyNow() + timeout;
  std::unique_lock<std::mutex> lock(state_->mutex);
  while (state_->free.empty()) {
    const absl::Duration left = deadline - SteadyNow();
    if (left <= absl::ZeroDuration()) return SharedSlot();
    // In steps, since an infinite deadline is more than condition variables take.
    state_->freed.wait_for(lock, absl::ToChronoNanoseconds(std::min(left, absl::Hours(1))));
  }
  SharedSlot slot;
  slot.lease_ = std::make_shared<SharedSlot::Lease>();
  SharedSlot::Lease& lease = *slot.lease_;
  lease.index = state_->free.back();
  lease.region = state_->name;
  lease.bytes = state_->slot_bytes;
  lease.offset = lease.bytes * static_cast<size_t>(lease.index);
  lease.data = state_->data + lease.offset;
  lease.ring = state_;  // from here on it gives the slot back
  state_->free.pop_back();
  return slot;
}

size_t SharedMemoryRing::slot_bytes() const { return state_->slot_bytes; }
const std::string& SharedMemoryRing::shared_name() const { return state_->shared_name; }

}  // namespace glint::client
