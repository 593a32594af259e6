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
  // The pixels of the frame that was begun.
  absl::Status EndFrame(const uint8_t* pixels, ptrdiff_t stride, cudaMemcpyKind kind);
  // Checks, and puts the points where the device reads them. `params`: one for each segment.
  absl::Status Prepare(int to, const TrackInput& points, absl::Span<const TrackSegment> segments,
                       const TrackOptions& track, TrackParams* params);
  absl::Status Start(int to, const TrackInput& points, absl::Span<const TrackSegment> segments,
                     const TrackOptions& track);
  absl::StatusOr<float> Time(const TrackParams& params, int launches);

  const TrackerOptions options;
  Api* const api;
  Stream stream;
  std::array<Frame, kMaxTrackerFrames> frames;
  int multiprocessors = 0;
  MappedBuffer staged_image;
  MappedBuffer starts, tracked;  // the device reads and writes these where they are
  bool open = false;             // work may be enqueued that nobody has waited for
  bool reads_points = false;     // ... and reads `starts`
  Frame* begun = nullptr;        // by BeginFrame()
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
  GLINT_ASSIGN_OR_RETURN(stream, Stream::Create(api, options.device, options.sm_limit));
  multiprocessors = options.sm_limit > 0 ? options.sm_limit : properties.multiProcessorCount;

  const auto points = static_cast<size_t>(options.max_points);
  const auto image_bytes = static_cast<size_t>(options.max_shape.pixels());
  for (auto [buffer, bytes] : {std::pair{&staged_image, image_bytes}, std::pair{&starts, points * sizeof(TrackStart)},
                               std::pair{&tracked, points * sizeof(TrackedPoint)}}) {
    GLINT_ASSIGN_OR_RETURN(*buffer, MappedBuffer::Create(api, bytes));
  }
  for (int f = 0; f < options.frames; ++f) {
    GLINT_ASSIGN_OR_RETURN(frames[static_cast<size_t>(f)].memory,
                           DeviceBuffer::Create(stream.view(), PyramidBytes(options.max_shape)));
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

absl::Status Tracker::Impl::EndFrame(const uint8_t* pixels, ptrdiff_t stride, cudaMemcpyKind kind) {
  const cudaStream_t s = stream.view().stream;
  const auto width = static_cast<size_t>(begun_shape.width);
  const auto height = static_cast<size_t>(begun_shape.height);
  const size_t pitch = PitchOf(begun_shape.width);
  uint8_t* at = begun->memory.data();
  open = true;
  GLINT_RETURN_IF_ERROR(
      ToStatus(api->Memcpy2DAsync(at, pitch, pixels, static_cast<size_t>(stride), width, height, kind, s),
               "copying an image to the device"));
  TrackLevel* const level = begun->levels.level;
  level[0] = {at, static_cast<int>(pitch), begun_shape.width, begun_shape.height};
  int levels = 1;
  for (; levels < options.levels; ++levels) {
    const TrackLevel& finer = level[levels - 1];
    const Shape half = {finer.width / 2, finer.height / 2};
    if (half.pixels() == 0) break;
    at += static_cast<size_t>(finer.pitch) * static_cast<size_t>(finer.height);
    level[levels] = {at, static_cast<int>(PitchOf(half.width)), half.width, half.height};
  }
  for (int l = 0; l + 1 < levels; l += 2) {
    HalveParams halve = {level[l], std::min(2, levels - 1 - l), {}, {}};
    for (int i = 0; i < halve.count; ++i) {
      const TrackLevel& to = level[l + 1 + i];
      halve.to[i] = begun->memory.data() + (to.pixels - begun->memory.data());
      halve.to_pitch[i] = to.pitch;
    }
    GLINT_RETURN_IF_ERROR(HalveLevels(stream.view(), halve));
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
    one.starts = reinterpret_cast<const TrackStart*>(starts.device_data()) + begin;
    one.points = reinterpret_cast<TrackedPoint*>(tracked.device_data()) + begin;
    begin += segment.count;
  }
  if (points.count == 0) return absl::OkStatus();
  // Those of a Start() that failed half-way, or had no Finish().
  if (reads_points) GLINT_RETURN_IF_ERROR(Settle("waiting for tracks"));
  auto* const start = reinterpret_cast<TrackStart*>(starts.data());
  const float* const to_x = points.to_x == nullptr ? points.x : points.to_x;
  const float* const to_y = points.to_y == nullptr ? points.y : points.to_y;
  for (int i = 0; i < points.count; ++i) start[i] = {points.x[i], points.y[i], to_x[i], to_y[i]};
  open = reads_points = true;
  return absl::OkStatus();
}

absl::Status Tracker::Impl::Start(int to, const TrackInput& points, absl::Span<const TrackSegment> segments,
                                  const TrackOptions& track) {
  started = 0;
  std::array<TrackParams, kMaxTrackerFrames> params{};
  GLINT_RETURN_IF_ERROR(Prepare(to, points, segments, track, params.data()));
  for (size_t i = 0; i < segments.size(); ++i) {
    if (params[i].count > 0) GLINT_RETURN_IF_ERROR(TrackPoints(stream.view(), params[i], multiprocessors));
  }
  started = points.count;
  return absl::OkStatus();
}

absl::StatusOr<float> Tracker::Impl::Time(const TrackParams& params, int launches) {
  const cudaStream_t s = stream.view().stream;
  const auto enqueue_all = [&](StreamView view) {
    for (int i = 0; i < launches; ++i) GLINT_RETURN_IF_ERROR(TrackPoints(view, params, multiprocessors));
    return absl::OkStatus();
  };
  GLINT_ASSIGN_OR_RETURN(Graph graph, CaptureGraph(stream.view(), enqueue_all));
  GLINT_ASSIGN_OR_RETURN(auto executable, Instantiate(api, graph));
  GLINT_ASSIGN_OR_RETURN(Event begin, CreateEvent(api, cudaEventDefault));
  GLINT_ASSIGN_OR_RETURN(Event end, CreateEvent(api, cudaEventDefault));
  // Once to warm up.
  GLINT_RETURN_IF_ERROR(ToStatus(api->GraphLaunch(executable.get(), s), "launching a graph"));
  GLINT_RETURN_IF_ERROR(ToStatus(api->EventRecord(begin.get(), s), "recording an event"));
  GLINT_RETURN_IF_ERROR(ToStatus(api->GraphLaunch(executable.get(), s), "launching a graph"));
  GLINT_RETURN_IF_ERROR(ToStatus(api->EventRecord(end.get(), s), "recording an event"));
  GLINT_RETURN_IF_ERROR(ToStatus(api->StreamSynchronize(s), "waiting for tracks"));
  float milliseconds = 0;
  GLINT_RETURN_IF_ERROR(ToStatus(api->EventElapsedTime(&milliseconds, begin.get(), end.get()), "reading an event"));
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
  return impl_->EndFrame(impl_->staged_image.data(), impl_->begun_shape.width, cudaMemcpyHostToDevice);
}

absl::Status Tracker::CopyFrame(int frame, const ImageView& on_device) {
  GLINT_RETURN_IF_ERROR(BeginFrame(frame, on_device.shape()).status());
  // On an integrated device it may lie in mapped memory of the host.
  return impl_->EndFrame(on_device.data, on_device.stride, cudaMemcpyDefault);
}

absl::StatusOr<bool> Tracker::LendFrame(int frame, const ImageView& image) {
  if (AttributesOf(impl_->api, image.data).type != cudaMemoryTypeHost) return false;
  GLINT_RETURN_IF_ERROR(BeginFrame(frame, image.shape()).status());
  GLINT_RETURN_IF_ERROR(impl_->EndFrame(image.data, image.stride, cudaMemcpyHostToDevice));
  return true;
}

absl::Status Tracker::Release() { return impl_->Settle("waiting for an image to be taken"); }

absl::Status Tracker::SetFrame(int frame, const ImageView& image) {
  GLINT_ASSIGN_OR_RETURN(uint8_t* const memory, BeginFrame(frame, image.shape()));
  for (int y = 0; y < image.height; ++y) {
    std::memcpy(memory + static_cast<ptrdiff_t>(y) * image.width, image.row(y), static_cast<size_t>(image.width));
  }
  return EndFrame();
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
  const auto* const tracked = reinterpret_cast<const TrackedPoint*>(impl_->tracked.data());
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
