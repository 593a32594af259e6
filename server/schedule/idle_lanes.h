// The lanes that wait for a frame, and which of them is woken.
#ifndef GLINT_SERVER_SCHEDULE_IDLE_LANES_H_
#define GLINT_SERVER_SCHEDULE_IDLE_LANES_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "server/schedule/look_time.h"

namespace glint {

// Where one lane waits, from frame to frame.
class LaneSeat {
 public:
  LaneSeat() = default;
  LaneSeat(const LaneSeat&) = delete;
  LaneSeat& operator=(const LaneSeat&) = delete;

 private:
  friend class IdleLanes;
  friend class FrameQueue;
  LookTime look_time_;
  LaneSeat* below_ = nullptr;
  bool looks_ = false;
  std::atomic<bool> woken_{false};
  std::condition_variable wake_;
};

// A stack of seats. All functions are called with the mutex of its queue held; those that wait give it up meanwhile.
// Owns and allocates nothing. Whoever is woken is out of the stack at once, so the next frame wakes another lane.
class IdleLanes {
 public:
  // Until the lane is woken, or `most_ns` are over.
  void Sleep(LaneSeat* seat, int64_t most_ns, std::unique_lock<std::mutex>* lock);
  // Until the lane is woken: looks for LookTime first, unless `most_looking` lanes do so already.
  void LookAndSleep(LaneSeat* seat, int most_looking, std::unique_lock<std::mutex>* lock);

  // One that looks before one that sleeps; of these, `preferred` (which need not be there any more) before the one that
  // came last. Nothing if there is none.
  void WakeOne(const LaneSeat* preferred);
  void WakeAll();

  int count() const { return count_; }

 private:
  void Push(LaneSeat* seat);
  void Remove(LaneSeat* seat);
  void Wake(LaneSeat* seat);

  LaneSeat* top_ = nullptr;
  int count_ = 0;
  int looking_ = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_IDLE_LANES_H_
