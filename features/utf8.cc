#include "features/utf8.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace glint {
namespace {

bool IsLowerHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// Whether `text` begins as an escaped byte does.
bool BeginsWithEscape(absl::string_view text) {
  return text.size() >= 4 && text[0] == '\\' && text[1] == 'x' && IsLowerHexDigit(text[2]) && IsLowerHexDigit(text[3]);
}

}  // namespace

size_t Utf8Size(absl::string_view text) {
  const auto byte = [text](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and what is beyond U+10FFFF.
  uint8_t low = 0x80, high = 0xbf;
  if (first == 0xe0) low = 0xa0;
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

std::string Utf8Text(absl::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t size = BeginsWithEscape(bytes) ? 0 : Utf8Size(bytes);
    if (size == 0) {
      absl::StrAppend(&text, "\\x", absl::Hex(static_cast<uint8_t>(bytes[0]), absl::kZeroPad2));
    } else {
      text.append(bytes.data(), size);
    }
    bytes.remove_prefix(std::max<size_t>(size, 1));
  }
  return text;
}

}  // namespace glint
