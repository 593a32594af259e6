// The glint command as its users meet it: a process with arguments, files, pipes and an exit status.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "client/client.h"
#include "features/camera/camera.h"
#include "features/reference/reference.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/app/server.h"
#include "tests/support/features.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace glint {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

namespace fs = std::filesystem;

constexpr int kUsage = 2;
constexpr int kUnavailable = 69;
constexpr int kCannotWrite = 74;
constexpr int kInterrupted = 130;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Outcome {
  int status = -1;  // exit status, or 128 + signal
  std::string out;
  std::string err;
};

// One server for all tests of this file, on a unix socket.
class CliTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string folder = ::testing::TempDir() + "glint-cli-XXXXXX";
    folder_ = new fs::path(mkdtemp(folder.data()));
    ServerOptions options;
    address_ = new std::string("unix:" + (*folder_ / "socket").string());
    options.listen = {*address_};
    options.metrics_listen.clear();
    options.lanes.backend = Backend::kCpu;
    options.lanes.lanes = 1;
    options.shared_memory.enabled = true;
    server_ = Server::Create(options).value().release();
    ASSERT_TRUE(server_->Start().ok());
    ASSERT_TRUE(server_->WaitUntilServing(absl::Minutes(1)));
  }
  static void TearDownTestSuite() {
    delete server_;
    fs::remove_all(*folder_);
    delete address_;
    delete folder_;
  }

  static std::string Path(const std::string& name) { return (*folder_ / name).string(); }

  static std::string WriteImage(const std::string& name, const ImageView& image) {
    const cv::Mat pixels(image.height, image.width, CV_8U, const_cast<uint8_t*>(image.data),
                         static_cast<size_t>(image.stride));
    EXPECT_TRUE(cv::imwrite(Path(name), pixels));
    return Path(name);
  }

  // Starts glint with the test's server; its standard output and error go to files.
  static pid_t Start(std::vector<std::string> arguments) {
    for (const char* name : {"out", "err"}) std::ofstream(Path(name));
    const pid_t child = fork();
    if (child != 0) return child;
    const std::pair<const char*, int> redirections[] = {{"out", STDOUT_FILENO}, {"err", STDERR_FILENO}};
    for (const auto& [name, descriptor] : redirections) {
      dup2(open(Path(name).c_str(), O_WRONLY), descriptor);
    }
    setenv("GLINT_SERVER", address_->c_str(), 1);
    arguments.insert(arguments.begin(), GLINT_CLI);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }

  static Outcome Wait(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), ReadFile(Path("out")),
            ReadFile(Path("err"))};
  }

  static Outcome Glint(const std::vector<std::string>& arguments) { return Wait(Start(arguments)); }

  static Outcome Shell(const std::string& command) {
    const std::string all =
        absl::StrCat("set -o pipefail; export GLINT_SERVER='", *address_, "'; glint() { '", GLINT_CLI,
                     "' \"$@\"; }; { ", command, "; } >", Path("out"), " 2>", Path("err"));
    const int status = std::system(absl::StrCat("bash -c '", absl::StrReplaceAll(all, {{"'", "'\\''"}}), "'").c_str());
    return {WEXITSTATUS(status), ReadFile(Path("out")), ReadFile(Path("err"))};
  }

  static Server* server_;
  static fs::path* folder_;
  static std::string* address_;
};
Server* CliTest::server_;
fs::path* CliTest::folder_;
std::string* CliTest::address_;

std::vector<std::string> Lines(const std::string& text) { return absl::StrSplit(text, '\n', absl::SkipEmpty()); }

// The CSV of one image as features again.
Features ParseCsv(const std::string& csv, const std::string& image) {
  const std::vector<std::string> lines = absl::StrSplit(csv, '\n', absl::SkipEmpty());
  EXPECT_FALSE(lines.empty());
  const bool descriptors = lines[0] == "image,x,y,size,angle,response,octave,descriptor";
  EXPECT_THAT(lines[0], StartsWith("image,x,y,size,angle,response,octave"));
  Features features;
  features.Resize(lines.size() - 1, descriptors ? 32 : 0);
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    const std::vector<std::string> fields = absl::StrSplit(lines[i + 1], ',');
    EXPECT_EQ(fields.size(), descriptors ? 8u : 7u);
    EXPECT_EQ(fields[0], image);
    size_t field = 1;
    for (auto* values : {&features.x, &features.y, &features.size, &features.angle, &features.response}) {
      (*values)[i] = std::strtof(fields[field++].c_str(), nullptr);
    }
    EXPECT_TRUE(absl::SimpleAtoi(fields[6], &features.octave[i]));
    if (descriptors) {
      EXPECT_EQ(fields[7].size(), 64u);
      for (size_t b = 0; b < 32; ++b) {
        const char* digits = fields[7].data() + 2 * b;
        std::from_chars(digits, digits + 2, features.descriptors[i * 32 + b], 16);
      }
    }
  }
  return features;
}

TEST_F(CliTest, RawPicturesAreThoseOfTheirFormat) {
  const Image gray = testing::Noise({160, 120}, 5);
  std::string nv12(160 * 120 * 3 / 2, '\x80'), gray16;
  for (int y = 0; y < 120; ++y) {
    for (int x = 0; x < 160; ++x) {
      nv12[static_cast<size_t>(y * 160 + x)] = static_cast<char>(gray.row(y)[x]);
      gray16 += {static_cast<char>(x), static_cast<char>(gray.row(y)[x])};
    }
  }
  const std::string png = WriteImage("raw.png", gray);
  for (const auto& [name, bytes] : {std::pair("nv12", nv12), std::pair("gray16", gray16)}) {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    std::ofstream(Path("three"), std::ios::binary) << bytes << bytes << bytes << "x";
    const std::vector<std::string> raw = {"--pixel-format", name, "--size", "160x120"};
    const auto rows = [&](const Outcome& outcome, const std::string& image) {
      return absl::StrReplaceAll(outcome.out, {{image + ",", "i,"}});
    };
    const Outcome whole = Glint({"detect", "--format", "csv", png});
    const Outcome one = Glint({"detect", "--format", "csv", raw[0], raw[1], raw[2], raw[3], Path(name)});
    ASSERT_EQ(one.status, 0) << one.err;
    EXPECT_GT(std::count(one.out.begin(), one.out.end(), '\n'), 10);
    EXPECT_EQ(rows(one, Path(name)), rows(whole, png)) << name;
    // A file of several, the last of them cut off.
    const Outcome three = Glint(
        {"stream", "--format", "csv", "--draw", Path("drawn") + "/", raw[0], raw[1], raw[2], raw[3], Path("three")});
    EXPECT_EQ(three.status, 1);
    EXPECT_THAT(three.err, HasSubstr("three#000003: ends after 1 of "));
    EXPECT_THAT(three.out, AllOf(HasSubstr("three#000000,"), HasSubstr("three#000002,"), Not(HasSubstr("#000003"))));
    EXPECT_EQ(Shell(absl::StrCat("cat ", Path("three"), " | glint stream --pixel-format ", name,
                                 " --size 160x120 --max-frames 2 -"))
                  .status,
              0);
  }
  const Outcome short_file = Glint({"detect", "--pixel-format", "gray8", "--size", "9x9", Path("nv12")});
  EXPECT_EQ(short_file.status, 1);
  EXPECT_THAT(short_file.err, HasSubstr("has 28800 bytes instead of 81"));
  for (const std::vector<std::string>& bad : {std::vector<std::string>{"--pixel-format", "nv12"},
                                              {"--size", "4x4"},
                                              {"--size", "4x5", "--pixel-format", "nv12"}}) {
    std::vector<std::string> arguments = {"detect", Path("nv12")};
    arguments.insert(arguments.end(), bad.begin(), bad.end());
    EXPECT_EQ(Glint(arguments).status, kUsage);
  }
}

// 12 bits in 16, as raw samples, TIFF and PNG: with their range the keypoints of the picture in 8 bits, without it a
// warning.
TEST_F(CliTest, RangesOfSixteenBits) {
  const Image gray = testing::Texture({160, 120}, 5);
  const std::string png = WriteImage("8bit.png", gray);
  cv::Mat samples(120, 160, CV_16UC1);
  for (int y = 0; y < samples.rows; ++y) {
    for (int x = 0; x < samples.cols; ++x) {
      samples.at<uint16_t>(y, x) = static_cast<uint16_t>((gray.row(y)[x] * 4095 + 127) / 255);
    }
  }
  std::ofstream(Path("12.raw"), std::ios::binary)
      .write(reinterpret_cast<const char*>(samples.data), static_cast<std::streamsize>(samples.total() * 2));
  ASSERT_TRUE(cv::imwrite(Path("12.tiff"), samples) && cv::imwrite(Path("12.png"), samples));
  const auto rows = [](const Outcome& outcome, const std::string& image) {
    return absl::StrReplaceAll(outcome.out, {{image + ",", "i,"}});
  };
  const Outcome whole = Glint({"detect", "--format", "csv", png});
  EXPECT_GT(std::count(whole.out.begin(), whole.out.end(), '\n'), 50);
  EXPECT_THAT(whole.err, Not(HasSubstr("warning")));
  for (const std::string name : {"12.raw", "12.tiff", "12.png"}) {
    const std::string file = Path(name);
    std::vector<std::string> arguments = {"detect", "--format", "csv", file};
    if (name == "12.raw") arguments.insert(arguments.end(), {"--pixel-format", "gray16", "--size", "160x120"});
    const Outcome without = Glint(arguments);
    EXPECT_THAT(without.err, HasSubstr(file + ": warning: narrow range")) << name;
    EXPECT_THAT(without.err, HasSubstr("--range")) << name;
    arguments.insert(arguments.end(), {"--range", "0..4095"});
    const Outcome with = Glint(arguments);
    EXPECT_EQ(with.status, 0) << with.err;
    EXPECT_THAT(with.err, Not(HasSubstr("warning"))) << name;
    EXPECT_EQ(rows(with, file), rows(whole, png)) << name;
    arguments[0] = "stream";
    EXPECT_EQ(rows(Glint(arguments), name == "12.raw" ? file + "#000000" : file), rows(whole, png)) << name;
    arguments.back() = "percentile";
    const Outcome stretched = Glint(arguments);
    EXPECT_GT(std::count(stretched.out.begin(), stretched.out.end(), '\n'), 50) << name;
  }
  EXPECT_EQ(Glint({"detect", "--range", "0..4095", "--equalize", Path("12.png")}).status, 0);
  EXPECT_THAT(Glint({"detect", "--equalize", Path("12.png")}).err, HasSubstr("option '--equalize': only with --range"));
  const Outcome narrow = Glint({"detect", "--range", "0..4095", png});
  EXPECT_NE(narrow.status, 0);
  EXPECT_THAT(narrow.err, HasSubstr("is not grey (0) of 16 bits"));
  for (const std::string bad : {"5", "7..7", "9..3", "0..65536", "percentile:30", "percentile:", "quantile"}) {
    const Outcome outcome = Glint({"detect", "--range", bad, png});
    EXPECT_EQ(outcome.status, kUsage) << bad;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("--range"), HasSubstr(bad)));
  }
}

TEST_F(CliTest, MasksOfOtherValuesHaveAWarning) {
  const std::string png = WriteImage("masked.png", testing::Texture({160, 120}, 6));
  for (const int value : {1, 255}) {
    const std::string mask = WriteImage("mask.png", testing::Flat({160, 120}, static_cast<uint8_t>(value)));
    for (const std::string command : {"detect", "stream"}) {
      const Outcome outcome = Glint({command, "--mask", mask, png});
      EXPECT_EQ(outcome.status, 0) << outcome.err;
      EXPECT_EQ(absl::StrContains(outcome.err, "warning: mask: 100.0 %"), value == 1) << outcome.err;
      EXPECT_THAT(Glint({command, "--detector", "orbslam", "--mask", mask, png}).err, Not(HasSubstr("warning")));
    }
  }
}

TEST_F(CliTest, ListsDetectors) {
  const Outcome outcome = Glint({"detect", "--list-detectors"});
  EXPECT_EQ(outcome.status, 0);
  for (const std::string& name : PresetNames()) EXPECT_THAT(outcome.out, HasSubstr(name));
  EXPECT_THAT(outcome.out, HasSubstr("max-threshold|harris|sad-circle|sad-arc"));
  // A row a field: its value in each preset, then its range.
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"--selection", "top-n top-n grid pyca threshold threshold quadtree top-n|grid|pyca|threshold|quadtree"},
      {"--levels", "8 8 4 8 1 1 8 1..12"},
      {"--arc-length", "9 9 10 9 9 9 9 9..12"},
      {"--max-arc", "16 16 16 13 16 16 16 9..16"},
      {"--features", "500 500 10000 10000 10000 10000 1000 1..65536"},
      {"--smooth", "no no no no no no no yes|no"},
  };
  std::map<std::string, std::string> printed;
  for (const absl::string_view line : absl::StrSplit(outcome.out, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    printed[words[0]] = absl::StrJoin(words.begin() + 1, words.end(), " ");
  }
  EXPECT_EQ(printed["option"], absl::StrCat(absl::StrJoin(PresetNames(), " "), " range"));
  for (const auto& [option, values] : rows) EXPECT_EQ(printed[option], values) << option;
  EXPECT_EQ(printed.size(), 1 + 27u) << "DetectorOptions has 27 fields";
}

TEST_F(CliTest, EveryPresetAnswersWhatTheReferenceFinds) {
  const Image image = testing::Texture({320, 240}, 3);
  const std::string file = WriteImage("presets.png", image);
  for (const std::string& name : PresetNames()) {
    const Outcome outcome = Glint({"detect", "--detector", name, "--features", "200", "--format", "csv", file});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    DetectorOptions options = PresetOptions(name).value();
    options.max_features = 200;
    const Features expected = reference::Detect(options, image);
    ASSERT_GT(expected.count(), 0u) << name;
    EXPECT_TRUE(testing::SameFeatures(expected, ParseCsv(outcome.out, file))) << name;
  }
}

TEST_F(CliTest, ComparesDetectors) {
  const std::string file = WriteImage("compare.png", testing::Texture({320, 240}, 4));
  const Outcome outcome = Glint({"compare", "--rotate", "90", "--keep", "100", "--repeat", "1", "--format", "csv",
                                 "orb", "bfrost:bfrost-scale=0.5", file});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1 + 2 + 3 * 2) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("turned 270,orb,"));

  EXPECT_THAT(Glint({"compare", "harris", "harris", file, "--repeat", "1"}).out, HasSubstr("1.000"));
  const Outcome bad = Glint({"compare", "orb:levels=99", "orb", file});
  EXPECT_EQ(bad.status, kUsage);
  EXPECT_THAT(bad.err, HasSubstr("'orb:levels=99': option '--levels': 99 is not in 1..12"));
  EXPECT_EQ(Glint({"compare", "orb", file}).status, kUsage);
}

TEST_F(CliTest, ComparesOrbWithOpenCv) {
  const std::string file = WriteImage("opencv.png", testing::Texture({320, 240}, 4));
  const Outcome outcome = Glint({"compare", "--rotate", "120", "--repeat", "1", "--format", "csv", "orb:no-descriptors",
                                 "orb:no-descriptors@opencv", file});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  // Of the image itself all keypoints overlap; of the turned ones everything but the label is the same.
  const std::vector<std::string> lines = absl::StrSplit(outcome.out, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 1u + 2 + 2 * 2) << outcome.out;
  const std::vector<std::string> first = absl::StrSplit(lines[1], ',');
  EXPECT_EQ(first[4], "1.000");
  for (size_t i = 3; i < lines.size(); i += 2) {
    std::vector<std::string> mine = absl::StrSplit(lines[i], ',');
    std::vector<std::string> opencvs = absl::StrSplit(lines[i + 1], ',');
    EXPECT_EQ(mine[2], "orb:no-descriptors");
    EXPECT_EQ(opencvs[2], "orb:no-descriptors@opencv");
    mine.erase(mine.begin() + 2);
    opencvs.erase(opencvs.begin() + 2);
    EXPECT_EQ(mine, opencvs);
  }
  const Outcome other = Glint({"compare", "orb", "orb:arc-length=10@opencv", file});
  EXPECT_EQ(other.status, kUsage);
  EXPECT_THAT(other.err, HasSubstr("'orb:arc-length=10@opencv': arc_length: "));
}

TEST_F(CliTest, CsvReadsBackAsTheReferencesFeatures) {
  const Image image = testing::Texture({320, 240}, 1);
  for (const std::string name : {"csv.png", "csv.pgm"}) {
    const std::string path = WriteImage(name, image);
    DetectorOptions options = testing::OrbOptions();
    const Outcome orb = Glint({"detect", "--format", "csv", path});
    EXPECT_EQ(orb.status, 0) << orb.err;
    EXPECT_TRUE(testing::SameFeatures(reference::Detect(options, image), ParseCsv(orb.out, path)));

    options.max_features = 77;
    options.levels = 3;
    options.scale_factor = 1.5f;
    options.fast_threshold = 11;
    options.edge_threshold = 20;
    options.patch_size = 25;
    options.arc_length = 10;
    options.ranking = Ranking::kScore;
    options.descriptor = Descriptor::kNone;
    const Outcome other = Glint({"stream", path, "--features=77", "--levels=3", "--scale-factor=1.5",
                                 "--fast-threshold=11", "--edge-threshold=20", "--patch-size=25", "--arc-length=10",
                                 "--ranking=score", "--no-descriptors", "--format=csv"});
    EXPECT_EQ(other.status, 0) << other.err;
    EXPECT_TRUE(testing::SameFeatures(reference::Detect(options, image), ParseCsv(other.out, path)));
  }
}

TEST_F(CliTest, OrientedFastAndTheServerInsideAgreeWithTheReference) {
  const Image image = testing::Texture({200, 150}, 2);
  const std::string path = WriteImage("inside.png", image);
  const Outcome outcome = Glint({"detect", "--server", "inproc", "--backend", "cpu", "--detector", "oriented_fast",
                                 "--descriptors", "--format", "csv", path});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  DetectorOptions options = testing::OrientedFastOptions();
  options.descriptor = Descriptor::kRbrief;
  EXPECT_TRUE(testing::SameFeatures(reference::Detect(options, image), ParseCsv(outcome.out, path)));
}

// The limits of a server of strangers are not those of a user's own process, whose errors name no flag.
TEST_F(CliTest, LimitsOfTheServerInsideFitPhotographs) {
  const std::string photograph = Path("24-megapixels.png");
  ASSERT_TRUE(cv::imwrite(photograph, cv::Mat(4000, 6000, CV_8U, cv::Scalar(128))));
  const Outcome large = Glint({"detect", "--server", "inproc", "--backend", "cpu", "--format", "csv", photograph});
  EXPECT_EQ(large.status, 0) << large.err;
  const std::string panorama = Path("panorama.pgm");
  ASSERT_TRUE(cv::imwrite(panorama, cv::Mat(8, 20000, CV_8U, cv::Scalar(128))));
  const Outcome wide = Glint({"detect", "--server", "inproc", "--backend", "cpu", "--format", "csv", panorama});
  EXPECT_NE(wide.status, 0);
  EXPECT_THAT(wide.err, HasSubstr("width: 20000 is not in 1..16384; scale the picture down, or cut it into parts"));
}

// Pairs of common cameras, by a server with the default limits and by one inside, and larger ones inside.
TEST_F(CliTest, LocalizeTakesThePairsOfCommonCameras) {
  struct {
    Shape shape;
    std::vector<std::string> server;
  } const runs[] = {{{1280, 720}, {}},
                    {{1920, 1080}, {}},
                    {{1280, 720}, {"--server", "inproc", "--backend", "cpu"}},
                    {{2560, 1440}, {"--server", "inproc", "--backend", "cpu"}}};
  for (const auto& [shape, server] : runs) {
    const Image wide = testing::Texture({shape.width + 16, shape.height}, 7);
    const std::string left = WriteImage("eye0.png", {wide.row(0), shape.width, shape.height, wide.stride()});
    const std::string right = WriteImage("eye1.png", {wide.row(0) + 16, shape.width, shape.height, wide.stride()});
    const std::string centre = absl::StrCat(" 0 700 ", shape.height / 2, " 0 0 0 1 0\n");
    std::ofstream(Path("eyes.txt")) << absl::StrCat("P0: 700 0 ", shape.width / 2, " 0", centre)
                                    << absl::StrCat("P1: 700 0 ", shape.width / 2, " -70", centre);
    std::vector<std::string> arguments = {"localize", "--csv", "--calibration", Path("eyes.txt"), left, right};
    arguments.insert(arguments.end(), server.begin(), server.end());
    const Outcome outcome = Glint(arguments);
    EXPECT_THAT(Lines(outcome.out), SizeIs(2)) << shape.width << " " << outcome.err;
    EXPECT_THAT(outcome.err, Not(HasSubstr("limit")));
  }
}

// By the server, or by OpenCV in the client.
TEST_F(CliTest, PicturesOfAllFormatsAreReadAsOpenCvReadsThem) {
  const Image parts[] = {testing::Texture({160, 120}, 4), testing::Texture({160, 120}, 5),
                         testing::Texture({160, 120}, 6)};
  std::vector<cv::Mat> planes;
  for (const Image& part : parts) {
    planes.emplace_back(part.height(), part.width(), CV_8U, const_cast<uint8_t*>(part.row(0)),
                        static_cast<size_t>(part.stride()));
  }
  cv::Mat colour;
  cv::merge(planes, colour);
  for (const std::string name : {"colour.bmp", "colour.ppm", "colour.tiff", "colour.webp", "colour.jpg", "grey.bmp",
                                 "grey.pgm", "grey.tiff", "grey.png"}) {
    const std::string path = Path(name);
    ASSERT_TRUE(cv::imwrite(path, absl::StartsWith(name, "grey") ? planes[0] : colour)) << name;
    const cv::Mat gray = cv::imread(path, cv::IMREAD_GRAYSCALE);
    ASSERT_FALSE(gray.empty()) << name;
    const Image expected = Image::CopyOf({gray.data, gray.cols, gray.rows, static_cast<ptrdiff_t>(gray.step)});
    const Outcome outcome = Glint({"detect", "--format", "csv", path});
    EXPECT_EQ(outcome.status, 0) << name << outcome.err;
    EXPECT_TRUE(testing::SameFeatures(reference::Detect(testing::OrbOptions(), expected), ParseCsv(outcome.out, path)))
        << name;
  }
}

TEST_F(CliTest, MaskLeavesKeypointsOnlyWhereItIsNotBlack) {
  const Image image = testing::Texture({320, 240}, 3);
  Image mask = testing::Flat({320, 240}, 0);
  for (int y = 0; y < 240; ++y) std::memset(mask.row(y), 255, 160);
  const std::string path = WriteImage("masked.png", image);
  const std::string mask_path = WriteImage("mask.png", mask);
  const Features expected = reference::Detect(testing::OrbOptions(), image, mask);
  ASSERT_GT(expected.count(), 0u);
  for (const char* command : {"detect", "stream"}) {
    const Outcome outcome = Glint({command, "--mask", mask_path, "--format", "csv", path});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(testing::SameFeatures(expected, ParseCsv(outcome.out, path)));
  }
  const Outcome missing = Glint({"detect", "--mask", Path("no.png"), path});
  EXPECT_EQ(missing.status, kUsage);
  EXPECT_THAT(missing.err, HasSubstr("no.png: No such file"));
}

TEST_F(CliTest, BadFramesFailAloneAndTheExitStatusSaysSo) {
  const fs::path folder = *folder_ / "mixed";
  fs::create_directory(folder);
  WriteImage("mixed/1.png", testing::Texture({100, 80}, 1));
  std::ofstream(folder / "2.png") << "\x89PNG\r\n\x1a\n and nothing else";
  std::ofstream(folder / "3.pgm") << "no image at all";
  WriteImage("mixed/4.png", testing::Texture({100, 80}, 2));
  const Outcome stream = Glint({"stream", "--format", "json", folder.string()});
  EXPECT_EQ(stream.status, 1);
  EXPECT_THAT(stream.out, HasSubstr("1.png\",\"status\":\"OK\""));
  EXPECT_THAT(stream.out, HasSubstr("2.png\",\"status\":\"INVALID_ARGUMENT\""));
  EXPECT_THAT(stream.out, HasSubstr("4.png\",\"status\":\"OK\""));
  EXPECT_THAT(stream.err, AllOf(HasSubstr("glint stream: "), HasSubstr("2.png: INVALID_ARGUMENT"),
                                HasSubstr("3.pgm: not an image"), HasSubstr("4 frames"), HasSubstr("2 failed")));

  const Outcome detect = Glint({"detect", (folder / "none.png").string(), (folder / "1.png").string()});
  EXPECT_EQ(detect.status, 1);
  EXPECT_THAT(detect.err, HasSubstr("none.png: No such file or directory"));
  EXPECT_THAT(detect.out, HasSubstr("1.png"));
}

TEST_F(CliTest, WrongCommandLinesAreUsageErrors) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{}, "glint: no command given"},
      {{"detekt"}, "glint: unknown command 'detekt'"},
      {{"detect"}, "glint detect: no FILE given"},
      {{"stream"}, "glint stream: no SOURCE given"},
      {{"stream", "a", "b"}, "glint stream: more than one SOURCE"},
      {{"info", "x"}, "glint info: takes no operand: 'x'"},
      {{"detect", "--feature", "3", "x"}, "glint detect: unknown option '--feature'; did you mean '--features'?"},
      {{"detect", "--features", "0", "x"}, "glint detect: option '--features': 0 is not in 1..65536"},
      {{"detect", "--scale-factor", "3", "x"}, "glint detect: option '--scale-factor': 3 is not in 1.05..2"},
      {{"detect", "--detector", "sift", "x"}, "glint detect: option '--detector': \"sift\" is not one of orb"},
      {{"detect", "--traceparent", "00-0-0-01", "x"},
       "glint detect: option '--traceparent': '00-0-0-01' is not 00-<32>-<16>-<2 hex digits>"},
      {{"stream", "--in-flight", "0", "x"}, "glint stream: option '--in-flight': 0 is not in 1..4096"},
      {{"stream", "--max-frames", "0", "x"}, "glint stream: option '--max-frames': 0 is not above 0"},
      {{"stream", "--quality", "50", "x"}, "glint stream: option '--quality': is of --send jpeg"},
      {{"stream", "--send", "jpeg", "--quality", "0", "x"}, "glint stream: option '--quality': 0 is not in 1..100"},
      {{"stream", "--send", "jpeg", "--pixel-format", "nv12", "--size", "8x8", "x"},
       "glint stream: option '--send': jpeg is not for raw pictures"},
      {{"health", "--timeout", "0"}, "glint health: option '--timeout': 0 is not above 0"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = Glint(arguments);
    EXPECT_EQ(outcome.status, kUsage) << message;
    EXPECT_THAT(outcome.err, AllOf(StartsWith(message), HasSubstr("--help'.\n")));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

// The server's log has the trace ids of the calls.
TEST_F(CliTest, TraceparentGoesToTheServer) {
  const std::string image = WriteImage("traced.png", testing::Noise({64, 48}, 1));
  ::testing::internal::CaptureStderr();
  for (const char* command : {"detect", "stream"}) {
    const std::string trace_id(32, command[0] == 'd' ? 'd' : 'e');
    const Outcome outcome =
        Glint({command, "--traceparent", "00-" + trace_id + "-b7ad6b7169203331-01", "--output", Path("traced"), image});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
  }
  EXPECT_EQ(Glint({"detect", image}).status, 0);
  while (server_->calls() > 0) absl::SleepFor(absl::Milliseconds(1));
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("call ended trace_id=" + std::string(32, 'd') + " method=Detect code=OK"));
  EXPECT_THAT(log, HasSubstr("call ended trace_id=" + std::string(32, 'e') + " method=DetectStream code=OK"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2) << log;
}

TEST_F(CliTest, HelpAndVersionGoToStandardOutput) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{{"--help"},
                                                                                         {"detect", "--help"},
                                                                                         {"stream", "-h"},
                                                                                         {"info", "--help"},
                                                                                         {"health", "--help"},
                                                                                         {"calibration", "--help"}}) {
    const Outcome outcome = Glint(arguments);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.out, StartsWith("Usage: glint"));
    EXPECT_THAT(outcome.err, IsEmpty());
    for (const absl::string_view line : absl::StrSplit(outcome.out, '\n')) EXPECT_LE(line.size(), 80u) << line;
  }
  EXPECT_THAT(Glint({"--version"}).out, ::testing::MatchesRegex("glint [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_F(CliTest, UnreachableServerIsSaidWithItsAddress) {
  const std::string path = WriteImage("lonely.png", testing::Texture({64, 64}, 1));
  for (std::vector<std::string> arguments :
       std::vector<std::vector<std::string>>{{"detect", path}, {"stream", path}, {"info"}, {"health"}}) {
    const std::string command = arguments[0];
    arguments.insert(arguments.end(), {"--server", "unix:" + Path("nobody")});
    const Outcome outcome = Glint(arguments);
    EXPECT_EQ(outcome.status, kUnavailable);
    EXPECT_EQ(outcome.err, absl::StrCat("glint ", command, ": UNAVAILABLE: cannot connect to unix:", Path("nobody"),
                                        ": No such file or directory\n"));
  }
}

TEST_F(CliTest, AnAddressOfAnotherFormIsAWrongCommandLine) {
  const Outcome outcome = Glint({"health", "--server", "http://127.0.0.1:50051"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, AllOf(StartsWith("glint health: option '--server': \"http://127.0.0.1:50051\""),
                                 HasSubstr("leave \"http://\" out")));
}

TEST_F(CliTest, InfoAndHealthTellAboutTheServer) {
  EXPECT_THAT(Glint({"info"}).out,
              AllOf(HasSubstr("backend               cpu"), HasSubstr(absl::StrJoin(PresetNames(), ", "))));
  const Outcome json = Glint({"info", "--format", "json"});
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"limits\":{\"max_image_pixels\":"), HasSubstr("\"max_map_points\":"),
                              HasSubstr("\"glint.v1.FeatureDetection/DetectStream\""), HasSubstr("\"has_cuda\":")));
  EXPECT_THAT(json.out,
              AllOf(HasSubstr("\"backend\":\"cpu\""),
                    HasSubstr(absl::StrCat("\"presets\":[\"", absl::StrJoin(PresetNames(), "\",\""), "\"]}"))));
  const Outcome health = Glint({"health"});
  EXPECT_EQ(health.out, "SERVING\n");
  EXPECT_EQ(health.status, 0);
  EXPECT_EQ(Glint({"health", "--service", "glint.v1.FeatureDetection"}).status, 0);
  EXPECT_NE(Glint({"health", "--service", "no.such.Service"}).status, 0);
}

TEST_F(CliTest, PipesAreQuiet) {
  const std::string path = WriteImage("pipe.png", testing::Texture({640, 480}, 1));
  const Outcome reader_gone = Shell(
      absl::StrCat("glint stream --loop --max-frames 100000 --format csv --features 5000 '", path, "' | head -n 1"));
  EXPECT_EQ(reader_gone.status, 128 + SIGPIPE);
  EXPECT_EQ(reader_gone.out, "image,x,y,size,angle,response,octave,descriptor\n");
  EXPECT_THAT(reader_gone.err, IsEmpty());

  const Outcome piped = Shell(absl::StrCat("glint stream --loop --max-frames 50 '", path, "' 2>&1 | cat"));
  EXPECT_EQ(piped.status, 0);
  EXPECT_THAT(piped.out, AllOf(StartsWith("50 frames in"), Not(HasSubstr("\r")), Not(HasSubstr("ETA"))));

  const Outcome standard_input = Shell(absl::StrCat("glint detect --format json - <'", path, "'"));
  EXPECT_EQ(standard_input.status, 0) << standard_input.err;
  EXPECT_THAT(standard_input.out, StartsWith("{\"image\":\"-\",\"status\":\"OK\""));
}

TEST_F(CliTest, OutputThatCannotBeWrittenIsAnError) {
  const std::string path = WriteImage("full.png", testing::Texture({320, 240}, 1));
  const Outcome full = Shell(absl::StrCat("glint detect --format csv '", path, "' >/dev/full"));
  EXPECT_EQ(full.status, kCannotWrite);
  EXPECT_THAT(full.err, HasSubstr("No space left on device"));
  const Outcome nowhere = Glint({"detect", "--output", Path("no/such/folder"), path});
  EXPECT_EQ(nowhere.status, kCannotWrite);
  EXPECT_THAT(nowhere.err, HasSubstr("No such file or directory"));
  EXPECT_EQ(Glint({"detect", "--draw", Path("no/such/picture.png"), path}).status, kCannotWrite);
  EXPECT_EQ(Glint({"detect", "--draw", Path("picture.what"), path}).status, kUsage);
  EXPECT_EQ(Glint({"detect", "--draw", Path("picture"), path}).status, kUsage);
}

// Whatever writes it, to a full disk or to a standard output that is closed.
TEST_F(CliTest, EveryOutputThatCannotBeWrittenIsAnError) {
  const std::string path = WriteImage("any.png", testing::Texture({320, 240}, 1));
  const std::string two = absl::StrCat("'", path, "' '", path, "'");
  for (const std::string& command :
       {absl::StrCat("detect '", path, "'"), absl::StrCat("detect --format json '", path, "'"),
        absl::StrCat("stream '", path, "'"), absl::StrCat("match ", two), absl::StrCat("match --csv ", two),
        absl::StrCat("stereo ", two), absl::StrCat("stereo --csv ", two), absl::StrCat("track '", path, "'"),
        absl::StrCat("compare --repeat 1 orb harris '", path, "'"), std::string("detect --list-detectors"),
        std::string("info"), std::string("info --format json"), std::string("health"), std::string("--version"),
        std::string("detect --help")}) {
    const Outcome full = Shell(absl::StrCat("glint ", command, " >/dev/full"));
    EXPECT_EQ(full.status, kCannotWrite) << command;
    EXPECT_THAT(full.err, HasSubstr("standard output: No space left on device")) << command;
    const Outcome closed = Shell(absl::StrCat("glint ", command, " >&-"));
    EXPECT_EQ(closed.status, kCannotWrite) << command;
    EXPECT_THAT(closed.err, HasSubstr("standard output: Bad file descriptor")) << command;
  }
  // Nothing but the file is written.
  EXPECT_EQ(Shell(absl::StrCat("glint stereo --csv --output '", Path("rows.csv"), "' ", two, " >&-")).status, 0);
  EXPECT_THAT(ReadFile(Path("rows.csv")), StartsWith("image,keypoint,"));

  fs::create_symlink("/dev/full", Path("link.png"));
  const std::pair<std::vector<std::string>, std::string> files[] = {
      {{"detect", "--format", "csv", "--output", "/dev/full", path}, "/dev/full"},
      {{"detect", "--format", "json", "--output", "/dev/full", path}, "/dev/full"},
      {{"stereo", "--csv", "--output", "/dev/full", path, path}, "/dev/full"},
      {{"match", "--format", "colmap", "--output", "/dev/full", path, path}, "/dev/full"},
      {{"track", "--output", "/dev/full", path}, "/dev/full"},
      {{"detect", "--draw", Path("link.png"), path}, Path("link.png")},
      {{"compare", "--repeat", "1", "--draw", Path("link.png"), "orb", "harris", path}, Path("link.png")},
      {{"stereo", "--draw", Path("none/a.avi"), path, path}, Path("none/a.avi")},
      {{"match", "--draw", Path("none/a.mp4"), path, path}, Path("none/a.mp4")},
      {{"track", "--draw", path + "/pictures/", path}, path + "/pictures/"}};
  for (const auto& [arguments, name] : files) {
    const Outcome outcome = Glint(arguments);
    EXPECT_EQ(outcome.status, kCannotWrite) << absl::StrJoin(arguments, " ");
    EXPECT_THAT(outcome.err, HasSubstr(name)) << absl::StrJoin(arguments, " ");
  }
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

// A video that ends early, of which OpenCV says nothing.
TEST_F(CliTest, AVideoThatIsCutOffIsAnError) {
  const std::string folder = Path("long");
  fs::create_directory(folder);
  for (int i = 0; i < 12; ++i) WriteImage(absl::StrCat("long/", i, ".png"), testing::Texture({320, 240}, 1));
  const std::string draw = absl::StrCat("glint stream --no-summary --draw '", Path("cut.avi"), "' '", folder, "'");
  EXPECT_EQ(Shell(draw).status, 0);
  const Outcome cut = Shell(absl::StrCat("ulimit -f ", fs::file_size(Path("cut.avi")) / 2048, "; ", draw));
  EXPECT_EQ(cut.status, kCannotWrite);
  EXPECT_THAT(cut.err, HasSubstr(Path("cut.avi")));
}

// Names in Latin-1, beside one that is written as the text of such a name is.
TEST_F(CliTest, NamesNeedNotBeUtf8) {
  const std::string folder = Path("names");
  fs::create_directory(folder);
  const std::string png = ReadFile(WriteImage("names/a.png", testing::Texture({160, 120}, 1)));
  std::vector<std::string> files = {folder + "/a.png"};
  for (const char* name : {"gr\xfcn.png", "gr\\xfcn.png", "gr\xc3\xbcn.png"}) {
    files.push_back(absl::StrCat(folder, "/", name));
    std::ofstream(files.back(), std::ios::binary) << png;
  }
  std::vector<std::string> detect = {"detect", "--format", "json", "--no-summary", "--draw", Path("named") + "/"};
  detect.insert(detect.end(), files.begin(), files.end());
  const std::vector<std::string> commands[] = {detect, {"stream", "--format", "json", "--no-summary", folder}};
  for (const std::vector<std::string>& arguments : commands) {
    const Outcome outcome = Glint(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(Lines(outcome.out), SizeIs(4));
    for (const char* name : {"a.png", "gr\\\\xfcn.png", "gr\\\\x5cxfcn.png", "gr\xc3\xbcn.png"}) {
      EXPECT_THAT(outcome.out, HasSubstr(absl::StrCat("\"image\":\"", folder, "/", name, "\","))) << arguments[0];
    }
  }
  for (const std::string& file : files) {
    EXPECT_TRUE(fs::exists(fs::path(Path("named")) / fs::path(file).filename())) << file;
  }
}

TEST_F(CliTest, OutputGoesToTheFile) {
  const std::string path = WriteImage("to-file.png", testing::Texture({320, 240}, 1));
  const Outcome outcome = Glint({"detect", "--format", "csv", "--output", Path("rows.csv"), path});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(ReadFile(Path("rows.csv")), Glint({"detect", "--format", "csv", path}).out);
}

constexpr Shape kVideoShape = {160, 120};
constexpr int kVideoFrames = 12;

// The luma of each frame: a part of it that moves.
Image VideoTexture() { return testing::Texture({200, 120}, 5); }

// Twelve frames of a moving texture in colour, ten a second, as y4m.
std::string MakeVideo(const std::string& path) {
  const Image texture = VideoTexture();
  std::ofstream video(path, std::ios::binary);
  video << "YUV4MPEG2 W160 H120 F10:1 Ip A1:1 C420jpeg\n";
  for (int i = 0; i < kVideoFrames; ++i) {
    video << "FRAME\n";
    for (int y = 0; y < kVideoShape.height; ++y) {
      video.write(reinterpret_cast<const char*>(texture.row(y)) + i, kVideoShape.width);
    }
    for (const char chroma : {'\x40', '\xc0'}) video << std::string(80 * 60, chroma);
  }
  return path;
}

TEST_F(CliTest, SharedMemoryChangesNothingButTheWay) {
  const std::string video = MakeVideo(Path("shared.y4m"));
  for (const char* send : {"gray", "color"}) {
    const Outcome sent = Glint({"stream", video, "--format", "csv", "--send", send});
    const Outcome shared = Glint({"stream", video, "--format", "csv", "--send", send, "--shared-memory"});
    EXPECT_EQ(shared.status, 0) << shared.err;
    EXPECT_EQ(shared.out, sent.out);
    EXPECT_THAT(shared.out, HasSubstr("#000011,"));
  }
  // Pictures that grow, with files that travel as they are between them.
  const std::string folder = Path("grows");
  fs::create_directory(folder);
  for (int i = 0; i < 6; ++i) {
    WriteImage(absl::StrCat("grows/", i, i % 3 == 2 ? ".png" : ".pgm"), testing::Texture({200 + 40 * i, 200}, 3));
  }
  const Outcome grown = Glint({"stream", folder, "--format", "csv", "--in-flight", "2", "--shared-memory"});
  EXPECT_EQ(grown.status, 0) << grown.err;
  EXPECT_EQ(grown.out, Glint({"stream", folder, "--format", "csv"}).out);

  EXPECT_EQ(Glint({"stream", folder, "--shared-memory", "--retry", "3"}).status, kUsage);
  EXPECT_THAT(Glint({"stream", folder, "--shared-memory", "--server", "inproc", "--backend", "cpu"}).err,
              HasSubstr("unix:PATH"));
}

TEST_F(CliTest, VideoGoesInAndAnAnnotatedOneComesOut) {
  const std::string video = MakeVideo(Path("in.y4m"));
  const Outcome outcome = Glint({"stream", video, "--format", "csv", "--draw", Path("drawn.avi")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("12 frames"));
  cv::VideoCapture drawn(Path("drawn.avi"));
  EXPECT_EQ(drawn.get(cv::CAP_PROP_FRAME_COUNT), kVideoFrames);
  EXPECT_EQ(drawn.get(cv::CAP_PROP_FPS), 10);
  cv::Mat after;
  ASSERT_TRUE(drawn.read(after));
  ASSERT_EQ(after.size(), cv::Size(kVideoShape.width, kVideoShape.height));

  const Image texture = VideoTexture();
  const Features expected = reference::Detect(
      testing::OrbOptions(), {texture.row(0), kVideoShape.width, kVideoShape.height, texture.stride()});
  std::string first_frame = "image,x,y,size,angle,response,octave,descriptor\n";
  for (const absl::string_view line : absl::StrSplit(outcome.out, '\n')) {
    if (absl::StartsWith(line, video + "#000000,")) absl::StrAppend(&first_frame, line, "\n");
  }
  ASSERT_GT(expected.count(), 0u);
  EXPECT_TRUE(testing::SameFeatures(expected, ParseCsv(first_frame, video + "#000000")));

  // The same luma, with colours beside it.
  EXPECT_EQ(Glint({"stream", video, "--format", "csv", "--send", "color"}).out, outcome.out);
}

// Frames travel as JPEG files, smaller ones with a lower quality; a picture that is one travels as it is.
TEST_F(CliTest, VideoTravelsAsJpeg) {
  const std::string video = MakeVideo(Path("jpeg.y4m"));
  const auto bytes_of = [&](std::vector<std::string> arguments) {
    const Outcome outcome = Glint(std::move(arguments));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const size_t end = outcome.out.find(" bytes a frame");
    int bytes = 0;
    EXPECT_TRUE(end != std::string::npos &&
                absl::SimpleAtoi(
                    absl::string_view(outcome.out).substr(0, end).substr(outcome.out.rfind(' ', end - 1) + 1), &bytes))
        << outcome.out;
    return bytes;
  };
  const int gray = bytes_of({"stream", video});
  const int fine = bytes_of({"stream", video, "--send", "jpeg"});
  const int coarse = bytes_of({"stream", video, "--send", "jpeg", "--quality", "30"});
  EXPECT_GT(gray, fine);
  EXPECT_GT(fine, coarse);
  EXPECT_GT(coarse, 100);

  const std::string picture = WriteImage("as-it-is.jpg", testing::Texture({320, 240}, 8));
  EXPECT_EQ(bytes_of({"stream", picture, "--send", "jpeg", "--quality", "1", "--loop", "--max-frames", "2"}),
            static_cast<int>(fs::file_size(picture)));
  const std::string png = WriteImage("becomes.png", testing::Texture({320, 240}, 8));
  EXPECT_LT(bytes_of({"stream", png, "--send", "jpeg", "--quality", "50", "--loop", "--max-frames", "2"}),
            static_cast<int>(fs::file_size(png)));
}

TEST_F(CliTest, PicturesAreDrawn) {
  const Image image = testing::Texture({320, 240}, 7);
  const std::string one = WriteImage("draw-1.png", image);
  const std::string two = WriteImage("draw-2.jpg", image);
  EXPECT_EQ(Glint({"detect", one, "--draw", Path("annotated.png")}).status, 0);
  const cv::Mat annotated = cv::imread(Path("annotated.png"));
  ASSERT_EQ(annotated.size(), cv::Size(320, 240));
  cv::Mat channels[3];
  cv::split(annotated, channels);
  EXPECT_GT(cv::countNonZero(channels[0] != channels[1]), 1000) << "no colour was drawn on the grey picture";

  EXPECT_EQ(Glint({"detect", one, two, "--draw", Path("drawn") + "/"}).status, 0);
  EXPECT_TRUE(fs::exists(Path("drawn/draw-1.png")));
  EXPECT_TRUE(fs::exists(Path("drawn/draw-2.jpg.png")));
}

TEST_F(CliTest, SourcesAreFoldersPatternsAndFiles) {
  fs::create_directory(*folder_ / "frames");
  for (int i = 0; i < 3; ++i) WriteImage(absl::StrCat("frames/", i, ".png"), testing::Texture({100, 80}, 1));
  std::ofstream(*folder_ / "frames" / "notes.txt") << "not a frame";
  EXPECT_THAT(Glint({"stream", Path("frames")}).out, StartsWith("3 frames"));
  EXPECT_THAT(Glint({"stream", Path("frames/[12].png")}).out, StartsWith("2 frames"));
  EXPECT_THAT(Glint({"stream", Path("frames"), "--loop", "--max-frames", "7"}).out, StartsWith("7 frames"));
  for (const char* missing : {"frames/*.jpg", "no-such-file", "frames/notes.txt"}) {
    const Outcome outcome = Glint({"stream", Path(missing)});
    EXPECT_EQ(outcome.status, 1) << missing;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("glint stream: "), HasSubstr(missing)));
  }
}

// Two views of one scene, 8 pixels apart: what is at x in the first is at x - 8 in the second.
struct TwoViews {
  const Image scene = testing::Texture({328, 240}, 7);
  const ImageView left{scene.row(0), 320, 240, scene.stride()};
  const ImageView right{scene.row(0) + 8, 320, 240, scene.stride()};
};

// A command without flags finds what the library's settings find as they come.
TEST_F(CliTest, DefaultsAreThoseOfTheLibrary) {
  const TwoViews views;
  const std::string left = WriteImage("default1.png", views.left), right = WriteImage("default2.png", views.right);
  const auto client = client::Client::Connect(*address_);
  ASSERT_TRUE(client.ok()) << client.status();

  Features found;
  const auto detect = client->OpenStream({}, [&](const client::FrameResult& r) { found = r.detection.features; });
  ASSERT_TRUE(detect.ok() && (*detect)->Write(1, views.left).ok() && (*detect)->Finish().ok());
  EXPECT_EQ(found.descriptor_bytes, 32);
  EXPECT_TRUE(testing::SameFeatures(found, ParseCsv(Glint({"detect", "--format", "csv", left}).out, left)));

  const auto matched = client->Match({}, client::ImageInput(views.left), client::ImageInput(views.right));
  ASSERT_TRUE(matched.ok()) << matched.status();
  std::vector<std::string> lines = Lines(Glint({"match", "--csv", left, right}).out);
  size_t at = 1;
  for (size_t q = 0; q < matched->matches.index.size(); ++q) {
    if (matched->matches.index[q] == kNoMatch) continue;
    ASSERT_LT(at, lines.size());
    const std::vector<std::string> fields = absl::StrSplit(lines[at++], ',');
    const auto t = static_cast<size_t>(matched->matches.index[q]);
    EXPECT_EQ(absl::StrJoin(fields.begin() + 2, fields.begin() + 5, " "),
              absl::StrCat(q, " ", t, " ", matched->matches.distance[q]));
    EXPECT_EQ(std::stof(fields[5]), matched->query.x[q]);
    EXPECT_EQ(std::stof(fields[6]), matched->query.y[q]);
    EXPECT_EQ(std::stof(fields[7]), matched->train.x[t]);
    EXPECT_EQ(std::stof(fields[8]), matched->train.y[t]);
  }
  EXPECT_EQ(at, lines.size());
  EXPECT_GT(at, 100u);

  client::StereoAnswer stereo;
  const auto pairs = client->OpenStereoStream({}, [&](const client::StereoAnswer& answer) { stereo = answer; });
  ASSERT_TRUE(pairs.ok() && (*pairs)->Write(1, views.left, views.right).ok() && (*pairs)->Finish().ok());
  lines = Lines(Glint({"stereo", "--csv", left, right}).out);
  ASSERT_EQ(lines.size(), 1 + stereo.left_index.size());
  for (size_t i = 0; i < stereo.left_index.size(); ++i) {
    const std::vector<std::string> fields = absl::StrSplit(lines[i + 1], ',');
    EXPECT_EQ(fields[1], absl::StrCat(stereo.left_index[i]));
    EXPECT_EQ(std::stof(fields[2]), stereo.left.x[stereo.left_index[i]]);
    EXPECT_EQ(std::stof(fields[3]), stereo.left.y[stereo.left_index[i]]);
    EXPECT_EQ(std::stof(fields[5]), stereo.disparity[i]);
  }

  std::ofstream(Path("default.txt")) << "P0: 300 0 160 0 0 300 120 0 0 0 1 0\nP1: 300 0 160 -30 0 300 120 0 0 0 1 0\n";
  client::LocalizeStreamOptions options;
  options.camera = {320, 240, 300, 160, 120, 0.1};
  client::LocalizeAnswer located;
  const auto path = client->OpenLocalizeStream(options, [&](const client::LocalizeAnswer& a) { located = a; });
  ASSERT_TRUE(path.ok() && (*path)->Write(1, views.left, views.right, 1).ok() && (*path)->Finish().ok());
  EXPECT_TRUE(located.status.ok()) << located.status;
  const Outcome localize = Glint({"localize", "--csv", "--calibration", Path("default.txt"), left, right});
  lines = Lines(localize.out);
  ASSERT_EQ(lines.size(), 2u) << localize.err;
  const std::vector<std::string> fields = absl::StrSplit(lines[1], ',');
  EXPECT_EQ(fields[10], absl::StrCat(located.location.keypoints));
  EXPECT_EQ(fields[17], absl::StrCat(located.map_points));
  EXPECT_GT(located.location.keypoints, 500);
}

// Two cameras of 320x240 as Kalibr writes them, the second one with another lens.
Camera ChainCamera(int number) {
  Camera camera;
  camera.model = number == 0 ? CameraModel::kRadialTangential : CameraModel::kKannalaBrandt;
  camera.image = {320, 240};
  camera.fx = 210;
  camera.fy = 208;
  camera.cx = 161.5;
  camera.cy = 118.25;
  camera.lens = {-0.1, 0.01, 0.001, -0.002};
  return camera;
}
std::string ChainFile() {
  std::string text;
  for (const int number : {0, 1}) {
    absl::StrAppend(&text, "cam", number,
                    ":\n  camera_model: pinhole\n  distortion_model: ", number == 0 ? "radtan" : "equidistant",
                    "\n  distortion_coeffs: [-0.1, 0.01, 0.001, -0.002]\n  intrinsics: [210, 208, 161.5, 118.25]\n"
                    "  resolution: [320, 240]\n  rostopic: /image_raw\n");
  }
  return text +
         "  T_cn_cnm1:\n  - [1.0, 0.0, 0.0, -0.1]\n  - [0.0, 1.0, 0.0, 0.0]\n  - [0.0, 0.0, 1.0, 0.0]\n"
         "  - [0.0, 0.0, 0.0, 1.0]\n";
}

// Whether fields from `at` on are the ray of (x, y), to the digit.
bool IsRay(const Camera& camera, const std::string& x, const std::string& y, const std::vector<std::string>& fields,
           size_t at) {
  Eigen::Vector3d ray;
  if (!Unproject(camera, {std::stof(x), std::stof(y)}, &ray)) ray.setZero();
  for (int i = 0; i < 3; ++i) {
    if (std::stof(fields[at + static_cast<size_t>(i)]) != static_cast<float>(ray[i])) return false;
  }
  return true;
}

TEST_F(CliTest, DetectAndMatchHaveRaysWithACalibration) {
  const TwoViews views;
  const std::string first = WriteImage("ray1.png", views.left), second = WriteImage("ray2.png", views.right);
  const std::string chain = Path("camchain.yaml");
  std::ofstream(chain) << ChainFile();
  const std::vector<std::string> plain = Lines(Glint({"detect", "--format", "csv", first}).out);
  for (const int number : {0, 1}) {
    std::vector<std::string> arguments = {"detect", "--format", "csv", "--calibration", chain, first};
    if (number == 1) arguments.insert(arguments.end() - 1, {"--camera", "cam1"});
    const Outcome outcome = Glint(arguments);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const std::vector<std::string> rows = Lines(outcome.out);
    ASSERT_EQ(rows.size(), plain.size());
    EXPECT_EQ(rows[0], plain[0] + ",ray_x,ray_y,ray_z");
    for (size_t i = 1; i < rows.size(); ++i) {
      const std::vector<std::string> fields = absl::StrSplit(rows[i], ',');
      EXPECT_THAT(rows[i], StartsWith(plain[i] + ","));
      ASSERT_EQ(fields.size(), 11u);
      ASSERT_TRUE(IsRay(ChainCamera(number), fields[1], fields[2], fields, 8)) << rows[i];
    }
  }
  EXPECT_THAT(Glint({"detect", "--format", "json", "--calibration", chain, first}).out, HasSubstr("\"ray\":["));

  const Outcome match = Glint({"match", "--cross-check", "--csv", "--calibration", chain, first, second});
  ASSERT_EQ(match.status, 0) << match.err;
  const std::vector<std::string> rows = Lines(match.out);
  ASSERT_GT(rows.size(), 100u);
  EXPECT_THAT(rows[0], ::testing::EndsWith(",second_x,second_y,first_ray_x,first_ray_y,first_ray_z,second_ray_x,"
                                           "second_ray_y,second_ray_z"));
  for (size_t i = 1; i < rows.size(); ++i) {
    const std::vector<std::string> fields = absl::StrSplit(rows[i], ',');
    ASSERT_EQ(fields.size(), 15u);
    ASSERT_TRUE(IsRay(ChainCamera(0), fields[5], fields[6], fields, 9)) << rows[i];
    ASSERT_TRUE(IsRay(ChainCamera(0), fields[7], fields[8], fields, 12)) << rows[i];
  }

  const std::string small = WriteImage("small.png", testing::Texture({160, 120}, 4));
  for (const std::string command : {"detect", "match"}) {
    std::vector<std::string> files = {first};
    if (command == "match") files.push_back(second);
    const auto with = [&](std::vector<std::string> arguments) {
      arguments.insert(arguments.begin(), command);
      arguments.insert(arguments.end(), files.begin(), files.end());
      return Glint(arguments);
    };
    const Outcome unknown = with({"--calibration", chain, "--camera", "cam7"});
    EXPECT_EQ(unknown.status, kUsage);
    EXPECT_THAT(unknown.err, HasSubstr("\"cam7\" is not one of cam0, cam1"));
    EXPECT_EQ(with({"--calibration", chain, "--camera", "cam0,cam1"}).status, kUsage);
    const Outcome missing = with({"--calibration", Path("none.yaml")});
    EXPECT_EQ(missing.status, kUsage);
    EXPECT_THAT(missing.err, HasSubstr("none.yaml"));
    files = {small, small};
    files.resize(command == "match" ? 2 : 1);
    const Outcome other_size = with({"--calibration", chain});
    EXPECT_NE(other_size.status, 0);
    EXPECT_THAT(other_size.err, AllOf(HasSubstr("160x120"), HasSubstr("320x240")));
  }
}

TEST_F(CliTest, StreamHasTheRaysOfDetect) {
  const TwoViews views;
  const std::string first = WriteImage("flow1.png", views.left), second = WriteImage("flow2.png", views.right);
  const std::string chain = Path("camchain.yaml");
  std::ofstream(chain) << ChainFile();
  const std::vector<std::string> calibration = {"--format", "csv", "--calibration", chain, "--camera", "cam1"};
  const auto run = [&](std::vector<std::string> arguments, const std::vector<std::string>& sources) {
    arguments.insert(arguments.end(), calibration.begin(), calibration.end());
    arguments.insert(arguments.end(), sources.begin(), sources.end());
    return Glint(arguments);
  };
  const Outcome detect = run({"detect"}, {first, second}), stream = run({"stream"}, {Path("flow*.png")});
  ASSERT_EQ(stream.status, 0) << stream.err;
  EXPECT_GT(Lines(stream.out).size(), 100u);
  EXPECT_EQ(stream.out, detect.out);
  EXPECT_EQ(Lines(run({"stream", "--loop", "--max-frames", "3"}, {first}).out).size(),
            3 * (Lines(run({"detect"}, {first}).out).size() - 1) + 1);
  const Outcome other_size = run({"stream"}, {WriteImage("small.png", testing::Texture({160, 120}, 4))});
  EXPECT_EQ(other_size.status, kUsage);
  EXPECT_THAT(other_size.err, AllOf(HasSubstr("160x120"), HasSubstr("320x240")));
  for (const std::string command : {"detect", "stream", "match", "track"}) {
    const Outcome lone = Glint({command, "--camera", "cam1", first});
    EXPECT_EQ(lone.status, kUsage) << command;
    EXPECT_THAT(lone.err, HasSubstr("option '--camera': needs --calibration"));
    EXPECT_THAT(Glint({command, "--rectified", first}).err, HasSubstr("option '--rectified': needs --calibration"));
  }
}

// A file with a lens and a projection has two cameras: that of raw images and that of rectified ones.
TEST_F(CliTest, RaysOfRectifiedImagesAreThoseOfTheProjection) {
  const TwoViews views;
  const std::string image = WriteImage("rectified.png", views.left), info = Path("info.yaml"),
                    chain = Path("chain.yaml");
  std::ofstream(info) << "image_width: 320\nimage_height: 240\ncamera_name: left\n"
                         "camera_matrix:\n  rows: 3\n  cols: 3\n  data: [210, 0, 161.5, 0, 208, 118.25, 0, 0, 1]\n"
                         "distortion_model: plumb_bob\n"
                         "distortion_coefficients:\n  rows: 1\n  cols: 5\n  data: [-0.1, 0.01, 0.001, -0.002, 0]\n"
                         "rectification_matrix:\n  rows: 3\n  cols: 3\n  data: [1, 0, 0, 0, 1, 0, 0, 0, 1]\n"
                         "projection_matrix:\n  rows: 3\n  cols: 4\n"
                         "  data: [190, 0, 158.5, 0, 0, 190, 121.5, 0, 0, 0, 1, 0]\n";
  std::ofstream(chain) << ChainFile();
  Camera rectified;
  rectified.image = {320, 240};
  rectified.fx = rectified.fy = 190;
  rectified.cx = 158.5;
  rectified.cy = 121.5;
  for (const bool is_rectified : {false, true}) {
    const Outcome outcome = Glint(
        {"detect", "--format", "csv", "--calibration", info, is_rectified ? "--rectified" : "--no-rectified", image});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const std::vector<std::string> rows = Lines(outcome.out);
    ASSERT_GT(rows.size(), 100u);
    for (size_t i = 1; i < rows.size(); ++i) {
      const std::vector<std::string> fields = absl::StrSplit(rows[i], ',');
      ASSERT_TRUE(IsRay(is_rectified ? rectified : ChainCamera(0), fields[1], fields[2], fields, 8)) << rows[i];
    }
  }
  const Outcome none = Glint({"detect", "--rectified", "--calibration", chain, image});
  EXPECT_EQ(none.status, kUsage);
  EXPECT_THAT(none.err, HasSubstr("option '--rectified': " + chain + " has no projection of rectified images of cam0"));
}

TEST_F(CliTest, MatchesAgreeWithAHomography) {
  const TwoViews views;
  const std::string first = WriteImage("match1.png", views.left), second = WriteImage("match2.png", views.right);
  std::ofstream(Path("H")) << "1 0 -8\n0 1 0\n0 0 1\n";
  const Outcome csv = Glint({"match", "--cross-check", "--csv", first, second});
  EXPECT_EQ(csv.status, 0) << csv.err;
  const std::vector<std::string> lines = Lines(csv.out);
  ASSERT_GT(lines.size(), 100u);
  EXPECT_EQ(lines[0], "first,second,query,train,distance,first_x,first_y,second_x,second_y");
  int inliers = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = absl::StrSplit(lines[i], ',');
    ASSERT_EQ(fields.size(), 9u) << lines[i];
    EXPECT_EQ(fields[0], first);
    EXPECT_EQ(fields[1], second);
    const float dx = std::stof(fields[5]) - 8 - std::stof(fields[7]), dy = std::stof(fields[6]) - std::stof(fields[8]);
    if (dx * dx + dy * dy <= 4) ++inliers;
  }
  const size_t matches = lines.size() - 1;
  EXPECT_GT(inliers * 10, static_cast<int>(matches) * 7);
  const Outcome table = Glint({"match", "--cross-check", "--homography", Path("H"), "--tolerance", "2", "--draw",
                               Path("match-drawn.png"), first, second});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr(absl::StrFormat("%d matches", matches)));
  EXPECT_THAT(table.out, HasSubstr(absl::StrFormat("%d inliers, precision %.3f", inliers,
                                                   static_cast<double>(inliers) / static_cast<double>(matches))));
  const Outcome both =
      Glint({"match", "--cross-check", "--homography", Path("H"), "--tolerance", "2", "--csv", first, second});
  EXPECT_EQ(both.status, 0) << both.err;
  EXPECT_EQ(both.out, csv.out);
  EXPECT_THAT(both.err, HasSubstr(absl::StrFormat("%d matches, %d inliers, precision ", matches, inliers)));
  const cv::Mat drawn = cv::imread(Path("match-drawn.png"), cv::IMREAD_COLOR);
  EXPECT_EQ(drawn.size(), cv::Size(640, 240));
  cv::Mat channels[3];
  cv::split(drawn, channels);
  EXPECT_GT(cv::norm(channels[0], channels[1], cv::NORM_L1), 0) << "no coloured lines";
}

TEST_F(CliTest, SaysThatOnePictureIsMatchedWithItself) {
  const TwoViews views;
  const std::string first = WriteImage("match3.png", views.left), second = WriteImage("match4.png", views.right);
  const std::string copy = WriteImage("match5.png", views.left);
  for (const std::string& same : {first, copy}) {
    const Outcome outcome = Glint({"match", "--csv", first, same});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(absl::StrCat(first, " ", same, ": warning: ")));
    EXPECT_THAT(outcome.err, HasSubstr("is one picture given twice?"));
  }
  EXPECT_THAT(Glint({"match", "--csv", first, second}).err, Not(HasSubstr("warning")));
}

TEST_F(CliTest, WhatIsLongerThanAnyPictureIsNotRead) {
  std::ofstream(Path("long.tiff")).flush();
  fs::resize_file(Path("long.tiff"), uint64_t{1} << 33);  // a hole
  const Outcome outcome = Glint({"detect", Path("long.tiff")});
  fs::remove(Path("long.tiff"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("long.tiff: has more than 1074790400 bytes"));
}

TEST_F(CliTest, AFolderInPlaceOfAKeyIsAnError) {
  const std::string image = WriteImage("unkeyed.png", testing::Flat({64, 64}, 9));
  for (const char* option : {"--tls-ca", "--token-file"}) {
    const Outcome outcome = Glint({"detect", option, Path(""), image});
    EXPECT_EQ(outcome.status, kUsage) << option;
    EXPECT_THAT(outcome.err, HasSubstr(absl::StrCat("cannot read ", Path(""), ": Is a directory"))) << option;
  }
}

TEST_F(CliTest, WritesMatchesInTheFormThatColmapImports) {
  const TwoViews views;
  fs::create_directories(Path("views"));
  for (const char* name : {"views/1.png", "views/3.png"}) WriteImage(name, views.left);
  WriteImage("views/2.png", views.right);
  const Outcome outcome = Glint({"match", "--cross-check", "--next", "2", "--features", "200", "--format", "colmap",
                                 "--output", Path("import"), Path("views")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, IsEmpty());
  // feature_importer: NUM 128, then for each feature X Y SCALE ORIENTATION and its 128 numbers in 0..255.
  std::map<std::string, int> counts;
  for (const std::string name : {"1.png", "2.png", "3.png"}) {
    std::ifstream file(Path("import/" + name + ".txt"));
    int count = 0, dimensions = 0;
    ASSERT_TRUE(file >> count >> dimensions) << name;
    EXPECT_EQ(dimensions, 128);
    EXPECT_GT(count, 100);
    counts[name] = count;
    for (int i = 0; i < count; ++i) {
      float x, y, scale, angle;
      ASSERT_TRUE(file >> x >> y >> scale >> angle);
      EXPECT_TRUE(x > 0 && x < 320 && y > 0 && y < 240 && scale > 0 && angle >= 0 && angle < 6.2832f);
      for (int d = 0; d < 128; ++d) {
        int value = -1;
        ASSERT_TRUE(file >> value);
        EXPECT_TRUE(value >= 0 && value <= 255 && (d < 32 || value == 0)) << value;
      }
    }
    std::string rest;
    EXPECT_FALSE(file >> rest) << rest;
  }
  // matches_importer, raw: two names, a pair of indices a line, an empty line.
  const std::string text = ReadFile(Path("import/matches.txt"));
  ASSERT_EQ(text.substr(text.size() - 2), "\n\n");
  std::vector<std::string> pairs;
  for (const absl::string_view block : absl::StrSplit(text.substr(0, text.size() - 2), "\n\n")) {
    const std::vector<std::string> lines = absl::StrSplit(block, '\n');
    pairs.push_back(lines[0]);
    const std::vector<std::string> names = absl::StrSplit(lines[0], ' ');
    ASSERT_EQ(names.size(), 2u);
    EXPECT_GT(lines.size(), 50u);
    for (size_t i = 1; i < lines.size(); ++i) {
      const std::vector<std::string> indices = absl::StrSplit(lines[i], ' ');
      int query = -1, train = -1;
      ASSERT_TRUE(indices.size() == 2 && absl::SimpleAtoi(indices[0], &query) && absl::SimpleAtoi(indices[1], &train));
      EXPECT_TRUE(query >= 0 && query < counts[names[0]] && train >= 0 && train < counts[names[1]]);
    }
  }
  EXPECT_THAT(pairs, ::testing::ElementsAre("1.png 2.png", "1.png 3.png", "2.png 3.png"));

  fs::create_directories(Path("other"));
  WriteImage("other/1.png", views.right);
  const Outcome same =
      Glint({"match", "--format", "colmap", "--output", Path("import"), Path("views/1.png"), Path("other/1.png")});
  EXPECT_NE(same.status, 0);
  EXPECT_THAT(same.err, HasSubstr("have one name, and COLMAP tells pictures apart by it"));
}

TEST_F(CliTest, StereoPairsHaveDisparitiesAndWarnings) {
  const TwoViews views;
  const std::string left = WriteImage("left.png", views.left), right = WriteImage("right.png", views.right);
  const Outcome two = Glint({"stereo", "--csv", "--focal-length", "400", "--baseline", "0.5", left, right});
  EXPECT_EQ(two.status, 0) << two.err;
  EXPECT_THAT(two.err, IsEmpty());
  const std::vector<std::string> lines = Lines(two.out);
  ASSERT_GT(lines.size(), 50u);
  EXPECT_EQ(lines[0], "image,keypoint,x,y,right_x,disparity,depth,distance");
  size_t near = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = absl::StrSplit(lines[i], ',');
    ASSERT_EQ(fields.size(), 8u) << lines[i];
    const float disparity = std::stof(fields[5]);
    EXPECT_NEAR(std::stof(fields[2]) - disparity, std::stof(fields[4]), 1e-3);
    ASSERT_GT(disparity, 0);
    EXPECT_NEAR(std::stof(fields[6]), 400 * 0.5f / disparity, 1e-2);
    if (std::abs(disparity - 8) < 0.5f) ++near;
  }
  EXPECT_GT(near * 100, (lines.size() - 1) * 95);

  Image both(640, 240);
  for (int y = 0; y < 240; ++y) {
    std::copy_n(views.left.row(y), 320, both.row(y));
    std::copy_n(views.right.row(y), 320, both.row(y) + 320);
  }
  const std::string side_by_side = WriteImage("both.png", both);
  const Outcome one = Glint({"stereo", "--csv", "--focal-length", "400", "--baseline", "0.5", "--draw",
                             Path("disparities.png"), side_by_side});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(absl::StrReplaceAll(one.out, {{side_by_side, left}}), two.out);
  const cv::Mat drawn = cv::imread(Path("disparities.png"), cv::IMREAD_COLOR);
  EXPECT_EQ(drawn.rows, 240);
  EXPECT_GT(drawn.cols, 320) << "no scale";

  const Outcome swapped = Glint({"stereo", right, left});
  EXPECT_EQ(swapped.status, 0);
  EXPECT_THAT(swapped.out, HasSubstr(" matches"));
  EXPECT_THAT(swapped.err, AllOf(HasSubstr("right.png: warning: "), HasSubstr("swapped")));

  // One camera on both sides: one warning for all pairs.
  fs::create_directories(Path("same-eye"));
  for (const char* name : {"1.png", "2.png"}) WriteImage(absl::StrCat("same-eye/", name), views.left);
  const Outcome same = Glint({"stereo", Path("same-eye"), Path("same-eye")});
  EXPECT_EQ(same.status, 0);
  EXPECT_THAT(Lines(same.out), SizeIs(2));
  EXPECT_THAT(Lines(same.err), SizeIs(1));
  EXPECT_THAT(same.err,
              ::testing::ContainsRegex("1\\.png: warning: disparity is -?0\\.[0-2][0-9] pixels \\(median\\)"));

  const std::string small = WriteImage("small.png", ImageView{views.right.data, 320, 200, views.right.stride});
  const Outcome bad = Glint({"stereo", left, small});
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.err, HasSubstr("right: 320x200 pixels, but the left image has 320x240"));
}

// Folders pair by pair, a video with itself; a PNG for each pair.
TEST_F(CliTest, PairCommandsTakeFoldersAndVideos) {
  const TwoViews views;
  for (const char* folder : {"left-eye", "right-eye"}) fs::create_directories(Path(folder));
  for (const char* name : {"1.png", "2.png", "3.png"}) {
    WriteImage(absl::StrCat("left-eye/", name), views.left);
    WriteImage(absl::StrCat("right-eye/", name), views.right);
  }
  fs::remove(Path("right-eye/3.png"));  // what has no partner is left out
  const std::string left = Path("left-eye"), right = Path("right-eye");
  const Outcome stereo = Glint({"stereo", "--csv", "--draw", Path("disparities/"), left, right});
  EXPECT_EQ(stereo.status, 0) << stereo.err;
  std::map<std::string, int> rows;
  for (const std::string& line : Lines(stereo.out)) ++rows[line.substr(0, line.find(','))];
  EXPECT_EQ(rows.size(), 3u);  // with the header
  EXPECT_GT(rows[left + "/1.png"], 50);
  EXPECT_EQ(rows[left + "/2.png"], rows[left + "/1.png"]);
  EXPECT_THAT(stereo.err, AllOf(HasSubstr("glint stereo: 1 picture has no partner and is left out: "),
                                HasSubstr("left-eye/3.png\n")));
  // A copy by a Mac, and a picture that is missing before others, change no pair.
  std::ofstream(Path("right-eye/._1.png")) << std::string(4096, '\0');
  fs::rename(Path("left-eye/1.png"), Path("left-eye/0.png"));
  fs::rename(Path("left-eye/2.png"), Path("left-eye/02.png"));
  const Outcome missing = Glint({"match", "--cross-check", left, right});
  EXPECT_EQ(missing.status, 0) << missing.err;
  EXPECT_THAT(missing.out, StartsWith(absl::StrCat(left, "/02.png ", right, "/2.png: ")));
  EXPECT_THAT(Lines(missing.out), SizeIs(1));
  EXPECT_THAT(missing.err, HasSubstr(absl::StrCat("glint match: 3 pictures have no partner and are left out: ", left,
                                                  "/0.png, ", left, "/3.png, ", right, "/1.png\n")));
  fs::rename(Path("left-eye/0.png"), Path("left-eye/1.png"));
  fs::rename(Path("left-eye/02.png"), Path("left-eye/2.png"));
  const Outcome match = Glint({"match", "--cross-check", "--draw", Path("lines/"), left, right});
  EXPECT_EQ(match.status, 0) << match.err;
  EXPECT_THAT(Lines(match.out), SizeIs(2));
  EXPECT_THAT(match.out, HasSubstr(absl::StrCat(left, "/2.png ", right, "/2.png: ")));
  for (const char* folder : {"disparities", "lines"}) {
    int drawn = 0;
    for (const auto& entry : fs::directory_iterator(Path(folder))) {
      EXPECT_FALSE(cv::imread(entry.path().string()).empty()) << entry.path();
      ++drawn;
    }
    EXPECT_EQ(drawn, 2) << folder;
  }
  // The scale is in all of the map's colours: its ends differ.
  const cv::Mat scaled = cv::imread(fs::directory_iterator(Path("disparities"))->path().string());
  const cv::Mat scale = scaled.colRange(320, scaled.cols);
  std::map<int, int> hues;
  for (int y = 0; y < scale.rows; ++y) {
    for (int x = 0; x < scale.cols; ++x) {
      const cv::Vec3b& c = scale.at<cv::Vec3b>(y, x);
      if (std::max({c[0], c[1], c[2]}) - std::min({c[0], c[1], c[2]}) > 60)
        ++hues[c[0] / 32 * 64 + c[1] / 32 * 8 + c[2] / 32];
    }
  }
  EXPECT_GT(hues.size(), 8u);

  cv::VideoWriter video(Path("pairs.avi"), cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), 10, {320, 240});
  for (int i = 0; i < 4; ++i) video.write(cv::imread(i % 2 == 0 ? left + "/1.png" : right + "/1.png"));
  video.release();
  const Outcome frames = Glint({"match", "--cross-check", Path("pairs.avi")});
  EXPECT_EQ(frames.status, 0) << frames.err;
  EXPECT_THAT(Lines(frames.out), SizeIs(3));  // each with the next
}

TEST_F(CliTest, PairCommandsNameWhatIsWrong) {
  const std::string path = WriteImage("pair.png", testing::Texture({160, 120}, 1));
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"match", path, path, path}, "give one SOURCE or two"},
      {{"match", "--format", "colmap", path, path}, "colmap needs a folder, given by --output"},
      {{"match", "--k", "9", path, path}, "k: 9 is not in 1..8"},
      {{"match", "--next", "0", path}, "option '--next': 0 is not in 1..1000"},
      {{"match", "--mask", path, path, path}, "option '--mask': not for pairs"},
      {{"match", "--homography", path, path, path}, "not a file of nine numbers"},
      {{"stereo"}, "give LEFT and RIGHT"},
      {{"stereo", "--band", "17", path, path}, "band: 17 is not in 0..16"}};
  for (const auto& [arguments, text] : cases) {
    const Outcome outcome = Glint(arguments);
    EXPECT_EQ(outcome.status, kUsage) << text;
    EXPECT_THAT(outcome.err, HasSubstr(text));
  }
}

TEST_F(CliTest, TracksFollowAMovingPicture) {
  const Image wide = testing::Texture({400, 240}, 5);
  for (const char* folder : {"moving/", "other/"}) fs::create_directories(Path(folder));
  for (int i = 0; i < 4; ++i) {  // to the left by 3 pixels a picture
    WriteImage(absl::StrCat("moving/", i, ".png"), ImageView{wide.row(0) + 3 * i, 320, 240, wide.stride()});
    WriteImage(absl::StrCat("other/", i, ".png"), ImageView{wide.row(20) + 3 * i, 160, 120, wide.stride()});
  }
  const Outcome csv = Glint({"track", "--csv", "--target", "50", Path("moving")});
  EXPECT_EQ(csv.status, 0) << csv.err;
  EXPECT_THAT(csv.err, IsEmpty());
  const std::vector<std::string> lines = Lines(csv.out);
  EXPECT_EQ(lines[0], "image,camera,id,age,x,y,last_x,last_y,state,residual,gain,offset");
  size_t followed = 0, good = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = absl::StrSplit(lines[i], ',');
    ASSERT_EQ(fields.size(), 12u) << lines[i];
    if (fields[3] == "0" || fields[8] != "tracked") continue;
    ++followed;
    if (std::abs(std::stof(fields[4]) - std::stof(fields[6]) + 3) < 0.1f) ++good;
  }
  EXPECT_GT(followed, 100u);
  EXPECT_GT(good * 100, followed * 95);

  const Outcome table = Glint({"track", "--draw", Path("trails.png"), "--cameras", Path("moving"), Path("other")});
  EXPECT_EQ(table.status, 0) << table.err;
  ASSERT_THAT(Lines(table.out), SizeIs(4));
  EXPECT_THAT(Lines(table.out)[3], HasSubstr(" tracks, "));
  const cv::Mat drawn = cv::imread(Path("trails.png"), cv::IMREAD_COLOR);
  EXPECT_EQ(drawn.rows, 240);
  EXPECT_EQ(drawn.cols, 480);
  cv::Mat channels[3];
  cv::split(drawn, channels);
  EXPECT_GT(cv::norm(channels[0], channels[2], cv::NORM_INF), 50) << "no colours";

  std::ofstream(Path("points.txt")) << "# X Y\n100.5 80\n200, 120  # another\n\n";
  const Outcome points = Glint({"track", "--csv", "--points", Path("points.txt"), Path("moving")});
  EXPECT_EQ(points.status, 0) << points.err;
  ASSERT_THAT(Lines(points.out), SizeIs(1 + 3 * 2));
  EXPECT_THAT(Lines(points.out)[1], HasSubstr("moving/1.png,0,1,1,97."));

  std::ofstream(Path("outside.txt")) << "320 10\n";
  const Outcome outside = Glint({"track", "--points", Path("outside.txt"), Path("moving")});
  EXPECT_EQ(outside.status, 1);
  EXPECT_THAT(outside.err, HasSubstr("points: INVALID_ARGUMENT: x[0]: 320 is not in 0..319"));
}

TEST_F(CliTest, TracksStayInMaskAndRegionAndHaveRays) {
  const Image wide = testing::Texture({400, 240}, 5);
  for (const char* folder : {"left/", "right/"}) fs::create_directories(Path(folder));
  for (int i = 0; i < 4; ++i) {  // to the left by 3 pixels a picture
    for (const char* folder : {"left/", "right/"}) {
      WriteImage(absl::StrCat(folder, i, ".png"), ImageView{wide.row(0) + 3 * i, 320, 240, wide.stride()});
    }
  }
  std::ofstream(Path("camchain.yaml")) << ChainFile();
  Image left(320, 240), right(320, 240);
  for (int y = 0; y < 240; ++y) {
    for (int x = 0; x < 320; ++x) {
      left.row(y)[x] = x >= 100 ? 255 : 0;
      right.row(y)[x] = x < 160 ? 255 : 0;
    }
  }
  const std::string masks = absl::StrCat(WriteImage("left.png", left), ",", WriteImage("right.png", right));
  const Outcome csv = Glint({"track", "--csv", "--cameras", "--mask", masks, "--region", "300x200+10+20",
                             "--calibration", Path("camchain.yaml"), Path("left"), Path("right")});
  EXPECT_EQ(csv.status, 0) << csv.err;
  const std::vector<std::string> lines = Lines(csv.out);
  EXPECT_EQ(lines[0], "image,camera,id,age,x,y,last_x,last_y,state,residual,gain,offset,ray_x,ray_y,ray_z");
  std::array<int, 2> live = {};
  int masked = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = absl::StrSplit(lines[i], ',');
    ASSERT_EQ(fields.size(), 15u) << lines[i];
    const int camera = std::stoi(fields[1]);
    EXPECT_TRUE(IsRay(ChainCamera(camera), fields[4], fields[5], fields, 12)) << lines[i];
    masked += fields[8] == "masked" ? 1 : 0;
    if (fields[8] != "tracked") continue;
    ++live[static_cast<size_t>(camera)];
    const float x = std::stof(fields[4]), y = std::stof(fields[5]);
    EXPECT_TRUE(y >= 19.5f && y <= 219.5f && (camera == 0 ? x >= 99.5f && x <= 309.5f : x >= 9.5f && x <= 159.5f))
        << lines[i];
  }
  EXPECT_GT(live[0], 100);
  EXPECT_GT(live[1], 100);
  EXPECT_GT(masked, 0);
}

TEST_F(CliTest, TrackNamesWhatIsWrong) {
  const std::string path = WriteImage("track.png", testing::Texture({160, 120}, 1));
  std::ofstream(Path("bad.txt")) << "1 2\n3\n";
  std::ofstream(Path("camera.txt")) << "1 2 1\n";
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"track"}, "no SOURCE given"},
      {{"track", path, path}, "more than one SOURCE; --cameras makes each a camera's"},
      {{"track", "--target", "0", path}, "option '--target': 0 is not in 1..65536"},
      {{"track", "--mask", Path("no.png"), path}, Path("no.png")},
      {{"track", "--mask", path + "," + path, path}, "is not one file, nor one for each of 1 cameras"},
      {{"track", "--calibration", Path("none.yaml"), path}, "none.yaml"},
      {{"track", "--min-share", "2", path}, "min_share: 2 is not in 0..1"},
      {{"track", "--track-patch", "2", path}, "patch_size: 2 is not in 3..32"},
      {{"track", "--points", Path("bad.txt"), path}, "bad.txt:2: '3' is not X Y or X Y CAMERA"},
      {{"track", "--points", Path("camera.txt"), path}, "camera.txt:1: camera 1 is not in 0..0"}};
  for (const auto& [arguments, text] : cases) {
    const Outcome outcome = Glint(arguments);
    EXPECT_EQ(outcome.status, kUsage) << text;
    EXPECT_THAT(outcome.err, HasSubstr(text));
  }
}

TEST_F(CliTest, InterruptFinishesWhatWasSent) {
  const std::string path = WriteImage("interrupt.png", testing::Texture({320, 240}, 1));
  const pid_t child = Start({"stream", path, "--loop", "--format", "json"});
  // Two frames, since one has no summary; the rest of the output may grow faster than it can be read.
  const auto is_second_there = [] {
    std::ifstream file(Path("out"), std::ios::binary);
    std::string out(1 << 20, '\0');
    file.read(out.data(), static_cast<std::streamsize>(out.size()));
    out.resize(static_cast<size_t>(file.gcount()));
    return out.find("}}\n") != out.rfind("}}\n");
  };
  while (!is_second_there()) absl::SleepFor(absl::Milliseconds(5));
  kill(child, SIGINT);
  const Outcome outcome = Wait(child);
  EXPECT_EQ(outcome.status, kInterrupted);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("frames/s"), HasSubstr("0 failed")));
  EXPECT_EQ(outcome.out.substr(outcome.out.size() - 3), "}}\n") << "the last object is whole";
}

TEST_F(CliTest, AStreamOfOnePictureAnswers) {
  const Outcome outcome = Glint({"stream", WriteImage("one.png", testing::Texture({320, 240}, 1))});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("1 frame in "), HasSubstr("0 failed"), HasSubstr("keypoints a frame")));
}

TEST_F(CliTest, LeavesNoSessionBehind) {
  const std::string path = WriteImage("killed.png", testing::Texture({320, 240}, 1));
  for (int i = 0; i < 3; ++i) {
    const pid_t child = Start({"stream", path, "--loop", "--format", "json"});
    while (fs::file_size(Path("out")) == 0) absl::SleepFor(absl::Milliseconds(5));
    kill(child, SIGKILL);
    EXPECT_EQ(Wait(child).status, 128 + SIGKILL);
  }
  while (server_->sessions() > 0) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(Glint({"detect", path}).status, 0);
}

}  // namespace
}  // namespace glint
