// Lanes for a whole glint-server, linked in place of lane/create_lanes.cc: lanes of the CPU to which the n-th
// operator new of a frame, or of a stereo pair, fails, and lanes of CUDA, over a runtime without a device, to which the
// n-th call fails; pairs are like those of the CPU there. n goes up with each frame, so every call has its turn; two
// frames of three have none that fails. Tracking and matching do not fail.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>

// The real ones under another name.
#define CreateLanes CreateRealLanes
#include "lane/create_lanes.cc"
#undef CreateLanes

#ifdef GLINT_HAVE_FAKE_CUDA
#include "cuda/pipeline_factory.h"
#include "tests/cuda/fake_api.h"
#endif

namespace {

// On a lane's thread, within a frame: calls up to the one that fails; 0: none is to fail.
thread_local int calls_left = 0;

void* Allocate(std::size_t bytes, std::size_t alignment) {
  if (calls_left > 0 && --calls_left == 0) throw std::bad_alloc();
  bytes = (bytes + alignment - 1) / alignment * alignment;
  if (void* const memory = std::aligned_alloc(alignment, bytes == 0 ? alignment : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return Allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return Allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace glint {
namespace {

constexpr int kFaultEvery = 3;  // frames
constexpr int kMostCalls = 60;  // of one frame

// The number of the call that is to fail in the next frame; 0: none.
int NextFault(int* frames) {
  ++*frames;
  return *frames % kFaultEvery == 0 ? 1 + *frames / kFaultEvery % kMostCalls : 0;
}

// A frame whose memory is new each time, so that there is something to fail: the lane is made anew, too.
class StarvedLane : public Lane {
 public:
  explicit StarvedLane(std::string device) : device_(std::move(device)), lane_(MakeLane()), tracking_(MakeLane()) {}
  absl::Status Run(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                   StageTimes* times) override {
    const Starve starve(NextCall());
    return lane_->Run(options, image, mask, features, times);
  }
  absl::Status RunStereo(const DetectorOptions& options, const StereoOptions& stereo, const PixelPair& pair,
                         StereoPairResult* found, StageTimes* times) override {
    const Starve starve(NextCall());
    return lane_->RunStereo(options, stereo, pair, found, times);
  }
  absl::Status Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) override {
    return tracking_->Match(input, options, result);
  }
  absl::StatusOr<std::unique_ptr<TrackFrames>> MakeTrackFrames(Shape shape, const TrackOptions& options, int points,
                                                               int count) override {
    return tracking_->MakeTrackFrames(shape, options, points, count);
  }
  absl::StatusOr<ImageView> SetTrackFrame(TrackFrames* frames, int number, const Pixels& image) override {
    return tracking_->SetTrackFrame(frames, number, image);
  }
  absl::Status StartFollow(TrackFrames* frames, int to, const TrackInput& points,
                           absl::Span<const TrackSegment> segments, const TrackOptions& options,
                           TrackResult* result) override {
    return tracking_->StartFollow(frames, to, points, segments, options, result);
  }
  absl::Status FinishFollow(TrackFrames* frames, TrackResult* result) override {
    return tracking_->FinishFollow(frames, result);
  }
  absl::Status fatal() const override { return absl::OkStatus(); }
  const std::string& device() const override { return device_; }

 private:
  struct Starve {
    explicit Starve(int call) { calls_left = call; }
    ~Starve() { calls_left = 0; }
  };
  int NextCall() {
    const int call = NextFault(&frames_);
    if (call > 0) lane_ = MakeLane();
    return call;
  }
  static std::unique_ptr<Lane> MakeLane() {
    LaneOptions options;
    options.backend = Backend::kCpu;
    options.lanes = 1;
    return std::move(CreateRealLanes(options)->lanes[0]);
  }
  const std::string device_;  // not that of lane_, since frames refer to it beyond the end of Run()
  std::unique_ptr<Lane> lane_;
  const std::unique_ptr<Lane> tracking_;  // made once
  int frames_ = 0;
};

#ifdef GLINT_HAVE_FAKE_CUDA
class FakeCudaLane final : public StarvedLane {
 public:
  FakeCudaLane() : StarvedLane("fake:0") {
    api_.error = cudaErrorMemoryAllocation;
    auto made = cuda::PipelineFactory::Create({}, &api_);
    if (made.ok()) pipeline_ = *std::move(made);
  }
  absl::Status Run(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                   StageTimes* times) override {
    const int call = NextFault(&frames_);
    api_.fail_at = call > 0 ? api_.calls + call - 1 : -1;
    return pipeline_->Detect(options, ViewOf(image, &image_), ViewOf(mask, &mask_), features, times);
  }
  absl::Status fatal() const override { return pipeline_->fatal(); }

 private:
  cuda::FakeApi api_;
  std::unique_ptr<cuda::Pipeline> pipeline_;
  Image image_, mask_;
  int frames_ = 0;
};
#endif

}  // namespace

absl::StatusOr<LaneSet> CreateLanes(const LaneOptions& options) {
  LaneSet set;
  for (int i = 0; i < std::max(1, options.lanes); ++i) {
#ifdef GLINT_HAVE_FAKE_CUDA
    if (i % 2 == 1) {
      set.lanes.push_back(std::make_unique<FakeCudaLane>());
      continue;
    }
#endif
    set.lanes.push_back(std::make_unique<StarvedLane>("cpu"));
  }
  set.device = "lanes that fail";
  set.simd = cpu::SimdTarget();
  return set;
}

}  // namespace glint
