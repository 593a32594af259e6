// A progress line on the terminal. Silent when standard error is not a terminal.
#ifndef GLINT_CLIENT_CLI_BASE_PROGRESS_H_
#define GLINT_CLIENT_CLI_BASE_PROGRESS_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace glint::cli {

// The text alone: a bar with share, rate and time left, or without a `total` (0) what was done so far.
std::string ProgressText(int64_t done, int64_t total, absl::Duration elapsed);

// Thread-compatible.
class Progress {
 public:
  Progress(bool wanted, int64_t total);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Draws at most ten times a second.
  void Update(int64_t done);

 private:
  const bool shown_;
  const int64_t total_;
  const absl::Time start_;
  absl::Time next_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_BASE_PROGRESS_H_
