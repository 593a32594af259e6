// Idle lanes that wait for a frame, and the choice of the lane to wake.
#ifndef GLINT_SERVER_SCHEDULE_IDLE_LANES_H_
#define GLINT_SERVER_SCHEDULE_IDLE_LANES_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "server/schedule/spin_budget.h"

namespace glint {

// Wait state of one lane, kept from frame to frame.
class LaneWaiter {
 public:
  LaneWaiter() = default;
  LaneWaiter(const LaneWaiter&) = delete;
  LaneWaiter& operator=(const LaneWaiter&) = delete;

 private:
  friend class IdleLanes;
  friend class FrameQueue;
  SpinBudget spin_budget_;
  LaneWaiter* below_ = nullptr;
  bool spins_ = false;
  std::atomic<bool> woken_{false};
  std::condition_variable wake_;
};

// A stack of waiters. All functions are called with the mutex of the queue held; those that wait release it meanwhile.
// Owns and allocates nothing. A woken lane leaves the stack at once, so the next frame wakes another lane.
class IdleLanes {
 public:
  // Waits until the lane is woken, for at most `most_ns`.
  void Sleep(LaneWaiter* waiter, int64_t most_ns, std::unique_lock<std::mutex>* lock);
  // Waits until the lane is woken. Spins for its budget first, unless `max_spinning` lanes spin already.
  void SpinAndSleep(LaneWaiter* waiter, int max_spinning, std::unique_lock<std::mutex>* lock);

  // Wakes one lane, if any: a spinning lane before a sleeping one; then `preferred` (which may be gone) before the lane
  // that became idle last.
  void WakeOne(const LaneWaiter* preferred);
  void WakeAll();

  int count() const { return count_; }

 private:
  void Push(LaneWaiter* waiter);
  void Remove(LaneWaiter* waiter);
  void Wake(LaneWaiter* waiter);

  LaneWaiter* top_ = nullptr;
  int count_ = 0;
  int spinning_ = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_IDLE_LANES_H_
