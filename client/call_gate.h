// Turns of a client's calls of Detect() and Match(): some are under way at once, the others wait in their order.
// Internal to the library.
#ifndef GLINT_CLIENT_CALL_GATE_H_
#define GLINT_CLIENT_CALL_GATE_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace glint::client {

// At most `calls_at_once` calls are under way; if the gate learns, fewer once a refusal has named the server's limit.
// The others are in a line. Whatever changes wakes the first one of it.
//
// A call that the server refuses for now goes back to its place in the line. Until the time that the server named, no
// more calls are under way than the server has taken: the next one begins when one of them ends.
//
// Thread-safe. Must outlive its turns.
class CallGate {
 public:
  // `patience`: how long a call waits while no call of this gate is answered; 0: refusals are final.
  CallGate(int calls_at_once, absl::Duration patience, bool learns)
      : patience_(patience), learns_(learns), most_(calls_at_once) {}
  CallGate(const CallGate&) = delete;
  CallGate& operator=(const CallGate&) = delete;

  // Ends all that wait, and later ones as they begin: CANCELLED.
  void Cancel();

  // The place of one call, in the order of the constructors. The destructor gives it up: the call was answered, or does
  // not wait any more. Of one thread.
  class Turn {
   public:
    // `timeout`: of the call, from now.
    Turn(CallGate* gate, absl::Duration timeout);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // OK: the call is under way from now on. DEADLINE_EXCEEDED: its timeout has passed. RESOURCE_EXHAUSTED: no call was
    // answered within the patience. CANCELLED.
    absl::Status Wait();
    // Whether `status` is a refusal for now: then the call is not under way any more, and is to Wait() again.
    bool Refused(const absl::Status& status);
    // Of the timeout.
    absl::Duration left() const;

   private:
    friend class CallGate;
    absl::Status NoTurn(absl::Time now) const;  // with the gate's mutex

    CallGate* const gate_;
    const absl::Time begun_, deadline_;  // SteadyNow()
    int64_t number_ = 0;
    bool under_way_ = false;
    std::condition_variable woken_;
  };

 private:
  // With the mutex.
  void WakeFirst();
  void Learn(const absl::Status& refusal);

  const absl::Duration patience_;
  const bool learns_;
  std::mutex mutex_;
  std::map<int64_t, Turn*> line_;  // by number
  int64_t joined_ = 0;
  int under_way_ = 0;
  int most_;
  std::string limit_of_;  // the flag of the server's limit that most_ is; empty: it has named none
  absl::Time answered_at_ = absl::InfinitePast();
  absl::Time pause_end_ = absl::InfinitePast();
  int taken_ = 0;  // no more than these are under way until pause_end_
  absl::Time refused_at_ = absl::InfinitePast();
  absl::Status refusal_;  // the last one
  bool cancelled_ = false;
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_CALL_GATE_H_
