// glint-microbench as a user runs it, on a small picture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "bench/jpeg_input.h"
#include "tests/bench/json_reader.h"

namespace glint::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Outcome {
  int exit_code;
  std::string out;  // standard output, and standard error if asked for
};

std::string Tool() {
  const char* elsewhere = std::getenv("GLINT_BENCH_TOOL");
  return elsewhere != nullptr ? elsewhere : GLINT_BENCH_BUILT_AT;
}

Outcome RunTool(const std::string& arguments) {
  Outcome outcome;
  FILE* pipe = popen(("'" + Tool() + "' " + arguments).c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.out.append(buffer, n);
  const int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

// Blocks of 8 pixels of changing brightness, with a texture so that few scores tie: hundreds of corners.
std::string PictureFile() {
  const std::string path = ::testing::TempDir() + "/glint_bench_tool_test.pgm";
  std::ofstream file(path, std::ios::binary);
  file << "P5 160 120 255\n";
  for (int y = 0; y < 120; ++y) {
    for (int x = 0; x < 160; ++x) file.put(static_cast<char>((x / 8 * 89 + y / 8 * 151 + (x * 7 + y * 13) % 11) % 256));
  }
  return path;
}

double NumberAt(const std::map<std::string, std::string>& json, const std::string& path) {
  const auto found = json.find(path);
  double value = -1;
  if (found == json.end() || !absl::SimpleAtod(found->second, &value)) ADD_FAILURE() << path << " is no number";
  return value;
}

TEST(GlintBench, PrintsEveryFieldAsJson) {
  const std::string arguments = "detector --backend cpu --preset orb --image " + PictureFile() +
                                " --levels 3 --features 100 --describe --repeat 3 --json";
  const Outcome outcome = RunTool(arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out;
  auto json = testing::ReadJson(outcome.out);
  ASSERT_TRUE(json.has_value()) << outcome.out;
  EXPECT_THAT((*json)["command"], HasSubstr(arguments));
  for (const char* field : {"commit", "processor", "device"}) EXPECT_NE((*json)[field], "") << field;
  EXPECT_EQ((*json)["backend"], "cpu");
  EXPECT_EQ((*json)["timing"], "call");
  EXPECT_EQ((*json)["image.width"], "160");
  EXPECT_EQ((*json)["image.height"], "120");
  EXPECT_EQ((*json)["options.preset"], "orb");
  EXPECT_EQ((*json)["options.levels"], "3");
  EXPECT_EQ((*json)["options.features"], "100");
  EXPECT_EQ((*json)["options.describe"], "true");
  EXPECT_EQ((*json)["samples"], "3");
  EXPECT_GT(NumberAt(*json, "keypoints"), 0);
  EXPECT_GT(NumberAt(*json, "floors_us.read_pass"), 0);
  EXPECT_GT(NumberAt(*json, "stages_us.detect"), 0);
  const double median = NumberAt(*json, "time_us.median");
  EXPECT_LE(NumberAt(*json, "time_us.min"), NumberAt(*json, "time_us.p10"));
  EXPECT_LE(NumberAt(*json, "time_us.p10"), median);
  EXPECT_LE(median, NumberAt(*json, "time_us.p90"));
}

TEST(GlintBench, ComparesWithOpenCv) {
  const std::string file = PictureFile();
  for (const std::string preset : {"orb", "oriented_fast"}) {
    const Outcome outcome =
        RunTool("detector --image mirror4:" + file + " --preset " + preset + " --repeat 2 --peer opencv --json 2>&1");
    if (outcome.exit_code != 0) {
      ASSERT_THAT(outcome.out, HasSubstr("built without OpenCV"));
      GTEST_SKIP() << outcome.out;
    }
    auto json = testing::ReadJson(outcome.out);
    ASSERT_TRUE(json.has_value()) << outcome.out;
    EXPECT_EQ((*json)["image.width"], "320");
    EXPECT_THAT((*json)["peers.0.name"], HasSubstr(preset == "orb" ? "cv::ORB" : "cv::FAST"));
    EXPECT_GT(NumberAt(*json, "peers.0.keypoints"), 0);
    EXPECT_NEAR(NumberAt(*json, "peers.0.ratio"),
                NumberAt(*json, "peers.0.time_us.median") / NumberAt(*json, "time_us.median"), 1e-3);
    EXPECT_EQ(json->count("peers.0.same_keypoints"), preset == "orb" ? 1u : 0u);
    if (preset == "orb") {
      EXPECT_EQ((*json)["peers.0.same_keypoints"], "true");
    }
  }
}

TEST(GlintBench, TimesEveryStage) {
  const Outcome outcome = RunTool("stages --image mirror4:" + PictureFile() + " --repeat 2 --clock cpu --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out;
  auto json = testing::ReadJson(outcome.out);
  ASSERT_TRUE(json.has_value()) << outcome.out;
  EXPECT_EQ((*json)["clock"], "cpu");
  EXPECT_GT(NumberAt(*json, "floors_us.read_pass"), 0);
  const char* stages[] = {"fast_raw", "fast_suppressed", "resize",     "blur",
                          "harris",   "orientation",     "descriptor", "remap"};
  for (size_t i = 0; i < std::size(stages); ++i) {
    const std::string path = "stages." + std::to_string(i) + ".";
    EXPECT_EQ((*json)[path + "name"], stages[i]);
    EXPECT_GT(NumberAt(*json, path + "time_us.median"), 0);
  }
  EXPECT_GT(NumberAt(*json, "stages.0.items"), NumberAt(*json, "stages.1.items"));
}

TEST(GlintBench, RectifiesTheSameOnTheGpu) {
  const Outcome outcome = RunTool("remap --size 320x240 --features 300 --repeat 2 --json 2>&1");
  if (outcome.exit_code != 0) {
    ASSERT_THAT(outcome.out, HasSubstr("CUDA"));
    GTEST_SKIP() << outcome.out;
  }
  auto json = testing::ReadJson(outcome.out);
  ASSERT_TRUE(json.has_value()) << outcome.out;
  EXPECT_EQ((*json)["sizes.0.width"], "320");
  for (const char* times : {"kernel_us", "empty_us", "in_row_us", "on_device_us", "by_host_us", "before_us",
                            "depth_kernels_us", "depth_in_row_us", "depth_on_device_us", "depth_by_host_us"}) {
    EXPECT_GT(NumberAt(*json, std::string("sizes.0.") + times + ".median"), 0) << times;
  }
  EXPECT_GT(NumberAt(*json, "sizes.0.matches"), 30);
  EXPECT_EQ((*json)["sizes.0.same_pixels"], "true");
  EXPECT_EQ((*json)["sizes.0.same_pair"], "true");
  EXPECT_GT(NumberAt(*json, "sizes.0.depths"), 50000);
  EXPECT_EQ((*json)["sizes.0.same_depths"], "true");
}

TEST(GlintBench, FindsTheSameCornersAsOpenCv) {
  const Outcome outcome = RunTool("stages --image mirror4:" + PictureFile() + " --repeat 1 --peer opencv --json 2>&1");
  if (outcome.exit_code != 0) {
    ASSERT_THAT(outcome.out, HasSubstr("built without OpenCV"));
    GTEST_SKIP() << outcome.out;
  }
  auto json = testing::ReadJson(outcome.out);
  ASSERT_TRUE(json.has_value()) << outcome.out;
  for (const char* stage : {"stages.0.", "stages.1."}) {
    EXPECT_EQ((*json)[stage + std::string("peer")], "cv::FAST");
    EXPECT_EQ((*json)[stage + std::string("peer_items")], (*json)[stage + std::string("items")]);
  }
}

TEST(GlintBench, FindsTheSameMatchesAsOpenCv) {
  for (const std::string k : {"1", "3"}) {
    const Outcome outcome =
        RunTool("match --sizes 70,33 --k " + k + " --repeat 2 --clock cpu --peer opencv --json 2>&1");
    if (outcome.exit_code != 0) {
      ASSERT_THAT(outcome.out, HasSubstr("built without OpenCV"));
      GTEST_SKIP() << outcome.out;
    }
    auto json = testing::ReadJson(outcome.out);
    ASSERT_TRUE(json.has_value()) << outcome.out;
    EXPECT_EQ((*json)["cross_check"], k == "1" ? "true" : "false");
    EXPECT_EQ((*json)["sizes.0.size"], "70");
    EXPECT_EQ((*json)["sizes.1.size"], "33");
    for (const std::string size : {"sizes.0.", "sizes.1."}) {
      EXPECT_GT(NumberAt(*json, size + "time_us.median"), 0);
      EXPECT_GT(NumberAt(*json, size + "matches"), 9);
      EXPECT_EQ((*json)[size + "same_matches"], "true");
    }
  }
}

TEST(GlintBench, RefusesSetsThatMatchingDoesNotTake) {
  const std::pair<const char*, const char*> cases[] = {
      {"--sizes 0", "sizes: 0 is not in 1..262143"},
      {"--sizes x", "sizes: x is no number"},
      {"--bytes 33", "bytes: 33 is not a multiple of 8"},
      {"--k 9", "k: 9 is not in 1..8"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = RunTool("match " + std::string(arguments) + " 2>&1");
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.out, HasSubstr(message));
  }
}

TEST(GlintBench, TracksBesideOpenCv) {
  const Outcome outcome = RunTool("track --image " + PictureFile() +
                                  " --points 20,50 --levels 2 --patch-size 15 --repeat 2 --clock cpu --peer opencv "
                                  "--json 2>&1");
  if (outcome.exit_code != 0) {
    ASSERT_THAT(outcome.out, HasSubstr("built without OpenCV"));
    GTEST_SKIP() << outcome.out;
  }
  auto json = testing::ReadJson(outcome.out);
  ASSERT_TRUE(json.has_value()) << outcome.out;
  EXPECT_EQ((*json)["patch_size"], "15");
  EXPECT_EQ((*json)["coarse_patch_size"], "15");
  EXPECT_EQ((*json)["points.0.points"], "20");
  EXPECT_EQ((*json)["points.1.points"], "50");
  for (const std::string points : {"points.0.", "points.1."}) {
    EXPECT_GT(NumberAt(*json, points + "tracked"), 10);
    EXPECT_GE(NumberAt(*json, points + "iterations"), 2);
    EXPECT_GT(NumberAt(*json, points + "call_us.median"), 0);
    EXPECT_GT(NumberAt(*json, points + "kept_us.median"), 0);
    EXPECT_GT(NumberAt(*json, points + "call_ratio"), 0);
  }
}

TEST(GlintBench, TracksWholeFramesOfSeveralCameras) {
  const Outcome outcome =
      RunTool("track --image " + PictureFile() + " --points 40 --cameras 1,2 --repeat 3 --json 2>&1");
  if (outcome.exit_code != 0) {
    ASSERT_THAT(outcome.out, HasSubstr("built without the service"));
    GTEST_SKIP() << outcome.out;
  }
  auto json = testing::ReadJson(outcome.out);
  ASSERT_TRUE(json.has_value()) << outcome.out;
  for (const int i : {0, 1, 2, 3}) {
    const std::string frame = "points.0.frames." + std::to_string(i) + ".";
    EXPECT_EQ((*json)[frame + "cameras"], i < 2 ? "1" : "2");
    EXPECT_EQ((*json)[frame + "detects"], i % 2 == 0 ? "false" : "true");
    EXPECT_GT(NumberAt(*json, frame + "tracks"), i < 2 ? 20 : 40);
    EXPECT_GT(NumberAt(*json, frame + "us.median"), 0);
  }
}

TEST(GlintBench, RefusesWhatTrackingDoesNotTake) {
  const std::pair<const char*, const char*> cases[] = {
      {"--points 0", "points: 0 is not in 1..65536"},
      {"--cameras 9 --repeat 1", "cameras: 9 is not in 1..8"},
      {"--cameras x", "cameras: x is no number"},
      {"--patch-size 33", "patch_size: 33 is not in 3..32"},
      {"--levels 9", "levels: 9 is not in 1..8"},
      {"--backend cuda --peer opencv", "peer: opencv is measured beside --backend cpu only"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = RunTool("track --image " + PictureFile() + " " + std::string(arguments) + " 2>&1");
    if (outcome.out.find("built without the service") != std::string::npos) continue;
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.out, HasSubstr(message));
  }
}

// Whatever this machine can read: every kind of source is measured, or named with the reason why not.
TEST(GlintBench, EnergyKeepsThePace) {
  const Outcome outcome = RunTool("energy --image " + PictureFile() + " --rate 50 --seconds 0.5 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out;
  auto json = testing::ReadJson(outcome.out);
  ASSERT_TRUE(json.has_value()) << outcome.out;
  EXPECT_GE(NumberAt(*json, "energy.frames"), 1);
  EXPECT_LE(NumberAt(*json, "energy.frames"), 25);
  EXPECT_GE(NumberAt(*json, "energy.seconds"), 0.5);
  EXPECT_LE(NumberAt(*json, "frames_per_second"), 50);
  EXPECT_GT(NumberAt(*json, "time_us.median"), 0);
  for (const char* kind : {"nvml", "rapl", "ina3221"}) EXPECT_THAT(outcome.out, HasSubstr(kind));
}

TEST(GlintBench, CountsFramesOfSeveralLanes) {
  const Outcome outcome = RunTool("lanes --image " + PictureFile() + " --lane-counts 1,3 --repeat 4 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out;
  auto json = testing::ReadJson(outcome.out);
  ASSERT_TRUE(json.has_value()) << outcome.out;
  EXPECT_EQ((*json)["lanes.0.lanes"], "1");
  EXPECT_EQ((*json)["lanes.1.lanes"], "3");
  EXPECT_GT(NumberAt(*json, "lanes.0.frames_per_second"), 0);
  EXPECT_GT(NumberAt(*json, "lanes.1.frames_per_second"), 0);
  EXPECT_EQ((*json)["floor"], "read_pass");
  EXPECT_GT(NumberAt(*json, "floor_per_second"), 0);
}

// Without a device: the levels, the launches in the order of the stages, and memory.
TEST(GlintBench, PlansAFrame) {
  const Outcome outcome = RunTool("plan --preset orb --size 640x480 --sm-limit 8 --format json 2>&1");
  if (outcome.exit_code != 0) {
    ASSERT_THAT(outcome.out, HasSubstr("built without CUDA"));
    GTEST_SKIP() << outcome.out;
  }
  auto json = testing::ReadJson(outcome.out);
  ASSERT_TRUE(json.has_value()) << outcome.out;
  EXPECT_EQ((*json)["multiprocessors"], "8");
  EXPECT_EQ((*json)["multiprocessors_given"], "true");
  EXPECT_EQ((*json)["levels.0.width"], "640");
  EXPECT_EQ((*json)["levels.1.height"], "400");
  EXPECT_EQ(json->count("levels.8.width"), 0u);
  EXPECT_GT(NumberAt(*json, "bytes.scratch"), 640 * 480);
  EXPECT_GT(NumberAt(*json, "bytes.result"), 0);
  int launches = 0;
  int stage = 0;
  const std::string stages[] = {"pyramid", "corners", "select", "describe"};
  for (; json->count("launches." + std::to_string(launches) + ".kernel") == 1; ++launches) {
    const std::string path = "launches." + std::to_string(launches) + ".";
    while (stage < 4 && (*json)[path + "stage"] != stages[stage]) ++stage;
    EXPECT_LT(stage, 3) << path;  // in that order; no descriptors are asked for
    EXPECT_GT(NumberAt(*json, path + "grid.0"), 0);
    EXPECT_GT(NumberAt(*json, path + "block.0"), 0);
  }
  EXPECT_GT(launches, 3);
  EXPECT_EQ((*json)["launches.0.kernel"], "level");
}

TEST(GlintBench, PlansFollowTheMultiprocessors) {
  const Outcome all = RunTool("plan --preset orb --size 3840x2160 2>&1");
  if (all.exit_code != 0) GTEST_SKIP() << all.out;
  const Outcome few = RunTool("plan --preset orb --size 3840x2160 --sm-limit 8");
  EXPECT_THAT(all.out, HasSubstr("132 multiprocessors (default"));
  EXPECT_THAT(few.out, HasSubstr("8 multiprocessors\n"));
  EXPECT_THAT(few.out, HasSubstr("strips"));
  EXPECT_THAT(all.out, Not(HasSubstr("strips")));
  EXPECT_THAT(all.out, HasSubstr("image in parts, part 2 of 2"));
}

TEST(GlintBench, DecodesRenderedPicturesAtEachQuality) {
  const Outcome outcome =
      RunTool("jpeg --size 131x97 --qualities 30,95 --sampling 422 --restart-rows 2 --features 50 --repeat 5 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out;
  auto json = testing::ReadJson(outcome.out);
  ASSERT_TRUE(json.has_value()) << outcome.out;
  EXPECT_EQ((*json)["backend"], "cpu");
  EXPECT_EQ((*json)["features"], "50");
  for (const char* field : {"commit", "processor", "device"}) EXPECT_NE((*json)[field], "") << field;
  for (const std::string file : {"files.0.", "files.1."}) {
    EXPECT_EQ((*json)[file + "source"], "rendered");
    EXPECT_EQ((*json)[file + "width"], "131");
    EXPECT_EQ((*json)[file + "height"], "97");
    EXPECT_EQ((*json)[file + "sampling"], "4:2:2");
    EXPECT_EQ((*json)[file + "restart_intervals"], "7");  // 13 rows of blocks
    EXPECT_GT(NumberAt(*json, file + "keypoints"), 0);
    EXPECT_GT(NumberAt(*json, file + "plan_us.median"), 0);
    // Each step holds the one before it.
    EXPECT_GT(NumberAt(*json, file + "header_us.min"), 0);
    EXPECT_LT(NumberAt(*json, file + "header_us.min"), NumberAt(*json, file + "cpu.decode_us.min"));
    EXPECT_LT(NumberAt(*json, file + "cpu.decode_us.min"), NumberAt(*json, file + "cpu.frame_us.min"));
    EXPECT_EQ(json->count(file + "gpu.decode_us.median"), 0u);
  }
  EXPECT_EQ((*json)["files.0.quality"], "30");
  EXPECT_EQ((*json)["files.1.quality"], "95");
  EXPECT_LT(NumberAt(*json, "files.0.bytes"), NumberAt(*json, "files.1.bytes"));
  EXPECT_EQ(json->count("files.2.bytes"), 0u);
}

TEST(GlintBench, DecodesJpegFilesAsTheyAre) {
  const std::string path = ::testing::TempDir() + "/glint_bench_tool_test.jpg";
  const auto file = decode::WriteJpeg(RenderPicture({64, 48}), 70);
  ASSERT_TRUE(file.ok()) << file.status();
  std::ofstream(path, std::ios::binary) << *file;
  const Outcome as_it_is = RunTool("jpeg --image " + path + " --repeat 1 --json");
  ASSERT_EQ(as_it_is.exit_code, 0) << as_it_is.out;
  auto json = testing::ReadJson(as_it_is.out);
  ASSERT_TRUE(json.has_value()) << as_it_is.out;
  EXPECT_EQ((*json)["files.0.source"], path);
  EXPECT_EQ((*json)["files.0.bytes"], std::to_string(file->size()));
  EXPECT_EQ((*json)["files.0.sampling"], "grey");
  EXPECT_EQ((*json)["files.0.restart_intervals"], "6");
  EXPECT_EQ(json->count("files.0.quality"), 0u);

  const Outcome encoded = RunTool("jpeg --image " + path + " --qualities 70 --repeat 1");
  ASSERT_EQ(encoded.exit_code, 0) << encoded.out;
  for (const char* word : {"64x48", "quality 70", "4:2:0, 1 restart intervals", "libjpeg-turbo: file to luma"}) {
    EXPECT_THAT(encoded.out, HasSubstr(word));
  }
}

// Where there is no GPU, it says so.
TEST(GlintBench, DecodesOnTheGpuWhatLibjpegDoes) {
  for (const std::string options : {"--size 333x222 --qualities 20,80,100", "--size 64x48 --sampling grey"}) {
    const Outcome outcome = RunTool("jpeg " + options + " --backend cuda --repeat 2 --json 2>&1");
    if (outcome.exit_code != 0) {
      ASSERT_THAT(outcome.out, HasSubstr("CUDA"));
      GTEST_SKIP() << outcome.out;
    }
    auto json = testing::ReadJson(outcome.out);
    ASSERT_TRUE(json.has_value()) << outcome.out;
    EXPECT_EQ((*json)["files.0.gpu.same_luma"], "true");
    EXPECT_EQ((*json)["files.0.gpu.same_features"], "true");
    for (const std::string time : {"decode_us", "device_us", "frame_us"}) {
      EXPECT_GT(NumberAt(*json, "files.0.gpu." + time + ".median"), 0) << time;
    }
    for (const char* stage : {"upload", "stuffing", "symbols", "coefficients", "luma", "status"}) {
      EXPECT_GT(NumberAt(*json, std::string("files.0.gpu.stages_us.") + stage), 0) << stage;
    }
  }
}

TEST(GlintBench, PrintsATableForPeople) {
  const Outcome outcome = RunTool("detector --image " + PictureFile() + " --repeat 1");
  ASSERT_EQ(outcome.exit_code, 0);
  for (const char* word : {"median", "p10", "p90", "keypoints", "floor: read_pass", "160x120"}) {
    EXPECT_THAT(outcome.out, HasSubstr(word));
  }
}

TEST(GlintBench, SaysWhatIsWrong) {
  const std::string image = " --image " + PictureFile() + " ";
  const struct {
    std::string arguments;
    int exit_code;
    const char* message;
  } cases[] = {
      {"", 2, "glint-microbench detector --image FILE"},
      {"unheard-of", 2, "glint-microbench detector --image FILE"},
      {"detector", 2, "glint-microbench: image: no file was given"},
      {"detector --image /nowhere.png", 1, "glint-microbench: /nowhere.png: No such file or directory"},
      {"detector --backend tpu" + image, 2, "glint-microbench: backend: \"tpu\" is not one of cpu, cuda"},
      {"detector --preset sift" + image, 2, "preset: \"sift\" is not one of"},
      {"detector --levels 0" + image, 2, "levels: 0 is not in 1..12"},
      {"detector --repeat 0" + image, 2, "repeat: 0 is not in 1..1000000"},
      {"detector --threads 0" + image, 2, "threads: 0 is not in 1..256"},
      {"detector --peer vlfeat" + image, 2, "peer: \"vlfeat\" is not one of none, opencv"},
      {"detector --orientation up" + image, 2, "orientation: \"up\" is not one of intensity_centroid, none"},
      {"detector --clock sun" + image, 2, "clock: \"sun\" is not one of wall, cpu"},
      {"detector --clock cpu --threads 2" + image, 2, "clock: cpu needs --backend cpu --threads 1"},
      {"stages --fast-threshold 0" + image, 2, "fast_threshold: 0 is not in 1..254"},
      {"stages", 2, "glint-microbench: image: no file was given"},
      {"energy --rate -1" + image, 2, "rate: -1 is not in 0..100000"},
      {"energy --seconds 0" + image, 2, "seconds: 0 is not in 0.1..3600"},
      {"energy --clock cpu" + image, 2, "clock: energy is of wall time"},
      {"lanes --lane-counts 0" + image, 2, "lane-counts: 0 is not in 1..256"},
      {"lanes --lane-counts many" + image, 2, "lane-counts: many is no number"},
      {"jpeg", 2, "image: no file was given, and no size to render"},
      {"jpeg --size 64x48" + image, 2, "size: is of a rendered picture, and there is an image"},
      {"jpeg --size 64", 2, "size: \"64\" is not WIDTHxHEIGHT"},
      {"jpeg --image /nowhere.jpg", 1, "glint-microbench: /nowhere.jpg: No such file or directory"},
      {"jpeg --qualities 101" + image, 2, "quality: 101 is not in 1..100"},
      {"jpeg --qualities best" + image, 2, "qualities: best is no number"},
      {"jpeg --sampling 411" + image, 2, "sampling: \"411\" is not one of 420, 422, 440, 444, grey"},
      {"jpeg --restart-rows -1" + image, 2, "restart_rows: -1 is not in 0..65535"},
      {"jpeg --pageable --backend cuda" + image, 2, "pageable: files are copied into pinned memory"},
      {"jpeg --device-resident --backend cuda" + image, 2, "device-resident: files come from the host"},
      {"jpeg --repeat 0" + image, 2, "repeat: 0 is not in 1..1000000"},
      {"plan", 2, "size: \"\" is not WIDTHxHEIGHT"},
      {"remap --device-resident", 2, "device-resident: pairs come from the host"},
      {"remap --size 640", 2, "size: \"640\" is not WIDTHxHEIGHT"},
      {"plan --size 640", 2, "size: \"640\" is not WIDTHxHEIGHT"},
      {"plan --size 640x-1", 2, "height"},
      {"plan --size 20000x480", 2, "width"},
      {"plan --size 640x480 --sm-limit -1", 2, "sm-limit: -1 is not in 0..1024"},
      {"plan --size 640x480 --format xml", 2, "format: \"xml\" is not one of text, json"},
      {"plan --size 640x480 --preset sift", 2, "preset: \"sift\" is not one of"},
      {"detector --device-resident" + image, 2, "device-resident: needs --backend cuda"},
      {"detector --sm-limit 8" + image, 2, "sm-limit: needs --backend cuda"},
  };
  for (const auto& c : cases) {
    const Outcome outcome = RunTool(c.arguments + " 2>&1");
    EXPECT_EQ(outcome.exit_code, c.exit_code) << c.arguments;
    EXPECT_THAT(outcome.out, HasSubstr(c.message)) << c.arguments;
  }
}

TEST(GlintBench, NamesTheStateOfAMissingDevice) {
  const Outcome outcome = RunTool("detector --backend cuda --device 99 --image " + PictureFile() + " 2>&1");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("CUDA"));
}

}  // namespace
}  // namespace glint::bench
