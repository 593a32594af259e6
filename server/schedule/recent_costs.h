// Recent frames, counted by cost: the time that they are expected to take.
#ifndef GLINT_SERVER_SCHEDULE_RECENT_COSTS_H_
#define GLINT_SERVER_SCHEDULE_RECENT_COSTS_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace glint {

// Counts frames in classes of cost that are half an octave wide, over the past 500 to 1000 ms. Thread-compatible,
// allocates nothing. Times must not go back.
class RecentCosts {
 public:
  static constexpr int64_t kWindowNs = 500'000'000;

  // `cost` >= 1, at `now` (MonotonicNs()).
  void Add(int64_t cost, int64_t now);

  // Number of recent frames that cost less than about a quarter of `cost`: all below 1/5.7, none above 1/2.8.
  int CountMuchCheaper(int64_t cost, int64_t now);

 private:
  static constexpr size_t kClasses = 128;
  static size_t ClassOf(int64_t cost);
  void Forget(int64_t now);

  std::array<int, kClasses> current_{};
  std::array<int, kClasses> previous_{};
  int64_t started_at_ = 0;  // of the current window
};

}  // namespace glint

#endif  // GLINT_SERVER_SCHEDULE_RECENT_COSTS_H_
