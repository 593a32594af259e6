// Slots for receiving small messages. gRPC buffers a whole message, of any method and up to 4 GiB, before the server
// sees a byte of it. So only a few calls receive at a time, and the others wait unread.
//
// A call whose message has arrived, normally right after the call itself, needs its slot for microseconds. So slots are
// given in last-in, first-out order, and an idle caller loses its slot: silent clients cannot block the others. How
// many calls there may be is for Places (server/session/places.h).
#ifndef GLINT_SERVER_RPC_RECEIVE_SLOTS_H_
#define GLINT_SERVER_RPC_RECEIVE_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace glint {

// Messages received at the same time.
inline constexpr int kSmallReceipts = 4;

// Thread-safe.
class ReceiveSlots {
 public:
  // A call that waits for a slot or has one. The methods are called with the lock of ReceiveSlots held, and must not
  // call it back.
  class Waiter {
   public:
    // The waiter has a slot: it may receive its message.
    virtual void Receive() = 0;
    // Another waiter needs the slot: the call ends, and calls Leave() once nothing is received any more.
    virtual void LoseSlot() = 0;

   protected:
    ~Waiter() = default;
  };

  // A call that has received for `patience_ns` can be preempted by Poll().
  explicit ReceiveSlots(int64_t patience_ns) : patience_ns_(patience_ns) {}

  // `again`: the call waits for its next message; it is admitted after all others.
  void Enter(Waiter* waiter, bool again);
  // Called periodically by each waiter: preempts calls that have received for longer than the patience, one for each
  // waiter.
  void Poll();
  // The message has arrived or the call has ended. May be called without Enter() and twice.
  void Leave(Waiter* waiter);

 private:
  struct Slot {
    Waiter* waiter;
    int64_t since_ns;
    bool preempted = false;
  };
  using Slots = std::vector<Slot>;  // admitted from the back, preempted from the front

  void Admit();

  const int64_t patience_ns_;
  std::mutex mutex_;
  Slots receiving_, waiting_;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_RECEIVE_SLOTS_H_
