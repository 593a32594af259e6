// A client's memory, mapped read-only and pinned for the lanes' devices where useful. The client may change the content
// at any time, also while it is read.
#ifndef GLINT_SERVER_SHM_SHARED_REGION_H_
#define GLINT_SERVER_SHM_SHARED_REGION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lane/lane.h"
#include "server/base/clock.h"

namespace glint {

// Unmaps when destroyed. Thread-safe.
class SharedRegion {
 public:
  // Maps the memfd `fd`, which the caller keeps. It must have `bytes` bytes, 1..`max_bytes`, and be sealed against
  // shrinking, growing and further seals, so that none of its pages can be removed and reads cannot raise SIGBUS.
  // INVALID_ARGUMENT says what is missing; RESOURCE_EXHAUSTED beyond `max_bytes`.
  static absl::StatusOr<std::unique_ptr<SharedRegion>> Map(int fd, uint64_t bytes, int64_t max_bytes);
  // Pins the region while it is mapped; `pinning` must live until then. After an error the region works, with one more
  // copy of its pixels.
  absl::Status Pin(const MemoryPinning* pinning);
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  absl::Span<const uint8_t> bytes() const { return {data_, size_}; }
  // MonotonicNs() of the last Use(), or of the mapping.
  int64_t used_at() const { return used_at_; }
  void Use() const { used_at_ = MonotonicNs(); }

 private:
  SharedRegion(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  const uint8_t* const data_;
  const size_t size_;
  const MemoryPinning* pinned_ = nullptr;  // null: not pinned
  mutable std::atomic<int64_t> used_at_{MonotonicNs()};
};

}  // namespace glint

#endif  // GLINT_SERVER_SHM_SHARED_REGION_H_
