// glint-microbench: flags to options, run, print.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/detector_bench.h"
#include "bench/energy_bench.h"
#include "bench/jpeg_bench.h"
#include "bench/lanes_bench.h"
#include "bench/match_bench.h"
#include "bench/plan_bench.h"
#include "bench/remap_bench.h"
#include "bench/rounds.h"
#include "bench/stage_bench.h"
#include "bench/stereo_bench.h"
#include "bench/track_bench.h"
#include "features/error.h"
#include "features/options.h"
#include "features/status_macros.h"

ABSL_FLAG(std::string, backend, "cpu", "cpu or cuda");
ABSL_FLAG(std::string, preset, "orb", "a preset of features/options.h");
ABSL_FLAG(std::string, image, "", "a PGM, PPM, PNG or JPEG file, or mirror4:FILE for four mirrored copies of it, 2x2");
ABSL_FLAG(std::optional<int>, levels, std::nullopt, "pyramid levels; default: the preset's");
ABSL_FLAG(std::optional<float>, scale_factor, std::nullopt, "from level to level; default: the preset's");
ABSL_FLAG(std::optional<int>, fast_threshold, std::nullopt, "grey levels; default: the preset's");
ABSL_FLAG(std::optional<int>, features, std::nullopt,
          "keypoints to keep; default: 2000 for orb and oriented_fast, otherwise the preset's");
ABSL_FLAG(bool, describe, false, "compute descriptors too: the preset's, or rBRIEF if it has none");
ABSL_FLAG(std::string, orientation, "", "intensity_centroid or none; default: the preset's");
ABSL_FLAG(std::string, score, "", "max_threshold, harris, sad_circle or sad_arc; default: the preset's");
ABSL_FLAG(std::optional<int>, suppression_radius, std::nullopt, "pixels; default: the preset's");
ABSL_FLAG(std::optional<int>, harris_block, std::nullopt,
          "side of dense Harris' window, pixels; default: the preset's");
ABSL_FLAG(int, threads, 1, "CPU: threads that share a frame; the peer gets as many");
ABSL_FLAG(int, device, 0, "CUDA: ordinal");
ABSL_FLAG(bool, device_resident, false, "CUDA: time the GPU on a frame that is there already; default: host to host");
ABSL_FLAG(bool, pageable, false, "CUDA: the host's frame lies in ordinary memory; default: pinned");
ABSL_FLAG(int, sm_limit, 0, "CUDA: use that many multiprocessors; 0 = all, for plan 132");
ABSL_FLAG(int, repeat, 100, "rounds; a third as many before them to warm up");
ABSL_FLAG(std::string, clock, "wall",
          "wall, or cpu: the process's own time, for one thread on a machine with other work");
ABSL_FLAG(std::string, peer, "none", "none or opencv: what to time interleaved with Glint");
ABSL_FLAG(std::vector<std::string>, lane_counts, std::vector<std::string>({"1", "2", "4", "8"}),
          "lanes: how many work at the same time, one measurement each");
ABSL_FLAG(std::vector<std::string>, sizes, std::vector<std::string>({"2000", "10000"}),
          "match: descriptors in each of the two sets, one measurement each");
ABSL_FLAG(int, bytes, 32, "match: bytes of a descriptor");
ABSL_FLAG(int, k, 1, "match: matches of each query; 1: with cross check");
ABSL_FLAG(float, ratio, 0, "match: of the best and the second best distance; more than 0 finds the second best, too");
ABSL_FLAG(std::vector<std::string>, conditions, {}, "match: of angles, octaves, windows; default: none");
ABSL_FLAG(float, window_radius, 1000, "match: of windows, pixels of an image of 640x480; default: all of it");
ABSL_FLAG(std::string, right, "", "stereo: the right picture; --image is the left one");
ABSL_FLAG(std::string, to, "", "track: the second picture; default: the first one moved by 5 and 3 pixels");
ABSL_FLAG(std::vector<std::string>, points, std::vector<std::string>({"100", "1000"}),
          "track: points, one measurement each");
ABSL_FLAG(std::vector<std::string>, cameras, {},
          "track: measures whole frames of so many cameras, too (1..8, like 1,4)");
ABSL_FLAG(int, patch_size, 21, "track: side of the patch, pixels");
ABSL_FLAG(float, epsilon, 0.01f, "track: a level ends at steps that are not longer, pixels");
ABSL_FLAG(std::optional<int>, coarse_patch_size, std::nullopt,
          "track: the same on levels 3 and up; default: --patch-size");
ABSL_FLAG(std::string, size, "",
          "plan: WIDTHxHEIGHT of the image, pixels; jpeg: of a rendered picture, without --image; remap: likewise, "
          "default: 640x480, 752x480 and 1920x1080");
ABSL_FLAG(std::vector<std::string>, qualities, {},
          "jpeg: encodes the picture, once for each; default: 80, or the JPEG file as it is");
ABSL_FLAG(std::string, sampling, "", "jpeg: 420, 422, 440, 444 or grey; default: 420, for what is encoded");
ABSL_FLAG(std::optional<int>, restart_rows, std::nullopt,
          "jpeg: rows of blocks in a restart interval; default: 0, no restart markers");
ABSL_FLAG(std::string, format, "text", "plan: text or json");
ABSL_FLAG(double, rate, 0, "energy: frames a second; 0: one after the other");
ABSL_FLAG(double, seconds, 5, "energy: how long to measure, and how long to warm up in addition: a fifth");
ABSL_FLAG(bool, json, false, "print JSON instead of a table");

namespace glint::bench {
namespace {

constexpr char kUsage[] =
    "Measures Glint's detectors, matching and tracking.\n\n"
    "  glint-microbench detector --image FILE [--backend cpu|cuda] [--preset NAME] [--levels 8]\n"
    "      [--features 2000] [--describe] [--threads N] [--device-resident] [--sm-limit N] [--repeat N]\n"
    "      [--peer opencv] [--json]\n"
    "    A detector on a picture: median, p10, p90, stages, the machine's floors, and an interleaved peer.\n\n"
    "  glint-microbench stages --image FILE [--repeat N] [--peer opencv] [--json]\n"
    "    Each stage of the CPU backend on its own.\n\n"
    "  glint-microbench lanes --image FILE [--backend cpu|cuda] [--lane-counts 1,2,4,8] [--repeat N] [--json]\n"
    "    Frames a second with several lanes at work.\n\n"
    "  glint-microbench energy --image FILE [--backend cpu|cuda] [--threads N] [--sm-limit N] [--rate 30]\n"
    "      [--seconds 5] [--json]\n"
    "    Joules a frame, from the machine's counters.\n\n"
    "  glint-microbench match [--sizes 2000,10000] [--backend cpu|cuda] [--bytes 32] [--k 1] [--ratio 0] [--threads "
    "N]\n"
    "      [--conditions angles,octaves,windows] [--window-radius N] [--device-resident] [--sm-limit N] [--repeat N]\n"
    "      [--peer opencv] [--json]\n"
    "    Brute-force matching of descriptor sets.\n\n"
    "  glint-microbench stereo --image LEFT --right RIGHT [--backend cpu|cuda] [--preset NAME] [--features 2000]\n"
    "      [--threads N] [--sm-limit N] [--pageable] [--repeat N] [--json]\n"
    "    A rectified pair, host to host: both images detected, described, matched and refined.\n\n"
    "  glint-microbench remap [--size WxH] [--preset NAME] [--features 2000] [--sm-limit N] [--pageable] [--repeat N]\n"
    "      [--json]\n"
    "    Rectification on CUDA: its kernel, and raw pairs, host to host, beside pairs that the host rectifies.\n\n"
    "  glint-microbench track --image FILE [--to FILE] [--points 100,1000] [--levels 3] [--patch-size 21]\n"
    "      [--epsilon 0.01] [--threads N] [--cameras 1,4] [--pageable] [--repeat N] [--peer opencv] [--json]\n"
    "    Lucas-Kanade tracking between two pictures; with --cameras, whole frames, too.\n\n"
    "  glint-microbench jpeg {--image FILE | --size WxH} [--qualities 80,95] [--sampling 420] [--restart-rows N]\n"
    "      [--backend cpu|cuda] [--preset NAME] [--features 2000] [--describe] [--sm-limit N] [--repeat N] [--json]\n"
    "    JPEG files to luma and to features: libjpeg-turbo, and the GPU's decoder stage by stage, in one run.\n\n"
    "  glint-microbench plan --size WxH [--preset NAME] [--levels 8] [--features 2000] [--describe] [--sm-limit N]\n"
    "      [--format text|json]\n"
    "    Levels, launches and memory of a frame on CUDA; needs no GPU.\n";

template <typename T>
void Override(const std::optional<T>& flag, T* option) {
  if (flag.has_value()) *option = *flag;
}

absl::StatusOr<Score> ScoreNamed(const std::string& name) {
  const std::map<std::string, Score> scores = {{"max_threshold", Score::kMaxThreshold},
                                               {"harris", Score::kHarris},
                                               {"sad_circle", Score::kSadCircle},
                                               {"sad_arc", Score::kSadArc}};
  const auto found = scores.find(name);
  if (found == scores.end()) return NotOneOfError("score", name, "max_threshold, harris, sad_circle, sad_arc");
  return found->second;
}

absl::StatusOr<DetectorOptions> DetectorFromFlags() {
  GLINT_ASSIGN_OR_RETURN(DetectorOptions detector, PresetOptions(absl::GetFlag(FLAGS_preset)));
  if (SelectsTopNPerLevel(detector)) detector.max_features = 2000;
  Override(absl::GetFlag(FLAGS_levels), &detector.levels);
  Override(absl::GetFlag(FLAGS_scale_factor), &detector.scale_factor);
  Override(absl::GetFlag(FLAGS_fast_threshold), &detector.fast_threshold);
  Override(absl::GetFlag(FLAGS_features), &detector.max_features);
  Override(absl::GetFlag(FLAGS_suppression_radius), &detector.suppression_radius);
  Override(absl::GetFlag(FLAGS_harris_block), &detector.harris_block);
  const std::string orientation = absl::GetFlag(FLAGS_orientation);
  if (orientation == "none") {
    detector.orientation = Orientation::kNone;
  } else if (orientation == "intensity_centroid") {
    detector.orientation = Orientation::kIntensityCentroid;
  } else if (!orientation.empty()) {
    return NotOneOfError("orientation", orientation, "intensity_centroid, none");
  }
  if (const std::string name = absl::GetFlag(FLAGS_score); !name.empty()) {
    GLINT_ASSIGN_OR_RETURN(detector.score, ScoreNamed(name));
  }
  if (!absl::GetFlag(FLAGS_describe)) {
    detector.descriptor = Descriptor::kNone;
  } else if (detector.descriptor == Descriptor::kNone) {
    detector.descriptor = Descriptor::kRbrief;
  }
  return detector;
}

absl::StatusOr<std::string> PictureFromFlags() {
  const std::string picture = absl::GetFlag(FLAGS_image);
  if (picture.empty()) return ContradictionError("image", "no file was given");
  return picture;
}

absl::StatusOr<Clock> ClockFromFlags() {
  const std::string clock = absl::GetFlag(FLAGS_clock);
  if (clock != "wall" && clock != "cpu") return NotOneOfError("clock", clock, "wall, cpu");
  return clock == "wall" ? Clock::kWall : Clock::kProcessor;
}

absl::StatusOr<SubjectOptions> SubjectFromFlags() {
  const std::string backend = absl::GetFlag(FLAGS_backend);
  if (backend != "cpu" && backend != "cuda") return NotOneOfError("backend", backend, "cpu, cuda");
  SubjectOptions subject;
  GLINT_ASSIGN_OR_RETURN(subject.clock, ClockFromFlags());
  subject.device = backend == "cuda" ? Device::kCuda : Device::kCpu;
  subject.threads = absl::GetFlag(FLAGS_threads);
  subject.ordinal = absl::GetFlag(FLAGS_device);
  subject.device_resident = absl::GetFlag(FLAGS_device_resident);
  subject.pageable = absl::GetFlag(FLAGS_pageable);
  subject.sm_limit = absl::GetFlag(FLAGS_sm_limit);
  return subject;
}

absl::StatusOr<bool> OpenCvPeerFromFlags() {
  const std::string peer = absl::GetFlag(FLAGS_peer);
  if (peer != "none" && peer != "opencv") return NotOneOfError("peer", peer, "none, opencv");
  return peer == "opencv";
}

// Sets the options that all measurements of a detector share from the flags, but the picture.
template <typename Options>
absl::Status FillDetectorFromFlags(Options* options) {
  GLINT_ASSIGN_OR_RETURN(options->detector, DetectorFromFlags());
  GLINT_ASSIGN_OR_RETURN(options->subject, SubjectFromFlags());
  options->preset = absl::GetFlag(FLAGS_preset);
  return absl::OkStatus();
}

template <typename Options>
absl::Status FillFromFlags(Options* options) {
  GLINT_ASSIGN_OR_RETURN(options->picture, PictureFromFlags());
  return FillDetectorFromFlags(options);
}

template <typename Report>
absl::StatusOr<std::string> Print(const absl::StatusOr<Report>& report, const std::string& command) {
  if (!report.ok()) return report.status();
  return absl::GetFlag(FLAGS_json) ? ToJson(*report, command) : ToTable(*report);
}

absl::StatusOr<std::string> RunDetector(const std::string& command) {
  DetectorBenchOptions options;
  GLINT_RETURN_IF_ERROR(FillFromFlags(&options));
  options.repeat = absl::GetFlag(FLAGS_repeat);
  GLINT_ASSIGN_OR_RETURN(options.opencv_peer, OpenCvPeerFromFlags());
  return Print(BenchDetector(options), command);
}

absl::StatusOr<std::string> RunStages(const std::string& command) {
  StageBenchOptions options;
  GLINT_ASSIGN_OR_RETURN(options.picture, PictureFromFlags());
  GLINT_ASSIGN_OR_RETURN(options.opencv_peer, OpenCvPeerFromFlags());
  GLINT_ASSIGN_OR_RETURN(options.clock, ClockFromFlags());
  Override(absl::GetFlag(FLAGS_fast_threshold), &options.fast_threshold);
  options.repeat = absl::GetFlag(FLAGS_repeat);
  return Print(BenchStages(options), command);
}

absl::StatusOr<std::vector<int>> IntegersOf(const std::string& field, const std::vector<std::string>& words) {
  std::vector<int> numbers;
  for (const std::string& word : words) {
    int number = 0;
    if (!absl::SimpleAtoi(word, &number)) return ContradictionError(field, absl::StrCat(word, " is no number"));
    numbers.push_back(number);
  }
  return numbers;
}

absl::StatusOr<std::string> RunLanes(const std::string& command) {
  LanesBenchOptions options;
  GLINT_RETURN_IF_ERROR(FillFromFlags(&options));
  options.repeat = absl::GetFlag(FLAGS_repeat);
  GLINT_ASSIGN_OR_RETURN(options.lane_counts, IntegersOf("lane-counts", absl::GetFlag(FLAGS_lane_counts)));
  return Print(BenchLanes(options), command);
}

absl::StatusOr<std::string> RunEnergy(const std::string& command) {
  EnergyBenchOptions options;
  GLINT_RETURN_IF_ERROR(FillFromFlags(&options));
  options.rate = absl::GetFlag(FLAGS_rate);
  options.seconds = absl::GetFlag(FLAGS_seconds);
  return Print(BenchEnergy(options), command);
}

absl::StatusOr<std::string> RunMatch(const std::string& command) {
  MatchBenchOptions options;
  GLINT_ASSIGN_OR_RETURN(options.sizes, IntegersOf("sizes", absl::GetFlag(FLAGS_sizes)));
  GLINT_ASSIGN_OR_RETURN(options.opencv_peer, OpenCvPeerFromFlags());
  GLINT_ASSIGN_OR_RETURN(options.subject, SubjectFromFlags());
  options.bytes = absl::GetFlag(FLAGS_bytes);
  options.k = absl::GetFlag(FLAGS_k);
  options.ratio = absl::GetFlag(FLAGS_ratio);
  options.conditions = absl::GetFlag(FLAGS_conditions);
  options.window_radius = absl::GetFlag(FLAGS_window_radius);
  options.repeat = absl::GetFlag(FLAGS_repeat);
  return Print(BenchMatch(options), command);
}

absl::StatusOr<std::string> RunTrack(const std::string& command) {
  TrackBenchOptions options;
  GLINT_ASSIGN_OR_RETURN(options.picture, PictureFromFlags());
  GLINT_ASSIGN_OR_RETURN(options.points, IntegersOf("points", absl::GetFlag(FLAGS_points)));
  GLINT_ASSIGN_OR_RETURN(options.opencv_peer, OpenCvPeerFromFlags());
  GLINT_ASSIGN_OR_RETURN(options.clock, ClockFromFlags());
  options.to = absl::GetFlag(FLAGS_to);
  if (const auto cameras = absl::GetFlag(FLAGS_cameras); !cameras.empty()) {
    GLINT_ASSIGN_OR_RETURN(options.cameras, IntegersOf("cameras", cameras));
  }
  options.track.levels = absl::GetFlag(FLAGS_levels).value_or(3);
  options.track.patch_size = absl::GetFlag(FLAGS_patch_size);
  options.track.epsilon = absl::GetFlag(FLAGS_epsilon);
  options.track.coarse_patch_size = absl::GetFlag(FLAGS_coarse_patch_size).value_or(options.track.patch_size);
  const std::string backend = absl::GetFlag(FLAGS_backend);
  if (backend != "cpu" && backend != "cuda") return NotOneOfError("backend", backend, "cpu, cuda");
  options.cuda = backend == "cuda";
  options.pageable = absl::GetFlag(FLAGS_pageable);
  options.device = absl::GetFlag(FLAGS_device);
  options.sm_limit = absl::GetFlag(FLAGS_sm_limit);
  options.threads = absl::GetFlag(FLAGS_threads);
  options.repeat = absl::GetFlag(FLAGS_repeat);
  return Print(BenchTrack(options), command);
}

absl::StatusOr<std::string> RunStereo(const std::string& command) {
  StereoBenchOptions options;
  absl::SetFlag(&FLAGS_describe, true);
  GLINT_RETURN_IF_ERROR(FillFromFlags(&options));
  options.repeat = absl::GetFlag(FLAGS_repeat);
  options.right = absl::GetFlag(FLAGS_right);
  if (options.right.empty()) return ContradictionError("right", "no file was given");
  return Print(BenchStereo(options), command);
}

absl::StatusOr<std::string> RunRemap(const std::string& command) {
  RemapBenchOptions options;
  absl::SetFlag(&FLAGS_describe, true);
  absl::SetFlag(&FLAGS_backend, "cuda");
  GLINT_RETURN_IF_ERROR(FillDetectorFromFlags(&options));
  options.repeat = absl::GetFlag(FLAGS_repeat);
  options.size = absl::GetFlag(FLAGS_size);
  return Print(BenchRemap(options), command);
}

absl::StatusOr<std::string> RunJpeg(const std::string& command) {
  JpegBenchOptions options;
  GLINT_RETURN_IF_ERROR(FillDetectorFromFlags(&options));
  GLINT_ASSIGN_OR_RETURN(options.input.qualities, IntegersOf("qualities", absl::GetFlag(FLAGS_qualities)));
  options.input.picture = absl::GetFlag(FLAGS_image);
  options.input.size = absl::GetFlag(FLAGS_size);
  options.input.restart_rows = absl::GetFlag(FLAGS_restart_rows);
  if (const std::string name = absl::GetFlag(FLAGS_sampling); !name.empty()) {
    GLINT_ASSIGN_OR_RETURN(options.input.sampling, JpegSamplingNamed(name));
  }
  options.repeat = absl::GetFlag(FLAGS_repeat);
  return Print(BenchJpeg(options), command);
}

absl::StatusOr<std::string> RunPlan(const std::string& command) {
  const std::string format = absl::GetFlag(FLAGS_format);
  if (format != "text" && format != "json") return NotOneOfError("format", format, "text, json");
  PlanBenchOptions options;
  GLINT_ASSIGN_OR_RETURN(options.detector, DetectorFromFlags());
  options.preset = absl::GetFlag(FLAGS_preset);
  options.size = absl::GetFlag(FLAGS_size);
  options.multiprocessors = absl::GetFlag(FLAGS_sm_limit);
  GLINT_ASSIGN_OR_RETURN(const auto report, BenchPlan(options));
  return format == "json" || absl::GetFlag(FLAGS_json) ? ToJson(report, command) : ToTable(report);
}

// Flags may be spelt with dashes: Abseil accepts only names with underscores.
std::vector<std::string> WithUnderscores(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  for (std::string& word : words) {
    if (word.compare(0, 2, "--") != 0) continue;
    const size_t end = std::min(word.find('='), word.size());
    std::replace(word.begin() + 2, word.begin() + static_cast<ptrdiff_t>(end), '-', '_');
  }
  return words;
}

int Main(int argc, char** argv) {
  const std::string command = absl::StrJoin(argv, argv + argc, " ");
  absl::SetProgramUsageMessage(kUsage);
  std::vector<std::string> arguments = WithUnderscores(argc, argv);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  const std::vector<char*> words = absl::ParseCommandLine(argc, pointers.data());
  const std::map<std::string, absl::StatusOr<std::string> (*)(const std::string&)> commands = {
      {"detector", RunDetector}, {"stages", RunStages}, {"lanes", RunLanes}, {"energy", RunEnergy},
      {"match", RunMatch},       {"stereo", RunStereo}, {"plan", RunPlan},   {"track", RunTrack},
      {"jpeg", RunJpeg},         {"remap", RunRemap}};
  const auto run = commands.find(words.size() == 2 ? words[1] : "");
  if (run == commands.end()) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  TuneMalloc();
  const auto text = run->second(command);
  if (!text.ok()) {
    std::fprintf(stderr, "glint-microbench: %s\n", std::string(text.status().message()).c_str());
    return absl::IsInvalidArgument(text.status()) ? 2 : 1;
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace glint::bench

int main(int argc, char** argv) { return glint::bench::Main(argc, argv); }
