// What a run amounted to: frames a second and percentiles of every stage.
#ifndef GLINT_CLIENT_CLI_BASE_SUMMARY_H_
#define GLINT_CLIENT_CLI_BASE_SUMMARY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "client/load/latencies.h"
#include "client/result.h"

namespace glint::cli {

// Thread-compatible.
class Summary {
 public:
  void AddOk(const client::Detection& detection);
  // A picture of so many bytes had an answer.
  void AddBytes(size_t bytes) { bytes_ += static_cast<int64_t>(bytes), ++pictures_; }
  void AddFailed(int64_t frames) { failed_ += frames; }
  // Dropped by the server, by the stream's policy or deadline.
  void AddDropped() { ++dropped_; }

  int64_t frames() const { return ok_ + failed_ + dropped_; }
  int64_t failed() const { return failed_; }

  // Some lines of text; `elapsed` is the time that the frames took together.
  std::string Text(absl::Duration elapsed) const;

 private:
  static constexpr int kStages = 10;

  int64_t ok_ = 0;
  int64_t failed_ = 0;
  int64_t dropped_ = 0;
  int64_t keypoints_ = 0;
  int64_t bytes_ = 0, pictures_ = 0;
  std::array<load::Latencies, kStages> stages_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_BASE_SUMMARY_H_
