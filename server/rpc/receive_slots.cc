#include "server/rpc/receive_slots.h"

#include <algorithm>

#include "server/schedule/frame_job.h"

namespace glint {
namespace {

template <typename Slots>
size_t Staying(const Slots& slots) {
  return static_cast<size_t>(std::count_if(slots.begin(), slots.end(), [](const auto& p) { return !p.preempted; }));
}

}  // namespace

ReceiveSlots::ReceiveSlots(int max_waiters, int64_t patience_ns)
    : max_waiters_(static_cast<size_t>(max_waiters)),
      max_receiving_(static_cast<size_t>(std::min(max_waiters, kSmallReceipts))),
      patience_ns_(patience_ns) {}

void ReceiveSlots::Enter(Waiter* waiter, bool again) {
  std::lock_guard<std::mutex> lock(mutex_);
  const int64_t now = MonotonicNs();
  if (Staying(receiving_) + Staying(waiting_) >= max_waiters_) Evict(&waiting_, now) || Evict(&receiving_, now);
  waiting_.insert(again ? waiting_.begin() : waiting_.end(), {waiter, now});
  Admit();
}

void ReceiveSlots::Poll() {
  std::lock_guard<std::mutex> lock(mutex_);
  const int64_t before = MonotonicNs() - patience_ns_;
  for (size_t waiting = Staying(waiting_); waiting > 0 && Evict(&receiving_, before); --waiting) continue;
}

void ReceiveSlots::Leave(Waiter* waiter) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Slots* slots : {&receiving_, &waiting_}) {
    slots->erase(std::remove_if(slots->begin(), slots->end(), [&](const Slot& p) { return p.waiter == waiter; }),
                 slots->end());
  }
  Admit();
}

// Preempts the first slot that was taken at or before `before_ns`. False if there is none.
bool ReceiveSlots::Evict(Slots* slots, int64_t before_ns) {
  for (Slot& slot : *slots) {
    if (slot.preempted || slot.since_ns > before_ns) continue;
    slot.preempted = true;
    slot.waiter->Preempt();
    return true;
  }
  return false;
}

void ReceiveSlots::Admit() {
  for (size_t i = waiting_.size(); i-- > 0 && receiving_.size() < max_receiving_;) {
    if (waiting_[i].preempted) continue;
    receiving_.push_back({waiting_[i].waiter, MonotonicNs()});
    waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
    receiving_.back().waiter->Receive();
  }
}

}  // namespace glint
