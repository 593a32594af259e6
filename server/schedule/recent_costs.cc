#include "server/schedule/recent_costs.h"

namespace glint {

size_t RecentCosts::ClassOf(int64_t cost) {
  const int octave = 63 - __builtin_clzll(static_cast<uint64_t>(cost));
  const int upper_half = octave > 0 ? static_cast<int>((cost >> (octave - 1)) & 1) : 0;
  return static_cast<size_t>(2 * octave + upper_half);
}

void RecentCosts::Forget(int64_t now) {
  if (now - started_at_ < kWindowNs) return;
  previous_ = now - started_at_ < 2 * kWindowNs ? current_ : std::array<int, kClasses>{};
  current_ = {};
  started_at_ = now;
}

void RecentCosts::Add(int64_t cost, int64_t now) {
  Forget(now);
  ++current_[ClassOf(cost)];
}

int RecentCosts::CountMuchCheaper(int64_t cost, int64_t now) {
  Forget(now);
  int count = 0;
  for (size_t c = 0; c + 4 <= ClassOf(cost); ++c) count += current_[c] + previous_[c];
  return count;
}

}  // namespace glint
