#include "server/log.h"

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

// A JSON string, which is also how text quotes: control characters cannot forge another line.
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
  const std::string line = FormatLogLine(format_, absl::Now(), severity, event, fields) + "\n";
  std::lock_guard<std::mutex> lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), out_);
  std::fflush(out_);
}

}  // namespace glint
