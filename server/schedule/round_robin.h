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
  int64_t credit = 0;    // what it may spend; negative: overdrawn
  bool in_turn = false;  // has been credited and is the ring's head
};

// A ring of T that are served in turn. At each turn one is credited kQuantum and stays the head as long as its credit
// covers what it costs next. Owns nothing, allocates nothing. Thread-compatible.
template <typename T, int64_t kQuantum>
class Round {
 public:
  // What `cost` returns for one that may not be served now.
  static constexpr int64_t kNotNow = std::numeric_limits<int64_t>::max();

  bool empty() const { return tail_ == nullptr; }

  // At the end of the round; nothing if it is there already.
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

  // Nothing if it is not there. What it has not spent is not saved, what it has overdrawn stays.
  void Remove(T* one) {
    if (one->turn_.next == nullptr) return;
    T* before = tail_;
    while (before->turn_.next != one) before = before->turn_.next;
    before->turn_.next = one->turn_.next;
    if (tail_ == one) tail_ = before == one ? nullptr : before;
    one->turn_ = {nullptr, std::min<int64_t>(one->turn_.credit, 0), false};
  }

  static void Charge(int64_t cost, T* one) { one->turn_.credit -= cost; }

  // Whose turn it is, by `cost(T*)`: what the next of each would cost. Those that cannot afford theirs, or may not be
  // served now, go to the end of the round. Null if none may. The same again until something is charged or changed.
  template <typename Cost>
  T* Next(const Cost& cost) {
    while (tail_ != nullptr) {
      int64_t missing = kNotNow;  // of the one that misses least
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
      // The rounds in which none could go, but for the last, at once.
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
  T* tail_ = nullptr;  // the head is its next
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_ROUND_ROBIN_H_
