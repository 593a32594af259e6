#include "bench/stereo_bench.h"

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/json.h"
#include "bench/machine.h"
#include "bench/opencv_peer.h"
#include "bench/picture.h"
#include "bench/rounds.h"
#include "cpu/pipeline.h"
#include "cpu/stereo/stereo_pipeline.h"
#include "cuda/pipeline.h"
#include "cuda/stereo/stereo_pipeline.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bench {
namespace {

// What a run finds.
struct Pair {
  Features left, right;
  StereoResult result;
  double detect_us = 0;
  double match_us = 0;
};

bool SamePair(const Pair& a, const Pair& b) {
  return SameFeatures(a.left, b.left) && SameFeatures(a.right, b.right) &&
         a.result.right_index == b.result.right_index && a.result.distance == b.result.distance &&
         a.result.disparity == b.result.disparity && a.result.depth == b.result.depth &&
         a.result.checks.matches == b.result.checks.matches && a.result.checks.sure == b.result.checks.sure &&
         a.result.checks.median_dy == b.result.checks.median_dy &&
         a.result.checks.negative_disparities == b.result.checks.negative_disparities;
}

// One pair, once.
using RunPair = std::function<absl::Status(Pair*)>;

RunPair OnCpu(const StereoBenchOptions& o, const ImageView& left, const ImageView& right) {
  auto pipeline = std::make_shared<cpu::StereoPipeline>(o.subject.threads);
  return [pipeline, &o, left, right](Pair* pair) {
    cpu::StereoTimes times;
    absl::Status status =
        pipeline->Detect(o.detector, {left, right}, o.stereo, &pair->left, &pair->right, &pair->result, &times);
    pair->detect_us = static_cast<double>(times.detect_ns) / 1e3;
    pair->match_us = static_cast<double>(times.match_ns) / 1e3;
    return status;
  };
}

absl::StatusOr<RunPair> OnCuda(const StereoBenchOptions& o, const ImageView& left, const ImageView& right) {
  cuda::PipelineOptions options;
  options.device = o.subject.ordinal;
  options.wait = cuda::Wait::kSpin;  // the least latency: excludes the time to wake a thread
  options.max_image_pixels = left.shape().pixels();
  options.sm_limit = o.subject.sm_limit;
  GLINT_ASSIGN_OR_RETURN(std::shared_ptr<cuda::StereoPipeline> pipeline, cuda::StereoPipeline::Create(options));
  ImageView views[2] = {left, right};
  auto pinned = std::make_shared<std::vector<cuda::PinnedMemory>>();
  for (ImageView& view : views) {
    if (o.subject.pageable) break;
    GLINT_ASSIGN_OR_RETURN(auto memory, cuda::PinnedMemory::Allocate(static_cast<size_t>(view.shape().pixels())));
    for (int y = 0; y < view.height; ++y) {
      std::memcpy(memory.data() + static_cast<ptrdiff_t>(y) * view.width, view.row(y), static_cast<size_t>(view.width));
    }
    view = {memory.data(), view.width, view.height, view.width};
    pinned->push_back(std::move(memory));
  }
  return RunPair([pipeline, pinned, &o, left = views[0], right = views[1]](Pair* pair) {
    cuda::StereoTimes times;
    absl::Status status =
        pipeline->Detect(o.detector, {left, right}, o.stereo, &pair->left, &pair->right, &pair->result, &times);
    pair->detect_us = static_cast<double>(times.detect_ns) / 1e3;
    pair->match_us = static_cast<double>(times.match_ns) / 1e3;
    return status;
  });
}

absl::Status Validate(const StereoBenchOptions& o, const ImageView& left, const ImageView& right) {
  if (o.repeat < 1 || o.repeat > kMaxRepeat) return OutOfRangeError("repeat", o.repeat, 1, kMaxRepeat);
  if (o.subject.device_resident) return ContradictionError("device-resident", "stereo pairs come from the host");
  GLINT_RETURN_IF_ERROR(ValidateSubject(o.subject));
  GLINT_RETURN_IF_ERROR(ValidateOptions(o.detector));
  GLINT_RETURN_IF_ERROR(ValidateStereoOptions(o.stereo));
  if (left.shape() != right.shape()) {
    return ContradictionError("right", absl::StrCat(right.width, "x", right.height, ", but the left picture has ",
                                                    left.width, "x", left.height));
  }
  return cpu::ValidateSimdTarget();
}

}  // namespace

absl::StatusOr<StereoReport> BenchStereo(const StereoBenchOptions& options) {
  GLINT_ASSIGN_OR_RETURN(const Image left, LoadPicture(options.picture));
  GLINT_ASSIGN_OR_RETURN(const Image right, LoadPicture(options.right));
  GLINT_RETURN_IF_ERROR(Validate(options, left, right));
  const bool cuda = options.subject.device == Device::kCuda;
  GLINT_ASSIGN_OR_RETURN(auto run,
                         cuda ? OnCuda(options, left, right) : absl::StatusOr<RunPair>(OnCpu(options, left, right)));
  Pair pair;
  std::vector<double> detect_us, match_us;
  std::vector<Contestant> contestants = {Timed("glint", options.subject.clock, [&] {
    absl::Status status = run(&pair);
    detect_us.push_back(pair.detect_us);
    match_us.push_back(pair.match_us);
    return status;
  })};
  GLINT_RETURN_IF_ERROR(RunRounds(options.repeat, &contestants));

  StereoReport report;
  report.options = options;
  report.shape = left.shape();
  report.device =
      cuda ? cuda::DeviceDescription(options.subject.ordinal) : absl::StrCat(Processor(), ", ", cpu::SimdTarget());
  report.us = Summarize(contestants[0].us);
  report.detect_us = Summarize(detect_us).median;
  report.match_us = Summarize(match_us).median;
  report.keypoints[0] = pair.left.count();
  report.keypoints[1] = pair.right.count();
  report.matches = pair.result.matches;
  report.checks = pair.result.checks;
  if (cuda) {
    Pair on_cpu;
    GLINT_RETURN_IF_ERROR(OnCpu(options, left, right)(&on_cpu));
    report.same_as_cpu = SamePair(on_cpu, pair);
  }
  return report;
}

std::string ToJson(const StereoReport& report, const std::string& command) {
  const StereoBenchOptions& o = report.options;
  JsonWriter json;
  BeginReport(command, &json);
  json.Key("device").String(report.device);
  json.Key("clock").String(ClockName(o.subject.clock));
  json.Key("width").Int(report.shape.width);
  json.Key("height").Int(report.shape.height);
  json.Key("preset").String(o.preset);
  json.Key("features").Int(o.detector.max_features);
  if (o.subject.device == Device::kCuda) {
    json.Key("sm_limit").Int(o.subject.sm_limit);
    json.Key("pageable").Bool(o.subject.pageable);
    json.Key("same_as_cpu").Bool(report.same_as_cpu);
  } else {
    json.Key("threads").Int(o.subject.threads);
  }
  json.Key("rounds").Int(o.repeat);
  json.Key("time_us");
  WriteSummary(report.us, &json);
  json.Key("detect_us").Number(report.detect_us);
  json.Key("match_us").Number(report.match_us);
  json.Key("left_keypoints").Int(static_cast<int64_t>(report.keypoints[0]));
  json.Key("right_keypoints").Int(static_cast<int64_t>(report.keypoints[1]));
  json.Key("matches").Int(report.matches);
  json.Key("median_dy").Number(report.checks.median_dy);
  json.EndObject();
  return json.text() + "\n";
}

std::string ToTable(const StereoReport& report) {
  const StereoBenchOptions& o = report.options;
  const bool cuda = o.subject.device == Device::kCuda;
  std::string text = absl::StrFormat(
      "stereo pair %dx%d, %s, %d features, %s\n%s, %s time, %d rounds\n\n%-14s %10s %10s %10s\n", report.shape.width,
      report.shape.height, o.preset, o.detector.max_features,
      cuda ? absl::StrCat("host to host",
                          o.subject.sm_limit > 0 ? absl::StrCat(", ", o.subject.sm_limit, " multiprocessors") : "")
           : absl::StrCat(o.subject.threads, " threads"),
      report.device, ClockName(o.subject.clock), o.repeat, "microseconds", "median", "p10", "p90");
  absl::StrAppendFormat(&text, "%-14s %10.1f %10.1f %10.1f\n", "pair", report.us.median, report.us.p10, report.us.p90);
  absl::StrAppendFormat(&text, "%-14s %10.1f\n%-14s %10.1f\n", "  both images", report.detect_us, "  matching",
                        report.match_us);
  absl::StrAppendFormat(&text, "\n%d and %d keypoints, %d matches, median |dy| %.2f px%s\n", report.keypoints[0],
                        report.keypoints[1], report.matches, report.checks.median_dy,
                        !cuda                ? ""
                        : report.same_as_cpu ? "; the same as on the CPU"
                                             : "; NOT THE SAME AS ON THE CPU");
  return text;
}

}  // namespace glint::bench
