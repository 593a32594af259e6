// Writes log lines to a descriptor: a bounded queue and a writer thread. Logging never blocks on the reader of the log.
#ifndef GLINT_SERVER_BASE_LOG_WRITER_H_
#define GLINT_SERVER_BASE_LOG_WRITER_H_

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

  // `fd` is borrowed. At most `capacity` bytes wait. Throws std::system_error if its thread cannot be made.
  explicit LogWriter(int fd, size_t capacity = kDefaultCapacity);
  // Writes what waits, for up to a second.
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Queues one line and adds a newline. A line that does not fit, or that the descriptor does not accept (a full
  // disk), is dropped and counted. `tell` makes a line from the number of dropped lines; it is written before the
  // next line that fits, unless it is empty or nothing was dropped.
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

  // Guards the rest. Nothing allocates while it is held: std::terminate() flushes when memory cannot be had.
  std::mutex mutex_;
  std::condition_variable changed_;  // any of them
  std::string waiting_;              // within the memory that it has from the start
  uint64_t queued_ = 0;              // calls of Write() whose line was put into waiting_
  uint64_t written_ = 0;             // of these
  int64_t untold_ = 0;               // lines dropped that no line tells of
  int64_t told_ = 0;                 // dropped lines that a line in waiting_ tells of
  std::thread thread_;
};

// The writer of standard error. All loggers of the process share it, so that their lines keep their order. Never
// destroyed. The first call throws as the constructor does.
LogWriter& StandardErrorWriter();

}  // namespace glint

#endif  // GLINT_SERVER_BASE_LOG_WRITER_H_
