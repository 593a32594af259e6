#include "features/error.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "features/utf8.h"

namespace glint {
namespace {

// Bytes of the character that `text`, which is not empty, begins with; 0 if it is to be escaped: a control character,
// or not UTF-8.
size_t PrintableBytes(absl::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 0;
  if (byte(0) == 0xc2 && text.size() > 1 && byte(1) < 0xa0) return 0;  // U+0080 to U+009F are control characters
  return Utf8Size(text);
}

std::string Escape(absl::string_view text, size_t max_bytes) {
  std::string out;
  while (!text.empty()) {
    const size_t printable = PrintableBytes(text);
    const size_t taken = printable > 0 ? printable : 1;
    const std::string next = printable > 0
                                 ? std::string(text.substr(0, taken))
                                 : absl::StrFormat("\\x%02x", static_cast<unsigned>(static_cast<uint8_t>(text[0])));
    if (out.size() + next.size() > max_bytes) return out + "...";
    out += next;
    text.remove_prefix(taken);
  }
  return out;
}

// Payloads of a status, each with one member of its ErrorInfo.
struct InfoPayload {
  const char* name;
  std::string ErrorInfo::*member;
};
constexpr char kReasonPayload[] = "glint/error/reason";
constexpr char kValuePayload[] = "glint/error/value";
constexpr InfoPayload kInfoPayloads[] = {
    {kReasonPayload, &ErrorInfo::reason},         {"glint/error/field", &ErrorInfo::field},
    {kValuePayload, &ErrorInfo::value},           {"glint/error/lowest", &ErrorInfo::lowest},
    {"glint/error/highest", &ErrorInfo::highest}, {"glint/error/allowed", &ErrorInfo::allowed},
    {"glint/error/flag", &ErrorInfo::flag},
};

// The field that a text begins with, by its form alone: "image.region" of "image.region: no memory is...".
absl::string_view FieldOf(absl::string_view text) {
  const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.[]");
  return end != absl::string_view::npos && text[end] == ':' ? text.substr(0, end) : absl::string_view();
}

std::string Within(absl::string_view outer, absl::string_view field) {
  constexpr absl::string_view kImage = "image";
  if (field == kImage || absl::StartsWith(field, "image.")) return absl::StrCat(outer, field.substr(kImage.size()));
  return absl::StrCat(outer, ".", field);
}

}  // namespace

std::string Echo(absl::string_view value) { return Escape(value, kMaxEchoBytes); }

absl::Status WithErrorInfo(absl::Status status, const ErrorInfo& info) {
  for (const auto& [name, member] : kInfoPayloads) {
    if ((info.*member).empty()) {
      status.ErasePayload(name);
    } else {
      status.SetPayload(name, absl::Cord(info.*member));
    }
  }
  return status;
}

std::optional<ErrorInfo> ErrorInfoOf(const absl::Status& status) {
  if (!status.GetPayload(kReasonPayload).has_value()) return std::nullopt;
  ErrorInfo info;
  for (const auto& [name, member] : kInfoPayloads) {
    if (const auto payload = status.GetPayload(name); payload.has_value()) info.*member = std::string(*payload);
  }
  return info;
}

absl::Status WithField(absl::string_view outer, const absl::Status& status) {
  std::optional<ErrorInfo> info = ErrorInfoOf(status);
  const absl::string_view text = status.message();
  const bool begins_with_it = info.has_value() && absl::StartsWith(text, absl::StrCat(info->field, ":"));
  const absl::string_view field = begins_with_it ? text.substr(0, info->field.size()) : FieldOf(text);
  absl::Status moved(status.code(), field.empty() ? absl::StrCat(outer, ": ", text)
                                                  : absl::StrCat(Within(outer, field), text.substr(field.size())));
  status.ForEachPayload(
      [&moved](absl::string_view name, const absl::Cord& payload) { moved.SetPayload(name, payload); });
  if (!info.has_value()) return moved;
  info->field = Within(outer, info->field);
  return WithErrorInfo(std::move(moved), *info);
}

absl::Status OutOfRangeText(absl::string_view field, absl::string_view value, absl::string_view lowest,
                            absl::string_view highest) {
  ErrorInfo info;
  info.reason = "OUT_OF_RANGE";
  info.field = std::string(field);
  info.value = Echo(value);
  info.lowest = std::string(lowest);
  info.highest = std::string(highest);
  return WithErrorInfo(
      absl::InvalidArgumentError(absl::StrCat(field, ": ", info.value, " is not in ", lowest, "..", highest)), info);
}

absl::Status NotOneOfError(absl::string_view field, absl::string_view value, absl::string_view allowed) {
  ErrorInfo info;
  info.reason = "NOT_ONE_OF";
  info.field = std::string(field);
  info.value = Echo(value);
  info.allowed = std::string(allowed);
  return WithErrorInfo(
      absl::InvalidArgumentError(absl::StrCat(field, ": \"", info.value, "\" is not one of ", allowed)), info);
}

absl::Status ContradictionError(absl::string_view field, absl::string_view problem) {
  ErrorInfo info;
  info.reason = "CONTRADICTION";
  info.field = std::string(field);
  return WithErrorInfo(absl::InvalidArgumentError(absl::StrCat(field, ": ", Escape(problem, kMaxProblemBytes))), info);
}

absl::Status LimitError(absl::string_view field, int64_t value, int64_t limit, absl::string_view flag) {
  absl::Status status =
      ExhaustedError(field, absl::StrCat(value, " is over this server's limit of ", limit, " (", flag, ")"),
                     absl::StrCat(limit), flag);
  status.SetPayload(kValuePayload, absl::Cord(absl::StrCat(value)));
  return status;
}

absl::Status ExhaustedError(absl::string_view field, absl::string_view problem, absl::string_view limit,
                            absl::string_view flag) {
  ErrorInfo info;
  info.reason = "OVER_LIMIT";
  info.field = std::string(field);
  info.highest = std::string(limit);
  info.flag = std::string(flag);
  return WithErrorInfo(absl::ResourceExhaustedError(absl::StrCat(field, ": ", problem)), info);
}

absl::Status TooLargeError(absl::string_view field, size_t bytes, size_t most, absl::string_view what) {
  ErrorInfo info;
  info.reason = "OUT_OF_RANGE";
  info.field = std::string(field);
  info.value = absl::StrCat(bytes);
  info.highest = absl::StrCat(most);
  return WithErrorInfo(absl::InvalidArgumentError(absl::StrCat(field, ": ", bytes, " ", what, " are more than ", most)),
                       info);
}

}  // namespace glint
