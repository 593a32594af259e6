// The y4m reader: what it takes, and what it says of everything else.
#include "client/video/y4m.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint::video {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Gives at most `step` bytes a read.
class Text : public ByteSource {
 public:
  explicit Text(std::string text, size_t step = 5) : text_(std::move(text)), step_(step) {}
  absl::StatusOr<size_t> Read(uint8_t* to, size_t size) override {
    const size_t count = std::min({size, step_, text_.size() - at_});
    std::copy_n(text_.begin() + static_cast<ptrdiff_t>(at_), count, to);
    at_ += count;
    return count;
  }

 private:
  const std::string text_;
  const size_t step_;
  size_t at_ = 0;
};

struct Outcome {
  absl::Status status;  // of the header, else of what ended the frames
  std::vector<std::string> lumas, chromas;
};

Outcome ReadAll(const std::string& text, bool chroma = true) {
  Outcome outcome;
  Text bytes(text);
  Y4mReader reader(&bytes);
  outcome.status = reader.ReadHeader();
  while (outcome.status.ok()) {
    std::string luma(reader.header().luma_bytes(), '?'), both(reader.header().chroma_bytes(), '?');
    outcome.status = reader.Next(reinterpret_cast<uint8_t*>(luma.data()),
                                 chroma ? reinterpret_cast<uint8_t*>(both.data()) : nullptr);
    if (!outcome.status.ok()) break;
    outcome.lumas.push_back(luma);
    if (chroma) outcome.chromas.push_back(both);
  }
  return outcome;
}

TEST(Y4m, FramesOfEveryFormatAreRead) {
  struct Format {
    const char* name;
    const char* chroma;  // of a picture of 3x2 pixels
  };
  for (const Format& format : {Format{"", "UUVV"}, Format{" C420", "UUVV"}, Format{" C420jpeg", "UUVV"},
                               Format{" C420mpeg2", "UUVV"}, Format{" C420paldv", "UUVV"}, Format{" C422", "UUUUVVVV"},
                               Format{" C444", "UUUUUUVVVVVV"}, Format{" Cmono", ""}}) {
    const std::string text = absl::StrCat("YUV4MPEG2 W3 H2 F25:1 Ip A1:1 XCOLORRANGE=FULL", format.name,
                                          "\nFRAME\nabcdef", format.chroma, "FRAME Ip XY\nghijkl", format.chroma);
    const Outcome all = ReadAll(text), gray = ReadAll(text, false);
    EXPECT_TRUE(absl::IsOutOfRange(all.status)) << format.name << all.status;
    EXPECT_THAT(all.lumas, ElementsAre("abcdef", "ghijkl")) << format.name;
    EXPECT_THAT(all.chromas, ElementsAre(format.chroma, format.chroma));
    EXPECT_EQ(gray.lumas, all.lumas);
    EXPECT_TRUE(absl::IsOutOfRange(gray.status));
  }
}

TEST(Y4m, RatesAreFractions) {
  const auto header = ParseY4mHeader("W16384 H1 F30000:1001");
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->rate_numerator, 30000);
  EXPECT_EQ(header->rate_denominator, 1001);
  EXPECT_EQ(header->luma_bytes(), 16384u);
  EXPECT_EQ(ParseY4mHeader("W1 H1")->rate_denominator, 0);
  EXPECT_EQ(ParseY4mHeader("W1 H1 F0:0")->rate_denominator, 0);
  EXPECT_EQ(ParseY4mHeader("W1 H1 F0:1")->rate_denominator, 0);  // of GStreamer, where the rate varies
}

struct Bad {
  std::string text, problem;
};

TEST(Y4m, BadHeadersAreNamed) {
  const Bad cases[] = {
      {"", "no bytes"},
      {"YUV4MPEG", "begins with \"YUV4MPEG\""},
      {"\x89PNG\r\n\x1a\n0000", "begins with \"\\x89PNG"},
      {"YUV4MPEG2 W3 H2", "ends in a header"},
      {absl::StrCat("YUV4MPEG2 W3 H2 X", std::string(2000, 'x'), "\n"), "more than 1024 bytes"},
      {"YUV4MPEG2 W3\n", "no W or no H"},
      {"YUV4MPEG2 H3\n", "no W or no H"},
      {"YUV4MPEG2 W3 H2 W3\n", "field \"W\" is there twice"},
      {"YUV4MPEG2 W3  H2\n", "an empty field"},
      {"YUV4MPEG2 \n", "an empty field"},
      {"YUV4MPEG2 W3 H2\r\n", "y4m.H: 2\\x0d is not in 1..16384"},
      {"YUV4MPEG2 W0 H2\n", "y4m.W: 0 is not in 1..16384"},
      {"YUV4MPEG2 W-3 H2\n", "y4m.W: -3 is not in 1..16384"},
      {"YUV4MPEG2 W+3 H2\n", "y4m.W: +3 is not in 1..16384"},
      {"YUV4MPEG2 W16385 H2\n", "y4m.W: 16385 is not in 1..16384"},
      {"YUV4MPEG2 W3 H99999999999999999999\n", "y4m.H: 99999999999999999999 is not in 1..16384"},
      {"YUV4MPEG2 W H2\n", "y4m.W:  is not in"},
      {"YUV4MPEG2 W3 H2 F25\n", "y4m.F: \"25\" is no rate"},
      {"YUV4MPEG2 W3 H2 F-1:1\n", "y4m.F: \"-1:1\""},
      {"YUV4MPEG2 W3 H2 F25:0\n", "y4m.F: \"25:0\""},
      {"YUV4MPEG2 W3 H2 F1:2:3\n", "y4m.F: \"1:2:3\""},
      {"YUV4MPEG2 W3 H2 F4294967297:1\n", "y4m.F: \"4294967297:1\""},
      {"YUV4MPEG2 W3 H2 C420p10\n", "y4m.C: \"420p10\" is not one of 420"},
      {"YUV4MPEG2 W3 H2 C411\n", "y4m.C: \"411\" is not one of"},
      {"YUV4MPEG2 W3 H2 Iq\n", "y4m.I: \"q\" is not one of"},
      {"YUV4MPEG2 W3 H2 I\n", "y4m.I: \"\" is not one of"},
      {"YUV4MPEG2 W3 H2 Z1\n", "\"Z1\" is no field"},
  };
  for (const Bad& bad : cases) {
    const Outcome outcome = ReadAll(bad.text);
    EXPECT_TRUE(absl::IsInvalidArgument(outcome.status)) << bad.text << outcome.status;
    EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(bad.problem)) << bad.text;
    EXPECT_THAT(outcome.lumas, IsEmpty());
  }
}

TEST(Y4m, BadFramesAreNamedByNumber) {
  const Bad cases[] = {
      {"FRAM", "y4m.frame 1: begins with \"FRAM\""},
      {"FRAMES\nabcdefUUVV", "y4m.frame 1: begins with \"FRAMES\""},
      {"abcdefUUVV", "y4m.frame 1: begins with \"abcdef\""},
      {"FRAME\nabcde", "y4m.frame 1: is cut off"},
      {"FRAME\nabcdefUUV", "y4m.frame 1: is cut off"},
      {"FRAME X", "ends in a header"},
      {absl::StrCat("FRAME X", std::string(300, 'x'), "\n"), "more than 256 bytes"},
      {"YUV4MPEG2 W4 H2 F25:1\nFRAME\nabcdefghUUVV",
       "y4m.frame 1: size, format or rate changes: 3x2 before, then \"W4"},
      {"YUV4MPEG2 W3 H2 F25:1 Cmono\nFRAME\nabcdef", "y4m.frame 1: size, format or rate changes"},
      {"YUV4MPEG2 W3 H2 F50:1\nFRAME\nabcdefUUVV", "y4m.frame 1: size, format or rate changes"},
      {"YUV4MPEG2 W3\n", "no W or no H"},
      {"YUV4MPEG3 W3 H2\n", "y4m.frame 1: neither a frame nor a header"},
  };
  for (const Bad& bad : cases) {
    const Outcome outcome = ReadAll(absl::StrCat("YUV4MPEG2 W3 H2 F25:1\nFRAME\nabcdefUUVV", bad.text));
    EXPECT_TRUE(absl::IsInvalidArgument(outcome.status)) << bad.text << outcome.status;
    EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(bad.problem)) << bad.text;
    EXPECT_THAT(outcome.lumas, ElementsAre("abcdef"));
  }
}

TEST(Y4m, FilesOneAfterTheOtherAreOneVideo) {
  const std::string file = "YUV4MPEG2 W3 H2 F25:1\nFRAME\nabcdefUUVV";
  std::string headers;
  for (int i = 0; i < 20000; ++i) headers += "YUV4MPEG2 W3 H2 F25:1 Ip\n";
  const Outcome outcome = ReadAll(absl::StrCat(file, headers, file));
  EXPECT_TRUE(absl::IsOutOfRange(outcome.status)) << outcome.status;
  EXPECT_THAT(outcome.lumas, ElementsAre("abcdef", "abcdef"));
}

TEST(Y4m, ErrorsOfTheSourceAreKept) {
  class Broken : public ByteSource {
   public:
    absl::StatusOr<size_t> Read(uint8_t*, size_t) override { return absl::DeadlineExceededError("too late"); }
  };
  Broken broken;
  EXPECT_TRUE(absl::IsDeadlineExceeded(Y4mReader(&broken).ReadHeader()));
}

}  // namespace
}  // namespace glint::video
