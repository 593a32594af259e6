// glint bench as a user runs it, against a server of this process.
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/app/server.h"
#include "tests/bench/json_reader.h"

namespace glint {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;
using Json = std::map<std::string, std::string>;

struct Outcome {
  int status;  // exit status
  std::string out;
  std::string err;
};

std::string Cli() {
  const char* elsewhere = std::getenv("GLINT_CLI_TOOL");
  return elsewhere != nullptr ? elsewhere : GLINT_CLI;
}

class BenchCommandTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string folder = ::testing::TempDir() + "glint-bench-XXXXXX";
    folder_ = new fs::path(mkdtemp(folder.data()));
    ServerOptions options;
    options.listen = {"unix:" + (*folder_ / "socket").string(), "127.0.0.1:0"};
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
    delete folder_;
  }

  static std::string Path(const std::string& name) { return (*folder_ / name).string(); }

  static Outcome Bench(const std::string& arguments, size_t address = 0) {
    const std::string errors = Path("err");
    FILE* const pipe = popen(absl::StrCat("GLINT_SERVER='", server_->addresses()[address], "' TMPDIR='",
                                          folder_->string(), "' '", Cli(), "' bench ", arguments, " 2>", errors)
                                 .c_str(),
                             "r");
    Outcome outcome;
    char buffer[4096];
    for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.out.append(buffer, n);
    const int status = pclose(pipe);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::ifstream file(errors);
    outcome.err = {std::istreambuf_iterator<char>(file), {}};
    return outcome;
  }

  static Server* server_;
  static fs::path* folder_;
};
Server* BenchCommandTest::server_;
fs::path* BenchCommandTest::folder_;

double Number(const Json& json, const std::string& path) {
  const auto found = json.find(path);
  double value = -1;
  if (found == json.end() || !absl::SimpleAtod(found->second, &value)) ADD_FAILURE() << path << " is no number";
  return value;
}

void ExpectLatencies(const Json& json, const std::string& path) {
  const double count = Number(json, path + ".count");
  EXPECT_GT(count, 0);
  EXPECT_LE(Number(json, path + ".min_ns"), Number(json, path + ".p50_ns"));
  EXPECT_LE(Number(json, path + ".p50_ns"), Number(json, path + ".max_ns"));
  EXPECT_LE(Number(json, path + ".mean_ns"), Number(json, path + ".max_ns"));
  // The largest value by another name is not given.
  const auto p999 = json.find(path + ".p99_9_ns");
  ASSERT_NE(p999, json.end());
  EXPECT_EQ(p999->second == "null", count < 1000) << count;
}

// Whatever this machine can read: every kind of source is measured, or named with the reason why not.
TEST_F(BenchCommandTest, EnergyIsMeasuredOrSaidToBeUnreadable) {
  const Outcome table = Bench("--energy --rounds 2 --duration 0.4 --warm-up 0.1 --size 320x240");
  ASSERT_EQ(table.status, 0) << table.err << table.out;
  EXPECT_THAT(table.out, HasSubstr("mJ a frame above idle"));
  const Outcome outcome = Bench("--energy --duration 0.4 --warm-up 0.1 --size 320x240 --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
  const auto json = bench::testing::ReadJson(outcome.out);
  ASSERT_TRUE(json.has_value()) << outcome.out;
  EXPECT_EQ(Number(*json, "energy.frames"), Number(*json, "server.frames"));
  EXPECT_GE(Number(*json, "energy.seconds"), 0.4);
  EXPECT_GE(Number(*json, "energy.idle_seconds"), 2);
  for (const char* kind : {"nvml", "rapl", "ina3221"}) EXPECT_THAT(outcome.out, HasSubstr(kind)) << outcome.out;
}

TEST_F(BenchCommandTest, PrintsEveryFieldAsJson) {
  const Outcome outcome = Bench(
      "--echo --rounds 2 --duration 1 --warm-up 0.1 --size 320x240 --pixel-format bgr8 --features 77 "
      "--no-descriptors --json");
  ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
  const auto read = bench::testing::ReadJson(outcome.out);
  ASSERT_TRUE(read.has_value()) << outcome.out;
  Json json = *read;
  EXPECT_EQ(json["tool"], "glint bench");
  EXPECT_EQ(json["schema"], "1");
  EXPECT_THAT(json["command"], HasSubstr("--pixel-format bgr8"));
  EXPECT_EQ(json["server_info.backend"], "cpu");
  EXPECT_EQ(json["server_info.lanes"], "1");
  EXPECT_EQ(json["detector.max_features"], "77");
  EXPECT_EQ(json["detector.descriptors"], "false");
  EXPECT_EQ(json["frames.format"], "bgr8");
  EXPECT_EQ(json["frames.width"], "320");
  EXPECT_EQ(json["frames.height"], "240");
  EXPECT_GT(Number(json, "frames.bytes_per_frame"), 3 * 320 * 240);
  EXPECT_EQ(json["load.loop"], "closed");
  EXPECT_EQ(json["load.streams"], "1");
  EXPECT_EQ(json["load.in_flight"], "1");
  EXPECT_EQ(json["load.rounds"], "2");
  EXPECT_EQ(json["load.round_seconds"], "0.5");
  for (const std::string side : {"server", "echo"}) {
    ExpectLatencies(json, side + ".latency");
    EXPECT_EQ(Number(json, side + ".ok"), Number(json, side + ".frames"));
    EXPECT_EQ(json[side + ".unanswered"], "0");
    EXPECT_GT(Number(json, side + ".frames_per_s"), 0);
    EXPECT_GT(Number(json, side + ".generator_cpu_seconds"), 0);
    EXPECT_LT(Number(json, side + ".generator_copied_bytes_per_frame"), 18);
    EXPECT_GT(Number(json, side + ".round_p50_ns.1"), 0);
    // All values are in the histogram.
    double values = 0;
    for (int i = 0; json.count(absl::StrCat(side, ".latency.buckets.", i, ".1")) > 0; ++i) {
      values += Number(json, absl::StrCat(side, ".latency.buckets.", i, ".1"));
    }
    EXPECT_EQ(values, Number(json, side + ".latency.count"));
  }
  EXPECT_NEAR(Number(json, "echo.reply_bytes_per_frame"), Number(json, "server.reply_bytes_per_frame"), 16);
  EXPECT_GT(Number(json, "server.keypoints_per_frame"), 70);
  for (const char* part : {"outside_server", "server_total", "server_lane", "server_stages.decode",
                           "server_stages.detect", "server_stages.queue"}) {
    ExpectLatencies(json, absl::StrCat("server.", part));
  }
  const double floor = Number(json, "echo.latency.p50_ns") + Number(json, "server.server_lane.p50_ns");
  EXPECT_NEAR(Number(json, "ratio.p50"), Number(json, "server.latency.p50_ns") / floor, 1e-4);
  EXPECT_GT(Number(json, "ratio.round_p50.1"), 0);
  const double rate = Number(json, "server.frames_per_s") / Number(json, "echo.frames_per_s");
  EXPECT_NEAR(Number(json, "ratio.frames_per_s"), rate, 1e-4 * rate);
}

TEST_F(BenchCommandTest, MeasuresPairsAsItMeasuresFrames) {
  for (const std::string task : {"stereo", "match", "match_descriptors"}) {
    SCOPED_TRACE(task);
    const Outcome outcome =
        Bench(absl::StrCat("--task ", task, " --echo --rounds 2 --duration 0.6 --warm-up 0.1 ",
                           task == "match_descriptors" ? "" : "--size 320x240 ", "--features 300 --json"));
    ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
    const auto read = bench::testing::ReadJson(outcome.out);
    ASSERT_TRUE(read.has_value()) << outcome.out;
    Json json = *read;
    EXPECT_EQ(json["task"], task);
    const bool images = task != "match_descriptors";
    EXPECT_EQ(json["frames.width"], images ? "320" : "0");
    EXPECT_EQ(json["frames.format"], images ? "gray8" : "");
    EXPECT_GT(Number(json, "frames.bytes_per_frame"), images ? 2 * 320 * 240 : 2 * 300 * 32);
    EXPECT_EQ(Number(json, "server.ok"), Number(json, "server.frames"));
    // Both images; a third of the descriptors match, nearly all of the features do.
    EXPECT_NEAR(Number(json, "server.keypoints_per_frame"), images ? 600 : 0, images ? 60 : 0);
    EXPECT_GT(Number(json, "server.matches_per_frame"), 99);
    for (const char* part : {"server_total", "server_lane", "server_stages.match", "server_stages.queue"}) {
      ExpectLatencies(json, absl::StrCat("server.", part));
    }
    EXPECT_GT(Number(json, "server.server_stages.match.min_ns"), 0);
    EXPECT_GE(Number(json, "server.server_lane.min_ns"), Number(json, "server.server_stages.match.min_ns"));
    EXPECT_LE(Number(json, "server.server_lane.p50_ns"), Number(json, "server.server_total.p50_ns"));
    EXPECT_NEAR(Number(json, "echo.reply_bytes_per_frame"), Number(json, "server.reply_bytes_per_frame"), 64);
    EXPECT_GT(Number(json, "ratio.p50"), 0);
  }
  const Outcome table = Bench("--task stereo --duration 0.2 --warm-up 0 --size 320x240");
  EXPECT_THAT(table.out, HasSubstr("a made-up pair of 320x240, sent as gray8, "));
  EXPECT_THAT(table.out, HasSubstr(" pairs/s"));
  EXPECT_THAT(table.out, HasSubstr("    match "));
  EXPECT_THAT(Bench("--duration 0.2 --warm-up 0 --size 160x120").out, ::testing::Not(HasSubstr("    match ")));
}

TEST_F(BenchCommandTest, TakesFilesTwoByTwoForPairs) {
  for (const char* name : {"1.pgm", "2.pgm", "3.pgm", "4.pgm"}) {
    std::ofstream file(Path(name), std::ios::binary);
    file << "P5 160 120 255\n";
    for (int i = 0; i < 160 * 120; ++i) file.put(static_cast<char>(i * i % 251));
  }
  const std::string two = Path("1.pgm") + " " + Path("2.pgm"), four = two + " " + Path("3.pgm") + " " + Path("4.pgm");
  for (const std::string shared : {"", "--shared-memory "}) {
    const Outcome pairs = Bench("--task stereo --duration 0.2 --warm-up 0 --json " + shared + four);
    ASSERT_EQ(pairs.status, 0) << pairs.err;
    const auto json = bench::testing::ReadJson(pairs.out);
    ASSERT_TRUE(json.has_value());
    EXPECT_EQ(json->at("frames.pictures"), "2");
    EXPECT_EQ(json->at("frames.picture"), "2 pairs (160x120)");
    EXPECT_GT(Number(*json, "server.matches_per_frame"), 0);
  }
  const Outcome odd = Bench("--task match " + four + " " + Path("1.pgm"));
  EXPECT_EQ(odd.status, 2);
  EXPECT_THAT(odd.err, HasSubstr("option '--task': match: 5 FILEs are no pairs"));
  EXPECT_THAT(Bench("--task match --mask " + Path("1.pgm") + " " + two).err,
              HasSubstr("option '--mask': not for pairs"));
}

TEST_F(BenchCommandTest, OpenLoopOverTcpInATable) {
  const Outcome outcome =
      Bench("--rate 100 --streams 2 --duration 1 --warm-up 0.2 --size 160x120 --echo --rounds 1", 1);
  ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("2 streams, open loop at 100 frames/s"));
  EXPECT_THAT(outcome.out, HasSubstr(": 100 frames answered"));
  EXPECT_THAT(outcome.out, HasSubstr("sent late by this process"));
  EXPECT_THAT(outcome.out, HasSubstr("echo, 127.0.0.1:"));
  EXPECT_THAT(outcome.out, HasSubstr("server / (echo + detector): p50 "));
}

TEST_F(BenchCommandTest, SendsFilesAsPixelsOrAsTheyAre) {
  const std::string path = Path("gray.pgm");
  std::ofstream file(path, std::ios::binary);
  file << "P5 160 120 255\n";
  for (int i = 0; i < 160 * 120; ++i) file.put(static_cast<char>(i * i % 251));
  file.close();
  const Outcome pixels = Bench("--duration 0.2 --warm-up 0 --json --output " + Path("report") + " " + path);
  ASSERT_EQ(pixels.status, 0) << pixels.err;
  EXPECT_EQ(pixels.out, "");
  std::ifstream report(Path("report"));
  const auto json = bench::testing::ReadJson({std::istreambuf_iterator<char>(report), {}});
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(json->at("frames.width"), "160");
  // A server does not decode PGM: it says so for each frame, and the tool counts.
  const Outcome as_it_is = Bench("--duration 0.2 --warm-up 0 --pixel-format file " + path);
  EXPECT_EQ(as_it_is.status, 1);
  EXPECT_THAT(as_it_is.out, HasSubstr(" INVALID_ARGUMENT"));
}

TEST_F(BenchCommandTest, PutsPicturesIntoSharedMemory) {
  const std::string small = Path("small.pgm"), large = Path("large.pgm");
  for (const auto& [path, side] : {std::pair(small, 100), std::pair(large, 300)}) {
    std::ofstream file(path, std::ios::binary);
    file << "P5 " << side << " " << side << " 255\n";
    for (int i = 0; i < side * side; ++i) file.put(static_cast<char>(i * i % 251));
  }
  const std::string arguments = "--duration 0.4 --warm-up 0.1 --echo --rounds 1 --json " + small + " " + large;
  const auto sent = bench::testing::ReadJson(Bench(arguments).out);
  const Outcome outcome = Bench("--shared-memory " + arguments);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto shared = bench::testing::ReadJson(outcome.out);
  ASSERT_TRUE(sent.has_value() && shared.has_value()) << outcome.out;
  EXPECT_EQ(shared->at("frames.format"), "gray8 in shared memory");
  EXPECT_GT(Number(*sent, "frames.bytes_per_frame"), 100 * 100);
  EXPECT_LT(Number(*shared, "frames.bytes_per_frame"), 100);
  EXPECT_GT(Number(*shared, "server.keypoints_per_frame"), 100);
  EXPECT_NEAR(Number(*shared, "server.keypoints_per_frame"), Number(*sent, "server.keypoints_per_frame"),
              0.2 * Number(*sent, "server.keypoints_per_frame"));
  ExpectLatencies(*shared, "server.server_stages.serialize");
  ExpectLatencies(*shared, "echo.latency");
}

TEST_F(BenchCommandTest, ExitStatusTellsWhatWentWrong) {
  const Outcome usage = Bench("--streams 0");
  EXPECT_EQ(usage.status, 2);
  EXPECT_THAT(usage.err, HasSubstr("option '--streams': 0 is not in 1..1024"));
  EXPECT_EQ(Bench("/no/such/file.png").status, 1);
  EXPECT_EQ(Bench("--echo-at 127.0.0.1:1 --duration 0.1 --warm-up 0").status, 69);
  EXPECT_EQ(Bench("--duration 0.1 --warm-up 0 --output /no/such/folder/report").status, 74);
}

TEST_F(BenchCommandTest, LeavesNothingBehind) {
  EXPECT_EQ(Bench("--echo --rounds 1 --duration 0.1 --warm-up 0 --size 64x64").status, 0);
  for (const auto& entry : fs::directory_iterator(*folder_)) {
    EXPECT_THAT(entry.path().filename().string(), ::testing::Not(HasSubstr("glint-echo")));
  }
}

}  // namespace
}  // namespace glint
