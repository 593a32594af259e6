#include "features/error.h"

#include "absl/strings/str_format.h"

namespace glint {
namespace {

// Bytes of the character that `text`, which is not empty, begins with; 0 if it is to be escaped: a control character,
// or not UTF-8. RFC 3629: the second byte's range excludes overlong forms, surrogates and what is beyond U+10FFFF.
size_t PrintableBytes(absl::string_view text) {
  const auto byte = [text](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  const uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  if (first < 0xc2 || first > 0xf4) return 0;
  const size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  uint8_t low = 0x80, high = 0xbf;
  if (first == 0xc2 || first == 0xe0) low = 0xa0;  // U+0080 to U+009F are control characters
  if (first == 0xed) high = 0x9f;
  if (first == 0xf0) low = 0x90;
  if (first == 0xf4) high = 0x8f;
  for (size_t i = 1; i < size; ++i) {
    if (byte(i) < low || byte(i) > high) return 0;
    low = 0x80;
    high = 0xbf;
  }
  return size;
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

}  // namespace

std::string Echo(absl::string_view value) { return Escape(value, kMaxEchoBytes); }

absl::Status NotOneOfError(absl::string_view field, absl::string_view value, absl::string_view allowed) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": \"", Echo(value), "\" is not one of ", allowed));
}

absl::Status ContradictionError(absl::string_view field, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", Escape(problem, kMaxProblemBytes)));
}

absl::Status LimitError(absl::string_view field, int64_t value, int64_t limit, absl::string_view flag) {
  return absl::ResourceExhaustedError(
      absl::StrCat(field, ": ", value, " is over this server's limit of ", limit, " (", flag, ")"));
}

}  // namespace glint
