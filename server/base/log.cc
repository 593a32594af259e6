#include "server/base/log.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace glint {
namespace {

absl::string_view Name(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      break;
  }
  return "error";
}

// A JSON string, which text lines use for quoting, too: control characters cannot forge another line.
std::string Quoted(absl::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&out, "\\", absl::string_view(&c, 1));
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned char>(c));
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

bool NeedsQuotes(absl::string_view value) {
  for (const char c : value) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '\\' || c == '=' || c == 0x7f) return true;
  }
  return false;
}

}  // namespace

std::string FormatLogLine(LogFormat format, absl::Time time, Severity severity, absl::string_view event,
                          std::initializer_list<LogField> fields) {
  const std::string when = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
  if (format == LogFormat::kJson) {
    std::string line =
        absl::StrCat("{\"time\":\"", when, "\",\"severity\":\"", Name(severity), "\",\"event\":", Quoted(event));
    for (const LogField& field : fields) {
      if (!field.value.empty()) absl::StrAppend(&line, ",", Quoted(field.name), ":", Quoted(field.value));
    }
    return line + "}";
  }
  std::string line = absl::StrCat(when, " ", Name(severity), " ", event);
  for (const LogField& field : fields) {
    if (field.value.empty()) continue;
    absl::StrAppend(&line, " ", field.name, "=", NeedsQuotes(field.value) ? Quoted(field.value) : field.value);
  }
  return line;
}

void Logger::Log(Severity severity, absl::string_view event, std::initializer_list<LogField> fields) {
  Write(absl::Now(), severity, event, fields);
}

void Logger::LogLimited(absl::string_view reason, Severity severity, absl::string_view event,
                        std::initializer_list<LogField> fields) {
  const absl::Time now = absl::Now();
  int64_t left_out = 0;
  if (!Admit(reason, now, &left_out)) {
    ++limited_;
    return;
  }
  if (left_out > 0) {
    Write(now, Severity::kWarning, "log lines left out",
          {{"reason", std::string(reason)}, {"count", absl::StrCat(left_out)}});
  }
  Write(now, severity, event, fields);
}

bool Logger::Admit(absl::string_view reason, absl::Time now, int64_t* left_out) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = rates_.find(reason);
  if (found == rates_.end()) found = rates_.emplace(std::string(reason), Rate{kBurst, now, 0}).first;
  Rate& rate = found->second;
  const double seconds = std::max(0.0, absl::ToDoubleSeconds(now - rate.at));  // clocks may go back
  rate.lines = std::min(kBurst, rate.lines + seconds * kLinesPerSecond);
  rate.at = now;
  if (rate.lines < 1) {
    ++rate.left_out;
    return false;
  }
  rate.lines -= 1;
  *left_out = std::exchange(rate.left_out, 0);
  return true;
}

void Logger::Write(absl::Time now, Severity severity, absl::string_view event, std::initializer_list<LogField> fields) {
  writer_->Write(FormatLogLine(format_, now, severity, event, fields), [this, now](int64_t dropped) {
    return FormatLogLine(format_, now, Severity::kWarning, "log lines dropped", {{"count", absl::StrCat(dropped)}});
  });
}

}  // namespace glint
