#include "lane/cuda_lane.h"

#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cuda/runtime/range.h"
#include "cuda/stereo/stereo_pipeline.h"
#include "features/status_macros.h"
#include "lane/cuda_matching.h"
#include "lane/cuda_track.h"
#include "lane/elapsed.h"

namespace glint {
namespace {

// Staging memory for rows: pinned, so that the pipeline need not copy them again.
class PinnedImage {
 public:
  // The pixels as the pipeline takes them: a view, in place or copied here, or rows that it remaps from their source.
  // RESOURCE_EXHAUSTED: no more pinned memory.
  absl::StatusOr<Pixels> Hold(const Pixels& pixels) {
    if (!pixels.view.empty() || pixels.rows == nullptr) return Pixels(pixels.view);
    if (pixels.rows->remap() != nullptr) return pixels;
    const Shape shape = pixels.shape();
    const size_t bytes = static_cast<size_t>(shape.pixels());
    if (bytes > capacity_) {
      memory_.reset();
      capacity_ = 0;
      GLINT_ASSIGN_OR_RETURN(auto made, cuda::PinnedMemory::Allocate(bytes));
      memory_.emplace(std::move(made));
      capacity_ = bytes;
    }
    pixels.rows->CopyRows(0, shape.height, memory_->data(), shape.width);
    return Pixels(ImageView{memory_->data(), shape.width, shape.height, shape.width});
  }

 private:
  std::optional<cuda::PinnedMemory> memory_;
  size_t capacity_ = 0;
};

static_assert(static_cast<int>(JpegFallback::kKind) == static_cast<int>(cuda::JpegReason::kKind) &&
              static_cast<int>(JpegFallback::kSize) == static_cast<int>(cuda::JpegReason::kSize) &&
              static_cast<int>(JpegFallback::kSync) == static_cast<int>(cuda::JpegReason::kSync) &&
              static_cast<int>(JpegFallback::kSync) + 1 == cuda::kJpegReasons);

class CudaLane final : public Lane {
 public:
  // `pipeline` was made with `options`.
  CudaLane(std::unique_ptr<cuda::Pipeline> pipeline, const cuda::PipelineOptions& options, bool decodes_jpeg)
      : pipeline_(std::move(pipeline)),
        options_(options),
        decodes_jpeg_(decodes_jpeg),
        matching_(options.device, options.sm_limit),
        device_(absl::StrCat("cuda:", options.device)) {}

  absl::Status Run(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                   StageTimes* times) override {
    return InMemory([&] {
      const cuda::Range range("lane");
      absl::Status status = pipeline_->Detect(options, image, mask, features, times);
      if (!status.ok()) features->Clear();
      return status;
    });
  }
  absl::Status StartRun(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                        StageTimes* times) override {
    return InMemory([&] { return pipeline_->Start(options, image, mask, features, times); });
  }
  absl::Status FinishRun() override {
    return InMemory([&] { return pipeline_->Finish(); });
  }
  bool remaps() const override { return true; }
  absl::StatusOr<DepthView> RegisterDepth(const DepthView& depth, const DepthTable& table,
                                          std::vector<uint16_t>* samples) override {
    GLINT_ASSIGN_OR_RETURN(const DepthView registered,
                           InMemory([&] { return pipeline_->RegisterDepth(depth, table); }));
    return registered.empty() ? Lane::RegisterDepth(depth, table, samples) : registered;
  }
  bool decodes_jpeg() const override { return decodes_jpeg_; }
  absl::StatusOr<JpegRun> RunJpeg(const DetectorOptions& options, absl::Span<const uint8_t> file, Shape shape,
                                  const Pixels& mask, Features* features, StageTimes* times) override {
    return InMemory([&]() -> absl::StatusOr<JpegRun> {
      const cuda::Range range("lane");
      cuda::JpegReason reason = cuda::PlanJpeg(file.data(), file.size(), shape.pixels(), &jpeg_plan_);
      if (reason == cuda::JpegReason::kNone && jpeg_plan_.shape != shape) reason = cuda::JpegReason::kHeader;
      if (reason == cuda::JpegReason::kNone) {
        const auto detected =
            pipeline_->DetectJpeg(options, jpeg_plan_, file.data(), file.size(), mask, features, times);
        if (absl::IsResourceExhausted(detected.status())) return JpegRun{JpegFallback::kMemory};
        if (!detected.ok()) return detected.status();
        reason = *detected;
      }
      JpegRun run{static_cast<JpegFallback>(reason)};
      if (reason == cuda::JpegReason::kNone) std::swap(run.decode_ns, times->upload_ns);
      return run;
    });
  }
  absl::Status RunStereo(const DetectorOptions& options, const StereoOptions& stereo, const PixelPair& pair,
                         StereoPairResult* found, StageTimes* times) override {
    return OnBoth(pair, times, &found->match_ns, [&](const PixelPair& held, cuda::StereoTimes* took) {
      return stereo_->Detect(options, held, stereo, &found->left, &found->right, &found->matches, took);
    });
  }
  absl::Status RunBoth(const DetectorOptions& options, const Pixels& first, const Pixels& second,
                       Features* first_features, Features* second_features, StageTimes* times) override {
    return OnBoth({first, second}, times, &times->download_ns, [&](const PixelPair& held, cuda::StereoTimes* took) {
      return stereo_->DetectImages(options, held.left, held.right, first_features, second_features, &both_, took);
    });
  }
  absl::Status MatchBoth(const MatchInput& input, const MatchOptions& options, MatchResult* result) override {
    MatchInput on_device = input;
    on_device.query = both_.first;
    on_device.train = both_.second;
    return NoteLoss(matching_.MatchOnDevice(on_device, options, result));
  }
  absl::StatusOr<std::unique_ptr<TrackFrames>> MakeTrackFrames(Shape shape, const TrackOptions& options, int max_points,
                                                               int count) override {
    auto frames = MakeCudaTrackFrames(options_.device, options_.sm_limit, shape, max_points, options.levels, count);
    GLINT_RETURN_IF_ERROR(NoteLoss(frames.status()));
    return frames;
  }
  absl::StatusOr<ImageView> SetTrackFrame(TrackFrames* frames, int number, const Pixels& image) override {
    auto view = SetCudaTrackFrame(frames, number, image);
    GLINT_RETURN_IF_ERROR(NoteLoss(view.status(), OrdinalOf(*frames)));
    return view;
  }
  absl::StatusOr<ImageView> LendTrackFrame(TrackFrames* frames, int number, const Pixels& image) override {
    auto view = LendCudaTrackFrame(frames, number, image);
    GLINT_RETURN_IF_ERROR(NoteLoss(view.status(), OrdinalOf(*frames)));
    return view;
  }
  absl::Status KeepTrackFrame(TrackFrames* frames, int number, FoundImage found, const Pixels& image) override {
    if (OrdinalOf(*frames) != options_.device) return SetTrackFrame(frames, number, image).status();
    const ImageView on_device = found == FoundImage::kOnly ? pipeline_->image_on_device()
                                                           : stereo_->image_on_device(found == FoundImage::kRight);
    return NoteLoss(CopyCudaTrackFrame(frames, number, on_device));
  }
  absl::Status ReleasePixels(TrackFrames* frames) override {
    return NoteLoss(ReleaseCudaTrackPixels(frames), OrdinalOf(*frames));
  }
  absl::Status StartFollow(TrackFrames* frames, int to, const TrackInput& points,
                           absl::Span<const TrackSegment> segments, const TrackOptions& options,
                           TrackResult*) override {
    const cuda::Range range("track");
    return NoteLoss(StartFollowOnCuda(frames, to, points, segments, options), OrdinalOf(*frames));
  }
  absl::Status FinishFollow(TrackFrames* frames, TrackResult* result) override {
    return NoteLoss(FinishFollowOnCuda(frames, result), OrdinalOf(*frames));
  }
  absl::Status Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) override {
    return NoteLoss(matching_.Match(input, options, result));
  }
  absl::Status fatal() const override {
    if (!lost_.ok()) return lost_;
    return stereo_ == nullptr || stereo_->fatal().ok() ? pipeline_->fatal() : stereo_->fatal();
  }
  const std::string& device() const override { return device_; }

 private:
  // Checks the status of work without a fatal() of its own, on device `ordinal`: an error there may be this lane's
  // last.
  absl::Status NoteLoss(absl::Status status, int ordinal) {
    if (absl::IsInternal(status) && ordinal == options_.device && !cuda::ProbeDevice(ordinal).ok()) lost_ = status;
    return status;
  }
  absl::Status NoteLoss(absl::Status status) { return NoteLoss(std::move(status), options_.device); }

  // Calls work(held, &took) for two images at once; `rest_ns` is its time after detection.
  template <typename Work>
  absl::Status OnBoth(const PixelPair& pair, StageTimes* times, int64_t* rest_ns, Work work) {
    const cuda::Range range("lane");
    if (stereo_ == nullptr) {
      auto made = cuda::StereoPipeline::Create(options_);
      if (!made.ok()) return NoteLoss(made.status());
      stereo_ = *std::move(made);
    }
    const LaneClock::time_point start = LaneClock::now();
    PixelPair held;
    GLINT_ASSIGN_OR_RETURN(held.left, image_.Hold(pair.left));
    GLINT_ASSIGN_OR_RETURN(held.right, other_.Hold(pair.right));
    GLINT_ASSIGN_OR_RETURN(held.left_mask, left_mask_.Hold(pair.left_mask));
    GLINT_ASSIGN_OR_RETURN(held.right_mask, right_mask_.Hold(pair.right_mask));
    const int64_t copied_ns = NanosecondsSince(start);
    cuda::StereoTimes took;
    absl::Status status;
    try {
      status = work(held, &took);
    } catch (const std::bad_alloc&) {  // as CpuLane::InMemory()
      stereo_ = nullptr;
      throw;
    }
    *times = {};
    times->upload_ns = copied_ns;
    times->detect_ns = took.detect_ns;
    *rest_ns = took.match_ns;
    return status;
  }

  template <typename Work>
  std::invoke_result_t<Work> InMemory(Work work) {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      // The pipeline is inconsistent, and creating another takes memory, too.
      lost_ = absl::ResourceExhaustedError("the process has no host memory left for a frame");
      throw;
    }
  }

  const std::unique_ptr<cuda::Pipeline> pipeline_;
  const cuda::PipelineOptions options_;
  const bool decodes_jpeg_;
  cuda::JpegPlan jpeg_plan_;   // of the last file
  PinnedImage image_, other_;  // of pairs (`other_`: the right image) and of tracks
  PinnedImage left_mask_, right_mask_;
  CudaMatching matching_;
  absl::Status lost_;                             // see NoteLoss(); or for want of memory
  std::unique_ptr<cuda::StereoPipeline> stereo_;  // created by the first pair
  cuda::DescriptorsOnDevice both_;                // in stereo_, of the last RunBoth()
  const std::string device_;
};

}  // namespace

std::unique_ptr<Lane> MakeCudaLane(std::unique_ptr<cuda::Pipeline> pipeline, const cuda::PipelineOptions& options,
                                   bool decodes_jpeg) {
  return std::make_unique<CudaLane>(std::move(pipeline), options, decodes_jpeg);
}

}  // namespace glint
