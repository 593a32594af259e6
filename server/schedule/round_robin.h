// Deficit round robin: Shreedhar and Varghese, "Efficient fair queuing using deficit round robin", 1995.
#ifndef GLINT_SERVER_SCHEDULE_ROUND_ROBIN_H_
#define GLINT_SERVER_SCHEDULE_ROUND_ROBIN_H_

#include <algorithm>
#include <cstdint>
#include <limits>

namespace glint {

// Per-member state of a Round: a member `turn_` of T, which declares the Round a friend.
template <typename T>
struct Turn {
  T* next = nullptr;     // in the ring; null outside it
  int64_t credit = 0;    // remaining; negative: overdrawn
  bool in_turn = false;  // has been credited and is the ring's head
};

// Ring of members that are served in turn. At each turn one is credited kQuantum and stays the head while its credit
// covers its next cost. Owns nothing, allocates nothing. Thread-compatible.
template <typename T, int64_t kQuantum>
class Round {
 public:
  // Cost of a member that may not be served now.
  static constexpr int64_t kNotNow = std::numeric_limits<int64_t>::max();

  bool empty() const { return tail_ == nullptr; }

  // Appends `one` at the end of the round; no-op if it is in the ring.
  void Add(T* one) {
    if (one->turn_.next != nullptr) return;
    if (tail_ == nullptr) {
      one->turn_.next = one;
    } else {
      one->turn_.next = tail_->turn_.next;
      tail_->turn_.next = one;
    }
    tail_ = one;
  }

  // Removes `one`; no-op if it is not in the ring. Unspent credit is lost, overdrawn credit stays.
  void Remove(T* one) {
    if (one->turn_.next == nullptr) return;
    T* before = tail_;
    while (before->turn_.next != one) before = before->turn_.next;
    before->turn_.next = one->turn_.next;
    if (tail_ == one) tail_ = before == one ? nullptr : before;
    one->turn_ = {nullptr, std::min<int64_t>(one->turn_.credit, 0), false};
  }

  static void Charge(int64_t cost, T* one) { one->turn_.credit -= cost; }

  // The member whose turn it is; `cost(T*)` is the cost of its next item. Members that cannot afford it, or may not be
  // served now, go to the end of the round. Null if none may be served. Returns the same member until something is
  // charged or changed.
  template <typename Cost>
  T* Next(const Cost& cost) {
    while (tail_ != nullptr) {
      int64_t missing = kNotNow;  // smallest missing credit of any member
      const T* const first = tail_->turn_.next;
      do {
        T* const one = tail_->turn_.next;
        if (const int64_t price = cost(one); price != kNotNow) {
          if (!one->turn_.in_turn) one->turn_.credit += kQuantum;
          one->turn_.in_turn = true;
          if (one->turn_.credit >= price) return one;
          missing = std::min(missing, price - one->turn_.credit);
        }
        one->turn_.in_turn = false;
        tail_ = one;
      } while (tail_->turn_.next != first);
      if (missing == kNotNow) return nullptr;
      // Credits the rounds in which no member could be served, except the last, at once.
      const int64_t credit = (missing - 1) / kQuantum * kQuantum;
      T* one = tail_;
      do {
        if (cost(one) != kNotNow) one->turn_.credit += credit;
        one = one->turn_.next;
      } while (one != tail_);
    }
    return nullptr;
  }

 private:
  T* tail_ = nullptr;  // its `next` is the head
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_ROUND_ROBIN_H_
