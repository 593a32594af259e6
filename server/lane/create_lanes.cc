#include <sched.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cpu/match/matcher.h"
#include "cpu/pipeline.h"
#include "cpu/stereo/stereo_pipeline.h"
#include "cuda/match/matcher.h"
#include "cuda/pipeline.h"
#include "cuda/runtime/host_region.h"
#include "cuda/runtime/range.h"
#include "cuda/stereo/stereo_pipeline.h"
#include "features/error.h"
#include "server/lane/cpu_track.h"
#include "server/lane/cuda_track.h"
#include "server/lane/lane.h"

namespace glint {
namespace {

// Of a device: a lane's thread copies pixels that came by a socket, which takes longer than the device does.
constexpr int kFewestCudaLanes = 2;
constexpr int kMostCudaLanes = 8;  // more share what the bus carries

using Clock = std::chrono::steady_clock;

int64_t NanosecondsSince(Clock::time_point start) { return std::chrono::nanoseconds(Clock::now() - start).count(); }

// Of two eyes that took `wall_ns` together, side by side perhaps: their stages, of that time.
StageTimes TimesOfEyes(int64_t wall_ns, const StageTimes& left, const StageTimes& right) {
  StageTimes times = left;
  AddTimes(right, &times);
  const int64_t both_ns = std::max<int64_t>(1, times.detect_ns + times.download_ns);
  const double share = static_cast<double>(wall_ns) / static_cast<double>(both_ns);
  for (const auto field : kStageTimes) times.*field = static_cast<int64_t>(share * static_cast<double>(times.*field));
  return times;
}

class CpuLane final : public Lane {
 public:
  explicit CpuLane(int threads) : threads_(threads), parts_(std::make_unique<Parts>(threads)) {}

  absl::Status Run(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                   StageTimes* times) override {
    return InMemory([&](Parts* parts) {
      const Clock::time_point start = Clock::now();
      const ImageView image_view = ViewOf(image, &parts->image);
      const ImageView mask_view = ViewOf(mask, &parts->other);
      const int64_t copied_ns = NanosecondsSince(start);
      absl::Status status = parts->pipeline.Detect(options, image_view, mask_view, features, times);
      times->upload_ns += copied_ns;
      if (!status.ok()) features->Clear();
      return status;
    });
  }
  absl::Status RunStereo(const DetectorOptions& options, const StereoOptions& stereo, const Pixels& left,
                         const Pixels& right, StereoFound* found, StageTimes* times) override {
    return InMemory([&](Parts* parts) {
      const Clock::time_point start = Clock::now();
      const ImageView left_view = ViewOf(left, &parts->image);
      const ImageView right_view = ViewOf(right, &parts->other);
      const int64_t copied_ns = NanosecondsSince(start);
      cpu::StereoTimes took;
      absl::Status status = parts->stereo.Detect(options, left_view, right_view, stereo, &found->left, &found->right,
                                                 &found->matches, &took);
      if (!status.ok()) return status;
      *times = TimesOfEyes(took.detect_ns, took.left, took.right);
      times->upload_ns += copied_ns;
      found->match_ns = took.match_ns;
      return status;
    });
  }
  absl::Status Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) override {
    return InMemory([&](Parts* parts) {
      parts->matcher.Match(input, options, result);
      return absl::OkStatus();
    });
  }
  absl::StatusOr<std::unique_ptr<TrackFrames>> MakeTrackFrames(Shape shape, const TrackOptions& options, int,
                                                               int count) override {
    return CpuTrack::MakeFrames(shape, options.levels, count);
  }
  absl::StatusOr<ImageView> SetTrackFrame(TrackFrames* frames, int number, const Pixels& image) override {
    return CpuTrack::SetFrame(frames, number, image);
  }
  absl::Status StartFollow(TrackFrames* frames, int to, const TrackInput& points,
                           absl::Span<const TrackSegment> segments, const TrackOptions& options,
                           TrackResult* result) override {
    return InMemory([&](Parts* parts) {
      parts->track.Follow(frames, to, points, segments, options, result);
      return absl::OkStatus();
    });
  }
  absl::Status FinishFollow(TrackFrames*, TrackResult*) override { return absl::OkStatus(); }
  absl::Status fatal() const override { return absl::OkStatus(); }
  const std::string& device() const override { return device_; }

 private:
  // All that grows with frames.
  struct Parts {
    explicit Parts(int threads) : pipeline(threads), matcher(threads), stereo(threads, &pipeline), track(threads) {}

    cpu::Pipeline pipeline;
    cpu::Matcher matcher;
    cpu::StereoPipeline stereo;
    CpuTrack track;
    Image image, other;  // for pixels that do not lie side by side; a mask or the right eye is the other one
  };

  // Where memory cannot be had, parts are prepared in part: the next frame begins with new ones.
  template <typename Work>
  absl::Status InMemory(Work work) {
    if (parts_ == nullptr) parts_ = std::make_unique<Parts>(threads_);
    try {
      return work(parts_.get());
    } catch (const std::bad_alloc&) {
      parts_ = nullptr;
      throw;
    }
  }

  const int threads_;
  std::unique_ptr<Parts> parts_;
  const std::string device_ = "cpu";
};

// Where rows are written for the device to take them: pinned, so that the pipeline need not copy them again.
class PinnedImage {
 public:
  // Pixels that lie somewhere: where they do, or else here. RESOURCE_EXHAUSTED: no more pinned memory.
  absl::StatusOr<ImageView> Hold(const Pixels& pixels) {
    if (!pixels.view.empty() || pixels.rows == nullptr) return pixels.view;
    const Shape shape = pixels.shape();
    const size_t bytes = static_cast<size_t>(shape.pixels());
    if (bytes > capacity_) {
      memory_.reset();
      capacity_ = 0;
      auto made = cuda::PinnedMemory::Allocate(bytes);
      if (!made.ok()) return made.status();
      memory_.emplace(*std::move(made));
      capacity_ = bytes;
    }
    pixels.rows->CopyRows(0, shape.height, memory_->data(), shape.width);
    return ImageView{memory_->data(), shape.width, shape.height, shape.width};
  }

 private:
  std::optional<cuda::PinnedMemory> memory_;
  size_t capacity_ = 0;
};

// The device's matcher, made for the largest sets so far.
class CudaMatching {
 public:
  CudaMatching(int ordinal, int sm_limit) {
    options_.device = ordinal;
    options_.sm_limit = sm_limit;
    options_.max_queries = options_.max_trains = 0;
    options_.max_descriptor_bytes = kRbriefBytes;
  }

  absl::Status Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) {
    return InRoom(input, [&] { return matcher_->Match(input, options, result); });
  }
  // Of descriptors that are there already.
  absl::Status MatchOnDevice(const MatchInput& input, const MatchOptions& options, MatchResult* result) {
    return InRoom(input, [&] { return matcher_->MatchOnDevice(input, options, result); });
  }

 private:
  template <typename Work>
  absl::Status InRoom(const MatchInput& input, Work work) {
    try {
      if (absl::Status s = MakeRoom(input); !s.ok()) return s;
      return work();
    } catch (const std::bad_alloc&) {
      matcher_ = nullptr;  // it is prepared in part: the next match makes another
      throw;
    }
  }

  absl::Status MakeRoom(const MatchInput& input) {
    const auto grow = [](int needed, int least, int most, int* value) {
      if (needed <= *value) return false;
      for (*value = std::max(*value, least); *value < needed;) *value = std::min(2 * *value, most);
      return true;
    };
    constexpr int kFewest = 4096;
    bool larger = grow(input.query.count, kFewest, kMaxMatchDescriptors, &options_.max_queries);
    larger = grow(input.train.count, kFewest, kMaxMatchDescriptors, &options_.max_trains) || larger;
    larger = grow(std::max(input.query.bytes, input.train.bytes), kRbriefBytes, kMaxDescriptorBytes,
                  &options_.max_descriptor_bytes) ||
             larger;
    if (matcher_ != nullptr && !larger) return absl::OkStatus();
    options_.max_queries = std::max(options_.max_queries, 1);
    options_.max_trains = std::max(options_.max_trains, 1);
    matcher_ = nullptr;  // its memory first
    auto made = cuda::Matcher::Create(options_);
    if (!made.ok()) {
      options_.max_queries = options_.max_trains = 0;  // smaller sets may find room
      options_.max_descriptor_bytes = kRbriefBytes;
      return made.status();
    }
    matcher_ = *std::move(made);
    return absl::OkStatus();
  }

  cuda::MatcherOptions options_;
  std::unique_ptr<cuda::Matcher> matcher_;
};

class CudaLane final : public Lane {
 public:
  // `pipeline` was made with `options`.
  CudaLane(std::unique_ptr<cuda::Pipeline> pipeline, const cuda::PipelineOptions& options)
      : pipeline_(std::move(pipeline)),
        options_(options),
        matching_(options.device, options.sm_limit),
        device_(absl::StrCat("cuda:", options.device)) {}

  absl::Status Run(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                   StageTimes* times) override {
    try {
      absl::Status status = Detect(options, image, mask, features, times);
      if (!status.ok()) features->Clear();
      return status;
    } catch (const std::bad_alloc&) {
      // The pipeline is prepared in part, and making another takes memory, too.
      lost_ = absl::ResourceExhaustedError("the process has no host memory left for a frame");
      throw;
    }
  }
  absl::Status RunStereo(const DetectorOptions& options, const StereoOptions& stereo, const Pixels& left,
                         const Pixels& right, StereoFound* found, StageTimes* times) override {
    return OnBoth(left, right, times, &found->match_ns, [&](ImageView l, ImageView r, cuda::StereoTimes* took) {
      return stereo_->Detect(options, l, r, stereo, &found->left, &found->right, &found->matches, took);
    });
  }
  absl::Status RunBoth(const DetectorOptions& options, const Pixels& first, const Pixels& second,
                       Features* first_features, Features* second_features, StageTimes* times) override {
    return OnBoth(first, second, times, &times->download_ns, [&](ImageView a, ImageView b, cuda::StereoTimes* took) {
      return stereo_->DetectImages(options, a, b, first_features, second_features, &both_, took);
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
    if (absl::Status s = NoteLoss(frames.status()); !s.ok()) return s;
    return frames;
  }
  absl::StatusOr<ImageView> SetTrackFrame(TrackFrames* frames, int number, const Pixels& image) override {
    auto view = SetCudaTrackFrame(frames, number, image);
    if (absl::Status s = NoteLoss(view.status(), OrdinalOf(*frames)); !s.ok()) return s;
    return view;
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
  // Of work that has no fatal() of its own, on device `ordinal`: an error there may be this lane's last.
  absl::Status NoteLoss(absl::Status status, int ordinal) {
    if (absl::IsInternal(status) && ordinal == options_.device && !cuda::ProbeDevice(ordinal).ok()) lost_ = status;
    return status;
  }
  absl::Status NoteLoss(absl::Status status) { return NoteLoss(std::move(status), options_.device); }

  // Calls work(first, second, &took) for two images at once; `rest_ns` is what it takes after detection.
  template <typename Work>
  absl::Status OnBoth(const Pixels& first, const Pixels& second, StageTimes* times, int64_t* rest_ns, Work work) {
    const cuda::Range range("lane");
    if (stereo_ == nullptr) {
      auto made = cuda::StereoPipeline::Create(options_);
      if (!made.ok()) return NoteLoss(made.status());
      stereo_ = *std::move(made);
    }
    const Clock::time_point start = Clock::now();
    const auto first_view = image_.Hold(first);
    if (!first_view.ok()) return first_view.status();
    const auto second_view = other_.Hold(second);
    if (!second_view.ok()) return second_view.status();
    const int64_t copied_ns = NanosecondsSince(start);
    cuda::StereoTimes took;
    absl::Status status;
    try {
      status = work(*first_view, *second_view, &took);
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

  absl::Status Detect(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                      StageTimes* times) {
    const cuda::Range range("lane");
    return pipeline_->Detect(options, image, mask, features, times);
  }

  const std::unique_ptr<cuda::Pipeline> pipeline_;
  const cuda::PipelineOptions options_;
  PinnedImage image_, other_;  // of pairs, whose right eye is the other one, and of tracks
  CudaMatching matching_;
  absl::Status lost_;                             // see NoteLoss(); or for want of memory
  std::unique_ptr<cuda::StereoPipeline> stereo_;  // from the first pair on
  cuda::DescriptorsOnDevice both_;                // in stereo_, of the last RunBoth()
  const std::string device_;
};

// Processors that this process may use (cgroup cpusets and taskset are reflected in the affinity mask).
int UsableProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

std::string ProcessorName() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!absl::StartsWith(line, "model name")) continue;
    const size_t colon = line.find(':');
    if (colon != std::string::npos) return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
#if defined(__aarch64__)
  return "AArch64 processor";  // Linux names no model there
#else
  return "unnamed processor";
#endif
}

cuda::Wait ToCudaWait(GpuWait wait) {
  switch (wait) {
    case GpuWait::kAdaptive:
      return cuda::Wait::kAdaptive;
    case GpuWait::kSpin:
      return cuda::Wait::kSpin;
    case GpuWait::kYield:
      return cuda::Wait::kYield;
    case GpuWait::kBlock:
      break;
  }
  return cuda::Wait::kBlock;
}

absl::StatusOr<LaneSet> CreateCpuLanes(const LaneOptions& options) {
  LaneSet set;
  set.backend = Backend::kCpu;
  set.device = ProcessorName();
  const int lanes = options.lanes > 0 ? options.lanes : std::max(1, UsableProcessors() / options.threads_per_lane);
  for (int i = 0; i < lanes; ++i) set.lanes.push_back(std::make_unique<CpuLane>(options.threads_per_lane));
  return set;
}

// The devices to use: those that were named, all of which must work, or those that work.
absl::StatusOr<std::vector<int>> CudaDevices(const LaneOptions& options, std::string* note) {
  if (!options.devices.empty()) {
    for (const int ordinal : options.devices) {
      if (absl::Status s = cuda::ProbeDevice(ordinal); !s.ok()) return s;
    }
    return options.devices;
  }
  const int count = cuda::DeviceCount();
  absl::Status why = count == 0 ? cuda::ProbeDevice(0) : absl::OkStatus();
  std::vector<int> devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    if (absl::Status probe = cuda::ProbeDevice(ordinal); probe.ok()) {
      devices.push_back(ordinal);
    } else {
      absl::StrAppend(note, note->empty() ? "" : "; ", "without device ", ordinal, ": ", probe.message());
      why = std::move(probe);
    }
  }
  if (devices.empty()) return why;
  return devices;
}

MemoryPinning PinningBy(int ordinal) {
  return {[ordinal](absl::Span<const uint8_t> m) { return cuda::LockHostRegion(ordinal, m.data(), m.size()); },
          [ordinal](absl::Span<const uint8_t> m) { return cuda::UnlockHostRegion(ordinal, m.data()); }};
}

absl::StatusOr<LaneSet> CreateCudaLanes(const LaneOptions& options, const std::vector<int>& devices) {
  cuda::PipelineOptions pipeline_options;
  pipeline_options.wait = ToCudaWait(options.gpu_wait);
  pipeline_options.max_image_pixels = options.max_image_pixels;
  pipeline_options.sm_limit = options.sm_limit;
  LaneSet set;
  set.backend = Backend::kCuda;
  for (const int ordinal : devices) {
    absl::StrAppend(&set.device, set.device.empty() ? "" : ", ", cuda::DeviceDescription(ordinal));
    set.gpus.push_back({absl::StrCat("cuda:", ordinal), cuda::DevicePciBusId(ordinal)});
    // One device's is all of them's.
    if (set.pinning.pin == nullptr && cuda::CopiesFromHostRegions(ordinal)) set.pinning = PinningBy(ordinal);
  }
  if (options.gpu_wait == GpuWait::kAdaptive) {
    const bool all_copy = std::all_of(devices.begin(), devices.end(), cuda::CopiesFromHostRegions);
    pipeline_options.spinning = SpinningThreads(UsableProcessors(), /*integrated=*/!all_copy);
    set.looking = pipeline_options.spinning / 2;
  }
  const int lanes =
      options.lanes > 0 ? options.lanes : std::clamp(UsableProcessors() / 2, kFewestCudaLanes, kMostCudaLanes);
  for (int i = 0; i < lanes; ++i) {
    for (const int ordinal : devices) {
      pipeline_options.device = ordinal;
      auto pipeline = cuda::Pipeline::Create(pipeline_options);
      if (!pipeline.ok()) return pipeline.status();
      set.lanes.push_back(std::make_unique<CudaLane>(*std::move(pipeline), pipeline_options));
    }
  }
  return set;
}

}  // namespace

absl::StatusOr<LaneSet> CreateLanes(const LaneOptions& options) {
  if (options.lanes < 0 || options.lanes > kMaxLanes) return OutOfRangeError("lanes", options.lanes, 0, kMaxLanes);
  if (options.threads_per_lane < 1 || options.threads_per_lane > kMaxThreadsPerLane) {
    return OutOfRangeError("threads_per_lane", options.threads_per_lane, 1, kMaxThreadsPerLane);
  }
  // The CPU's SIMD level also serves CUDA lanes: it decodes.
  if (absl::Status s = cpu::ValidateSimdTarget(); !s.ok()) return s;

  std::string note;
  std::vector<int> devices;
  if (options.backend != Backend::kCpu) {
    auto found = CudaDevices(options, &note);
    if (found.ok()) {
      devices = *std::move(found);
    } else if (options.backend == Backend::kCuda) {
      return found.status();
    } else {
      note = std::string(found.status().message());
    }
  }
  absl::StatusOr<LaneSet> set = devices.empty() ? CreateCpuLanes(options) : CreateCudaLanes(options, devices);
  if (!set.ok()) return set;
  set->simd = cpu::SimdTarget();
  set->note = std::move(note);
  return set;
}

}  // namespace glint
