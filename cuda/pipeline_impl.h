// What a Pipeline has, and what it does with it: pipeline.cc takes a frame from call to return, pipeline_prepare.cc
// makes plans and their graphs, pipeline_run.cc gets a frame to the device, pipeline_jpeg.cc one of a JPEG file,
// benchmark/stage_timing.cc measures.
#ifndef GLINT_CUDA_PIPELINE_IMPL_H_
#define GLINT_CUDA_PIPELINE_IMPL_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/enqueue_frame.h"
#include "cuda/jpeg/jpeg_decoder.h"
#include "cuda/pipeline.h"
#include "cuda/plan/plan.h"
#include "cuda/rectify/depth_registrar.h"
#include "cuda/rectify/remapper.h"
#include "cuda/result.h"
#include "cuda/runtime/api.h"
#include "cuda/runtime/expected_wait.h"
#include "cuda/runtime/owners.h"

namespace glint::cuda {

// A frame of any of the process's pipelines, as long as this is there. Devices beyond the last counter share them,
// which can make images come whole that need not.
class FrameUnderWay {
 public:
  explicit FrameUnderWay(int device)
      : frames_(&frames_on_device_[device % kDevices]), alone_(frames_->fetch_add(1, std::memory_order_relaxed) == 0) {}
  ~FrameUnderWay() { frames_->fetch_sub(1, std::memory_order_relaxed); }
  FrameUnderWay(const FrameUnderWay&) = delete;
  FrameUnderWay& operator=(const FrameUnderWay&) = delete;

  // The only one of its device when it began.
  bool alone() const { return alone_; }

 private:
  static constexpr int kDevices = 64;
  static std::atomic<int> frames_on_device_[kDevices];

  std::atomic<int>* const frames_;
  const bool alone_;
};

struct Pipeline::Impl {
  using Clock = std::chrono::steady_clock;

  static int64_t Nanoseconds(Clock::duration d) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
  }

  // Of frames of one set of options and shape, raw ones or JPEG files: those whose times events tell.
  struct Samples {
    int64_t frames = 0;   // whose caller wants times
    StageTimes times[2];  // of the last two frames with events

    // Whether the next frame is one of them.
    bool Next();
  };

  // One set of options and shape, ready to run.
  struct Prepared {
    Prepared(const PlanKey& key, int multiprocessors) : plan(key, multiprocessors) {}
    Plan plan;
    DeviceBuffer tables;
    DeviceBuffer state;              // see SelectionPlan::state_bytes()
    std::vector<PlacedFrame> parts;  // see Plan::part_end; most often one
    Frame host{};                    // as the host sees it: the result alone
    std::vector<GraphExec> graphs;   // of each part
    // The frame with the copy of its image, for images that come whole, pinned and without gaps; else null.
    Graph upload_graph;
    cudaGraphNode_t upload_node = nullptr;  // in it
    GraphExec upload_frame;
    const uint8_t* source = nullptr;  // of the copy
    LevelCounts counts;               // of the last frame
    Samples samples, jpeg_samples;
    ExpectedWait wait;

    const Frame& frame() const { return parts.back().frame; }
    // At the device's address.
    ImageView image() const {
      const Level& level = frame().level[0];
      return {level.image, level.width, level.height, level.pitch};
    }
  };

  struct RowRange {
    int first;
    int count;
  };

  // A frame that Begin() enqueued: it is done with EndOf(timed).
  struct UnderWay {
    Prepared* prepared;
    bool timed;
  };

  // From Start() to Finish().
  struct Open {
    explicit Open(int device) : on_device(device) {}
    FrameUnderWay on_device;
    UnderWay frame{};
    Features* features = nullptr;
    StageTimes* times = nullptr;
    int64_t start_ns = 0;  // that Start() took
  };

  explicit Impl(const PipelineOptions& pipeline_options, Api* pipeline_api)
      : options(pipeline_options), api(pipeline_api) {}

  absl::Status Initialize();
  absl::StatusOr<Prepared*> Prepare(const PlanKey& key);
  absl::Status MakeRoom(const Plan& plan);
  absl::Status PrepareUpload(Prepared* prepared);
  // `alone`: no other frame is on the device.
  absl::StatusOr<UnderWay> Begin(const DetectorOptions& detector, const Pixels& image, const Pixels& mask, bool alone,
                                 bool wants_times);
  absl::Status Start(const DetectorOptions& detector, const Pixels& image, const Pixels& mask, Features* features,
                     StageTimes* times);
  absl::Status Finish();
  absl::StatusOr<JpegReason> DetectJpeg(const DetectorOptions& detector, const JpegPlan& plan, const uint8_t* file,
                                        size_t size, const Pixels& mask, Features* features, StageTimes* times);
  absl::StatusOr<DepthView> RegisterDepth(const DepthView& depth, const DepthTable& table);
  absl::Status Enqueue(const Prepared& prepared, int part, cudaEvent_t* stage_events = nullptr);
  absl::StatusOr<Prepared*> PrepareFor(const DetectorOptions& detector, const Pixels& image, const Pixels& mask,
                                       bool alone);
  const uint8_t* SourceForGraph(const Prepared& prepared, const Pixels& image);
  absl::Status LaunchWithUpload(Prepared* prepared, const uint8_t* source);
  // `raw`: what the image is remapped from, here; or null.
  absl::Status Run(const Prepared& prepared, const Pixels& image, const RemapSource* raw, const Pixels& mask,
                   bool timed);
  const Event& EndOf(bool timed) const { return timed ? done : finished; }
  absl::Status RunInParts(const Prepared& prepared, const Pixels& image, bool timed);
  absl::Status Launch(const Prepared& prepared, int part);
  absl::Status UploadAll(const Prepared& prepared, const Pixels& image, const RemapSource* raw, const Pixels& mask);
  absl::Status UploadRaw(const Prepared& prepared, const RemapSource& raw);
  absl::Status UploadMask(const Prepared& prepared, const Pixels& mask);
  absl::Status Upload(cudaStream_t s, const Pixels& image, RowRange range, int pitch, uint8_t* staging,
                      uint8_t* device);
  absl::Status Record(const Event& event, StreamView on);
  absl::Status Record(const Event& event) { return Record(event, stream.view()); }
  // `expected`: what such waits took, and this one did.
  absl::Status WaitFor(const Event& event, ExpectedWait* expected);
  absl::Status SpinAndBlock(const Event& event, ExpectedWait* expected);
  absl::Status Block();
  absl::Status ClearCounters();
  absl::StatusOr<float> Microseconds(const Event& from, const Event& to);
  absl::StatusOr<StageTimes> TimesOnDevice();
  absl::StatusOr<StageTimes> TimesOf(Samples* samples, int64_t to_result, bool timed);
  void Read(Prepared* prepared, Features* features);
  void Recover();

  absl::StatusOr<DeviceTiming> TimeOnDevice(const PlanKey& key, const ImageView& image, const ImageView& mask,
                                            int repeats);
  absl::Status TimeStages(const Prepared& prepared, int repeats, StageTimes* stages);
  absl::StatusOr<Floors> MeasureFloors(int64_t bytes_up, int64_t bytes_down, int repeats);

  const PipelineOptions options;
  Api* const api;
  cudaDeviceProp device{};
  int multiprocessors = 0;
  Stream stream;
  Stream upload_stream;  // of frames in parts
  Event begun, uploaded, done;
  Event finished;  // as `done`, of frames without times
  Event wakes;     // recorded by Block() alone
  std::vector<Event> part_uploaded;
  absl::Status fatal;
  // Descriptors stay on the device, where Prepared::frame() has them: Read() gives none. Set before Initialize().
  bool keeps_descriptors = false;

  // Memory that all plans share; grows to the largest one's need, which drops the plans made before.
  DeviceBuffer counters;
  DeviceBuffer scratch;
  MappedBuffer staging;  // image, then mask, with the plan's pitch
  MappedBuffer result;
  DeviceBuffer descriptors;  // if they are kept there
  JpegDecoder jpeg;
  Remapper remapper;
  DepthRegistrar registrar;
  ExpectedWait jpeg_wait;     // for frames that come as JPEG files
  ExpectedWait depth_wait;    // for registered depths
  std::list<Prepared> plans;  // most recently used first
  std::optional<Open> open;
  // The frame under way began when the device had no other.
  bool begun_alone = false;
  // A frame did not run to its end: the counters may not be zero.
  bool counters_dirty = false;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PIPELINE_IMPL_H_
