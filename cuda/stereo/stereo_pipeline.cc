#include "cuda/stereo/stereo_pipeline.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cuda/pipeline_impl.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/range.h"
#include "cuda/stereo/stereo_factory.h"
#include "cuda/stereo/stereo_memory.h"
#include "features/error.h"

namespace glint::cuda {
namespace {

using Prepared = Pipeline::Impl::Prepared;

// The eye's keypoints where the device has them, and how many.
int SourceOf(const Prepared& prepared, const LevelCounts& counts, StereoSource* source) {
  const Frame& frame = prepared.frame();
  const auto capacity = static_cast<uint32_t>(OutputCapacity(prepared.plan.key().options));
  uint32_t first = 0;
  for (int l = 0; l < kMaxLevels; ++l) {
    source->first[l] = static_cast<int>(first);
    if (l >= frame.levels) continue;
    source->ranked[l] = frame.level[l].ranked;
    source->descriptors[l] = frame.level[l].descriptors;
    first = std::min(first + counts.kept[l], capacity);
  }
  return static_cast<int>(first);
}

}  // namespace

struct StereoPipeline::Impl {
  Impl(const PipelineOptions& options, Api* api) : eyes{Pipeline::Impl(options, api), Pipeline::Impl(options, api)} {}

  absl::Status Initialize();
  absl::Status Run(const DetectorOptions& detector, const ImageView& left, const ImageView& right,
                   const StereoOptions& options, Features* const (&features)[2], StereoResult* result,
                   StereoTimes* times);
  void Recover();

  // Left and right. Matching runs on the left one's stream.
  Pipeline::Impl eyes[2];
  StereoMemory memory;
  ExpectedWait match_wait;
  absl::Status fatal;
};

absl::Status StereoPipeline::Impl::Initialize() {
  for (Pipeline::Impl& eye : eyes) {
    eye.keeps_descriptors = true;
    GLINT_RETURN_IF_ERROR(eye.Initialize());
  }
  memory.Initialize({eyes[0].multiprocessors, eyes[0].device.major});
  return absl::OkStatus();
}

absl::Status StereoPipeline::Impl::Run(const DetectorOptions& detector, const ImageView& left, const ImageView& right,
                                       const StereoOptions& options, Features* const (&features)[2],
                                       StereoResult* result, StereoTimes* times) {
  using Clock = Pipeline::Impl::Clock;
  const Clock::time_point start = Clock::now();
  const ImageView* const images[2] = {&left, &right};
  Prepared* prepared[2] = {};
  for (int e = 0; e < 2; ++e) {
    // Never alone: the other eye has a frame on the device, too.
    const auto begun = eyes[e].Begin(detector, *images[e], {}, /*alone=*/false, /*wants_times=*/false);
    GLINT_RETURN_IF_ERROR(begun.status());
    prepared[e] = begun->prepared;
  }
  const int capacity = OutputCapacity(detector);
  const StreamView stream = eyes[0].stream.view();
  GLINT_RETURN_IF_ERROR(memory.Reserve(stream, {capacity, capacity, kRbriefBytes, left.height}));
  for (int e = 0; e < 2; ++e) FillByLevel(prepared[e]->host, detector, prepared[e]->counts, features[e]);
  for (int e = 0; e < 2; ++e) {
    const Range range("wait");
    GLINT_RETURN_IF_ERROR(eyes[e].WaitFor(eyes[e].finished, &prepared[e]->wait));
  }
  const Clock::time_point detected = Clock::now();

  StereoParams params{};
  StereoSources sources{};
  params.options = options;
  params.levels = detector.levels;
  params.bytes = kRbriefBytes;
  for (int l = 0; l < detector.levels; ++l) {
    const Level& of_left = prepared[0]->frame().level[l];
    const Level& of_right = prepared[1]->frame().level[l];
    params.level[l] = {of_left.image, of_right.image, of_left.pitch, of_right.pitch,
                       of_left.width, of_left.height, of_left.scale};
  }
  const int lefts = SourceOf(*prepared[0], CountsOf(prepared[0]->host), &sources.left);
  const int rights = SourceOf(*prepared[1], CountsOf(prepared[1]->host), &sources.right);
  memory.Place(lefts, rights, &params);
  sources.left.gathered_on_host = memory.gathered(false);
  sources.right.gathered_on_host = memory.gathered(true);
  const bool has_any = lefts > 0 || rights > 0;
  if (has_any) {
    GLINT_RETURN_IF_ERROR(memory.Enqueue(stream, params, &sources));
    GLINT_RETURN_IF_ERROR(eyes[0].Record(eyes[0].finished));
  }
  // While the device matches.
  for (int e = 0; e < 2; ++e) eyes[e].Read(prepared[e], features[e]);
  if (has_any) {
    const Range range("wait");
    GLINT_RETURN_IF_ERROR(eyes[0].WaitFor(eyes[0].finished, &match_wait));
    memory.Finished();
  }
  for (const bool is_right : {false, true}) {
    std::memcpy(features[is_right]->descriptors.data(), memory.gathered_on_host(is_right),
                features[is_right]->descriptors.size());
  }
  result->Reset(static_cast<size_t>(lefts));
  if (lefts > 0 && rights > 0) memory.Read(params, result);
  if (times != nullptr) {
    times->detect_ns = Pipeline::Impl::Nanoseconds(detected - start);
    times->match_ns = Pipeline::Impl::Nanoseconds(Clock::now() - detected);
  }
  return absl::OkStatus();
}

void StereoPipeline::Impl::Recover() {
  for (Pipeline::Impl& eye : eyes) {
    eye.Recover();
    if (fatal.ok()) fatal = eye.fatal;
  }
}

StereoPipeline::StereoPipeline(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StereoPipeline::~StereoPipeline() = default;

absl::StatusOr<std::unique_ptr<StereoPipeline>> StereoFactory::CreatePipeline(const PipelineOptions& options,
                                                                              Api* api) {
  auto impl = std::make_unique<StereoPipeline::Impl>(options, api);
  if (absl::Status status = impl->Initialize(); !status.ok()) {
    api->GetLastError();
    return status;
  }
  return std::unique_ptr<StereoPipeline>(new StereoPipeline(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<StereoPipeline>> StereoPipeline::Create(const PipelineOptions& options) {
  return StereoFactory::CreatePipeline(options, &CudaApi());
}

absl::Status StereoPipeline::Detect(const DetectorOptions& detector, const ImageView& left, const ImageView& right,
                                    const StereoOptions& options, Features* left_features, Features* right_features,
                                    StereoResult* result, StereoTimes* times) {
  absl::Status status = impl_->fatal;
  if (status.ok() && detector.descriptor == Descriptor::kNone) {
    status = ContradictionError("descriptor", "stereo matching needs descriptors");
  } else if (status.ok() && left.shape() != right.shape()) {
    status = ContradictionError("right", absl::StrCat(right.width, "x", right.height, ", but the left image has ",
                                                      left.width, "x", left.height));
  } else if (status.ok()) {
    status = impl_->Run(detector, left, right, options, {left_features, right_features}, result, times);
    if (!status.ok()) impl_->Recover();
  }
  if (!status.ok()) {
    left_features->Clear();
    right_features->Clear();
    result->Reset(0);
  }
  return status;
}

const absl::Status& StereoPipeline::fatal() const { return impl_->fatal; }

}  // namespace glint::cuda
