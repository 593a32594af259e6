#include "server/session/session_limits.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"

namespace glint {

int ShareOfOnePeer(int total) { return std::max(1, total - std::max(1, total / 4)); }

void SessionSlot::GiveBack() {
  SessionLimits* const limits = std::exchange(limits_, nullptr);
  if (limits == nullptr) return;
  std::lock_guard<std::mutex> lock(limits->mutex_);
  --(reserved_ ? limits->reserved_ : limits->open_);
  const auto peer = limits->of_peer_.find(peer_);
  if (peer != limits->of_peer_.end() && --peer->second == 0) limits->of_peer_.erase(peer);
}

SessionRefusal SessionLimits::Take(const std::string& peer, SessionSlot* slot) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (open_ >= total_) return SessionRefusal::kTotal;
  if (!peer.empty()) {
    const auto found = of_peer_.find(peer);
    if (found != of_peer_.end() && found->second >= per_peer_) return SessionRefusal::kPeer;
    ++of_peer_[peer];
  }
  ++open_;
  slot->limits_ = this;
  slot->peer_ = peer;
  slot->reserved_ = false;
  return SessionRefusal::kNone;
}

void SessionLimits::TakeReserved(SessionSlot* slot) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++reserved_;
  slot->limits_ = this;
  slot->peer_.clear();
  slot->reserved_ = true;
}

absl::Status SessionLimits::ErrorOf(SessionRefusal refusal, const std::string& peer) const {
  const auto error = [](const std::string& of_whom, int limit, absl::string_view flag) {
    return ExhaustedError("sessions",
                          absl::StrCat(limit + 1, of_whom, " is over this server's limit of ", limit, " (", flag,
                                       "); end a stream, or try again later"),
                          absl::StrCat(limit), flag);
  };
  switch (refusal) {
    case SessionRefusal::kNone:
      break;
    case SessionRefusal::kTotal:
      return error("", total_, "--max-sessions");
    case SessionRefusal::kPeer:
      return error(absl::StrCat(" of ", peer), per_peer_, "--max-sessions-per-peer");
  }
  return absl::OkStatus();
}

int SessionLimits::open() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return open_ + reserved_;
}

}  // namespace glint
