// Memory shared with a server on the same machine: the server reads pixels where the client has written them.
//
//   auto ring = client.ShareMemory({});        // connected by a unix socket to a server with --shared-memory
//
//   SharedSlot slot = (*ring)->Acquire();      // waits until one is free
//   camera.ReadInto(slot.data());
//
//   stream->Write(id, ImageInput::Shared(std::move(slot), PixelFormat::kGray8, width, height, stride));
//
// A slot is the server's from Write() until its result has been delivered, then free again. Writing to it in between
// makes the features of that frame unspecified, and has no other effect.
#ifndef GLINT_CLIENT_SHARED_MEMORY_H_
#define GLINT_CLIENT_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace grpc {
class ChannelInterface;
}

namespace glint::client {

struct RingOptions {
  int slots = 9;                    // 1..4096: those of a stream's default window, and one to fill
  size_t slot_bytes = 1920 * 1080;  // at least 1; rounded up to whole pages
  // The server's socket for shared memory, where it is not what the client's address is with ".shm" behind it.
  std::string socket;
  // Up to 16 other clients of the server that may read the ring, too: "user UID", "identity NAME", or "*" for all of
  // its unix sockets.
  std::vector<std::string> shared_with;
};

// One slot of a ring. Copies mean the same slot; when the last is gone, it is free. Empty by default. Outlives its
// ring.
class SharedSlot {
 public:
  SharedSlot() = default;
  // A part of memory that another client has, and shares with this one: `region` is its
  // SharedMemoryRing::shared_name(), `offset` its SharedSlot::offset(). Only the server reads it: data() is null.
  static SharedSlot OfOther(std::string region, size_t offset, size_t bytes);

  bool empty() const { return lease_ == nullptr; }
  uint8_t* data() const;  // page-aligned
  size_t bytes() const;
  // Its name on the wire: a region, and the offset of the slot, bytes.
  const std::string& region() const;
  size_t offset() const;

 private:
  friend class SharedMemoryRing;
  struct Lease;
  std::shared_ptr<Lease> lease_;
};

// Thread-safe. Made by Client::ShareMemory(). The server forgets the memory when this is destroyed and the last slot is
// gone.
class SharedMemoryRing {
 public:
  // For Client. `channel` reaches the server whose socket for shared memory is at `socket`. INVALID_ARGUMENT: options.
  static absl::StatusOr<std::unique_ptr<SharedMemoryRing>> Create(
      const std::shared_ptr<grpc::ChannelInterface>& channel, const std::string& socket, const RingOptions& options);
  ~SharedMemoryRing();
  SharedMemoryRing(const SharedMemoryRing&) = delete;
  SharedMemoryRing& operator=(const SharedMemoryRing&) = delete;

  // A slot with whatever is in it; empty if none became free in time.
  SharedSlot Acquire(absl::Duration timeout = absl::InfiniteDuration());

  size_t slot_bytes() const;
  // The region's name for those that it is shared with.
  const std::string& shared_name() const;

 private:
  friend class SharedSlot;
  struct State;
  explicit SharedMemoryRing(std::shared_ptr<State> state);
  const std::shared_ptr<State> state_;
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_SHARED_MEMORY_H_
