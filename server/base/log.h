// The server's log: one line per event, for people or for machines.
#ifndef GLINT_SERVER_BASE_LOG_H_
#define GLINT_SERVER_BASE_LOG_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/log_writer.h"

namespace glint {

enum class LogFormat { kText, kJson };
enum class Severity { kInfo, kWarning, kError };

struct LogField {
  absl::string_view name;
  std::string value;
};

// One line without its newline. Text: time, severity, event, then name=value, with values quoted where they have to be.
// JSON: an object with "time", "severity", "event" and the fields as strings. Fields without a value are left out.
std::string FormatLogLine(LogFormat format, absl::Time time, Severity severity, absl::string_view event,
                          std::initializer_list<LogField> fields);

// Thread-safe and non-blocking: lines that do not fit into the buffer of LogWriter are dropped, and a later line gives
// the number of dropped lines.
class Logger {
 public:
  // Rate limit per reason: burst, and lines per second.
  static constexpr double kBurst = 100;
  static constexpr double kLinesPerSecond = 20;

  // `writer` must outlive the logger.
  Logger(LogFormat format, LogWriter* writer) : format_(format), writer_(writer) {}
  // Flushes for up to a second.
  ~Logger() { Flush(); }
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  void Log(Severity severity, absl::string_view event, std::initializer_list<LogField> fields = {});
  // Log() for events that clients can cause, with a rate limit. Lines of one `reason` beyond the limit are counted
  // instead of written, and the next line of that reason is preceded by one that gives the count. A program has few
  // reasons.
  void LogLimited(absl::string_view reason, Severity severity, absl::string_view event,
                  std::initializer_list<LogField> fields);

  // Waits until everything logged so far is written. False if it takes longer than a second.
  bool Flush() { return writer_->Flush(absl::Seconds(1)); }

  int64_t dropped_lines() const { return writer_->dropped(); }
  int64_t limited_lines() const { return limited_; }

 private:
  struct Rate {
    double lines = kBurst;  // current budget
    absl::Time at;          // time of `lines`
    int64_t left_out = 0;   // lines left out since the last one
  };

  // True if a line of this reason may be written. `*left_out`: lines left out before it.
  bool Admit(absl::string_view reason, absl::Time now, int64_t* left_out);
  void Write(absl::Time now, Severity severity, absl::string_view event, std::initializer_list<LogField> fields);

  const LogFormat format_;
  LogWriter* const writer_;
  std::atomic<int64_t> limited_{0};

  std::mutex mutex_;  // guards the rest
  std::map<std::string, Rate, std::less<>> rates_;
};

}  // namespace glint

#endif  // GLINT_SERVER_BASE_LOG_H_
