// Arguments of the programs that decode: names that look like something else, addresses, programs that are not there.
#include "client/video/decoder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint::video {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// $PATH is a folder with the programs that a test puts there.
class DecoderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = ::testing::TempDir() + "glint-decoder-XXXXXX";
    folder_ = mkdtemp(folder.data());
    setenv("PATH", absl::StrCat("relative::", folder_).c_str(), 1);
  }
  void TearDown() override {
    setenv("PATH", before_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  void Install(const std::string& program, const std::string& script = "") const {
    const std::string path = folder_ + "/" + program;
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    chmod(path.c_str(), 0755);
  }
  std::string folder_;
  const std::string before_ = std::getenv("PATH");
};

TEST_F(DecoderTest, TheProgramIsLookedFor) {
  EXPECT_THAT(std::string(DecoderArguments(Decoder::kAuto, "a.mp4", Planes::kLuma).status().message()),
              HasSubstr("neither ffmpeg nor gst-launch-1.0"));
  Install("gst-launch-1.0");
  EXPECT_EQ(DecoderArguments(Decoder::kAuto, "a.mp4", Planes::kLuma)->front(), folder_ + "/gst-launch-1.0");
  EXPECT_TRUE(IsGstreamer(*DecoderArguments(Decoder::kGstreamer, "a.mp4", Planes::kLuma)));
  EXPECT_TRUE(absl::IsNotFound(DecoderArguments(Decoder::kFfmpeg, "a.mp4", Planes::kLuma).status()));
  Install("ffmpeg");
  EXPECT_EQ(DecoderArguments(Decoder::kAuto, "a.mp4", Planes::kLuma)->front(), folder_ + "/ffmpeg");
  EXPECT_EQ(DecoderArguments(Decoder::kGstreamer, "a.mp4", Planes::kLuma)->front(), folder_ + "/gst-launch-1.0");
  EXPECT_FALSE(IsGstreamer(*DecoderArguments(Decoder::kAuto, "a.mp4", Planes::kLuma)));
}

// Where GStreamer has Jetson's converter, frames go through it.
TEST_F(DecoderTest, TheConverterIsTheDecoders) {
  Install("gst-launch-1.0");
  const auto converter = [] {
    const auto arguments = *DecoderArguments(Decoder::kGstreamer, "a.mp4", Planes::kLuma);
    return arguments[5];
  };
  EXPECT_EQ(converter(), "videoconvert");
  Install("gst-inspect-1.0", "test \"$1 $2\" = '--exists nvvidconv'");
  EXPECT_EQ(converter(), "nvvidconv");
  Install("gst-inspect-1.0", "exit 1");
  EXPECT_EQ(converter(), "videoconvert");
}

TEST_F(DecoderTest, NamesStayNames) {
  Install("ffmpeg");
  Install("gst-launch-1.0");
  for (const std::string name : {"-i", "-y x", "concat:a|b", "http:x", "a b ! filesink location=c", "\"';$(id)"}) {
    const auto ffmpeg = DecoderArguments(Decoder::kFfmpeg, name, Planes::kLuma);
    ASSERT_TRUE(ffmpeg.ok());
    EXPECT_THAT(*ffmpeg, Contains(absl::StrCat("file:", name)));
    EXPECT_EQ(std::count(ffmpeg->begin(), ffmpeg->end(), "-i"), 1) << name;
    const auto gstreamer = DecoderArguments(Decoder::kGstreamer, name, Planes::kLuma);
    ASSERT_TRUE(gstreamer.ok());
    EXPECT_THAT(*gstreamer, Contains(testing::MatchesRegex("uri=file:///[-a-zA-Z0-9/._%]*"))) << name;
  }
}

TEST_F(DecoderTest, FilesOpenFilesAndAddressesNone) {
  Install("ffmpeg");
  const auto protocols = [](const std::string& name) {
    const auto arguments = *DecoderArguments(Decoder::kFfmpeg, name, Planes::kLuma);
    for (size_t i = 0; i + 1 < arguments.size(); ++i) {
      if (arguments[i] == "-protocol_whitelist") return arguments[i + 1];
    }
    return std::string();
  };
  EXPECT_EQ(protocols("list.m3u8"), "file");
  for (const char* address : {"rtsp://h/", "rtsps://h/", "http://h/", "https://h/", "rtmp://h/", "rtmps://h/"}) {
    EXPECT_THAT(protocols(address), HasSubstr("tcp")) << address;
    EXPECT_THAT(protocols(address), Not(HasSubstr("file"))) << address;
  }
}

TEST_F(DecoderTest, FramesAreWhatIsAskedFor) {
  Install("ffmpeg");
  const auto filter = [](Planes planes) {
    const auto arguments = *DecoderArguments(Decoder::kFfmpeg, "a.mp4", planes);
    EXPECT_THAT(arguments, Contains("-noautorotate"));
    return *(std::find(arguments.begin(), arguments.end(), "-vf") + 1);
  };
  EXPECT_THAT(filter(Planes::kLuma), AllOf(HasSubstr(",format=yuv410p|"), EndsWith("|gbrap,extractplanes=y")));
  EXPECT_THAT(filter(Planes::kNv12), EndsWith(":direct=1,format=yuv420p|yuvj420p"));
  EXPECT_THAT(filter(Planes::kRgb), AllOf(HasSubstr("format=gbrp"), Not(HasSubstr("extractplanes"))));
}

// Pixels and times have a descriptor each, which the arguments name.
TEST_F(DecoderTest, TimesAreWrittenBesideTheFrames) {
  Install("ffmpeg");
  Install("gst-launch-1.0");
  FrameTimes times;
  const auto ffmpeg = *DecoderArguments(Decoder::kFfmpeg, "a.mp4", Planes::kLuma);
  EXPECT_EQ(ffmpeg.back(), absl::StrCat("pipe:", ChannelsOf(ffmpeg, &times).output));
  EXPECT_THAT(*(std::find(ffmpeg.begin(), ffmpeg.end(), "-vf") + 1),
              AllOf(StartsWith("settb=1/1000000000,"),
                    HasSubstr(absl::StrCat("file=pipe\\\\:", ChannelsOf(ffmpeg, &times).notes, ":"))));
  const auto gstreamer = *DecoderArguments(Decoder::kGstreamer, "a.mp4", Planes::kLuma);
  EXPECT_EQ(gstreamer.back(), absl::StrCat("fd=", ChannelsOf(gstreamer, &times).output));
  EXPECT_EQ(ChannelsOf(gstreamer, &times).notes, 1);
  ChannelsOf(ffmpeg, &times).take_notes("frame:0    pts:70 pts_time:7e-08\n");
  std::optional<absl::Duration> time;
  ASSERT_TRUE(times.Take(&time));
  EXPECT_EQ(time, absl::Nanoseconds(70));
}

TEST(Address, SchemesAndCharactersAreChecked) {
  EXPECT_EQ(*SchemeOf("RTSP://user:pass@[::1]:554/a?b=c&d"), "rtsp");
  EXPECT_TRUE(IsLiveScheme("rtsp") && IsLiveScheme("rtmps") && !IsLiveScheme("https") && !IsLiveScheme("gopher"));
  const std::pair<const char*, const char*> bad[] = {{"ftp://h/x", "address.scheme: \"ftp\" is not one of rtsp"},
                                                     {"file:///etc/passwd", "\"file\" is not one of"},
                                                     {"concat://a", "\"concat\" is not one of"},
                                                     {"rtsp://", "no host"},
                                                     {"http:///x", "no host"},
                                                     {"http://h/a b", "must be written as %20"},
                                                     {"http://h/a!b", "must be written as %21"},
                                                     {"http://h/\"", "must be written as %22"},
                                                     {"http://h/\n", "must be written as %0A"},
                                                     {"http://h/\xc3\xa4", "must be written as %C3"}};
  for (const auto& [address, problem] : bad) {
    const auto scheme = SchemeOf(address);
    EXPECT_TRUE(absl::IsInvalidArgument(scheme.status())) << address;
    EXPECT_THAT(std::string(scheme.status().message()), HasSubstr(problem)) << address;
  }
}

TEST(Address, PasswordsAreNotShown) {
  EXPECT_EQ(WithoutPassword("rtsp://user:p@ss@cam:554/a@b"), "rtsp://cam:554/a@b");
  EXPECT_EQ(WithoutPassword("rtsp://cam/a@b"), "rtsp://cam/a@b");
  EXPECT_EQ(WithoutPassword("rtsp://u@cam"), "rtsp://cam");
  EXPECT_EQ(WithoutPassword("me@home.mp4"), "me@home.mp4");
  EXPECT_EQ(WithoutPassword("gst:a x=rtsp://u:p@cam1 y=\"rtsp://u:p@cam2/\" e=@"),
            "gst:a x=rtsp://cam1 y=\"rtsp://cam2/\" e=@");
  EXPECT_EQ(WithoutPassword("gst:rtspsrc user-id=me user-pw=\"a b\" latency=0"),
            "gst:rtspsrc user-id= user-pw= latency=0");
}

TEST_F(DecoderTest, PipelinesBecomeWordsBehindTheOptions) {
  EXPECT_FALSE(PipelineOf("gst.mp4").has_value());
  const absl::string_view pipeline = *PipelineOf("gst:--version x=\"a  b\" ! appsink drop=true");
  const auto missing = PipelineArguments(pipeline).status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_THAT(std::string(missing.message()), HasSubstr("gstreamer1.0-tools"));
  Install("gst-launch-1.0");
  const auto arguments = *PipelineArguments(pipeline);
  const auto begin = std::find(arguments.begin(), arguments.end(), "--");
  const auto end = std::find(arguments.begin(), arguments.end(), "identity");
  EXPECT_THAT(std::vector<std::string>(begin, end),
              testing::ElementsAre("--", "--version", "x=\"a", "", "b\"", "", "!"));
  const auto sinks = [](const std::vector<std::string>& all) { return std::count(all.begin(), all.end(), "appsink"); };
  EXPECT_EQ(sinks(*PipelineArguments("appsink ! videoconvert")), 1);  // GStreamer says what is wrong
}

}  // namespace
}  // namespace glint::video
