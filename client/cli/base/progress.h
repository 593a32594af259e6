// Lines on the terminal that are drawn again and again. Silent when standard error is not a terminal.
#ifndef GLINT_CLIENT_CLI_BASE_PROGRESS_H_
#define GLINT_CLIENT_CLI_BASE_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/time/time.h"

namespace glint::cli {

// The text alone: a bar with share, rate and time left, or without a `total` (0) what was done so far.
std::string ProgressText(int64_t done, int64_t total, absl::Duration elapsed);

// A line that is drawn at most ten times a second. Thread-compatible.
class LiveLine {
 public:
  // `delay`: until the first drawing.
  LiveLine(bool wanted, absl::Duration delay);

  // `text` is called only if the line is drawn now; `elapsed`: since the construction.
  void Show(const std::function<std::string(absl::Duration elapsed)>& text);
  void Clear() const;

 private:
  const bool shown_;
  const absl::Time start_;
  absl::Time next_;
};

// A bar. Thread-compatible.
class Progress {
 public:
  Progress(bool wanted, int64_t total);
  ~Progress() { line_.Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Update(int64_t done) {
    line_.Show([this, done](absl::Duration elapsed) { return ProgressText(done, total_, elapsed); });
  }

 private:
  LiveLine line_;
  const int64_t total_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_BASE_PROGRESS_H_
