// The lines in which decoders say when frames are: FFmpeg's and GStreamer's, in pieces, without a time, among others.
#include "client/video/frame_times.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint::video {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Times = std::vector<std::optional<absl::Duration>>;

Times TakeAll(FrameTimes* times) {
  Times all;
  for (std::optional<absl::Duration> time; times->Take(&time);) all.push_back(time);
  return all;
}

Times TimesIn(absl::string_view text) {
  FrameTimes times;
  times.Add(text);
  return TakeAll(&times);
}

constexpr char kFfmpeg[] =
    "frame:0    pts:-80000000 pts_time:-0.08\nglint=1\nframe:1    pts:NOPTS   pts_time:NOPTS\nglint=1\n"
    "frame:100  pts:7200033366667 pts_time:7200.03\nglint=1\n";
constexpr char kGstreamer[] =
    "Setting pipeline to PAUSED ...\n"
    "/GstPipeline:pipeline0/GstIdentity:identity0: last-message = event   ******* (identity0:sink) E (type: segment "
    "(17934), GstEventSegment, dts: 1, pts: 0:00:09.000000000;) 0x5f\n"
    "/GstPipeline:pipeline0/GstIdentity:identity0: last-message = chain   ******* (identity0:sink) (84480 bytes, dts: "
    "0:00:07.000000000, pts: 2:01:02.100000007, duration: 0:00:00.033366666, offset: -1, offset_end: -1) 0x7f\n"
    "/GstPipeline:pipeline0/GstIdentity:identity0: last-message = chain   ******* (identity0:sink) (84480 bytes, dts: "
    "none, pts: none, duration: none, offset: -1, offset_end: -1) 0x7f\n";

TEST(FrameTimes, AreThoseOfBothDecoders) {
  EXPECT_THAT(TimesIn(kFfmpeg), ElementsAre(absl::Milliseconds(-80), std::nullopt, absl::Nanoseconds(7200033366667)));
  EXPECT_THAT(
      TimesIn(kGstreamer),
      ElementsAre(absl::Hours(2) + absl::Minutes(1) + absl::Seconds(2) + absl::Nanoseconds(100000007), std::nullopt));
}

TEST(FrameTimes, LinesMayComeInPieces) {
  FrameTimes times;
  const std::string text = kFfmpeg;
  Times all;
  for (const char& byte : text) {
    times.Add({&byte, 1});
    for (const auto& time : TakeAll(&times)) all.push_back(time);
  }
  EXPECT_EQ(all, TimesIn(text));
  times.Add("frame:2 pts:5 pts_time:0");  // not yet
  EXPECT_THAT(TakeAll(&times), IsEmpty());
  times.Add("\n");
  EXPECT_THAT(TakeAll(&times), ElementsAre(absl::Nanoseconds(5)));
}

TEST(FrameTimes, OtherLinesAreNone) {
  EXPECT_THAT(TimesIn("pts:5\n\nframe:\nxframe:1 pts:5\n last-message = handoff (x) pts: 0:00:00.000000001, \n"),
              IsEmpty());
  const std::string chain = ": last-message = chain (x) ";
  EXPECT_THAT(TimesIn(chain + "pts: 0:00:1, \n" + chain + "pts: 0:-1:00.000000000, \n" + chain + "pts:\n"),
              ElementsAre(std::nullopt, std::nullopt, std::nullopt));
  EXPECT_THAT(TimesIn("frame:0 " + std::string(100000, 'x') + " pts:5\nframe:1 pts:6\n"),
              ElementsAre(absl::Nanoseconds(6)));
}

TEST(FrameTimes, TheTurnIsThatOfTheLastTag) {
  const auto turn = [](const std::string& tags) {
    FrameTimes times;
    times.Add("x: last-message = event   ******* (x:sink) E (type: tag (20510), taglist=(taglist)\"taglist\\,\\ " +
              tags + "\\;\";) 0x7f\n");
    return times.turn();
  };
  EXPECT_EQ(turn("image-orientation\\=\\(string\\)rotate-270\\,\\ video-codec\\=\\(string\\)x"), "rotate-270");
  EXPECT_EQ(turn("image-orientation\\=\\(string\\)flip-rotate-0"), "flip-rotate-0");
  EXPECT_EQ(turn("image-orientation\\=\\(string\\)rotate-0"), "");
  EXPECT_EQ(turn("video-codec\\=\\(string\\)x"), "");
}

}  // namespace
}  // namespace glint::video
