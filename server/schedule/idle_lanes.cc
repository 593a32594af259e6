#include "server/schedule/idle_lanes.h"

#include <chrono>

#include "server/base/clock.h"

namespace glint {
namespace {

// Leaves the processor's other thread, and its bus, alone for a moment.
inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void Look(const std::atomic<bool>& woken, int64_t most_ns) {
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

void IdleLanes::Sleep(LaneSeat* seat, int64_t most_ns, std::unique_lock<std::mutex>* lock) {
  Push(seat);
  const auto woken = [seat] { return seat->woken_.load(std::memory_order_relaxed); };
  if (!seat->wake_.wait_for(*lock, std::chrono::nanoseconds(most_ns), woken)) Remove(seat);
}

void IdleLanes::LookAndSleep(LaneSeat* seat, int most_looking, std::unique_lock<std::mutex>* lock) {
  Push(seat);
  const int64_t look_ns = seat->look_time_.LimitNs();
  if (look_ns > 0 && looking_ < most_looking) {
    seat->looks_ = true;
    ++looking_;
    lock->unlock();
    Look(seat->woken_, look_ns);
    lock->lock();
    seat->looks_ = false;
    --looking_;
  }
  seat->wake_.wait(*lock, [seat] { return seat->woken_.load(std::memory_order_relaxed); });
}

void IdleLanes::WakeOne(const LaneSeat* preferred) {
  LaneSeat* best = top_;
  for (LaneSeat* seat = top_; seat != nullptr; seat = seat->below_) {
    const bool better = seat->looks_ != best->looks_ ? seat->looks_ : seat == preferred;
    if (better) best = seat;
  }
  if (best != nullptr) Wake(best);
}

void IdleLanes::WakeAll() {
  while (top_ != nullptr) Wake(top_);
}

void IdleLanes::Push(LaneSeat* seat) {
  seat->woken_.store(false, std::memory_order_relaxed);
  seat->below_ = top_;
  top_ = seat;
  ++count_;
}

void IdleLanes::Remove(LaneSeat* seat) {
  LaneSeat** link = &top_;
  while (*link != seat) link = &(*link)->below_;
  *link = seat->below_;
  --count_;
}

// The mutex is held until the lane has been told: it may leave with its seat as soon as it has the mutex.
void IdleLanes::Wake(LaneSeat* seat) {
  Remove(seat);
  seat->woken_.store(true, std::memory_order_release);
  if (!seat->looks_) seat->wake_.notify_one();
}

}  // namespace glint
