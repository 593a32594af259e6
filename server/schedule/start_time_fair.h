// Start-time fair queueing: Goyal, Vin and Cheng, "Start-time fair queuing: a scheduling algorithm for integrated
// services packet switching networks", 1996. It needs no cost before an item is served.
#ifndef GLINT_SERVER_SCHEDULE_START_TIME_FAIR_H_
#define GLINT_SERVER_SCHEDULE_START_TIME_FAIR_H_

#include <algorithm>
#include <cstdint>

namespace glint {

// Per-member state of a StartTimeFair: a member `fair_` of T, which declares the StartTimeFair a friend.
template <typename T>
struct FairTag {
  T* next = nullptr;       // in the ring; null outside it
  int64_t start_ns = 0;    // virtual time at which its next item starts
  int on_lanes = 0;        // items that are served at present
  int64_t idle_since = 0;  // clock's time at which it last left the ring or an item of it was finished
};

// The members with waiting items, of which the one with the earliest start is served next. Serving moves a member's
// start by the item's time. A member that comes back starts no earlier than the last item served did: it has saved
// nothing. What its start is ahead of that is its debt, which it keeps, up to kMostDebtNs; while it has neither waiting
// items nor any on a lane, the debt expires in as much time as it amounts to. Owns nothing, allocates nothing.
// Thread-compatible. `now`: any clock that does not go back.
template <typename T>
class StartTimeFair {
 public:
  static constexpr int64_t kMostDebtNs = 10'000'000'000;

  bool empty() const { return tail_ == nullptr; }

  // Appends `one` to the ring; no-op if it is there.
  void Add(T* one, int64_t now) {
    FairTag<T>& tag = one->fair_;
    if (tag.next != nullptr) return;
    Link(one);
    const int64_t expired = tag.on_lanes == 0 ? now - tag.idle_since : 0;
    tag.start_ns = virtual_ns_ + std::max<int64_t>(tag.start_ns - virtual_ns_ - expired, 0);
  }

  // Removes `one`; no-op if it is not in the ring.
  void Remove(T* one, int64_t now) {
    if (one->fair_.next == nullptr) return;
    Unlink(one);
    one->fair_.idle_since = now;
  }

  // The member with the earliest start of those for which `may_start(T*)`, and of equal ones the first of the ring;
  // null if there is none.
  template <typename MayStart>
  T* Next(const MayStart& may_start) const {
    T* best = nullptr;
    if (tail_ == nullptr) return best;
    T* one = tail_;
    do {
      one = one->fair_.next;
      if ((best == nullptr || one->fair_.start_ns < best->fair_.start_ns) && may_start(one)) best = one;
    } while (one != tail_);
    return best;
  }

  // An item of `one`, which is in the ring, is served, and is expected to take `expected_ns`, at most kMostDebtNs.
  // Unless that is 0, `one` goes to the end of the ring.
  void Serve(T* one, int64_t expected_ns) {
    ++one->fair_.on_lanes;
    virtual_ns_ = std::max(virtual_ns_, one->fair_.start_ns);
    Charge(one, expected_ns);
    if (expected_ns == 0) return;
    Unlink(one);
    Link(one);
  }

  // An item of `one` is finished, and took `more_ns` more than was expected, which may be negative.
  void Finish(T* one, int64_t more_ns, int64_t now) {
    --one->fair_.on_lanes;
    one->fair_.idle_since = now;
    Charge(one, more_ns);
  }

 private:
  void Charge(T* one, int64_t ns) {
    int64_t& start_ns = one->fair_.start_ns;
    const int64_t earliest = std::min(start_ns, virtual_ns_);
    const int64_t latest = std::max(start_ns, virtual_ns_ + kMostDebtNs);
    start_ns = std::clamp(start_ns + ns, earliest, latest);
  }

  void Link(T* one) {
    if (tail_ == nullptr) tail_ = one;
    one->fair_.next = tail_->fair_.next == nullptr ? one : tail_->fair_.next;
    tail_->fair_.next = one;
    tail_ = one;
  }

  void Unlink(T* one) {
    T* before = tail_;
    while (before->fair_.next != one) before = before->fair_.next;
    before->fair_.next = one->fair_.next;
    if (tail_ == one) tail_ = before == one ? nullptr : before;
    one->fair_.next = nullptr;
  }

  T* tail_ = nullptr;       // its `next` is the head
  int64_t virtual_ns_ = 0;  // the latest start of an item that was served
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_START_TIME_FAIR_H_
