#include "server/rpc/receive_slots.h"

#include <algorithm>

#include "server/schedule/frame_job.h"

namespace glint {

void ReceiveSlots::Enter(Waiter* waiter, bool again) {
  std::lock_guard<std::mutex> lock(mutex_);
  waiting_.insert(again ? waiting_.begin() : waiting_.end(), {waiter, MonotonicNs()});
  Admit();
}

void ReceiveSlots::Poll() {
  std::lock_guard<std::mutex> lock(mutex_);
  const int64_t before = MonotonicNs() - patience_ns_;
  size_t waiting = waiting_.size();
  for (Slot& slot : receiving_) {
    if (waiting == 0) return;
    if (slot.preempted || slot.since_ns > before) continue;
    --waiting;
    slot.preempted = true;
    slot.waiter->LoseSlot();
  }
}

void ReceiveSlots::Leave(Waiter* waiter) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Slots* slots : {&receiving_, &waiting_}) {
    slots->erase(std::remove_if(slots->begin(), slots->end(), [&](const Slot& p) { return p.waiter == waiter; }),
                 slots->end());
  }
  Admit();
}

void ReceiveSlots::Admit() {
  while (!waiting_.empty() && receiving_.size() < kSmallReceipts) {
    receiving_.push_back({waiting_.back().waiter, MonotonicNs()});
    waiting_.pop_back();
    receiving_.back().waiter->Receive();
  }
}

}  // namespace glint
