// The options of glint bench, without a server.
#include "client/cli/bench/load_flags.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace glint::cli {
namespace {

using ::testing::HasSubstr;

// OK, or what the tool would complain about.
absl::Status Check(const std::vector<std::string>& arguments, const std::string& server = "127.0.0.1:50051") {
  LoadFlags load_flags;
  Flags flags;
  load_flags.AddTo(&flags);
  const auto files = flags.Parse(arguments);
  return files.ok() ? load_flags.Validate(server, *files) : files.status();
}

TEST(LoadFlagsTest, RefusesWhatMakesNoSense) {
  for (const auto& [arguments, message] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--streams", "0"}, "option '--streams': 0 is not in 1..1024"},
           {{"--in-flight", "4097"}, "option '--in-flight': 4097 is not in 1..4096"},
           {{"--rate", "0"}, "option '--rate': 0 is not in"},
           {{"--rate", "5", "--in-flight", "2"}, "option '--rate': an open loop has no --in-flight"},
           {{"--rounds", "0"}, "option '--rounds': 0 is not in 1..1000"},
           {{"--warm-up", "-1"}, "option '--warm-up': -1 is not in"},
           {{"--duration", "0"}, "option '--duration': 0 is not in"},
           {{"--size", "640"}, "option '--size': '640' is not WIDTHxHEIGHT"},
           {{"--size", "640x0"}, "option '--size': '640x0' is not"},
           {{"--size", "20000x4"}, "option '--size': '20000x4' is not"},
           {{"--size", "64x64", "a.png"}, "option '--size': FILEs have a size of their own"},
           {{"--pixel-format", "file"}, "option '--pixel-format': file: no FILE given"},
           {{"--pixel-format", "rgb9"}, "option '--pixel-format': 'rgb9' is not one of gray8|"},
           {{"--task", "sing"}, "option '--task': 'sing' is not one of detect|stereo|match|match_descriptors"},
           {{"--task", "stereo", "a.png"}, "option '--task': stereo: 1 FILEs are no pairs"},
           {{"--task", "match_descriptors", "a.png", "b.png"}, "option '--task': match_descriptors takes no FILE"},
           {{"--task", "match_descriptors", "--size", "64x64"}, "option '--size': --task match_descriptors has no"},
           {{"--task", "match_descriptors", "--pixel-format", "bgr8"}, "option '--pixel-format': --task match_"},
           {{"--task", "match_descriptors", "--send", "jpeg"}, "option '--send': --task match_descriptors has no"},
           {{"--quality", "80"}, "option '--quality': is of --send jpeg"},
           {{"--send", "jpeg", "--quality", "101"}, "option '--quality': 101 is not in 1..100"},
           {{"--send", "jpeg", "--pixel-format", "nv12"}, "option '--send': jpeg has no --pixel-format"},
           {{"--send", "jpeg", "--shared-memory"}, "option '--shared-memory': is for pixels"},
           {{"--echo", "--echo-at", "127.0.0.1:1"}, "option '--echo-at': is in place of --echo"}}) {
    const absl::Status status = Check(arguments);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
  EXPECT_THAT(std::string(Check({"--echo"}, "192.0.2.1:50051").message()),
              HasSubstr("option '--echo': 192.0.2.1:50051 is not known to be this machine"));
  EXPECT_THAT(std::string(Check({"--energy"}, "192.0.2.1:50051").message()),
              HasSubstr("option '--energy': 192.0.2.1:50051 is not known to be this machine"));
  EXPECT_THAT(std::string(Check({"--shared-memory"}).message()),
              HasSubstr("option '--shared-memory': 127.0.0.1:50051 is not unix:PATH"));
  EXPECT_THAT(std::string(Check({"--shared-memory", "--pixel-format", "file", "a.png"}, "unix:/run/s").message()),
              HasSubstr("option '--shared-memory': is for pixels"));
  EXPECT_THAT(std::string(Check({}, "inproc").message()), HasSubstr("inproc has no connection to measure"));
}

TEST(LoadFlagsTest, TakesWhatMakesSense) {
  EXPECT_TRUE(Check({}).ok());
  EXPECT_TRUE(Check({"a.png", "b.png", "--pixel-format", "file"}).ok());
  for (const char* server : {"unix:/run/glint.sock", "localhost:1", "127.0.0.2:1", "[::1]:1"}) {
    EXPECT_TRUE(Check({"--echo"}, server).ok()) << server;
  }
  EXPECT_TRUE(Check({"--echo-at", "192.0.2.1:50052"}, "192.0.2.1:50051").ok());
}

TEST(LoadFlagsTest, CutsTheDurationIntoRounds) {
  LoadFlags flags;
  EXPECT_EQ(flags.Rounds(), 1);
  EXPECT_EQ(flags.Run(absl::Seconds(3)).duration, absl::Seconds(10));
  flags.echo = true;
  flags.duration = 20.0f;
  EXPECT_EQ(flags.Rounds(), 5);
  EXPECT_EQ(flags.Run(absl::Seconds(3)).duration, absl::Seconds(4));
  EXPECT_EQ(flags.Run(absl::Seconds(3)).patience, absl::Seconds(3));
}

TEST(LoadFlagsTest, MakesUpAPictureOfAnyFormat) {
  for (const auto& [format, bytes] :
       std::vector<std::pair<client::PixelFormat, size_t>>{{client::PixelFormat::kGray8, 1},
                                                           {client::PixelFormat::kRgb8, 3},
                                                           {client::PixelFormat::kBgra8, 4},
                                                           {client::PixelFormat::kGray16, 2}}) {
    LoadFlags flags;
    flags.size = "40x30";
    flags.format = format;
    load::BenchReport report;
    const auto frames = flags.Frames({}, nullptr, &report);
    ASSERT_TRUE(frames.ok()) << frames.status();
    ASSERT_EQ(frames->size(), 1u);
    EXPECT_GT(report.frame_bytes, static_cast<double>(40 * 30 * bytes));
    EXPECT_LT(report.frame_bytes, static_cast<double>(40 * 30 * bytes + 64));
    EXPECT_EQ(report.width, 40);
  }
}

TEST(LoadFlagsTest, MakesUpAJpeg) {
  LoadFlags flags;
  flags.size = "400x300";
  flags.send_jpeg = true;
  double bytes = 400 * 300;
  for (const int quality : {95, 50}) {
    flags.jpeg.quality = quality;
    load::BenchReport report;
    const auto frames = flags.Frames({}, nullptr, &report);
    ASSERT_TRUE(frames.ok()) << frames.status();
    EXPECT_LT(report.frame_bytes, bytes);
    EXPECT_EQ(report.format, absl::StrCat("jpeg of quality ", quality));
    EXPECT_EQ(report.width, 400);
    bytes = report.frame_bytes;
  }
}

}  // namespace
}  // namespace glint::cli
