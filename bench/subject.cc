#include "bench/subject.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "bench/floors.h"
#include "bench/machine.h"
#include "bench/statistics.h"
#include "cpu/pipeline.h"
#include "cuda/pipeline.h"
#include "cuda/runtime/hooks.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bench {
namespace {

constexpr int kReplaysPerRun = 10;
constexpr int kMaxThreads = 256;

struct StageField {
  const char* name;
  int64_t StageTimes::*ns;
};
constexpr StageField kStageFields[] = {{"upload", &StageTimes::upload_ns},     {"detect", &StageTimes::detect_ns},
                                       {"download", &StageTimes::download_ns}, {"pyramid", &StageTimes::pyramid_ns},
                                       {"corners", &StageTimes::corners_ns},   {"select", &StageTimes::select_ns},
                                       {"orient", &StageTimes::orient_ns},     {"describe", &StageTimes::describe_ns}};

// Medians of the measured stages: those that are 0 in every run were not measured.
std::vector<NamedTime> MedianStages(const std::vector<StageTimes>& runs) {
  std::vector<NamedTime> stages;
  for (const StageField& field : kStageFields) {
    std::vector<double> us;
    for (const StageTimes& run : runs) us.push_back(static_cast<double>(run.*field.ns) / 1e3);
    const double median = Summarize(us).median;
    if (median > 0) stages.push_back({field.name, median});
  }
  return stages;
}

class CpuSubject final : public Subject {
 public:
  CpuSubject(const SubjectOptions& options, const DetectorOptions& detector, const ImageView& image)
      : clock_(options.clock), pipeline_(options.threads), detector_(detector), image_(Image::CopyOf(image)) {}

  Contestant contestant() override {
    return Timed("glint", clock_, [this] {
      StageTimes times;
      absl::Status status = pipeline_.Detect(detector_, image_, {}, &features_, &times);
      times_.push_back(times);
      return status;
    });
  }
  std::vector<NamedTime> Stages() const override { return MedianStages(times_); }
  absl::StatusOr<std::vector<NamedTime>> Floors(int repeats) override {
    std::vector<Contestant> passes = {ReadPass(image_, clock_)};
    GLINT_RETURN_IF_ERROR(RunRounds(repeats, &passes));
    return std::vector<NamedTime>{{passes[0].name, Summarize(passes[0].us).median}};
  }
  size_t keypoints() const override { return features_.count(); }
  const Features* features() const override { return &features_; }
  int launches() const override { return 0; }
  std::string device() const override { return absl::StrCat(Processor(), ", ", cpu::SimdTarget()); }

 private:
  const Clock clock_;
  cpu::Pipeline pipeline_;
  const DetectorOptions detector_;
  const Image image_;
  Features features_;
  std::vector<StageTimes> times_;
};

// Bytes that the device sends for `features`: five floats, the octave and the descriptor of each.
int64_t ResultBytes(size_t keypoints, const DetectorOptions& detector) {
  const int64_t descriptor = detector.descriptor == Descriptor::kNone ? 0 : kRbriefBytes;
  return static_cast<int64_t>(keypoints) * (6 * 4 + descriptor);
}

// Base of the two ways to time the GPU: on the device, and host to host.
class CudaSubject : public Subject {
 public:
  CudaSubject(std::unique_ptr<cuda::Pipeline> pipeline, int ordinal, const DetectorOptions& detector)
      : pipeline_(std::move(pipeline)), ordinal_(ordinal), detector_(detector) {}

  std::vector<NamedTime> Stages() const override { return MedianStages(times_); }
  absl::StatusOr<std::vector<NamedTime>> Floors(int repeats) override {
    GLINT_ASSIGN_OR_RETURN(const auto floors, pipeline_->MeasureFloors(view().shape().pixels(),
                                                                       ResultBytes(keypoints(), detector_), repeats));
    return std::vector<NamedTime>{{"empty_graph", floors.empty_graph_us},
                                  {"pinned_upload", floors.upload_us},
                                  {"pinned_download", floors.download_us}};
  }
  std::string device() const override { return cuda::DeviceDescription(ordinal_); }

 protected:
  virtual ImageView view() const = 0;

  const std::unique_ptr<cuda::Pipeline> pipeline_;
  const int ordinal_;
  const DetectorOptions detector_;
  std::vector<StageTimes> times_;
};

class CudaHostSubject final : public CudaSubject {
 public:
  // `pinned`, if given, has room for the image.
  CudaHostSubject(std::unique_ptr<cuda::Pipeline> pipeline, int ordinal, const DetectorOptions& detector,
                  const ImageView& image, std::optional<cuda::PinnedMemory> pinned)
      : CudaSubject(std::move(pipeline), ordinal, detector), pinned_(std::move(pinned)) {
    if (!pinned_.has_value()) {
      pageable_ = Image::CopyOf(image);
      view_ = pageable_;
      return;
    }
    for (int y = 0; y < image.height; ++y) {
      std::memcpy(pinned_->data() + y * static_cast<ptrdiff_t>(image.width), image.row(y),
                  static_cast<size_t>(image.width));
    }
    view_ = {pinned_->data(), image.width, image.height, image.width};
  }

  Contestant contestant() override {
    return Timed("glint", Clock::kWall, [this] {
      StageTimes times;
      absl::Status status = pipeline_->Detect(detector_, view_, {}, &features_, &times);
      times_.push_back(times);
      return status;
    });
  }
  size_t keypoints() const override { return features_.count(); }
  const Features* features() const override { return &features_; }
  int launches() const override { return 0; }

 private:
  ImageView view() const override { return view_; }

  std::optional<cuda::PinnedMemory> pinned_;
  Image pageable_;
  ImageView view_;
  Features features_;
};

class CudaResidentSubject final : public CudaSubject {
 public:
  CudaResidentSubject(std::unique_ptr<cuda::Pipeline> pipeline, int ordinal, const DetectorOptions& detector,
                      const ImageView& image)
      : CudaSubject(std::move(pipeline), ordinal, detector), image_(Image::CopyOf(image)) {}

  Contestant contestant() override {
    return {"glint", [this](std::vector<double>* us) {
              GLINT_ASSIGN_OR_RETURN(const auto timing, pipeline_->TimeOnDevice(detector_, image_, {}, kReplaysPerRun));
              us->insert(us->end(), timing.replay_us.begin(), timing.replay_us.end());
              times_.push_back(timing.stages);
              keypoints_ = static_cast<size_t>(timing.keypoints);
              launches_ = timing.launches;
              return absl::OkStatus();
            }};
  }
  size_t keypoints() const override { return keypoints_; }
  const Features* features() const override { return nullptr; }
  int launches() const override { return launches_; }

 private:
  ImageView view() const override { return image_; }

  const Image image_;
  size_t keypoints_ = 0;
  int launches_ = 0;
};

absl::StatusOr<std::unique_ptr<Subject>> MakeCudaSubject(const SubjectOptions& options, const DetectorOptions& detector,
                                                         const ImageView& image) {
  cuda::PipelineOptions pipeline_options;
  pipeline_options.device = options.ordinal;
  pipeline_options.wait = cuda::Wait::kSpin;  // the least latency: excludes the time to wake a thread
  pipeline_options.max_image_pixels = image.shape().pixels();
  pipeline_options.sm_limit = options.sm_limit;
  GLINT_ASSIGN_OR_RETURN(auto pipeline, cuda::Pipeline::Create(pipeline_options));
  if (options.device_resident) {
    return std::make_unique<CudaResidentSubject>(std::move(pipeline), options.ordinal, detector, image);
  }
  std::optional<cuda::PinnedMemory> pinned;
  if (!options.pageable) {
    GLINT_ASSIGN_OR_RETURN(pinned, cuda::PinnedMemory::Allocate(static_cast<size_t>(image.shape().pixels())));
  }
  return std::make_unique<CudaHostSubject>(std::move(pipeline), options.ordinal, detector, image, std::move(pinned));
}

}  // namespace

bool SameFeatures(const Features& a, const Features& b) {
  return a.x == b.x && a.y == b.y && a.octave == b.octave && a.angle == b.angle && a.response == b.response &&
         a.descriptors == b.descriptors;
}

absl::Status ValidateSubject(const SubjectOptions& options) {
  if (options.threads < 1 || options.threads > kMaxThreads) {
    return OutOfRangeError("threads", options.threads, 1, kMaxThreads);
  }
  if (options.sm_limit < 0) return ContradictionError("sm-limit", "is negative");
  if (options.clock == Clock::kProcessor && (options.device == Device::kCuda || options.threads > 1)) {
    return ContradictionError("clock", "cpu needs --backend cpu --threads 1");
  }
  if (options.device == Device::kCuda) return absl::OkStatus();
  if (options.device_resident) return ContradictionError("device-resident", "needs --backend cuda");
  if (options.sm_limit != 0) return ContradictionError("sm-limit", "needs --backend cuda");
  if (options.pageable) return ContradictionError("pageable", "needs --backend cuda");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Subject>> MakeSubject(const SubjectOptions& options, const DetectorOptions& detector,
                                                     const ImageView& image) {
  if (options.device == Device::kCuda) return MakeCudaSubject(options, detector, image);
  GLINT_RETURN_IF_ERROR(cpu::ValidateSimdTarget());
  return std::make_unique<CpuSubject>(options, detector, image);
}

}  // namespace glint::bench
