// The CUDA backend of a build without CUDA: every entry point says so.
#include "cuda/benchmark/jpeg_timing.h"
#include "cuda/benchmark/plan_report.h"
#include "cuda/benchmark/remap_timing.h"
#include "cuda/match/matcher.h"
#include "cuda/pipeline.h"
#include "cuda/runtime/hooks.h"
#include "cuda/runtime/host_region.h"
#include "cuda/runtime/range.h"
#include "cuda/stereo/stereo_matcher.h"
#include "cuda/stereo/stereo_pipeline.h"
#include "cuda/track/tracker.h"

namespace glint::cuda {
namespace {

absl::Status BuiltWithoutCuda() {
  return absl::FailedPreconditionError(
      "built without CUDA: configure with GLINT_CUDA=ON and a CUDA toolkit to have the GPU backend");
}

}  // namespace

struct Pipeline::Impl {
  absl::Status status = BuiltWithoutCuda();
};

Pipeline::Pipeline(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pipeline::~Pipeline() = default;

absl::StatusOr<std::unique_ptr<Pipeline>> Pipeline::Create(const PipelineOptions&) { return BuiltWithoutCuda(); }

absl::Status Pipeline::Detect(const DetectorOptions&, const Pixels&, const Pixels&, Features*, StageTimes*) {
  return impl_->status;
}

absl::Status Pipeline::Start(const DetectorOptions&, const Pixels&, const Pixels&, Features*, StageTimes*) {
  return impl_->status;
}

absl::Status Pipeline::Finish() { return impl_->status; }

absl::StatusOr<JpegReason> Pipeline::DetectJpeg(const DetectorOptions&, const JpegPlan&, const uint8_t*, size_t,
                                                const Pixels&, Features*, StageTimes*) {
  return impl_->status;
}

absl::StatusOr<DepthView> Pipeline::RegisterDepth(const DepthView&, const DepthTable&) { return impl_->status; }

ImageView Pipeline::image_on_device() const { return {}; }

const absl::Status& Pipeline::fatal() const { return impl_->status; }

absl::StatusOr<DeviceTiming> Pipeline::TimeOnDevice(const DetectorOptions&, const ImageView&, const ImageView&, int) {
  return impl_->status;
}

absl::StatusOr<Floors> Pipeline::MeasureFloors(int64_t, int64_t, int) { return impl_->status; }

struct JpegTimer::Impl {
  absl::Status status = BuiltWithoutCuda();
};

JpegTimer::JpegTimer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JpegTimer::~JpegTimer() = default;

absl::StatusOr<std::unique_ptr<JpegTimer>> JpegTimer::Create(int, int) { return BuiltWithoutCuda(); }

absl::StatusOr<JpegReason> JpegTimer::Decode(const JpegPlan&, const uint8_t*, size_t) { return impl_->status; }

absl::Status JpegTimer::ReadLuma(Image*) { return impl_->status; }

absl::StatusOr<JpegTiming> JpegTimer::TimeOnDevice(int, int) { return impl_->status; }

struct Matcher::Impl {
  absl::Status status = BuiltWithoutCuda();
};

Matcher::Matcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Matcher::~Matcher() = default;

absl::StatusOr<std::unique_ptr<Matcher>> Matcher::Create(const MatcherOptions&) { return BuiltWithoutCuda(); }

absl::Status Matcher::Match(const MatchInput&, const MatchOptions&, MatchResult*) { return impl_->status; }

absl::Status Matcher::MatchOnDevice(const MatchInput&, const MatchOptions&, MatchResult*) { return impl_->status; }

absl::Status Matcher::TimeOnDevice(const MatchInput&, const MatchOptions&, int, MatchResult*, std::vector<float>*) {
  return impl_->status;
}

struct StereoMatcher::Impl {
  absl::Status status = BuiltWithoutCuda();
};

StereoMatcher::StereoMatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StereoMatcher::~StereoMatcher() = default;

absl::StatusOr<std::unique_ptr<StereoMatcher>> StereoMatcher::Create(const StereoMatcherOptions&) {
  return BuiltWithoutCuda();
}

absl::Status StereoMatcher::Match(const StereoInput&, const StereoOptions&, StereoResult*) { return impl_->status; }

struct StereoPipeline::Impl {
  absl::Status status = BuiltWithoutCuda();
};

StereoPipeline::StereoPipeline(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StereoPipeline::~StereoPipeline() = default;

absl::StatusOr<std::unique_ptr<StereoPipeline>> StereoPipeline::Create(const PipelineOptions&) {
  return BuiltWithoutCuda();
}

absl::Status StereoPipeline::DetectImages(const DetectorOptions&, const Pixels&, const Pixels&, Features*, Features*,
                                          DescriptorsOnDevice*, StereoTimes*) {
  return impl_->status;
}

absl::Status StereoPipeline::Detect(const DetectorOptions&, const PixelPair&, const StereoOptions&, Features*,
                                    Features*, StereoResult*, StereoTimes*) {
  return impl_->status;
}

ImageView StereoPipeline::image_on_device(bool) const { return {}; }

const absl::Status& StereoPipeline::fatal() const { return impl_->status; }

struct Tracker::Impl {
  absl::Status status = BuiltWithoutCuda();
};

Tracker::Tracker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tracker::~Tracker() = default;

absl::StatusOr<std::unique_ptr<Tracker>> Tracker::Create(const TrackerOptions&) { return BuiltWithoutCuda(); }

absl::Status Tracker::SetFrame(int, const ImageView&) { return impl_->status; }
absl::StatusOr<uint8_t*> Tracker::BeginFrame(int, Shape) { return impl_->status; }
absl::Status Tracker::EndFrame() { return impl_->status; }
absl::Status Tracker::CopyFrame(int, const ImageView&) { return impl_->status; }
absl::StatusOr<bool> Tracker::LendFrame(int, const ImageView&) { return impl_->status; }
absl::Status Tracker::Release() { return impl_->status; }
absl::Status Tracker::Start(int, const TrackInput&, absl::Span<const TrackSegment>, const TrackOptions&) {
  return impl_->status;
}
absl::Status Tracker::Finish(TrackResult*) { return impl_->status; }

absl::Status Tracker::Track(const FramePoints&, const TrackOptions&, TrackResult*) { return impl_->status; }

absl::StatusOr<float> Tracker::TimeOnDevice(const FramePoints&, const TrackOptions&, int) { return impl_->status; }

absl::Status ProbeDevice(int) { return BuiltWithoutCuda(); }

int DeviceCount() { return 0; }

std::string DevicePciBusId(int) { return ""; }

std::string DeviceDescription(int) { return ""; }

absl::StatusOr<PinnedMemory> PinnedMemory::Allocate(size_t) { return BuiltWithoutCuda(); }

PinnedMemory::~PinnedMemory() = default;

absl::StatusOr<PlanReport> ReportPlan(const DetectorOptions&, Shape, int) { return BuiltWithoutCuda(); }

absl::StatusOr<RemapTiming> TimeRemap(int, int, const RemapSource&, int, Image*) { return BuiltWithoutCuda(); }
absl::StatusOr<RemapTiming> TimeRegisterDepth(int, int, const DepthView&, const DepthTable&, int) {
  return BuiltWithoutCuda();
}

bool CopiesFromHostRegions(int) { return false; }

absl::Status LockHostRegion(int, const void*, size_t) { return BuiltWithoutCuda(); }

absl::Status UnlockHostRegion(int, const void*) { return BuiltWithoutCuda(); }

Range::Range(const char*) {}
Range::~Range() = default;

}  // namespace glint::cuda
