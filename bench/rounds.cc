#include "bench/rounds.h"

#include "features/status_macros.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace glint::bench {
namespace {

absl::Status RunOnce(size_t first, std::vector<Contestant>* contestants) {
  const size_t count = contestants->size();
  for (size_t i = 0; i < count; ++i) {
    Contestant& contestant = (*contestants)[(first + i) % count];
    GLINT_RETURN_IF_ERROR(contestant.run(&contestant.us));
  }
  return absl::OkStatus();
}

}  // namespace

double Stopwatch::Now() const {
  timespec now = {};
  clock_gettime(clock_ == Clock::kWall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

Contestant Timed(std::string name, Clock clock, std::function<absl::Status()> run) {
  return {std::move(name), [clock, run = std::move(run)](std::vector<double>* us) {
            const Stopwatch stopwatch(clock);
            absl::Status status = run();
            us->push_back(stopwatch.us());
            return status;
          }};
}

absl::Status RunRounds(int rounds, std::vector<Contestant>* contestants) {
  const int warm_up = std::max(1, rounds / 3);
  for (int round = 0; round < warm_up; ++round) {
    GLINT_RETURN_IF_ERROR(RunOnce(static_cast<size_t>(round), contestants));
  }
  for (Contestant& contestant : *contestants) contestant.us.clear();
  for (int round = 0; round < rounds; ++round) {
    GLINT_RETURN_IF_ERROR(RunOnce(static_cast<size_t>(round), contestants));
  }
  return absl::OkStatus();
}

void TuneMalloc() {
#if defined(__GLIBC__)
  constexpr int kLarge = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, kLarge);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
}

}  // namespace glint::bench
