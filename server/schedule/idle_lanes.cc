#include "server/schedule/idle_lanes.h"

#include <chrono>

#include "server/base/clock.h"

namespace glint {
namespace {

// Yields the core to its sibling thread for a moment.
inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void Spin(const std::atomic<bool>& woken, int64_t most_ns) {
  constexpr int kPausesPerClock = 16;
  const int64_t until = MonotonicNs() + most_ns;
  do {
    for (int i = 0; i < kPausesPerClock; ++i) {
      if (woken.load(std::memory_order_acquire)) return;
      Pause();
    }
  } while (MonotonicNs() < until);
}

}  // namespace

void IdleLanes::Sleep(LaneWaiter* waiter, int64_t most_ns, std::unique_lock<std::mutex>* lock) {
  Push(waiter);
  const auto woken = [waiter] { return waiter->woken_.load(std::memory_order_relaxed); };
  if (!waiter->wake_.wait_for(*lock, std::chrono::nanoseconds(most_ns), woken)) Remove(waiter);
}

void IdleLanes::SpinAndSleep(LaneWaiter* waiter, int max_spinning, std::unique_lock<std::mutex>* lock) {
  Push(waiter);
  const int64_t spin_ns = waiter->spin_budget_.LimitNs();
  if (spin_ns > 0 && spinning_ < max_spinning) {
    waiter->spins_ = true;
    ++spinning_;
    lock->unlock();
    Spin(waiter->woken_, spin_ns);
    lock->lock();
    waiter->spins_ = false;
    --spinning_;
  }
  waiter->wake_.wait(*lock, [waiter] { return waiter->woken_.load(std::memory_order_relaxed); });
}

void IdleLanes::WakeOne(const LaneWaiter* preferred) {
  LaneWaiter* best = top_;
  for (LaneWaiter* waiter = top_; waiter != nullptr; waiter = waiter->below_) {
    const bool better = waiter->spins_ != best->spins_ ? waiter->spins_ : waiter == preferred;
    if (better) best = waiter;
  }
  if (best != nullptr) Wake(best);
}

void IdleLanes::WakeAll() {
  while (top_ != nullptr) Wake(top_);
}

void IdleLanes::Push(LaneWaiter* waiter) {
  waiter->woken_.store(false, std::memory_order_relaxed);
  waiter->below_ = top_;
  top_ = waiter;
  ++count_;
}

void IdleLanes::Remove(LaneWaiter* waiter) {
  LaneWaiter** link = &top_;
  while (*link != waiter) link = &(*link)->below_;
  *link = waiter->below_;
  --count_;
}

// The mutex is held until the lane is notified: once it has the mutex, its waiter may be destroyed.
void IdleLanes::Wake(LaneWaiter* waiter) {
  Remove(waiter);
  waiter->woken_.store(true, std::memory_order_release);
  if (!waiter->spins_) waiter->wake_.notify_one();
}

}  // namespace glint
