// What a run amounted to: frames a second and percentiles of every stage.
#ifndef GLINT_CLIENT_CLI_SUMMARY_H_
#define GLINT_CLIENT_CLI_SUMMARY_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/result.h"

namespace glint::cli {

// Counts of durations in buckets that are never wider than 1/128 of the value, from 1 ns to years, in memory that does
// not grow with the run. Thread-compatible.
class Latencies {
 public:
  void Add(int64_t nanoseconds);
  // The smallest recorded value, to 1/128, that at least `share` (0..1) of all values do not exceed; 0 without values.
  int64_t Percentile(double share) const;
  int64_t max() const { return max_; }

 private:
  std::vector<int64_t> buckets_;
  int64_t count_ = 0;
  int64_t max_ = 0;
};

// Thread-compatible.
class Summary {
 public:
  void AddOk(const client::Detection& detection);
  void AddFailed(int64_t frames) { failed_ += frames; }

  int64_t frames() const { return ok_ + failed_; }
  int64_t failed() const { return failed_; }

  // Some lines of text; `elapsed` is the time that the frames took together.
  std::string Text(absl::Duration elapsed) const;

 private:
  static constexpr int kStages = 8;

  int64_t ok_ = 0;
  int64_t failed_ = 0;
  int64_t keypoints_ = 0;
  std::array<Latencies, kStages> stages_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SUMMARY_H_
