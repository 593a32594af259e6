#include "bench/jpeg_bench.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "bench/machine.h"
#include "bench/rounds.h"
#include "cpu/pipeline.h"
#include "cuda/benchmark/jpeg_timing.h"
#include "cuda/jpeg/jpeg_plan.h"
#include "cuda/pipeline.h"
#include "decode/decode.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bench {
namespace {

constexpr int kReplaysPerRun = 10;
constexpr int kStagedFramesPerRun = 2;

// Compares images of equal shape.
bool SamePixels(const ImageView& a, const ImageView& b) {
  for (int y = 0; y < a.height; ++y) {
    if (std::memcmp(a.row(y), b.row(y), static_cast<size_t>(a.width)) != 0) return false;
  }
  return true;
}

std::string SamplingOf(const cuda::JpegPlan& plan) {
  if (plan.unit_blocks == 1) return "grey";
  return plan.luma_columns == 1 ? (plan.luma_rows == 1 ? "4:4:4" : "4:4:0") : (plan.luma_rows == 1 ? "4:2:2" : "4:2:0");
}

absl::Status GaveUp(cuda::JpegReason reason) {
  return absl::InternalError(absl::StrCat("the GPU's decoder gave a file up: ", cuda::NameOf(reason)));
}
absl::Status GoodOrGaveUp(const absl::StatusOr<cuda::JpegReason>& found) {
  GLINT_ASSIGN_OR_RETURN(const cuda::JpegReason reason, found);
  return reason == cuda::JpegReason::kNone ? absl::OkStatus() : GaveUp(reason);
}

// Both decoders, and the backend's detector, with one file. Contestants refer to it.
class FileBench {
 public:
  FileBench(const JpegBenchOptions& options, const JpegInput& input, Shape shape)
      : options_(options),
        bytes_(reinterpret_cast<const uint8_t*>(input.file.data()), input.file.size()),
        shape_(shape),
        refusal_(Plan()),
        cpu_pipeline_(options.subject.threads),
        decoder_(cpu_pipeline_.pool()) {
    report_.source = input.source;
    report_.quality = input.quality;
    report_.bytes = input.file.size();
    report_.shape = shape;
    if (refusal_ != cuda::JpegReason::kNone) {
      report_.gpu_refusal = cuda::NameOf(refusal_);
      return;
    }
    report_.sampling = SamplingOf(plan_);
    report_.restart_intervals = plan_.intervals;
  }

  // Memory for the picture and, if asked for, the GPU.
  absl::Status Prepare() {
    if (options_.subject.device == Device::kCpu) {
      picture_.Resize(shape_);
      to_ = decode::DestinationIn(&picture_);
      return absl::OkStatus();
    }
    cuda::PipelineOptions pipeline_options;
    pipeline_options.device = options_.subject.ordinal;
    pipeline_options.wait = cuda::Wait::kSpin;  // the least latency: excludes the time to wake a thread
    pipeline_options.max_image_pixels = shape_.pixels();
    pipeline_options.sm_limit = options_.subject.sm_limit;
    GLINT_ASSIGN_OR_RETURN(gpu_pipeline_, cuda::Pipeline::Create(pipeline_options));
    GLINT_ASSIGN_OR_RETURN(pinned_, cuda::PinnedMemory::Allocate(static_cast<size_t>(shape_.pixels())));
    to_ = {pinned_->data(), shape_, shape_.width};
    report_.on_gpu = refusal_ == cuda::JpegReason::kNone;
    if (!report_.on_gpu) return absl::OkStatus();
    GLINT_ASSIGN_OR_RETURN(timer_, cuda::JpegTimer::Create(options_.subject.ordinal, options_.subject.sm_limit));
    return DecodeOnGpu();  // which replays need
  }

  absl::StatusOr<JpegFileReport> Run() {
    const Clock clock = options_.subject.clock;
    const auto timed = [clock](Summary* summary, std::function<absl::Status()> run) {
      return Entry{Timed("", clock, std::move(run)), summary};
    };
    std::vector<Entry> entries = {timed(&report_.header_us, [this] { return Inspect(); }),
                                  timed(&report_.cpu_decode_us, [this] { return DecodeOnCpu(); }),
                                  timed(&report_.cpu_frame_us, [this] { return FrameByCpu(); })};
    if (refusal_ == cuda::JpegReason::kNone) {
      entries.push_back(timed(&report_.plan_us, [this] { return GoodOrGaveUp(Plan()); }));
    }
    if (report_.on_gpu) {
      entries.push_back(timed(&report_.gpu.file_us, [this] { return DecodeOnGpu(); }));
      entries.push_back(timed(&report_.gpu.frame_us, [this] { return FrameByGpu(); }));
      entries.push_back({{"", [this](std::vector<double>* us) { return Replay(us); }}, &report_.gpu.device_us});
    }
    std::vector<Contestant> contestants;
    contestants.reserve(entries.size());
    for (Entry& entry : entries) contestants.push_back(std::move(entry.contestant));
    GLINT_RETURN_IF_ERROR(RunRounds(options_.repeat, &contestants));
    for (size_t i = 0; i < entries.size(); ++i) *entries[i].summary = Summarize(contestants[i].us);
    report_.keypoints = by_cpu_.count();
    if (report_.on_gpu) {
      GLINT_RETURN_IF_ERROR(Compare());
    }
    return report_;
  }

 private:
  struct Entry {
    Contestant contestant;
    Summary* summary;
  };

  cuda::JpegReason Plan() { return cuda::PlanJpeg(bytes_.data(), bytes_.size(), shape_.pixels(), &plan_); }
  absl::Status Inspect() { return decoder_.Inspect(decode::Encoding::kJpeg, bytes_, shape_.pixels()).status(); }
  absl::Status DecodeOnCpu() {
    GLINT_RETURN_IF_ERROR(Inspect());
    return decoder_.DecodeInto(decode::Encoding::kJpeg, bytes_, to_);
  }
  ImageView view() const { return {to_.data, to_.shape.width, to_.shape.height, to_.stride}; }

  absl::Status FrameByCpu() {
    GLINT_RETURN_IF_ERROR(DecodeOnCpu());
    if (gpu_pipeline_ != nullptr) return gpu_pipeline_->Detect(options_.detector, view(), {}, &by_cpu_, nullptr);
    StageTimes times;
    return cpu_pipeline_.Detect(options_.detector, view(), {}, &by_cpu_, &times);
  }
  absl::Status DecodeOnGpu() {
    GLINT_RETURN_IF_ERROR(GoodOrGaveUp(Plan()));
    return GoodOrGaveUp(timer_->Decode(plan_, bytes_.data(), bytes_.size()));
  }
  // As in a server, libjpeg-turbo reads the header first.
  absl::Status FrameByGpu() {
    GLINT_RETURN_IF_ERROR(Inspect());
    GLINT_RETURN_IF_ERROR(GoodOrGaveUp(Plan()));
    return GoodOrGaveUp(
        gpu_pipeline_->DetectJpeg(options_.detector, plan_, bytes_.data(), bytes_.size(), {}, &by_gpu_, nullptr));
  }
  absl::Status Replay(std::vector<double>* us) {
    GLINT_ASSIGN_OR_RETURN(const auto timing, timer_->TimeOnDevice(kReplaysPerRun, kStagedFramesPerRun));
    us->insert(us->end(), timing.replay_us.begin(), timing.replay_us.end());
    for (size_t i = 0; i < std::size(stage_us_); ++i) {
      stage_us_[i].insert(stage_us_[i].end(), timing.stage_us[i].begin(), timing.stage_us[i].end());
    }
    return absl::OkStatus();
  }
  absl::Status Compare() {
    for (size_t i = 0; i < std::size(stage_us_); ++i) {
      report_.gpu.stages.push_back({cuda::kJpegStageNames[i], Summarize(stage_us_[i]).median});
    }
    Image luma;
    GLINT_RETURN_IF_ERROR(timer_->ReadLuma(&luma));
    report_.gpu.same_luma = SamePixels(view(), luma);
    report_.gpu.same_features = SameFeatures(by_cpu_, by_gpu_);
    return absl::OkStatus();
  }

  const JpegBenchOptions& options_;
  const absl::Span<const uint8_t> bytes_;
  const Shape shape_;
  cuda::JpegPlan plan_;
  const cuda::JpegReason refusal_;  // of the GPU's decoder
  Image picture_;
  std::optional<cuda::PinnedMemory> pinned_;
  decode::Destination to_;  // of libjpeg-turbo, in one of them
  cpu::Pipeline cpu_pipeline_;
  decode::Decoder decoder_;
  std::unique_ptr<cuda::Pipeline> gpu_pipeline_;
  std::unique_ptr<cuda::JpegTimer> timer_;
  Features by_cpu_, by_gpu_;
  std::vector<double> stage_us_[cuda::kTimedJpegStages];
  JpegFileReport report_;
};

absl::Status Validate(const JpegBenchOptions& options) {
  if (options.repeat < 1 || options.repeat > kMaxRepeat) {
    return OutOfRangeError("repeat", options.repeat, 1, kMaxRepeat);
  }
  GLINT_RETURN_IF_ERROR(ValidateSubject(options.subject));
  if (options.subject.device_resident) return ContradictionError("device-resident", "files come from the host");
  if (options.subject.pageable) return ContradictionError("pageable", "files are copied into pinned memory");
  GLINT_RETURN_IF_ERROR(ValidateOptions(options.detector));
  return cpu::ValidateSimdTarget();
}

}  // namespace

absl::StatusOr<JpegReport> BenchJpeg(const JpegBenchOptions& options) {
  GLINT_RETURN_IF_ERROR(Validate(options));
  GLINT_ASSIGN_OR_RETURN(const auto inputs, MakeJpegInputs(options.input));
  JpegReport report;
  report.options = options;
  report.processor = absl::StrCat(Processor(), ", ", cpu::SimdTarget());
  for (const JpegInput& input : inputs) {
    const absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(input.file.data()), input.file.size());
    GLINT_ASSIGN_OR_RETURN(const auto shape,
                           decode::Decoder().Inspect(decode::Encoding::kJpeg, bytes, kMaxImagePixels));
    FileBench bench(options, input, shape);
    GLINT_RETURN_IF_ERROR(bench.Prepare());
    GLINT_ASSIGN_OR_RETURN(auto file, bench.Run());
    report.files.push_back(std::move(file));
  }
  report.device =
      options.subject.device == Device::kCuda ? cuda::DeviceDescription(options.subject.ordinal) : report.processor;
  return report;
}

}  // namespace glint::bench
