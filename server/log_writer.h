// Where log lines go: a bounded queue, and a thread that writes it to a descriptor. Whoever logs never waits for
// whoever reads the log.
#ifndef GLINT_SERVER_LOG_WRITER_H_
#define GLINT_SERVER_LOG_WRITER_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace glint {

// Thread-safe.
class LogWriter {
 public:
  static constexpr size_t kDefaultCapacity = 1 << 20;

  // `fd` is borrowed. At most `capacity` bytes wait.
  explicit LogWriter(int fd, size_t capacity = kDefaultCapacity);
  // Writes what waits, for up to a second.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Queues one line; a newline is added. A line for which there is no room, or that the descriptor does not take (a
  // full disk), is dropped and counted. Before the next line that finds room goes the one that `tell` makes of the
  // number of lines dropped, if there are any and it is not empty.
  void Write(absl::string_view line, absl::FunctionRef<std::string(int64_t)> tell = TellNothing);
  // Waits until the lines of earlier calls are written. False after `timeout`.
  bool Flush(absl::Duration timeout);

  int64_t dropped() const { return dropped_; }

 private:
  static std::string TellNothing(int64_t) { return ""; }
  void Run();
  // False if the writer is to stop before all of it is written. `*lost`: lines that the descriptor did not take.
  bool WriteOut(absl::string_view bytes, int64_t* lost);

  const int fd_;
  const size_t capacity_;
  std::atomic<int64_t> dropped_{0};
  std::atomic<bool> stop_{false};

  std::mutex mutex_;                 // guards the rest
  std::condition_variable changed_;  // any of them
  std::string waiting_;
  uint64_t queued_ = 0;   // calls of Write() whose line was put into waiting_
  uint64_t written_ = 0;  // of these
  int64_t untold_ = 0;    // lines dropped that no line tells of
  int64_t told_ = 0;      // ... that a line in waiting_ tells of
  std::thread thread_;
};

// That of standard error: one for all loggers of the process, so that their lines keep their order. Never destroyed.
LogWriter& StandardErrorWriter();

}  // namespace glint

#endif  // GLINT_SERVER_LOG_WRITER_H_
