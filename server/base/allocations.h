// Counts allocations on the frame path. The count stays 0 once the server has seen its largest frames.
//
// A thread marks itself with a FramePathScope while it parses a frame of a stream, while its lane processes a frame,
// and while it serializes a reply. A program that replaces operator new by one that calls CountAllocation(), as
// glint-server does, gets the number of calls within these scopes. Allocations of C libraries (codecs, gRPC's messages)
// are not counted, nor are the options of each call of Detect.
#ifndef GLINT_SERVER_BASE_ALLOCATIONS_H_
#define GLINT_SERVER_BASE_ALLOCATIONS_H_

#include <atomic>
#include <cstdint>
#include <utility>

namespace glint {

struct FramePathAllocations {
  std::atomic<int64_t> count{0};
  std::atomic<bool> counted{false};  // this program counts
};
inline FramePathAllocations frame_path_allocations;

// Marks the thread as on the frame path. One at a time per thread.
class FramePathScope {
 public:
  FramePathScope() {
    allocations_ = 0;
    active_ = true;
  }
  ~FramePathScope() {
    active_ = false;
    if (allocations_ > 0) frame_path_allocations.count.fetch_add(allocations_, std::memory_order_relaxed);
  }
  FramePathScope(const FramePathScope&) = delete;
  FramePathScope& operator=(const FramePathScope&) = delete;

  // Discards the count of a failed frame: its error text may allocate.
  void Discard() { allocations_ = 0; }

 private:
  friend class FramePathPause;
  friend void CountAllocation();
  static inline thread_local bool active_ = false;
  static inline thread_local int64_t allocations_ = 0;
};

// Suspends counting within a scope, for calls of gRPC, some of which use operator new.
class FramePathPause {
 public:
  FramePathPause() : was_active_(std::exchange(FramePathScope::active_, false)) {}
  ~FramePathPause() { FramePathScope::active_ = was_active_; }
  FramePathPause(const FramePathPause&) = delete;
  FramePathPause& operator=(const FramePathPause&) = delete;

 private:
  const bool was_active_;
};

inline void CountAllocation() {
  if (FramePathScope::active_) ++FramePathScope::allocations_;
}

}  // namespace glint

#endif  // GLINT_SERVER_BASE_ALLOCATIONS_H_
