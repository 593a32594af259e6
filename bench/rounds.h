// Fair timing: everything that is compared runs in turns, round by round, in one process with one set of malloc
// settings, so that what disturbs the machine disturbs all alike.
#ifndef GLINT_BENCH_ROUNDS_H_
#define GLINT_BENCH_ROUNDS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace glint::bench {

// Something to be timed.
struct Contestant {
  std::string name;
  // Runs once and appends its microseconds; may append several measurements of one run.
  std::function<absl::Status(std::vector<double>* us)> run;
  std::vector<double> us = {};  // one series of all rounds
};

// What a contestant's time is. On a machine that others use as well, the processor's time is the fairer one; it counts
// all threads of the process and no waiting, so it is for one thread on the CPU.
enum class Clock { kWall, kProcessor };
inline const char* ClockName(Clock clock) { return clock == Clock::kWall ? "wall" : "cpu"; }

// A contestant that is timed from outside.
Contestant Timed(std::string name, Clock clock, std::function<absl::Status()> run);

inline constexpr int kMaxRepeat = 1'000'000;  // rounds that a user may ask for

// A third of `rounds`, at least one, to warm up (not kept), then `rounds` rounds. Each round starts with another
// contestant, so that none always inherits the same caches. Stops at the first error.
absl::Status RunRounds(int rounds, std::vector<Contestant>* contestants);

// glibc gives large blocks back to the system when they are freed and takes page faults when it gets them again, which
// makes programs that allocate per frame up to 1.8 times slower, now and then. From here on freed memory is kept:
// OpenCV's timings are those of a process that is well set up. Call once, first.
void KeepFreedMemory();

class Stopwatch {
 public:
  explicit Stopwatch(Clock clock = Clock::kWall) : clock_(clock), start_(Now()) {}
  double us() const { return Now() - start_; }

 private:
  double Now() const;

  const Clock clock_;
  const double start_;
};

}  // namespace glint::bench

#endif  // GLINT_BENCH_ROUNDS_H_
