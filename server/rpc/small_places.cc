#include "server/rpc/small_places.h"

#include <algorithm>

#include "server/schedule/frame_job.h"

namespace glint {
namespace {

template <typename Places>
size_t Staying(const Places& places) {
  return static_cast<size_t>(std::count_if(places.begin(), places.end(), [](const auto& p) { return !p.given_up; }));
}

}  // namespace

SmallPlaces::SmallPlaces(int max_guests, int64_t patience_ns)
    : max_guests_(static_cast<size_t>(max_guests)),
      max_receiving_(static_cast<size_t>(std::min(max_guests, kSmallReceipts))),
      patience_ns_(patience_ns) {}

void SmallPlaces::Enter(Guest* guest, bool again) {
  std::lock_guard<std::mutex> lock(mutex_);
  const int64_t now = MonotonicNs();
  if (Staying(receiving_) + Staying(waiting_) >= max_guests_) Evict(&waiting_, now) || Evict(&receiving_, now);
  waiting_.insert(again ? waiting_.begin() : waiting_.end(), {guest, now});
  Admit();
}

void SmallPlaces::Press() {
  std::lock_guard<std::mutex> lock(mutex_);
  const int64_t before = MonotonicNs() - patience_ns_;
  for (size_t pressing = Staying(waiting_); pressing > 0 && Evict(&receiving_, before); --pressing) continue;
}

void SmallPlaces::Leave(Guest* guest) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Places* places : {&receiving_, &waiting_}) {
    places->erase(std::remove_if(places->begin(), places->end(), [&](const Place& p) { return p.guest == guest; }),
                  places->end());
  }
  Admit();
}

// Ends the first that is there since `before_ns` at least. False if there is none.
bool SmallPlaces::Evict(Places* places, int64_t before_ns) {
  for (Place& place : *places) {
    if (place.given_up || place.since_ns > before_ns) continue;
    place.given_up = true;
    place.guest->GiveUpPlace();
    return true;
  }
  return false;
}

void SmallPlaces::Admit() {
  for (size_t i = waiting_.size(); i-- > 0 && receiving_.size() < max_receiving_;) {
    if (waiting_[i].given_up) continue;
    receiving_.push_back({waiting_[i].guest, MonotonicNs()});
    waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
    receiving_.back().guest->Receive();
  }
}

}  // namespace glint
