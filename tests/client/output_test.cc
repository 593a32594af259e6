// Rows, numbers and percentiles: what the command-line tool prints, without the tool.
#include "client/cli/output/output.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <opencv2/core.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/base/progress.h"
#include "client/cli/base/summary.h"
#include "client/cli/output/draw.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/random.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

using ::glint::testing::Random;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Digits(float value) {
  std::string out;
  AppendFloat(value, &out);
  return out;
}

TEST(FloatTest, ReadsBackTheSame) {
  Random random(1);
  for (int i = 0; i < 100000; ++i) {
    const uint32_t bits = random.Bits();
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    if (!std::isfinite(value)) continue;
    EXPECT_EQ(std::strtof(Digits(value).c_str(), nullptr), value);
  }
}

TEST(FloatTest, HasTheFewestDigits) {
  EXPECT_EQ(Digits(0.1f), "0.1");
  EXPECT_EQ(Digits(31), "31");
  EXPECT_EQ(Digits(-1), "-1");
  EXPECT_EQ(Digits(37.2f), "37.2");
  EXPECT_EQ(Digits(16777216), "16777216");
}

client::Detection TwoKeypoints() {
  client::Detection d;
  d.features.Resize(2, 2);
  d.features.x = {1.5f, 2};
  d.features.y = {3, 4.25f};
  d.features.size = {31, 37.2f};
  d.features.angle = {-1, 359.5f};
  d.features.response = {0.001f, 1e-9f};
  d.features.octave = {0, 1};
  d.features.descriptors = {0x00, 0xff, 0x1a, 0x2b};
  d.timings.detect_ns = 2500000;
  d.timings.total_ns = 3500000;
  d.timings.device = "cpu";
  d.round_trip = absl::Milliseconds(4);
  return d;
}

std::string Rows(Format format, bool descriptors, absl::string_view image, const absl::Status& status,
                 const client::Detection& detection) {
  const auto formatter = Formatter::Make(format, descriptors);
  std::string out;
  formatter->AppendHeader(&out);
  formatter->Append(image, status, detection, &out);
  return out;
}

TEST(CsvTest, OneLineForEachKeypoint) {
  EXPECT_EQ(Rows(Format::kCsv, true, "a.png", absl::OkStatus(), TwoKeypoints()),
            "image,x,y,size,angle,response,octave,descriptor\n"
            "a.png,1.5,3,31,-1,0.001,0,00ff\n"
            "a.png,2,4.25,37.2,359.5,1e-09,1,1a2b\n");
  client::Detection plain = TwoKeypoints();
  plain.features.descriptors.clear();
  plain.features.descriptor_bytes = 0;
  EXPECT_EQ(Rows(Format::kCsv, false, "a,\"b\".png", absl::OkStatus(), plain),
            "image,x,y,size,angle,response,octave\n"
            "\"a,\"\"b\"\".png\",1.5,3,31,-1,0.001,0\n"
            "\"a,\"\"b\"\".png\",2,4.25,37.2,359.5,1e-09,1\n");
}

// After all other columns, so that these stay where they are.
TEST(RaysTest, AreColumnsAtTheEnd) {
  client::Detection with = TwoKeypoints();
  with.rays.x = {0.6f, 0};
  with.rays.y = {0, 0};
  with.rays.z = {0.8f, 0};
  std::string csv;
  for (const bool descriptors : {true, false}) {
    const auto formatter = Formatter::Make(Format::kCsv, descriptors, true);
    formatter->AppendHeader(&csv);
    formatter->Append("a.png", absl::OkStatus(), with, &csv);
  }
  EXPECT_EQ(csv,
            "image,x,y,size,angle,response,octave,descriptor,ray_x,ray_y,ray_z\n"
            "a.png,1.5,3,31,-1,0.001,0,00ff,0.6,0,0.8\n"
            "a.png,2,4.25,37.2,359.5,1e-09,1,1a2b,0,0,0\n"
            "image,x,y,size,angle,response,octave,ray_x,ray_y,ray_z\n"
            "a.png,1.5,3,31,-1,0.001,0,0.6,0,0.8\n"
            "a.png,2,4.25,37.2,359.5,1e-09,1,0,0,0\n");
  const std::string json = Rows(Format::kJson, true, "a.png", absl::OkStatus(), with);
  EXPECT_THAT(json, HasSubstr("\"descriptor\":\"00ff\",\"ray\":[0.6,0,0.8]},{"));
  EXPECT_THAT(json, HasSubstr("\"descriptor\":\"1a2b\",\"ray\":[0,0,0]}],"));
}

TEST(JsonTest, OneObjectForEachImage) {
  EXPECT_EQ(
      Rows(Format::kJson, true, "a\\\"\n", absl::OkStatus(), TwoKeypoints()),
      "{\"image\":\"a\\\\\\\"\\u000a\",\"status\":\"OK\",\"count\":2,\"truncated\":false,\"keypoints\":["
      "{\"x\":1.5,\"y\":3,\"size\":31,\"angle\":-1,\"response\":0.001,\"octave\":0,\"descriptor\":\"00ff\"},"
      "{\"x\":2,\"y\":4.25,\"size\":37.2,\"angle\":359.5,\"response\":1e-09,\"octave\":1,\"descriptor\":\"1a2b\"}],"
      "\"timings\":{\"receive_ns\":0,\"queue_ns\":0,\"decode_ns\":0,\"upload_ns\":0,\"detect_ns\":2500000,"
      "\"download_ns\":0,\"serialize_ns\":0,\"order_ns\":0,\"total_ns\":3500000,\"round_trip_ns\":4000000,\"lane\":0,"
      "\"device\":\"cpu\","
      "\"queue_depth\":0}}\n");
  EXPECT_EQ(Rows(Format::kJson, true, "b", absl::InvalidArgumentError("no \"image\""), {}),
            "{\"image\":\"b\",\"status\":\"INVALID_ARGUMENT\",\"message\":\"no \\\"image\\\"\"}\n");
}

// A file name in Latin-1, and one that is written as its text is.
TEST(NamesTest, ProgramsReadThemInUtf8) {
  const std::string latin = "gr\xfcn.png", literal = "gr\\xfcn.png";
  EXPECT_THAT(Rows(Format::kJson, false, latin, absl::InternalError("no"), {}),
              StartsWith("{\"image\":\"gr\\\\xfcn.png\","));
  EXPECT_THAT(Rows(Format::kJson, false, literal, absl::InternalError("no"), {}),
              StartsWith("{\"image\":\"gr\\\\x5cxfcn.png\","));
  EXPECT_THAT(Rows(Format::kCsv, false, latin, absl::OkStatus(), TwoKeypoints()), HasSubstr("\ngr\\xfcn.png,1.5,"));
  EXPECT_THAT(Rows(Format::kCsv, false, literal, absl::OkStatus(), TwoKeypoints()),
              HasSubstr("\ngr\\x5cxfcn.png,1.5,"));
}

TEST(TableTest, OneLineForEachImage) {
  const std::string rows = Rows(Format::kTable, true, "a.png", absl::OkStatus(), TwoKeypoints());
  EXPECT_THAT(rows, ::testing::ContainsRegex("a\\.png +2 +2\\.500 +3\\.500 +4\\.000\n"));
  EXPECT_THAT(Rows(Format::kTable, true, "a.png", absl::InvalidArgumentError("bad"), {}),
              HasSubstr("INVALID_ARGUMENT: bad\n"));
}

TEST(SummaryTest, CountsAndMeasures) {
  Summary summary;
  EXPECT_EQ(summary.Text(absl::Seconds(1)), "0 frames in 1.00 s: 0.0 frames/s, 0 failed\n");
  for (int i = 0; i < 3; ++i) summary.AddOk(TwoKeypoints());
  summary.AddFailed(1);
  for (const size_t bytes : {100u, 200u}) summary.AddBytes(bytes);
  EXPECT_EQ(summary.frames(), 4);
  EXPECT_EQ(summary.failed(), 1);
  const std::string text = summary.Text(absl::Seconds(2));
  EXPECT_THAT(text,
              HasSubstr("4 frames in 2.00 s: 2.0 frames/s, 1 failed, 150 bytes a frame, 2.0 keypoints a frame\n"));
  EXPECT_THAT(text, HasSubstr("p50"));
  EXPECT_THAT(text, ::testing::ContainsRegex("detect +2\\.4[89][0-9] +2\\.4[89][0-9] +2\\.4[89][0-9] +2\\.500\n"));
}

TEST(ProgressTest, SaysHowFarAndHowLong) {
  EXPECT_EQ(ProgressText(50, 200, absl::Seconds(10)), "[######..................]  25%  50/200  5.0/s  ETA 0:30");
  EXPECT_EQ(ProgressText(0, 200, absl::Seconds(1)), "[........................]   0%  0/200  0.0/s  ETA -:--");
  EXPECT_EQ(ProgressText(7200, 0, absl::Seconds(7200)), "7200 frames  1.0/s  2:00:00");
}

TEST(DrawTest, MarksEachKeypointWhereItIs) {
  cv::Mat canvas(100, 200, CV_8UC3, cv::Scalar::all(0));
  Features features;
  features.Resize(1, 0);
  features.x = {60};
  features.y = {50};
  features.size = {40};
  features.angle = {90};  // y points down
  DrawFeatures(features, &canvas);
  const auto lit = [&canvas](int x, int y) { return canvas.at<cv::Vec3b>(y, x)[1] > 100; };
  EXPECT_TRUE(lit(80, 50)) << "the circle's right end";
  EXPECT_TRUE(lit(60, 30)) << "its top";
  EXPECT_TRUE(lit(60, 60)) << "the line that points down";
  EXPECT_FALSE(lit(60, 40)) << "nothing points up";
  EXPECT_FALSE(lit(120, 50));
}

class OutputFileTest : public ::testing::Test {
 protected:
  OutputFileTest() { fs::create_directories(folder_); }
  ~OutputFileTest() override { fs::remove_all(folder_); }

  // A line of each length up to 200, over and over.
  static std::string Line(int i) { return std::string(static_cast<size_t>(i % 200), 'x') + ";\n"; }
  // Writes lines until there are `count` of them or one fails.
  static absl::Status WriteLines(OutputFile* file, int count) {
    absl::Status status;
    for (int i = 0; status.ok() && i < count; ++i) status = file->Write(Line(i));
    return status;
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The file has the first lines, more than half of `count`, and no part of another.
  void ExpectWholeLines(int count) const {
    const std::string all = Read(path_);
    std::string expected;
    int lines = 0;
    while (expected.size() < all.size()) expected += Line(lines++);
    EXPECT_EQ(all, expected);
    EXPECT_GT(lines, count / 2);
  }
  // Calls `work` in a process that may write files of so many bytes.
  template <typename Work>
  static void WithFilesUpTo(rlim_t bytes, Work work) {
    const auto before = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit;
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const rlimit tight = {bytes, limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
    work();
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    std::signal(SIGXFSZ, before);
  }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "/output-file-", getpid());
  const std::string path_ = folder_ + "/trajectory.txt";
};

TEST_F(OutputFileTest, HasEverythingOnceItIsFlushedOrClosed) {
  std::string expected;
  for (int i = 0; i < 1000; ++i) expected += Line(i);
  {
    auto file = OutputFile::Open(path_);
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(WriteLines(&*file, 1000).ok());
    EXPECT_TRUE(file->Flush().ok());
    EXPECT_EQ(Read(path_), expected);
    const std::string large(1 << 20, 'y');
    OutputFile moved = *std::move(file);
    EXPECT_TRUE(moved.Write(large).ok());
    expected += large;
  }
  EXPECT_EQ(Read(path_), expected);
}

TEST_F(OutputFileTest, HasWholeLinesOfAProcessThatIsKilled) {
  constexpr int kLines = 1000;
  const pid_t child = fork();
  if (child == 0) {
    auto file = OutputFile::Open(path_);
    if (file.ok()) WriteLines(&*file, kLines).IgnoreError();
    _exit(0);  // no destructor
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ExpectWholeLines(kLines);
}

TEST_F(OutputFileTest, HasWholeLinesOnAFullDisk) {
  for (const rlim_t bytes : {50'000, 50'001, 50'057, 50'133}) {
    SCOPED_TRACE(bytes);
    auto file = OutputFile::Open(path_);
    ASSERT_TRUE(file.ok());
    absl::Status status;
    WithFilesUpTo(bytes, [&] { status = WriteLines(&*file, 1000); });
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    ExpectWholeLines(700);
  }
}

TEST_F(OutputFileTest, PicturesAreWholeOrTheOldOnes) {
  const std::string path = folder_ + "/picture.png";
  cv::Mat noise(200, 200, CV_8UC3);
  cv::randu(noise, 0, 255);
  auto sink = OpenDrawSink(path, 1);
  ASSERT_TRUE(sink.ok());
  ASSERT_TRUE((*sink)->Write("a", cv::Mat(200, 200, CV_8UC3, cv::Scalar(9, 9, 9))).ok());
  const std::string old = Read(path);
  absl::Status status;
  WithFilesUpTo(10'000, [&] { status = (*sink)->Write("b", noise); });
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_EQ(Read(path), old);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
  EXPECT_TRUE((*sink)->Write("b", noise).ok());
  EXPECT_GT(Read(path).size(), 10'000u);
  EXPECT_TRUE(absl::IsInvalidArgument((*OpenDrawSink(folder_ + "/picture.xyz", 1))->Write("a", noise)));
}

TEST_F(OutputFileTest, SaysAtTheEndWhatWasNotWritten) {
  auto full = OutputFile::Open("/dev/full");
  ASSERT_TRUE(full.ok());
  EXPECT_TRUE(full->Write("a line\n").ok());
  EXPECT_EQ(full->Close(), absl::DataLossError("/dev/full: No space left on device"));
  auto file = OutputFile::Open(path_);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->Write("a line\n").ok());
  EXPECT_TRUE(file->Close().ok());
  EXPECT_EQ(Read(path_), "a line\n");
  EXPECT_TRUE(file->Write("another\n").ok());
  EXPECT_TRUE(absl::IsDataLoss(file->Close())) << "there is no file any more";
}

TEST_F(OutputFileTest, DevicesAreWrittenAndNotReplaced) {
  const std::string link = folder_ + "/picture.png";
  fs::create_symlink("/dev/full", link);
  auto sink = OpenDrawSink(link, 1);
  ASSERT_TRUE(sink.ok()) << sink.status();
  EXPECT_EQ((*sink)->Write("a", cv::Mat(20, 20, CV_8UC3, cv::Scalar(9, 9, 9))),
            absl::DataLossError(link + ": No space left on device"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_TRUE(fs::is_symlink(link));
  fs::create_symlink("/dev/full", folder_ + "/video.avi");
  EXPECT_TRUE(absl::IsDataLoss(OpenDrawSink(folder_ + "/video.avi", 10).status()));
}

TEST_F(OutputFileTest, PlacesOfNoFileAreSaidBeforeTheFirstPicture) {
  for (const char* name : {"/none/a.avi", "/none/a.mp4", "/none/a.png", "/none/a.jpg"}) {
    const absl::Status status = OpenDrawSink(folder_ + name, 10).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(StartsWith(folder_ + name), HasSubstr("No such file or directory")));
  }
  std::ofstream(folder_ + "/file") << "a file";
  const absl::Status status = OpenDrawSink(folder_ + "/file/pictures/", 10).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), StartsWith(folder_ + "/file/pictures/: cannot be written: "));
  const std::string far = absl::StrCat(folder_, "/", std::string(120, 'x'), "/picture.png");
  EXPECT_THAT(std::string(OpenDrawSink(far, 10).status().message()), StartsWith(far + ": "));
}

}  // namespace
}  // namespace glint::cli
