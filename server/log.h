// The server's log: one line per event, for people or for machines.
#ifndef GLINT_SERVER_LOG_H_
#define GLINT_SERVER_LOG_H_

#include <cstdio>
#include <initializer_list>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/options.h"

namespace glint {

enum class Severity { kInfo, kWarning, kError };

struct LogField {
  absl::string_view name;
  std::string value;
};

// One line without its newline. Text: time, severity, event, then name=value, with values quoted where they have to be.
// JSON: an object with "time", "severity", "event" and the fields as strings. Fields without a value are left out.
std::string FormatLogLine(LogFormat format, absl::Time time, Severity severity, absl::string_view event,
                          std::initializer_list<LogField> fields);

// Thread-safe.
class Logger {
 public:
  // `out` must outlive the logger.
  Logger(LogFormat format, std::FILE* out) : format_(format), out_(out) {}

  void Log(Severity severity, absl::string_view event, std::initializer_list<LogField> fields = {});

 private:
  const LogFormat format_;
  std::FILE* const out_;
  std::mutex mutex_;
};

}  // namespace glint

#endif  // GLINT_SERVER_LOG_H_
