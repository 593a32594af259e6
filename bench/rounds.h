// Interleaved timing: everything that is compared runs round by round in one process, with the same malloc settings, so
// that a disturbance of the machine affects all alike.
#ifndef GLINT_BENCH_ROUNDS_H_
#define GLINT_BENCH_ROUNDS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace glint::bench {

// A timed function and its samples.
struct Contestant {
  std::string name;
  // Runs once and appends its microseconds; may append several measurements of one run.
  std::function<absl::Status(std::vector<double>* us)> run;
  std::vector<double> us = {};  // one series of all rounds
};

// The clock of a measurement. On a shared machine, processor time repeats better; it counts all threads of the process
// and no waiting, so it is for single-threaded CPU code.
enum class Clock { kWall, kProcessor };
inline const char* ClockName(Clock clock) { return clock == Clock::kWall ? "wall" : "cpu"; }

// Times each call of `run`.
Contestant Timed(std::string name, Clock clock, std::function<absl::Status()> run);

inline constexpr int kMaxRepeat = 1'000'000;  // rounds that a user may ask for

// A third of `rounds`, at least one, to warm up (not kept), then `rounds` rounds. Each round starts with another
// contestant, so that none always starts with the same caches. Stops at the first error.
absl::Status RunRounds(int rounds, std::vector<Contestant>* contestants);

// Makes glibc keep freed memory. By default it returns large blocks to the system and takes page faults when it gets
// them again, which makes code that allocates per frame, such as cv::ORB, up to 1.8 times slower in some runs. Call
// once, first.
void TuneMalloc();

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
