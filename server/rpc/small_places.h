// Slots for receiving small messages. gRPC buffers a whole message, of any method and up to 4 GiB, before the server
// sees a byte of it. So only a few calls receive at a time, and the others wait unread.
//
// A call whose message has arrived, normally right after the call itself, needs its slot for microseconds. So slots are
// given in last-in, first-out order, and an idle caller loses its slot: silent clients cannot block the others.
#ifndef GLINT_SERVER_RPC_SMALL_PLACES_H_
#define GLINT_SERVER_RPC_SMALL_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace glint {

// Calls received at the same time.
inline constexpr int kSmallReceipts = 4;

// Thread-safe.
class SmallPlaces {
 public:
  // Its methods are called with the lock of this object, and must not call it back.
  class Guest {
   public:
    // It has a place: the message may be received.
    virtual void Receive() = 0;
    // Another guest needs the place: end, and Leave() when nothing is received any more.
    virtual void GiveUpPlace() = 0;

   protected:
    ~Guest() = default;
  };

  // `max_guests` may wait or receive, up to kSmallReceipts of them receive. One that has received for `patience_ns`
  // makes way for those that wait.
  SmallPlaces(int max_guests, int64_t patience_ns);

  // Always lets in; where all places are taken, the guest that has waited longest has to go. One that comes again, for
  // its next message, goes behind all others, and has to go first.
  void Enter(Guest* guest, bool again);
  // By a guest that waits, now and then.
  void Press();
  // Its message is there, or the call has ended. May be called without Enter() and twice.
  void Leave(Guest* guest);

 private:
  struct Place {
    Guest* guest;
    int64_t since_ns;
    bool given_up = false;
  };
  using Places = std::vector<Place>;  // the last is the next, the first the first to go

  static bool Evict(Places* places, int64_t before_ns);
  void Admit();

  const size_t max_guests_, max_receiving_;
  const int64_t patience_ns_;
  std::mutex mutex_;
  Places receiving_, waiting_;
};

}  // namespace glint

#endif  // GLINT_SERVER_RPC_SMALL_PLACES_H_
