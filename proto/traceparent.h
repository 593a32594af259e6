// The traceparent of W3C's Trace Context (Recommendation, level 1), which calls may carry as metadata of that name:
//
//   00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
//   version, trace id, parent id, flags: lower-case hexadecimal
#ifndef GLINT_PROTO_TRACEPARENT_H_
#define GLINT_PROTO_TRACEPARENT_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace glint {

inline constexpr char kTraceparentKey[] = "traceparent";
// The trailer in which a server tells the trace id of a call that came with one.
inline constexpr char kTraceIdKey[] = "trace-id";

struct Traceparent {
  absl::string_view trace_id;  // 32 digits of what was parsed, not all 0
  bool sampled = false;        // the caller records this trace
};

// Nothing for what the recommendation calls invalid. Versions to come may have more behind another '-'.
inline std::optional<Traceparent> ParseTraceparent(absl::string_view text) {
  constexpr size_t kLength = 55, kTraceId = 3, kParentId = 36, kFlags = 53;
  if (text.size() < kLength) return std::nullopt;
  for (size_t i = 0; i < kLength; ++i) {
    const bool dash = i == kTraceId - 1 || i == kParentId - 1 || i == kFlags - 1;
    const char c = text[i];
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (dash ? c != '-' : !digit) return std::nullopt;
  }
  const absl::string_view version = text.substr(0, 2);
  if (version == "ff") return std::nullopt;
  if (text.size() > kLength && (version == "00" || text[kLength] != '-')) return std::nullopt;
  Traceparent parsed;
  parsed.trace_id = text.substr(kTraceId, 32);
  const auto zero = [](absl::string_view digits) { return digits.find_first_not_of('0') == absl::string_view::npos; };
  if (zero(parsed.trace_id) || zero(text.substr(kParentId, 16))) return std::nullopt;
  const char flags = text[kFlags + 1];
  parsed.sampled = ((flags <= '9' ? flags - '0' : flags - 'a' + 10) & 1) != 0;
  return parsed;
}

}  // namespace glint

#endif  // GLINT_PROTO_TRACEPARENT_H_
