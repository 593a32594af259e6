#include "cuda/track/tracker.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cuda/devices.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/owners.h"
#include "cuda/track/track_params.h"
#include "cuda/track/track_stages.h"
#include "cuda/track/tracker_factory.h"
#include "features/error.h"
#include "features/limits.h"

namespace glint::cuda {
namespace {

constexpr size_t kInputArrays = 4;

size_t PitchOf(int width) { return (static_cast<size_t>(width) + kTrackRowUnit - 1) / kTrackRowUnit * kTrackRowUnit; }

// Of all levels that a pyramid can have.
size_t PyramidBytes(Shape shape) {
  size_t bytes = 0;
  for (int l = 0; l < kMaxTrackLevels; ++l) bytes += PitchOf(shape.width >> l) * static_cast<size_t>(shape.height >> l);
  return bytes;
}

absl::Status CheckMaximum(absl::string_view field, int value, int low, int high) {
  return value >= low && value <= high ? absl::OkStatus() : OutOfRangeError(field, value, low, high);
}

absl::Status CheckOptions(const TrackerOptions& o) {
  GLINT_RETURN_IF_ERROR(CheckMaximum("max_points", o.max_points, 1, kMaxTrackPoints));
  GLINT_RETURN_IF_ERROR(CheckMaximum("max_shape.width", o.max_shape.width, 1, kMaxImageSide));
  GLINT_RETURN_IF_ERROR(CheckMaximum("max_shape.height", o.max_shape.height, 1, kMaxImageSide));
  GLINT_RETURN_IF_ERROR(CheckMaximum("levels", o.levels, kMinTrackLevels, kMaxTrackLevels));
  return CheckMaximum("frames", o.frames, 2, kMaxTrackerFrames);
}

TrackInput InputOf(const FramePoints& points) {
  TrackInput input;
  input.count = points.count;
  input.x = points.x;
  input.y = points.y;
  input.to_x = points.to_x;
  input.to_y = points.to_y;
  return input;
}

struct Frame {
  Shape shape;  // empty: not set
  TrackFrame levels = {};
  DeviceBuffer memory;
};

}  // namespace

struct Tracker::Impl {
  Impl(const TrackerOptions& tracker_options, Api* runtime) : options(tracker_options), api(runtime) {}

  absl::Status Initialize();
  // Until nothing that was enqueued is open.
  absl::Status Settle(const char* waiting_for);
  absl::Status BeginFrame(Frame* frame, Shape shape);
  absl::Status EndFrame();
  // Checks, and copies the points to the device. `params`: one for each segment.
  absl::Status Prepare(int to, const TrackInput& points, absl::Span<const TrackSegment> segments,
                       const TrackOptions& track, TrackParams* params);
  absl::Status Start(int to, const TrackInput& points, absl::Span<const TrackSegment> segments,
                     const TrackOptions& track);
  absl::StatusOr<float> Time(const TrackParams& params, int launches);

  const TrackerOptions options;
  Api* const api;
  Stream stream;
  std::array<Frame, kMaxTrackerFrames> frames;
  MappedBuffer staged_image, staged_input, staged_output;
  DeviceBuffer input, output;
  bool open = false;          // work may be enqueued that nobody has waited for
  bool reads_points = false;  // ... and reads staged_input
  Frame* begun = nullptr;     // by BeginFrame()
  Shape begun_shape;
  int started = 0;  // points, by Start()
};

absl::Status Tracker::Impl::Settle(const char* waiting_for) {
  if (!open) return absl::OkStatus();
  GLINT_RETURN_IF_ERROR(ToStatus(api->StreamSynchronize(stream.view().stream), waiting_for));
  open = reads_points = false;
  return absl::OkStatus();
}

absl::Status Tracker::Impl::Initialize() {
  GLINT_RETURN_IF_ERROR(CheckOptions(options));
  cudaDeviceProp properties{};
  GLINT_RETURN_IF_ERROR(CheckDevice(api, options.device, &properties));
  auto made = Stream::Create(api, options.device, options.sm_limit);
  GLINT_RETURN_IF_ERROR(made.status());
  stream = *std::move(made);

  const auto points = static_cast<size_t>(options.max_points);
  const size_t input_bytes = kInputArrays * points * sizeof(float);
  const size_t output_bytes = points * sizeof(TrackedPoint);
  const auto image_bytes = static_cast<size_t>(options.max_shape.pixels());
  for (auto [buffer, bytes] : {std::pair{&staged_image, image_bytes}, std::pair{&staged_input, input_bytes},
                               std::pair{&staged_output, output_bytes}}) {
    auto created = MappedBuffer::Create(api, bytes);
    GLINT_RETURN_IF_ERROR(created.status());
    *buffer = *std::move(created);
  }
  const auto create = [&](DeviceBuffer* buffer, size_t bytes) -> absl::Status {
    auto created = DeviceBuffer::Create(stream.view(), bytes);
    GLINT_RETURN_IF_ERROR(created.status());
    *buffer = *std::move(created);
    return absl::OkStatus();
  };
  GLINT_RETURN_IF_ERROR(create(&input, input_bytes));
  GLINT_RETURN_IF_ERROR(create(&output, output_bytes));
  for (int f = 0; f < options.frames; ++f) {
    GLINT_RETURN_IF_ERROR(create(&frames[static_cast<size_t>(f)].memory, PyramidBytes(options.max_shape)));
  }
  return ToStatus(api->StreamSynchronize(stream.view().stream), "starting the device");
}

absl::Status Tracker::Impl::BeginFrame(Frame* frame, Shape shape) {
  // The device may still be reading the last image.
  GLINT_RETURN_IF_ERROR(Settle("waiting for a pyramid"));
  frame->shape = {};
  begun = frame;
  begun_shape = shape;
  return absl::OkStatus();
}

absl::Status Tracker::Impl::EndFrame() {
  const cudaStream_t s = stream.view().stream;
  const auto width = static_cast<size_t>(begun_shape.width);
  const auto height = static_cast<size_t>(begun_shape.height);
  const size_t pitch = PitchOf(begun_shape.width);
  uint8_t* at = begun->memory.data();
  open = true;
  GLINT_RETURN_IF_ERROR(
      ToStatus(api->Memcpy2DAsync(at, pitch, staged_image.data(), width, width, height, cudaMemcpyHostToDevice, s),
               "copying an image to the device"));
  TrackLevel* const level = begun->levels.level;
  level[0] = {at, static_cast<int>(pitch), begun_shape.width, begun_shape.height};
  for (int l = 1; l < options.levels; ++l) {
    const TrackLevel& finer = level[l - 1];
    at += static_cast<size_t>(finer.pitch) * static_cast<size_t>(finer.height);
    const Shape half = {finer.width / 2, finer.height / 2};
    if (half.pixels() == 0) break;
    level[l] = {at, static_cast<int>(PitchOf(half.width)), half.width, half.height};
    GLINT_RETURN_IF_ERROR(HalveLevel(stream.view(), {finer, at, level[l].pitch}));
  }
  begun->shape = begun_shape;
  return absl::OkStatus();
}

absl::Status Tracker::Impl::Prepare(int to, const TrackInput& points, absl::Span<const TrackSegment> segments,
                                    const TrackOptions& track, TrackParams* params) {
  GLINT_RETURN_IF_ERROR(CheckMaximum("count", points.count, 0, options.max_points));
  GLINT_RETURN_IF_ERROR(CheckMaximum("levels", track.levels, kMinTrackLevels, options.levels));
  const auto set = [this](const char* field, int number) -> absl::Status {
    GLINT_RETURN_IF_ERROR(CheckMaximum(field, number, 0, options.frames - 1));
    if (frames[static_cast<size_t>(number)].shape.pixels() > 0) return absl::OkStatus();
    return ContradictionError(field, absl::StrCat("frame ", number, " is not set"));
  };
  const float* arrays[kInputArrays] = {points.x, points.y, points.to_x, points.to_y};
  const float* on_device[kInputArrays] = {};
  const auto count = static_cast<size_t>(points.count);
  for (size_t a = 0, filled = 0; a < kInputArrays; ++a) {
    if (arrays[a] == nullptr) continue;
    on_device[a] = reinterpret_cast<const float*>(input.data()) + filled;
    filled += count;
  }
  int begin = 0;
  for (size_t i = 0; i < segments.size(); ++i) {
    const TrackSegment& segment = segments[i];
    GLINT_RETURN_IF_ERROR(set("from", segment.frame));
    GLINT_RETURN_IF_ERROR(set("to", to));
    const Frame& first = frames[static_cast<size_t>(segment.frame)];
    const Frame& second = frames[static_cast<size_t>(to)];
    if (first.shape != second.shape) {
      return ContradictionError("to", absl::StrCat(second.shape.width, "x", second.shape.height, ", but frame ",
                                                   segment.frame, " is ", first.shape.width, "x", first.shape.height));
    }
    TrackParams& one = params[i];
    one.frame[0] = first.levels;
    one.frame[1] = second.levels;
    one.levels = UsedTrackLevels(track, first.shape);
    one.count = segment.count;
    one.options = track;
    one.points = reinterpret_cast<TrackedPoint*>(output.data()) + begin;
    const auto at = [&](size_t a) { return on_device[a] == nullptr ? nullptr : on_device[a] + begin; };
    one.x = at(0);
    one.y = at(1);
    one.to_x = at(2);
    one.to_y = at(3);
    begin += segment.count;
  }
  if (count == 0) return absl::OkStatus();
  // Those of a Start() that failed half-way, or had no Finish().
  if (reads_points) GLINT_RETURN_IF_ERROR(Settle("waiting for tracks"));
  size_t filled = 0;
  for (const float* const array : arrays) {
    if (array == nullptr) continue;
    std::memcpy(staged_input.data() + filled, array, count * sizeof(float));
    filled += count * sizeof(float);
  }
  open = reads_points = true;
  return ToStatus(
      api->MemcpyAsync(input.data(), staged_input.data(), filled, cudaMemcpyHostToDevice, stream.view().stream),
      "copying points to the device");
}

absl::Status Tracker::Impl::Start(int to, const TrackInput& points, absl::Span<const TrackSegment> segments,
                                  const TrackOptions& track) {
  started = 0;
  std::array<TrackParams, kMaxTrackerFrames> params{};
  GLINT_RETURN_IF_ERROR(Prepare(to, points, segments, track, params.data()));
  for (size_t i = 0; i < segments.size(); ++i) {
    if (params[i].count > 0) GLINT_RETURN_IF_ERROR(TrackPoints(stream.view(), params[i]));
  }
  if (points.count == 0) return absl::OkStatus();
  GLINT_RETURN_IF_ERROR(ToStatus(
      api->MemcpyAsync(staged_output.data(), output.data(), static_cast<size_t>(points.count) * sizeof(TrackedPoint),
                       cudaMemcpyDeviceToHost, stream.view().stream),
      "copying tracks to the host"));
  started = points.count;
  return absl::OkStatus();
}

absl::StatusOr<float> Tracker::Impl::Time(const TrackParams& params, int launches) {
  const cudaStream_t s = stream.view().stream;
  auto graph = CaptureGraph(stream.view(), [&](StreamView view) -> absl::Status {
    for (int i = 0; i < launches; ++i) GLINT_RETURN_IF_ERROR(TrackPoints(view, params));
    return absl::OkStatus();
  });
  GLINT_RETURN_IF_ERROR(graph.status());
  auto executable = Instantiate(api, *graph);
  GLINT_RETURN_IF_ERROR(executable.status());
  auto begin = CreateEvent(api, cudaEventDefault);
  GLINT_RETURN_IF_ERROR(begin.status());
  auto end = CreateEvent(api, cudaEventDefault);
  GLINT_RETURN_IF_ERROR(end.status());
  // Once to warm up.
  GLINT_RETURN_IF_ERROR(ToStatus(api->GraphLaunch(executable->get(), s), "launching a graph"));
  GLINT_RETURN_IF_ERROR(ToStatus(api->EventRecord(begin->get(), s), "recording an event"));
  GLINT_RETURN_IF_ERROR(ToStatus(api->GraphLaunch(executable->get(), s), "launching a graph"));
  GLINT_RETURN_IF_ERROR(ToStatus(api->EventRecord(end->get(), s), "recording an event"));
  GLINT_RETURN_IF_ERROR(ToStatus(api->StreamSynchronize(s), "waiting for tracks"));
  float milliseconds = 0;
  GLINT_RETURN_IF_ERROR(ToStatus(api->EventElapsedTime(&milliseconds, begin->get(), end->get()), "reading an event"));
  return 1000 * milliseconds / static_cast<float>(launches);
}

Tracker::Tracker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tracker::~Tracker() = default;

absl::StatusOr<std::unique_ptr<Tracker>> TrackerFactory::Create(const TrackerOptions& options, Api* api) {
  auto impl = std::make_unique<Tracker::Impl>(options, api);
  GLINT_RETURN_IF_ERROR(impl->Initialize());
  return std::unique_ptr<Tracker>(new Tracker(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<Tracker>> Tracker::Create(const TrackerOptions& options) {
  return TrackerFactory::Create(options, &CudaApi());
}

absl::StatusOr<uint8_t*> Tracker::BeginFrame(int frame, Shape shape) {
  const TrackerOptions& most = impl_->options;
  GLINT_RETURN_IF_ERROR(CheckMaximum("frame", frame, 0, most.frames - 1));
  GLINT_RETURN_IF_ERROR(CheckMaximum("image.width", shape.width, 1, most.max_shape.width));
  GLINT_RETURN_IF_ERROR(CheckMaximum("image.height", shape.height, 1, most.max_shape.height));
  GLINT_RETURN_IF_ERROR(ToStatus(impl_->api->SetDevice(most.device), "choosing the device"));
  GLINT_RETURN_IF_ERROR(impl_->BeginFrame(&impl_->frames[static_cast<size_t>(frame)], shape));
  return impl_->staged_image.data();
}

absl::Status Tracker::EndFrame() {
  GLINT_RETURN_IF_ERROR(ToStatus(impl_->api->SetDevice(impl_->options.device), "choosing the device"));
  return impl_->EndFrame();
}

absl::Status Tracker::SetFrame(int frame, const ImageView& image) {
  const auto memory = BeginFrame(frame, image.shape());
  GLINT_RETURN_IF_ERROR(memory.status());
  for (int y = 0; y < image.height; ++y) {
    std::memcpy(*memory + static_cast<ptrdiff_t>(y) * image.width, image.row(y), static_cast<size_t>(image.width));
  }
  return impl_->EndFrame();
}

absl::Status Tracker::Start(int to, const TrackInput& points, absl::Span<const TrackSegment> segments,
                            const TrackOptions& options) {
  GLINT_RETURN_IF_ERROR(ToStatus(impl_->api->SetDevice(impl_->options.device), "choosing the device"));
  return impl_->Start(to, points, segments, options);
}

absl::Status Tracker::Finish(TrackResult* result) {
  result->Resize(0);
  if (impl_->started == 0) return absl::OkStatus();
  const auto points = static_cast<size_t>(std::exchange(impl_->started, 0));
  GLINT_RETURN_IF_ERROR(impl_->Settle("waiting for tracks"));
  result->Resize(points);
  const auto* const tracked = reinterpret_cast<const TrackedPoint*>(impl_->staged_output.data());
  for (size_t i = 0; i < points; ++i) StoreTrackedPoint(tracked[i], i, result);
  return absl::OkStatus();
}

absl::Status Tracker::Track(const FramePoints& points, const TrackOptions& options, TrackResult* result) {
  result->Resize(0);
  const TrackSegment all = {points.from, points.count};
  GLINT_RETURN_IF_ERROR(Start(points.to, InputOf(points), {&all, 1}, options));
  return Finish(result);
}

absl::StatusOr<float> Tracker::TimeOnDevice(const FramePoints& points, const TrackOptions& options, int launches) {
  GLINT_RETURN_IF_ERROR(CheckMaximum("count", points.count, 1, impl_->options.max_points));
  GLINT_RETURN_IF_ERROR(CheckMaximum("launches", launches, 1, 1000));
  GLINT_RETURN_IF_ERROR(ToStatus(impl_->api->SetDevice(impl_->options.device), "choosing the device"));
  TrackParams params{};
  const TrackSegment all = {points.from, points.count};
  GLINT_RETURN_IF_ERROR(impl_->Prepare(points.to, InputOf(points), {&all, 1}, options, &params));
  return impl_->Time(params, launches);
}

}  // namespace glint::cuda
