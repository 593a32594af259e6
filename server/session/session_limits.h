// Limits on open streams: in total, per peer (or identity), and one reserved for the server itself.
#ifndef GLINT_SERVER_SESSION_SESSION_LIMITS_H_
#define GLINT_SERVER_SESSION_SESSION_LIMITS_H_

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"

namespace glint {

enum class SessionRefusal { kNone, kTotal, kPeer };
inline constexpr int kSessionRefusalCount = 3;

// Default share of one peer: three quarters of `total`, at least one, but not all.
int ShareOfOnePeer(int total);

class SessionLimits;

// The slot of an open stream; the destructor gives it back.
class SessionSlot {
 public:
  SessionSlot() = default;
  ~SessionSlot() { GiveBack(); }
  SessionSlot(const SessionSlot&) = delete;
  SessionSlot& operator=(const SessionSlot&) = delete;

  void GiveBack();
  bool reserved() const { return limits_ != nullptr && reserved_; }

 private:
  friend class SessionLimits;
  SessionLimits* limits_ = nullptr;  // null: none
  std::string peer_;
  bool reserved_ = false;
};

// Thread-safe. Must outlive its slots.
class SessionLimits {
 public:
  // `per_peer` 0: ShareOfOnePeer(total).
  SessionLimits(int total, int per_peer) : total_(total), per_peer_(per_peer > 0 ? per_peer : ShareOfOnePeer(total)) {}
  SessionLimits(const SessionLimits&) = delete;
  SessionLimits& operator=(const SessionLimits&) = delete;

  // Takes a slot for a stream of `peer`. `slot` must be empty, and stays empty if the stream is refused. An empty
  // `peer` is this process itself, which has no limit per peer.
  SessionRefusal Take(const std::string& peer, SessionSlot* slot);
  // Takes a slot outside all limits, for a stream of the server's own.
  void TakeReserved(SessionSlot* slot);

  // The error of a refusal: RESOURCE_EXHAUSTED with limit and flag.
  absl::Status ErrorOf(SessionRefusal refusal, const std::string& peer) const;

  // Number of slots in use, including reserved ones.
  int open() const;
  // Number of slots that one peer may use.
  int per_peer() const { return std::min(per_peer_, total_); }

 private:
  friend class SessionSlot;

  const int total_;
  const int per_peer_;
  mutable std::mutex mutex_;
  int open_ = 0;  // of peers
  int reserved_ = 0;
  std::map<std::string, int> of_peer_;  // none with 0
};

}  // namespace glint

#endif  // GLINT_SERVER_SESSION_SESSION_LIMITS_H_
