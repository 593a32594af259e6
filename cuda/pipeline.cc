#include "cuda/pipeline.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <list>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cuda/map_pipeline.h"
#include "cuda/map_stages.h"
#include "cuda/pipeline_factory.h"
#include "cuda/plan.h"
#include "cuda/range.h"
#include "cuda/result.h"
#include "cuda/runtime/api.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/owners.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

using Clock = std::chrono::steady_clock;

// Graphs kept, least recently used first out: more shapes than a client changes between, few enough to be small.
constexpr size_t kMaxPlans = 16;
// Pageable rows are copied to pinned memory in bands, so that the device receives one while the next is copied.
constexpr size_t kBandBytes = 256 * 1024;
// Images of so many pixels come in parts, worked on while the rest is on its way, unless the device has other frames to
// work on meanwhile: parts take less time, but more work. Smaller ones arrive before a part's launches are done.
constexpr int64_t kPixelsInParts = 2'000'000;
constexpr int kParts = 2;
// Of so many frames of a plan, one records the events that tell upload from detection, which take 8 us; its first two,
// too. The smaller of the last two uploads is what the frames between take theirs for, as one may have been
// interrupted.
constexpr int64_t kFramesPerSample = 64;
constexpr int64_t kFirstSamples = 2;
// Launches that keep the device busy while the ones to be timed are enqueued.
constexpr int kWarmUpReplays = 8;
constexpr int kReplaysPerBatch = 32;

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
std::atomic<int> FrameUnderWay::frames_on_device_[kDevices];

int64_t Nanoseconds(Clock::duration d) { return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count(); }

float Median(std::vector<float> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + v.size() / 2, v.end());
  return v[v.size() / 2];
}

// OK if the device exists and this build has code for it.
absl::Status CheckDevice(Api* api, int ordinal, cudaDeviceProp* properties) {
  int count = 0;
  if (const cudaError_t error = api->GetDeviceCount(&count); error != cudaSuccess) {
    api->GetLastError();
    int driver = 0;
    api->DriverGetVersion(&driver);
    const std::string state = driver == 0 ? "no NVIDIA driver found"
                                          : absl::StrCat("driver for CUDA ", driver / 1000, ".", driver % 1000 / 10);
    return absl::FailedPreconditionError(absl::StrCat("no usable CUDA device: ", state, "; ", cudaGetErrorName(error),
                                                      " (", cudaGetErrorString(error), ")"));
  }
  if (ordinal < 0 || ordinal >= count) {
    return absl::FailedPreconditionError(absl::StrCat("no CUDA device ", ordinal, ": the driver has ", count));
  }
  GLINT_RETURN_IF_ERROR(ToStatus(api->GetDeviceProperties(properties, ordinal), "asking for the device's properties"));
  GLINT_RETURN_IF_ERROR(ToStatus(api->SetDevice(ordinal), absl::StrCat("choosing CUDA device ", ordinal)));
  absl::Status prepared = PrepareCorners(api);
  if (prepared.ok()) prepared = PrepareMapCorners(api);
  if (prepared.ok()) prepared = PrepareDescribe(api);
  if (!prepared.ok()) {
    api->GetLastError();
    return absl::FailedPreconditionError(absl::StrCat("this build cannot run on ", properties->name, " (sm_",
                                                      properties->major, properties->minor, "): ", prepared.message()));
  }
  return absl::OkStatus();
}

}  // namespace

struct Pipeline::Impl {
  // One set of options and shape, ready to run.
  struct Prepared {
    Prepared(const PlanKey& key, int multiprocessors) : plan(key, multiprocessors) {}
    Plan plan;
    DeviceBuffer tables;
    DeviceBuffer state;        // of the map, if there is one
    std::vector<Frame> parts;  // see Plan::part_end; most often one
    Frame host{};              // as the host sees it: the result alone
    std::vector<Tail> tails;   // likewise
    MapFrame map{};
    std::vector<GraphExec> graphs;  // of each part
    LevelCounts counts;             // of the last frame
    int64_t timed_frames = 0;       // whose caller wants times
    int64_t upload_ns[2] = {};      // of the last two frames with events

    const Frame& frame() const { return parts.back(); }
  };

  explicit Impl(const PipelineOptions& pipeline_options, Api* pipeline_api)
      : options(pipeline_options), api(pipeline_api) {}

  absl::Status Initialize();
  absl::StatusOr<Prepared*> Prepare(const PlanKey& key);
  absl::Status MakeRoom(const Plan& plan);
  absl::Status Detect(const DetectorOptions& detector, const ImageView& image, const ImageView& mask,
                      Features* features, StageTimes* times);
  absl::Status Enqueue(const Prepared& prepared, int part, cudaEvent_t* stage_events = nullptr);
  int CountLaunches(const Prepared& prepared) const;
  bool CanComeInParts(const DetectorOptions& detector, const ImageView& image, const ImageView& mask) const;
  absl::StatusOr<Prepared*> PrepareFor(const DetectorOptions& detector, const ImageView& image, const ImageView& mask,
                                       bool alone);
  absl::Status Run(const Prepared& prepared, const ImageView& image, const ImageView& mask, bool timed);
  const Event& EndOf(bool timed) const { return timed ? done : finished; }
  absl::Status RunInParts(const Prepared& prepared, const ImageView& image, bool timed);
  absl::Status Launch(const Prepared& prepared, int part);
  absl::Status UploadAll(const Prepared& prepared, const ImageView& image, const ImageView& mask);
  absl::Status Upload(cudaStream_t s, const ImageView& image, int pitch, uint8_t* staging, uint8_t* device);
  bool IsPinned(const void* data);
  absl::Status Record(const Event& event, StreamView on);
  absl::Status Record(const Event& event) { return Record(event, stream.view()); }
  absl::Status WaitFor(const Event& event);
  absl::Status ClearCounters();
  absl::StatusOr<float> Microseconds(const Event& from, const Event& to);
  absl::StatusOr<StageTimes> TimesOf(Prepared* prepared, int64_t to_result, bool timed);
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
  std::vector<Event> part_uploaded;
  absl::Status fatal;

  // Memory that all plans share; grows to the largest one's need, which drops the plans made before.
  DeviceBuffer counters;
  DeviceBuffer scratch;
  MappedBuffer staging;  // image, then mask, with the plan's pitch
  MappedBuffer result;
  std::list<Prepared> plans;  // most recently used first
  // A frame did not run to its end: the counters may not be zero.
  bool counters_dirty = false;
};

absl::Status Pipeline::Impl::Initialize() {
  GLINT_RETURN_IF_ERROR(CheckDevice(api, options.device, &device));
  multiprocessors = device.multiProcessorCount;
  if (options.sm_limit > 0) multiprocessors = std::min(multiprocessors, options.sm_limit);
  auto made = Stream::Create(api, options.device, options.sm_limit);
  GLINT_RETURN_IF_ERROR(made.status());
  stream = *std::move(made);
  auto made_upload = Stream::Create(api, options.device, /*multiprocessors=*/0);
  GLINT_RETURN_IF_ERROR(made_upload.status());
  upload_stream = *std::move(made_upload);
  for (int part = 0; part < kParts; ++part) {
    auto created = CreateEvent(api, cudaEventDisableTiming);
    GLINT_RETURN_IF_ERROR(created.status());
    part_uploaded.push_back(*std::move(created));
  }
  const unsigned blocking = options.wait == Wait::kBlock ? cudaEventBlockingSync : cudaEventDefault;
  for (auto [event, flags] : {std::pair{&begun, 0u}, std::pair{&uploaded, 0u}, std::pair{&done, blocking},
                              std::pair{&finished, blocking | cudaEventDisableTiming}}) {
    auto created = CreateEvent(api, flags);
    GLINT_RETURN_IF_ERROR(created.status());
    *event = *std::move(created);
  }
  auto cleared = DeviceBuffer::Create(stream.view(), sizeof(Counters));
  GLINT_RETURN_IF_ERROR(cleared.status());
  counters = *std::move(cleared);
  return ToStatus(api->StreamSynchronize(stream.view().stream), "starting the device");
}

absl::Status Pipeline::Impl::MakeRoom(const Plan& plan) {
  const size_t images = plan.image_bytes() * (plan.key().masked ? 2 : 1);
  if (plan.scratch_bytes() > scratch.bytes()) {
    plans.clear();
    scratch = DeviceBuffer();
    auto made = DeviceBuffer::Create(stream.view(), plan.scratch_bytes());
    GLINT_RETURN_IF_ERROR(made.status());
    scratch = *std::move(made);
  }
  for (auto [buffer, bytes] : {std::pair{&staging, images}, std::pair{&result, plan.result_bytes()}}) {
    if (bytes <= buffer->bytes()) continue;
    plans.clear();
    *buffer = MappedBuffer();
    auto made = MappedBuffer::Create(api, bytes);
    GLINT_RETURN_IF_ERROR(made.status());
    *buffer = *std::move(made);
  }
  return absl::OkStatus();
}

absl::StatusOr<Pipeline::Impl::Prepared*> Pipeline::Impl::Prepare(const PlanKey& key) {
  for (auto it = plans.begin(); it != plans.end(); ++it) {
    if (!(it->plan.key() == key)) continue;
    plans.splice(plans.begin(), plans, it);
    return &plans.front();
  }
  Prepared prepared(key, multiprocessors);
  const Plan& plan = prepared.plan;
  GLINT_RETURN_IF_ERROR(MakeRoom(plan));
  auto tables = DeviceBuffer::Create(stream.view(), std::max<size_t>(plan.tables().size(), 1));
  GLINT_RETURN_IF_ERROR(tables.status());
  prepared.tables = *std::move(tables);
  GLINT_RETURN_IF_ERROR(ToStatus(api->MemcpyAsync(prepared.tables.data(), plan.tables().data(), plan.tables().size(),
                                                  cudaMemcpyHostToDevice, stream.view().stream),
                                 "copying tables to the device"));
  GLINT_RETURN_IF_ERROR(ToStatus(api->StreamSynchronize(stream.view().stream), "waiting for tables"));
  PlanMemory memory;
  memory.scratch = scratch.data();
  memory.tables = prepared.tables.data();
  memory.counters = reinterpret_cast<Counters*>(counters.data());
  memory.result = result.device_data();
  if (device.integrated) {
    memory.image = staging.device_data();
    memory.mask = staging.device_data() + plan.image_bytes();
  }
  for (int part = 0; part < key.parts; ++part) {
    prepared.parts.push_back(plan.Place(memory, part));
    prepared.tails.push_back(plan.PlaceTail(memory, part));
  }
  PlanMemory host_memory;
  host_memory.result = result.data();
  prepared.host = plan.Place(host_memory);
  if (plan.map().has_value()) {
    auto state = DeviceBuffer::Create(stream.view(), plan.map()->state_bytes());
    GLINT_RETURN_IF_ERROR(state.status());
    prepared.state = *std::move(state);
    prepared.map = plan.map()->Place(prepared.frame(), memory.scratch, memory.tables, prepared.state.data());
  }
  for (int part = 0; part < key.parts; ++part) {
    auto graph = CaptureGraph(stream.view(), [&](StreamView) { return Enqueue(prepared, part); });
    GLINT_RETURN_IF_ERROR(graph.status());
    prepared.graphs.push_back(*std::move(graph));
  }
  if (plans.size() >= kMaxPlans) plans.pop_back();
  plans.push_front(std::move(prepared));
  return &plans.front();
}

int Pipeline::Impl::CountLaunches(const Prepared& prepared) const {
  const DetectorOptions& detector = prepared.plan.key().options;
  if (prepared.plan.map().has_value()) return CountMapLaunches(detector, prepared.frame(), prepared.map);
  int launches = 2 + (detector.descriptor == Descriptor::kNone ? 0 : 1);
  // Level 0 needs none, the corner stage takes its place.
  for (const Level& level : prepared.frame().level) launches += level.width > 0 ? 1 : 0;
  return launches - std::max(0, prepared.tails.back().levels - 1);
}

// The stages of a part of a frame; the last one ends it. stage_events, if not null, are recorded before the first stage
// and after the pyramid, the corners, the ranking and the end: five.
absl::Status Pipeline::Impl::Enqueue(const Prepared& prepared, int part, cudaEvent_t* stage_events) {
  const DetectorOptions& detector = prepared.plan.key().options;
  const Frame& frame = prepared.parts[part];
  const bool harris = detector.score == Score::kHarris;
  const auto mark = [&] {
    if (stage_events == nullptr) return absl::OkStatus();
    return ToStatus(api->EventRecord(*stage_events++, stream.view().stream), "recording an event");
  };
  GLINT_RETURN_IF_ERROR(mark());
  if (prepared.plan.map().has_value()) {
    GLINT_RETURN_IF_ERROR(EnqueueMap(stream.view(), detector, frame, prepared.map, multiprocessors, mark));
    return mark();
  }
  {
    const Range range("pyramid");
    const Tail& tail = prepared.tails[part];
    for (int l = 1; l < (tail.levels > 0 ? tail.first : frame.levels); ++l) {
      GLINT_RETURN_IF_ERROR(BuildLevel(stream.view(), frame, l, multiprocessors));
    }
    if (tail.levels > 0) GLINT_RETURN_IF_ERROR(BuildTail(stream.view(), frame, tail));
  }
  GLINT_RETURN_IF_ERROR(mark());
  {
    const Range range("corners");
    GLINT_RETURN_IF_ERROR(FindCorners(stream.view(), frame, detector.arc_length, harris, multiprocessors));
  }
  if (part + 1 < prepared.plan.key().parts) return absl::OkStatus();
  GLINT_RETURN_IF_ERROR(mark());
  {
    const Range range("select, orient");
    const bool rescore = detector.ranking == Ranking::kHarris;
    GLINT_RETURN_IF_ERROR(Shortlist(stream.view(), frame, rescore, harris, multiprocessors));
    GLINT_RETURN_IF_ERROR(Orient(stream.view(), frame, rescore || harris, multiprocessors));
  }
  GLINT_RETURN_IF_ERROR(mark());
  if (detector.descriptor == Descriptor::kRbrief) {
    const Range range("describe");
    GLINT_RETURN_IF_ERROR(Describe(stream.view(), frame, multiprocessors));
  }
  return mark();
}

bool Pipeline::Impl::IsPinned(const void* data) {
  cudaPointerAttributes attributes{};
  if (api->PointerGetAttributes(&attributes, data) != cudaSuccess) {
    api->GetLastError();  // pageable memory is an error to some drivers, and none to us
    return false;
  }
  return attributes.type == cudaMemoryTypeHost;
}

absl::Status Pipeline::Impl::Upload(cudaStream_t s, const ImageView& image, int pitch, uint8_t* staging_image,
                                    uint8_t* device_image) {
  const auto width = static_cast<size_t>(image.width);
  const auto height = static_cast<size_t>(image.height);
  const auto to_pitch = static_cast<size_t>(pitch);
  if (!device.integrated && IsPinned(image.data)) {
    const auto from_pitch = static_cast<size_t>(image.stride);
    const bool contiguous = from_pitch == to_pitch && from_pitch == width;
    const cudaError_t error =
        contiguous ? api->MemcpyAsync(device_image, image.data, width * height, cudaMemcpyHostToDevice, s)
                   : api->Memcpy2DAsync(device_image, to_pitch, image.data, from_pitch, width, height,
                                        cudaMemcpyHostToDevice, s);
    return ToStatus(error, "copying pinned pixels to the device");
  }
  const size_t band_rows = std::max<size_t>(1, kBandBytes / to_pitch);
  for (size_t first = 0; first < height; first += band_rows) {
    const size_t rows = std::min(band_rows, height - first);
    uint8_t* band = staging_image + first * to_pitch;
    if (image.stride == pitch && width == to_pitch) {
      std::memcpy(band, image.row(static_cast<int>(first)), rows * width);
    } else {
      for (size_t y = 0; y < rows; ++y) {
        std::memcpy(band + y * to_pitch, image.row(static_cast<int>(first + y)), width);
      }
    }
    if (device.integrated) continue;
    GLINT_RETURN_IF_ERROR(
        ToStatus(api->MemcpyAsync(device_image + first * to_pitch, band, rows * to_pitch, cudaMemcpyHostToDevice, s),
                 "copying pixels to the device"));
  }
  return absl::OkStatus();
}

absl::Status Pipeline::Impl::UploadAll(const Prepared& prepared, const ImageView& image, const ImageView& mask) {
  const Plan& plan = prepared.plan;
  const Level& level = prepared.frame().level[0];
  const cudaStream_t s = stream.view().stream;
  GLINT_RETURN_IF_ERROR(Upload(s, image, plan.pitch(), staging.data(), level.image));
  if (!plan.key().masked) return absl::OkStatus();
  return Upload(s, mask, plan.pitch(), staging.data() + plan.image_bytes(), level.mask);
}

bool Pipeline::Impl::CanComeInParts(const DetectorOptions& detector, const ImageView& image,
                                    const ImageView& mask) const {
  return IsOrbKind(detector) && mask.empty() && !device.integrated && image.shape().pixels() >= kPixelsInParts;
}

absl::StatusOr<Pipeline::Impl::Prepared*> Pipeline::Impl::PrepareFor(const DetectorOptions& detector,
                                                                     const ImageView& image, const ImageView& mask,
                                                                     bool alone) {
  PlanKey key{detector, image.shape(), !mask.empty()};
  if (CanComeInParts(detector, image, mask)) {
    // The other plan, too, so that it is there when other frames come or go.
    key.parts = alone ? 1 : kParts;
    GLINT_RETURN_IF_ERROR(Prepare(key).status());
    key.parts = alone ? kParts : 1;
  }
  return Prepare(key);
}

absl::Status Pipeline::Impl::Launch(const Prepared& prepared, int part) {
  const Range range("launch");
  return ToStatus(api->GraphLaunch(prepared.graphs[part].get(), stream.view().stream), "launching the frame's graph");
}

// Everything up to EndOf(timed). `timed`: records the other events.
absl::Status Pipeline::Impl::Run(const Prepared& prepared, const ImageView& image, const ImageView& mask, bool timed) {
  if (prepared.plan.key().parts > 1) return RunInParts(prepared, image, timed);
  if (timed) GLINT_RETURN_IF_ERROR(Record(begun));
  {
    const Range range("upload");
    GLINT_RETURN_IF_ERROR(UploadAll(prepared, image, mask));
  }
  if (timed) GLINT_RETURN_IF_ERROR(Record(uploaded));
  GLINT_RETURN_IF_ERROR(Launch(prepared, 0));
  return Record(EndOf(timed));
}

absl::Status Pipeline::Impl::RunInParts(const Prepared& prepared, const ImageView& image, bool timed) {
  const Plan& plan = prepared.plan;
  const StreamView up = upload_stream.view();
  if (timed) GLINT_RETURN_IF_ERROR(Record(begun, up));
  int first = 0;
  for (int part = 0; part < plan.key().parts; ++part) {
    const int end = plan.part_end(part);
    const size_t offset = static_cast<size_t>(first) * plan.pitch();
    const ImageView rows = {image.row(first), image.width, end - first, image.stride};
    {
      const Range range("upload");
      GLINT_RETURN_IF_ERROR(
          Upload(up.stream, rows, plan.pitch(), staging.data() + offset, prepared.frame().level[0].image + offset));
    }
    const bool is_last = part + 1 == plan.key().parts;
    if (is_last && timed) GLINT_RETURN_IF_ERROR(Record(uploaded, up));
    GLINT_RETURN_IF_ERROR(Record(part_uploaded[part], up));
    GLINT_RETURN_IF_ERROR(ToStatus(api->StreamWaitEvent(stream.view().stream, part_uploaded[part].get()),
                                   "waiting for a part of the image"));
    GLINT_RETURN_IF_ERROR(Launch(prepared, part));
    first = end;
  }
  return Record(EndOf(timed));
}

absl::Status Pipeline::Impl::Record(const Event& event, StreamView on) {
  return ToStatus(api->EventRecord(event.get(), on.stream), "recording an event");
}

absl::Status Pipeline::Impl::WaitFor(const Event& event) {
  if (options.wait == Wait::kBlock) return ToStatus(api->EventSynchronize(event.get()), "waiting for the device");
  for (;;) {
    const cudaError_t state = api->EventQuery(event.get());
    if (state != cudaErrorNotReady) return ToStatus(state, "waiting for the device");
    if (options.wait == Wait::kYield) sched_yield();
  }
}

absl::Status Pipeline::Impl::ClearCounters() {
  if (!counters_dirty) return absl::OkStatus();
  GLINT_RETURN_IF_ERROR(
      ToStatus(api->MemsetAsync(counters.data(), 0, sizeof(Counters), stream.view().stream), "clearing counters"));
  counters_dirty = false;
  return absl::OkStatus();
}

absl::StatusOr<float> Pipeline::Impl::Microseconds(const Event& from, const Event& to) {
  float milliseconds = 0;
  GLINT_RETURN_IF_ERROR(ToStatus(api->EventElapsedTime(&milliseconds, from.get(), to.get()), "reading an event"));
  return milliseconds * 1000;
}

// But download_ns. `to_result`: from the call until the device was done.
absl::StatusOr<StageTimes> Pipeline::Impl::TimesOf(Prepared* prepared, int64_t to_result, bool timed) {
  StageTimes times;
  int64_t(&uploads)[2] = prepared->upload_ns;
  if (!timed) {
    times.upload_ns = std::min({uploads[0], uploads[1], to_result});
    times.detect_ns = to_result - times.upload_ns;
    return times;
  }
  const auto upload = Microseconds(begun, uploaded);
  GLINT_RETURN_IF_ERROR(upload.status());
  const auto detect = Microseconds(uploaded, done);
  GLINT_RETURN_IF_ERROR(detect.status());
  times.upload_ns = static_cast<int64_t>(*upload * 1000);
  times.detect_ns = static_cast<int64_t>(*detect * 1000);
  uploads[0] = std::exchange(uploads[1], times.upload_ns);
  return times;
}

// After FillByLevel() with Prepared::counts.
void Pipeline::Impl::Read(Prepared* prepared, Features* features) {
  const Plan& plan = prepared->plan;
  const DetectorOptions& detector = plan.key().options;
  const bool is_map = plan.map().has_value();
  const bool integer_keys = !is_map && detector.score != Score::kHarris && detector.ranking != Ranking::kHarris;
  prepared->counts = ReadResult(prepared->host, detector, integer_keys, is_map ? plan.map()->response_scale() : 1.0f,
                                prepared->counts, features);
}

// After an error: nothing of the frame runs any more, and either the next one can, or fatal says why not.
void Pipeline::Impl::Recover() {
  api->GetLastError();
  api->StreamSynchronize(upload_stream.view().stream);
  const cudaError_t state = api->StreamSynchronize(stream.view().stream);
  if (IsSticky(state)) fatal = absl::InternalError(ToStatus(state, "the device is lost to this process").message());
  counters_dirty = true;
  plans.clear();  // as may be what they keep zero between frames
}

absl::Status Pipeline::Impl::Detect(const DetectorOptions& detector, const ImageView& image, const ImageView& mask,
                                    Features* features, StageTimes* times) {
  const Clock::time_point start = Clock::now();
  const FrameUnderWay under_way(options.device);
  GLINT_RETURN_IF_ERROR(ToStatus(api->SetDevice(options.device), "choosing the device"));
  const auto found = PrepareFor(detector, image, mask, under_way.alone());
  GLINT_RETURN_IF_ERROR(found.status());
  Prepared* const prepared = *found;
  GLINT_RETURN_IF_ERROR(ClearCounters());
  const int64_t number = times != nullptr ? prepared->timed_frames++ : -1;
  const bool timed = number >= 0 && (number < kFirstSamples || number % kFramesPerSample == 0);
  GLINT_RETURN_IF_ERROR(Run(*prepared, image, mask, timed));
  // While the device works. Frames of a stream often have as many corners on each level as the one before: what is
  // asked for.
  FillByLevel(prepared->host, detector, prepared->counts, features);
  {
    const Range range("wait");
    GLINT_RETURN_IF_ERROR(WaitFor(EndOf(timed)));
  }
  const Clock::time_point waited = Clock::now();
  {
    const Range range("read");
    Read(prepared, features);
  }
  if (times == nullptr) return absl::OkStatus();
  const auto found_times = TimesOf(prepared, Nanoseconds(waited - start), timed);
  GLINT_RETURN_IF_ERROR(found_times.status());
  *times = *found_times;
  times->download_ns = std::max<int64_t>(0, Nanoseconds(Clock::now() - start) - times->upload_ns - times->detect_ns);
  return absl::OkStatus();
}

absl::StatusOr<DeviceTiming> Pipeline::Impl::TimeOnDevice(const PlanKey& key, const ImageView& image,
                                                          const ImageView& mask, int repeats) {
  GLINT_RETURN_IF_ERROR(ToStatus(api->SetDevice(options.device), "choosing the device"));
  auto prepared = Prepare(key);
  GLINT_RETURN_IF_ERROR(prepared.status());
  GLINT_RETURN_IF_ERROR(ClearCounters());
  GLINT_RETURN_IF_ERROR(UploadAll(**prepared, image, mask));
  const cudaStream_t s = stream.view().stream;
  const auto replay = [&] { return Launch(**prepared, 0); };
  std::vector<Event> events;
  for (int i = 0; i <= kReplaysPerBatch; ++i) {
    auto event = CreateEvent(api, cudaEventDefault);
    GLINT_RETURN_IF_ERROR(event.status());
    events.push_back(*std::move(event));
  }
  DeviceTiming timing;
  while (static_cast<int>(timing.replay_us.size()) < repeats) {
    for (int i = 0; i < kWarmUpReplays; ++i) GLINT_RETURN_IF_ERROR(replay());
    for (int i = 0; i <= kReplaysPerBatch; ++i) {
      GLINT_RETURN_IF_ERROR(Record(events[i]));
      if (i < kReplaysPerBatch) GLINT_RETURN_IF_ERROR(replay());
    }
    GLINT_RETURN_IF_ERROR(ToStatus(api->StreamSynchronize(s), "waiting for the device"));
    for (int i = 0; i < kReplaysPerBatch && static_cast<int>(timing.replay_us.size()) < repeats; ++i) {
      const auto us = Microseconds(events[i], events[i + 1]);
      GLINT_RETURN_IF_ERROR(us.status());
      timing.replay_us.push_back(*us);
    }
  }
  Features features;
  FillByLevel((*prepared)->host, key.options, CountsOf((*prepared)->host), &features);
  timing.keypoints = static_cast<int>(features.count());
  timing.launches = CountLaunches(**prepared);
  GLINT_RETURN_IF_ERROR(TimeStages(**prepared, std::min(repeats, kReplaysPerBatch), &timing.stages));
  return timing;
}

absl::Status Pipeline::Impl::TimeStages(const Prepared& prepared, int repeats, StageTimes* stages) {
  constexpr int kMarks = 5;
  std::vector<Event> events;
  cudaEvent_t handles[kMarks];
  for (cudaEvent_t& handle : handles) {
    auto event = CreateEvent(api, cudaEventDefault);
    GLINT_RETURN_IF_ERROR(event.status());
    handle = event->get();
    events.push_back(*std::move(event));
  }
  std::vector<float> us[kMarks - 1];
  for (int i = 0; i < repeats; ++i) {
    for (int k = 0; k < kWarmUpReplays; ++k) {
      GLINT_RETURN_IF_ERROR(Launch(prepared, 0));
    }
    GLINT_RETURN_IF_ERROR(Enqueue(prepared, 0, handles));
    GLINT_RETURN_IF_ERROR(ToStatus(api->StreamSynchronize(stream.view().stream), "waiting for the device"));
    for (int k = 0; k + 1 < kMarks; ++k) {
      const auto stage = Microseconds(events[k], events[k + 1]);
      GLINT_RETURN_IF_ERROR(stage.status());
      us[k].push_back(*stage);
    }
  }
  int64_t* const fields[kMarks - 1] = {&stages->pyramid_ns, &stages->corners_ns, &stages->select_ns,
                                       &stages->describe_ns};
  for (int k = 0; k + 1 < kMarks; ++k) *fields[k] = static_cast<int64_t>(Median(us[k]) * 1000);
  return absl::OkStatus();
}

absl::StatusOr<Floors> Pipeline::Impl::MeasureFloors(int64_t bytes_up, int64_t bytes_down, int repeats) {
  GLINT_RETURN_IF_ERROR(ToStatus(api->SetDevice(options.device), "choosing the device"));
  const StreamView view = stream.view();
  auto host = MappedBuffer::Create(api, static_cast<size_t>(std::max({bytes_up, bytes_down, int64_t{1}})));
  GLINT_RETURN_IF_ERROR(host.status());
  auto memory = DeviceBuffer::Create(view, host->bytes());
  GLINT_RETURN_IF_ERROR(memory.status());
  auto nothing = CaptureGraph(view, LaunchNothing);
  GLINT_RETURN_IF_ERROR(nothing.status());
  const auto median = [&](auto enqueue) -> absl::StatusOr<float> {
    std::vector<float> us;
    for (int i = 0; i < repeats + kWarmUpReplays; ++i) {
      const Clock::time_point start = Clock::now();
      GLINT_RETURN_IF_ERROR(ToStatus(enqueue(), "measuring a floor"));
      GLINT_RETURN_IF_ERROR(Record(done));
      GLINT_RETURN_IF_ERROR(WaitFor(done));
      if (i >= kWarmUpReplays) us.push_back(static_cast<float>(Nanoseconds(Clock::now() - start)) / 1000);
    }
    return Median(us);
  };
  Floors floors;
  const auto graph = median([&] { return api->GraphLaunch(nothing->get(), view.stream); });
  GLINT_RETURN_IF_ERROR(graph.status());
  const auto up = median([&] {
    return api->MemcpyAsync(memory->data(), host->data(), static_cast<size_t>(bytes_up), cudaMemcpyHostToDevice,
                            view.stream);
  });
  GLINT_RETURN_IF_ERROR(up.status());
  const auto down = median([&] {
    return api->MemcpyAsync(host->data(), memory->data(), static_cast<size_t>(bytes_down), cudaMemcpyDeviceToHost,
                            view.stream);
  });
  GLINT_RETURN_IF_ERROR(down.status());
  floors.empty_graph_us = *graph;
  floors.upload_us = *up;
  floors.download_us = *down;
  return floors;
}

absl::StatusOr<std::unique_ptr<Pipeline>> PipelineFactory::Create(const PipelineOptions& options, Api* api) {
  auto impl = std::make_unique<Pipeline::Impl>(options, api);
  if (absl::Status status = impl->Initialize(); !status.ok()) {
    api->GetLastError();
    return status;
  }
  return std::unique_ptr<Pipeline>(new Pipeline(std::move(impl)));
}

Pipeline::Pipeline(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Pipeline::~Pipeline() = default;

absl::StatusOr<std::unique_ptr<Pipeline>> Pipeline::Create(const PipelineOptions& options) {
  return PipelineFactory::Create(options, &CudaApi());
}

absl::Status Pipeline::Detect(const DetectorOptions& options, const ImageView& image, const ImageView& mask,
                              Features* features, StageTimes* times) {
  absl::Status status = impl_->fatal;
  if (status.ok()) {
    status = impl_->Detect(options, image, mask, features, times);
    if (!status.ok()) impl_->Recover();
  }
  if (!status.ok()) features->Clear();
  return status;
}

const absl::Status& Pipeline::fatal() const { return impl_->fatal; }

absl::StatusOr<DeviceTiming> Pipeline::TimeOnDevice(const DetectorOptions& options, const ImageView& image,
                                                    const ImageView& mask, int repeats) {
  if (!impl_->fatal.ok()) return impl_->fatal;
  auto timing = impl_->TimeOnDevice({options, image.shape(), !mask.empty()}, image, mask, repeats);
  if (!timing.ok()) impl_->Recover();
  return timing;
}

absl::StatusOr<Floors> Pipeline::MeasureFloors(int64_t bytes_up, int64_t bytes_down, int repeats) {
  if (!impl_->fatal.ok()) return impl_->fatal;
  auto floors = impl_->MeasureFloors(bytes_up, bytes_down, repeats);
  if (!floors.ok()) impl_->Recover();
  return floors;
}

absl::Status ProbeDevice(int ordinal) {
  cudaDeviceProp properties{};
  return CheckDevice(&CudaApi(), ordinal, &properties);
}

int DeviceCount() {
  int count = 0;
  return CudaApi().GetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::string DevicePciBusId(int ordinal) {
  cudaDeviceProp properties{};
  if (!CheckDevice(&CudaApi(), ordinal, &properties).ok()) return "";
  return absl::AsciiStrToUpper(absl::StrCat(absl::Hex(properties.pciDomainID, absl::kZeroPad8), ":",
                                            absl::Hex(properties.pciBusID, absl::kZeroPad2), ":",
                                            absl::Hex(properties.pciDeviceID, absl::kZeroPad2), ".0"));
}

std::string DeviceDescription(int ordinal) {
  cudaDeviceProp properties{};
  if (!CheckDevice(&CudaApi(), ordinal, &properties).ok()) return "";
  int driver = 0;
  if (CudaApi().DriverGetVersion(&driver) != cudaSuccess) return "";
  return absl::StrCat(properties.name, " (sm_", properties.major, properties.minor, ", ",
                      properties.multiProcessorCount, " SMs), driver ", driver / 1000, ".", driver % 1000 / 10);
}

absl::StatusOr<PinnedMemory> PinnedMemory::Allocate(size_t bytes) {
  void* data = nullptr;
  GLINT_RETURN_IF_ERROR(ToStatus(CudaApi().HostAlloc(&data, bytes, cudaHostAllocPortable),
                                 absl::StrCat("allocating ", bytes, " bytes of pinned memory")));
  return PinnedMemory(static_cast<uint8_t*>(data));
}

PinnedMemory::~PinnedMemory() {
  if (data_ != nullptr) CudaApi().FreeHost(data_);
}

}  // namespace glint::cuda
