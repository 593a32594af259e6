#include "server/session/places.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "features/server_error.h"
#include "server/schedule/frame_job.h"

namespace glint {
namespace {

template <typename Counts>
int Held(const Counts& counts, const std::string& of) {
  const auto found = counts.find(of);
  return found == counts.end() ? 0 : found->second.held;
}

}  // namespace

int ShareOfOnePeer(int total) { return std::max(1, total - std::max(1, total / 4)); }

int KeptByOnePeer(int total) { return std::max(1, (total - 1) / 2); }

void Place::GiveBack() {
  if (places_ == nullptr) return;
  Places* const places = places_;
  std::lock_guard<std::mutex> lock(places->mutex_);
  places->Forget(this);
  places->GrantWaiting();
}

int Places::share() const { return limits_.share > 0 ? std::min(limits_.share, limits_.total) : limits_.total; }

int Places::site_share() const { return std::max(share(), ShareOfOnePeer(limits_.total)); }

Places::Admission Places::ShareLeft(const Peer& peer) const {
  if (share() == limits_.total || peer.name.empty()) return Admission::kGranted;
  int of_peer = Held(peers_, peer.name), of_site = Held(sites_, peer.site);
  for (const Place* place : holders_) {
    if (place->preempted_ || !place->leaves_) continue;
    of_peer -= place->peer_->first == peer.name ? 1 : 0;
    of_site -= place->site_->first == peer.site ? 1 : 0;
  }
  if (of_peer >= share()) return Admission::kOverShare;
  return of_site >= site_share() ? Admission::kOverSiteShare : Admission::kGranted;
}

Places::Admission Places::Enter(const Peer& peer, PlacePart* part, Place* place) {
  std::lock_guard<std::mutex> lock(mutex_);
  const int64_t now = MonotonicNs();
  const bool part_is_full = part != nullptr && part->held >= part->limit;
  Admission refusal = ShareLeft(peer);
  if (refusal == Admission::kGranted && part_is_full) refusal = Admission::kNoPart;
  if (refusal == Admission::kGranted && held_ >= limits_.total) refusal = Admission::kNoPlace;
  if (refusal != Admission::kGranted) {
    Place* const victim = Victim(peer, refusal, part_is_full ? part : nullptr, now);
    if (victim == nullptr) return refusal;
    Count(victim, -1);
    victim->preempted_ = true;
    victim->holder_->Preempt();
  }
  place->places_ = this;
  place->peer_ = peers_.emplace(peer.name, Place::Count()).first;
  place->site_ = sites_.emplace(peer.site, Place::Count()).first;
  place->connection_ = peer.connection;
  place->part_ = part;
  place->granted_ = place->preempted_ = place->reserved_ = false;
  place->leaves_ = false;
  place->SilentSince(now);
  ++place->peer_->second.places;
  ++place->site_->second.places;
  Count(place, 1);
  holders_.insert(place);
  waiting_.push_back(place);
  GrantWaiting();
  return place->granted_ ? Admission::kGranted : Admission::kWaiting;
}

// The holder that has to make way for a newcomer, who else gets the refusal; of the part if there is one. Null: nobody
// has to. Those that leave do before silent ones, and these before busy ones.
Place* Places::Victim(const Peer& newcomer, Admission refusal, const PlacePart* part, int64_t now) const {
  const std::string& site = newcomer.site;
  std::map<std::string, int> of_part;        // by site
  std::map<std::string, int> of_connection;  // of the newcomer's site
  for (const Place* place : holders_) {
    if (place->preempted_ || (part != nullptr && place->part_ != part)) continue;
    ++of_part[place->site_->first];
    if (place->site_->first == site) ++of_connection[place->connection_];
  }
  const auto held = [&](const std::string& of) {
    if (part == nullptr) return Held(sites_, of);
    const auto found = of_part.find(of);
    return found == of_part.end() ? 0 : found->second;
  };
  const int own = held(site), kept = part == nullptr || limits_.kept == 0 ? limits_.kept : KeptByOnePeer(part->limit);
  struct {
    Place* place = nullptr;
    int held = 0;
  } silent, busy;
  for (Place* place : holders_) {
    if (place->preempted_ || (part != nullptr && place->part_ != part)) continue;
    if (refusal == Admission::kOverShare && place->peer_->first != newcomer.name) continue;
    if (refusal == Admission::kOverSiteShare && place->site_->first != site) continue;
    if (place->leaves_) return place;
    if (place->peer_->first.empty()) continue;
    const int its_held = held(place->site_->first);
    const bool is_own = place->site_->first == site;
    if (!is_own && its_held <= own) continue;
    const bool as_other = !is_own || of_connection[place->connection_] >= of_connection[newcomer.connection] + 2;
    const int64_t since = place->silent_since_;
    const bool is_silent =
        since != Place::kBusy && now - since >= (as_other ? limits_.patience_ns : limits_.own_patience_ns);
    if (!is_silent && (is_own || own >= kept || its_held <= kept)) continue;
    auto& found = is_silent ? silent : busy;
    if (its_held > found.held || (its_held == found.held && since < found.place->silent_since_)) {
      found = {place, its_held};
    }
  }
  return silent.place != nullptr ? silent.place : busy.place;
}

void Places::TakeReserved(Place* place) {
  std::lock_guard<std::mutex> lock(mutex_);
  place->places_ = this;
  place->reserved_ = true;
  ++reserved_;
}

void Places::Count(Place* place, int change) {
  held_ += change;
  place->peer_->second.held += change;
  place->site_->second.held += change;
  if (place->part_ != nullptr) place->part_->held += change;
}

void Places::Forget(Place* place) {
  place->places_ = nullptr;
  if (place->reserved_) {
    --reserved_;
    return;
  }
  if (!place->preempted_) Count(place, -1);
  holders_.erase(place);
  if (place->granted_) {
    --granted_;
    if (place->part_ != nullptr) --place->part_->granted;
  } else {
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), place));
  }
  if (--place->peer_->second.places == 0) peers_.erase(place->peer_);
  if (--place->site_->second.places == 0) sites_.erase(place->site_);
}

void Places::GrantWaiting() {
  for (size_t i = 0; i < waiting_.size() && granted_ < limits_.total;) {
    Place* const place = waiting_[i];
    PlacePart* const part = place->part_;
    if (place->preempted_ || (part != nullptr && part->granted >= part->limit)) {
      ++i;
      continue;
    }
    waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
    place->granted_ = true;
    ++granted_;
    if (part != nullptr) ++part->granted;
    place->holder_->PlaceGranted();
  }
}

absl::Status Places::ErrorOf(Admission refusal, const Peer& peer, const PlacePart* part) const {
  const auto error = [this](const std::string& of_whom, int limit, const char* flag) {
    if (*limits_.advice == '\0') return LimitError(limits_.field, limit + 1, limit, flag);
    return ExhaustedError(
        limits_.field,
        absl::StrCat(limit + 1, of_whom, " is over this server's limit of ", limit, " (", flag, "); ", limits_.advice),
        absl::StrCat(limit), flag);
  };
  switch (refusal) {
    case Admission::kGranted:
    case Admission::kWaiting:
      break;
    case Admission::kNoPlace:
      return error("", limits_.total, limits_.flag);
    case Admission::kNoPart:
      return LimitError(limits_.field, part->limit + 1, part->what, part->limit, part->flag);
    case Admission::kOverShare:
      return error(absl::StrCat(" of ", peer.name), share(), limits_.share_flag);
    case Admission::kOverSiteShare:
      return error(absl::StrCat(" of ", peer.site), site_share(), limits_.share_flag);
  }
  return absl::OkStatus();
}

absl::Status Places::PreemptedError() const {
  return ExhaustedError(limits_.field,
                        absl::StrCat("all ", limits_.total, " are taken (", limits_.flag,
                                     "), and another client needs the place of this one; try again later"),
                        absl::StrCat(limits_.total), limits_.flag);
}

int Places::open() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return granted_ + reserved_;
}

}  // namespace glint
