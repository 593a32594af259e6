// Values that users sent, as they come back in errors: short, printable and valid UTF-8.
#include "features/error.h"

#include <gtest/gtest.h>

#include <string>

namespace glint {
namespace {

std::string TextOf(const absl::Status& status) { return std::string(status.message()); }

TEST(EchoTest, ShortTextStaysAsItIs) {
  EXPECT_EQ(Echo(""), "");
  EXPECT_EQ(Echo("oriented_fast"), "oriented_fast");
  EXPECT_EQ(Echo("größer, 大 und \xf0\x9f\x91\x8d"), "größer, 大 und \xf0\x9f\x91\x8d");
  EXPECT_EQ(Echo(std::string(kMaxEchoBytes, 'x')), std::string(kMaxEchoBytes, 'x'));
}

TEST(EchoTest, LongTextIsCutAndTheCutIsMarked) {
  EXPECT_EQ(Echo(std::string(kMaxEchoBytes + 1, 'x')), std::string(kMaxEchoBytes, 'x') + "...");
  EXPECT_EQ(Echo(std::string(1 << 20, 'x')), std::string(kMaxEchoBytes, 'x') + "...");
}

// Never in the middle of a character or of an escape.
TEST(EchoTest, CutsBetweenCharacters) {
  for (size_t ascii = kMaxEchoBytes - 5; ascii <= kMaxEchoBytes; ++ascii) {
    const std::string text(ascii, 'x');
    EXPECT_EQ(Echo(text + "大大大"), text + (ascii + 3 <= kMaxEchoBytes ? "大" : "") + "...") << ascii;
    EXPECT_EQ(Echo(text + "\n\n\n"), text + (ascii + 4 <= kMaxEchoBytes ? "\\x0a" : "") + "...") << ascii;
  }
}

TEST(EchoTest, ControlBytesAndWhatIsNoUtf8AreEscaped) {
  EXPECT_EQ(Echo(std::string("a\0b\n\x1b[2J\x7f", 9)), "a\\x00b\\x0a\\x1b[2J\\x7f");
  EXPECT_EQ(Echo("\xc2\x9b"), "\\xc2\\x9b");                    // a control character of two bytes
  EXPECT_EQ(Echo("\x80\xff\xc3"), "\\x80\\xff\\xc3");           // no beginning; none; no end
  EXPECT_EQ(Echo("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(Echo("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(Echo("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  EXPECT_EQ(Echo("\xe5\xa4z"), "\\xe5\\xa4z");                  // cut short by an x
}

TEST(ErrorTest, EveryErrorCutsTheValueItEchoes) {
  const std::string value(70000, 'v');
  const std::string shown = std::string(kMaxEchoBytes, 'v') + "...";
  EXPECT_EQ(TextOf(NotOneOfError("preset", value, "orb, harris")),
            "preset: \"" + shown + "\" is not one of orb, harris");
  EXPECT_EQ(TextOf(OutOfRangeError("age", value, std::string("1s"), std::string("24h"))),
            "age: " + shown + " is not in 1s..24h");
  EXPECT_LE(ContradictionError("mask", value).message().size(), size_t{1000});
  EXPECT_EQ(TextOf(OutOfRangeError("levels", 13, 1, 12)), "levels: 13 is not in 1..12");
}

}  // namespace
}  // namespace glint
