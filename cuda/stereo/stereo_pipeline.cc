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
  using Clock = Pipeline::Impl::Clock;

  // Both eyes' frames, and where matching finds them.
  struct Eyes {
    Prepared* prepared[2] = {};
    StereoParams params{};  // but options
    StereoSources sources{};
    Clock::time_point start, detected;

    bool any() const { return params.left.count > 0 || params.right.count > 0; }
  };

  Impl(const PipelineOptions& options, Api* api) : eyes{Pipeline::Impl(options, api), Pipeline::Impl(options, api)} {}

  absl::Status Initialize();
  // Ends when both are done on the device; `features` are begun.
  absl::Status DetectEyes(const DetectorOptions& detector, const PixelPair& pair, Features* const (&features)[2],
                          Eyes* found);
  // The rest of `features`, while the device does what was enqueued, and the wait for that.
  absl::Status ReadEyes(const Eyes& found, Features* const (&features)[2]);
  absl::Status Match(const DetectorOptions& detector, const PixelPair& pair, const StereoOptions& options,
                     Features* const (&features)[2], StereoResult* result, StereoTimes* times);
  absl::Status Gather(const DetectorOptions& detector, const Pixels& first, const Pixels& second,
                      Features* const (&features)[2], DescriptorsOnDevice* descriptors, StereoTimes* times);
  static void TakeTimes(const Eyes& found, StereoTimes* times);
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

absl::Status StereoPipeline::Impl::DetectEyes(const DetectorOptions& detector, const PixelPair& pair,
                                              Features* const (&features)[2], Eyes* found) {
  found->start = Clock::now();
  const Pixels* const images[2] = {&pair.left, &pair.right};
  const Pixels* const masks[2] = {&pair.left_mask, &pair.right_mask};
  for (int e = 0; e < 2; ++e) {
    // Never alone: the other eye has a frame on the device, too.
    GLINT_ASSIGN_OR_RETURN(const auto begun,
                           eyes[e].Begin(detector, *images[e], *masks[e], /*alone=*/false, /*wants_times=*/false));
    found->prepared[e] = begun.prepared;
  }
  const int capacity = OutputCapacity(detector);
  GLINT_RETURN_IF_ERROR(
      memory.Reserve(eyes[0].stream.view(), {capacity, capacity, kRbriefBytes, pair.left.shape().height}));
  for (int e = 0; e < 2; ++e) {
    FillByLevel(found->prepared[e]->host, detector, found->prepared[e]->counts, features[e]);
  }
  for (int e = 0; e < 2; ++e) {
    const Range range("wait");
    GLINT_RETURN_IF_ERROR(eyes[e].WaitFor(eyes[e].finished, &found->prepared[e]->wait));
  }
  found->detected = Clock::now();

  StereoParams& params = found->params;
  params.levels = detector.levels;
  params.bytes = kRbriefBytes;
  for (int l = 0; l < detector.levels; ++l) {
    const Level& of_left = found->prepared[0]->frame().level[l];
    const Level& of_right = found->prepared[1]->frame().level[l];
    params.level[l] = {of_left.image, of_right.image, of_left.pitch, of_right.pitch,
                       of_left.width, of_left.height, of_left.scale};
  }
  const int lefts = SourceOf(*found->prepared[0], CountsOf(found->prepared[0]->host), &found->sources.left);
  const int rights = SourceOf(*found->prepared[1], CountsOf(found->prepared[1]->host), &found->sources.right);
  memory.Place(lefts, rights, &params);
  found->sources.left.gathered_on_host = memory.gathered(false);
  found->sources.right.gathered_on_host = memory.gathered(true);
  return absl::OkStatus();
}

absl::Status StereoPipeline::Impl::ReadEyes(const Eyes& found, Features* const (&features)[2]) {
  if (found.any()) GLINT_RETURN_IF_ERROR(eyes[0].Record(eyes[0].finished));
  for (int e = 0; e < 2; ++e) eyes[e].Read(found.prepared[e], features[e]);
  if (found.any()) {
    const Range range("wait");
    GLINT_RETURN_IF_ERROR(eyes[0].WaitFor(eyes[0].finished, &match_wait));
  }
  for (const bool is_right : {false, true}) {
    std::memcpy(features[is_right]->descriptors.data(), memory.gathered_on_host(is_right),
                features[is_right]->descriptors.size());
  }
  return absl::OkStatus();
}

void StereoPipeline::Impl::TakeTimes(const Eyes& found, StereoTimes* times) {
  if (times == nullptr) return;
  times->detect_ns = Pipeline::Impl::Nanoseconds(found.detected - found.start);
  times->match_ns = Pipeline::Impl::Nanoseconds(Clock::now() - found.detected);
}

absl::Status StereoPipeline::Impl::Match(const DetectorOptions& detector, const PixelPair& pair,
                                         const StereoOptions& options, Features* const (&features)[2],
                                         StereoResult* result, StereoTimes* times) {
  Eyes found;
  GLINT_RETURN_IF_ERROR(DetectEyes(detector, pair, features, &found));
  found.params.options = options;
  if (found.any()) GLINT_RETURN_IF_ERROR(memory.Enqueue(eyes[0].stream.view(), found.params, &found.sources));
  GLINT_RETURN_IF_ERROR(ReadEyes(found, features));
  if (found.any()) memory.Finished();
  result->Reset(static_cast<size_t>(found.params.left.count));
  if (found.params.left.count > 0 && found.params.right.count > 0) memory.Read(found.params, result);
  TakeTimes(found, times);
  return absl::OkStatus();
}

absl::Status StereoPipeline::Impl::Gather(const DetectorOptions& detector, const Pixels& first, const Pixels& second,
                                          Features* const (&features)[2], DescriptorsOnDevice* descriptors,
                                          StereoTimes* times) {
  Eyes found;
  GLINT_RETURN_IF_ERROR(DetectEyes(detector, {first, second}, features, &found));
  if (found.any()) GLINT_RETURN_IF_ERROR(memory.EnqueueGather(eyes[0].stream.view(), found.params, found.sources));
  GLINT_RETURN_IF_ERROR(ReadEyes(found, features));
  const StereoParams& params = found.params;
  *descriptors = {{params.left.descriptors, params.left.count, params.bytes},
                  {params.right.descriptors, params.right.count, params.bytes}};
  TakeTimes(found, times);
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

absl::Status StereoPipeline::Detect(const DetectorOptions& detector, const PixelPair& pair,
                                    const StereoOptions& options, Features* left_features, Features* right_features,
                                    StereoResult* result, StereoTimes* times) {
  absl::Status status = impl_->fatal;
  if (status.ok() && detector.descriptor == Descriptor::kNone) {
    status = ContradictionError("descriptor", "stereo matching needs descriptors");
  } else if (const Shape left = pair.left.shape(), right = pair.right.shape(); status.ok() && left != right) {
    status = ContradictionError("right", absl::StrCat(right.width, "x", right.height, ", but the left image has ",
                                                      left.width, "x", left.height));
  } else if (status.ok()) {
    status = impl_->Match(detector, pair, options, {left_features, right_features}, result, times);
    if (!status.ok()) impl_->Recover();
  }
  if (!status.ok()) {
    left_features->Clear();
    right_features->Clear();
    result->Reset(0);
  }
  return status;
}

absl::Status StereoPipeline::DetectImages(const DetectorOptions& detector, const Pixels& first, const Pixels& second,
                                          Features* first_features, Features* second_features,
                                          DescriptorsOnDevice* descriptors, StereoTimes* times) {
  absl::Status status = impl_->fatal;
  if (status.ok() && detector.descriptor == Descriptor::kNone) {
    status = ContradictionError("descriptor", "matching needs descriptors");
  } else if (status.ok()) {
    status = impl_->Gather(detector, first, second, {first_features, second_features}, descriptors, times);
    if (!status.ok()) impl_->Recover();
  }
  if (!status.ok()) {
    first_features->Clear();
    second_features->Clear();
    *descriptors = {};
  }
  return status;
}

ImageView StereoPipeline::image_on_device(bool is_right) const { return impl_->eyes[is_right].plans.front().image(); }

const absl::Status& StereoPipeline::fatal() const { return impl_->fatal; }

}  // namespace glint::cuda
