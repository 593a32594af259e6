// Bytes of names as text in UTF-8, from which they can be read back.
#include "features/utf8.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

namespace glint {
namespace {

// What the header's rule says of a text.
std::string BytesOfText(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text.compare(i, 2, "\\x") == 0 && i + 4 <= text.size() &&
                         text.find_first_not_of("0123456789abcdef", i + 2) >= i + 4;
    if (!escaped) {
      bytes += text[i];
      continue;
    }
    bytes += static_cast<char>(std::strtol(text.substr(i + 2, 2).c_str(), nullptr, 16));
    i += 3;
  }
  return bytes;
}

TEST(Utf8TextTest, KeepsCharactersAndEscapesOtherBytes) {
  EXPECT_EQ(Utf8Text(""), "");
  EXPECT_EQ(Utf8Text("a\n \\x4G café 日本 \xf0\x9f\x91\x8d"), "a\n \\x4G café 日本 \xf0\x9f\x91\x8d");
  EXPECT_EQ(Utf8Text("stra\337e.png"), "stra\\xdfe.png");
  EXPECT_EQ(Utf8Text("stra\\xdfe.png"), "stra\\x5cxdfe.png");
  EXPECT_EQ(Utf8Text("\xe2\x82"), "\\xe2\\x82");                         // cut off
  EXPECT_EQ(Utf8Text("\xc0\xaf"), "\\xc0\\xaf");                         // overlong
  EXPECT_EQ(Utf8Text("\xed\xb3\xa4"), "\\xed\\xb3\\xa4");                // a surrogate
  EXPECT_EQ(Utf8Text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");       // beyond U+10FFFF
  EXPECT_EQ(Utf8Text("\xf4\x8f\xbf\xbf\x80"), "\xf4\x8f\xbf\xbf\\x80");  // a byte too many
}

TEST(Utf8TextTest, DifferentBytesHaveDifferentTexts) {
  std::set<std::string> texts;
  int names = 0;
  const std::string parts[] = {"\\", "x", "5", "c", "\xe4", "\xc3", "\xa4"};
  for (const std::string& a : parts) {
    for (const std::string& b : parts) {
      for (const std::string& c : parts) {
        for (const std::string& d : parts) {
          const std::string name = a + b + c + d + "c";
          texts.insert(Utf8Text(name));
          EXPECT_EQ(BytesOfText(Utf8Text(name)), name);
          ++names;
        }
      }
    }
  }
  EXPECT_EQ(texts.size(), static_cast<size_t>(names));
}

}  // namespace
}  // namespace glint
