#include "cuda/track/tracker.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
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
  return CheckMaximum("frames", o.frames, 2, kMaxTrackerFrames);
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
  absl::Status SetFrame(Frame* frame, const ImageView& image);
  // Checks, and copies the points to the device.
  absl::Status Prepare(const FramePoints& points, const TrackOptions& track, TrackParams* params);
  absl::Status Download(int count, TrackResult* result);
  absl::StatusOr<float> Time(const TrackParams& params, int launches);

  const TrackerOptions options;
  Api* const api;
  Stream stream;
  std::array<Frame, kMaxTrackerFrames> frames;
  MappedBuffer staged_image, staged_input, staged_output;
  DeviceBuffer input, output;
};

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
  const size_t image_bytes = PitchOf(options.max_shape.width) * static_cast<size_t>(options.max_shape.height);
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

absl::Status Tracker::Impl::SetFrame(Frame* frame, const ImageView& image) {
  frame->shape = {};
  const cudaStream_t s = stream.view().stream;
  const size_t pitch = PitchOf(image.width);
  for (int y = 0; y < image.height; ++y) {
    std::memcpy(staged_image.data() + static_cast<size_t>(y) * pitch, image.row(y), static_cast<size_t>(image.width));
  }
  uint8_t* at = frame->memory.data();
  GLINT_RETURN_IF_ERROR(ToStatus(
      api->MemcpyAsync(at, staged_image.data(), pitch * static_cast<size_t>(image.height), cudaMemcpyHostToDevice, s),
      "copying an image to the device"));
  TrackLevel* const level = frame->levels.level;
  level[0] = {at, static_cast<int>(pitch), image.width, image.height};
  for (int l = 1; l < kMaxTrackLevels; ++l) {
    const TrackLevel& finer = level[l - 1];
    at += static_cast<size_t>(finer.pitch) * static_cast<size_t>(finer.height);
    const Shape half = {finer.width / 2, finer.height / 2};
    if (half.pixels() == 0) break;
    level[l] = {at, static_cast<int>(PitchOf(half.width)), half.width, half.height};
    GLINT_RETURN_IF_ERROR(HalveLevel(stream.view(), {finer, at, level[l].pitch}));
  }
  // The next image may be written to the staging memory.
  GLINT_RETURN_IF_ERROR(ToStatus(api->StreamSynchronize(s), "waiting for a pyramid"));
  frame->shape = image.shape();
  return absl::OkStatus();
}

absl::Status Tracker::Impl::Prepare(const FramePoints& points, const TrackOptions& track, TrackParams* params) {
  GLINT_RETURN_IF_ERROR(CheckMaximum("count", points.count, 0, options.max_points));
  Shape shapes[2];
  for (const auto& [field, number, i] : {std::tuple{"from", points.from, 0}, std::tuple{"to", points.to, 1}}) {
    GLINT_RETURN_IF_ERROR(CheckMaximum(field, number, 0, options.frames - 1));
    const Frame& frame = frames[static_cast<size_t>(number)];
    if (frame.shape.pixels() == 0) return ContradictionError(field, absl::StrCat("frame ", number, " is not set"));
    shapes[i] = frame.shape;
    params->frame[i] = frame.levels;
  }
  if (shapes[0] != shapes[1]) {
    return ContradictionError("to", absl::StrCat(shapes[1].width, "x", shapes[1].height, ", but frame ", points.from,
                                                 " is ", shapes[0].width, "x", shapes[0].height));
  }
  params->levels = UsedTrackLevels(track, shapes[0]);
  params->count = points.count;
  params->options = track;
  params->points = reinterpret_cast<TrackedPoint*>(output.data());
  const auto count = static_cast<size_t>(points.count);
  const float* arrays[kInputArrays] = {points.x, points.y, points.to_x, points.to_y};
  const float* on_device[kInputArrays] = {};
  size_t filled = 0;
  for (size_t a = 0; a < kInputArrays; ++a) {
    if (arrays[a] == nullptr) continue;
    std::memcpy(staged_input.data() + filled, arrays[a], count * sizeof(float));
    on_device[a] = reinterpret_cast<const float*>(input.data() + filled);
    filled += count * sizeof(float);
  }
  params->x = on_device[0];
  params->y = on_device[1];
  params->to_x = on_device[2];
  params->to_y = on_device[3];
  if (count == 0) return absl::OkStatus();
  return ToStatus(
      api->MemcpyAsync(input.data(), staged_input.data(), filled, cudaMemcpyHostToDevice, stream.view().stream),
      "copying points to the device");
}

absl::Status Tracker::Impl::Download(int count, TrackResult* result) {
  const cudaStream_t s = stream.view().stream;
  const auto points = static_cast<size_t>(count);
  GLINT_RETURN_IF_ERROR(ToStatus(
      api->MemcpyAsync(staged_output.data(), output.data(), points * sizeof(TrackedPoint), cudaMemcpyDeviceToHost, s),
      "copying tracks to the host"));
  GLINT_RETURN_IF_ERROR(ToStatus(api->StreamSynchronize(s), "waiting for tracks"));
  result->Resize(points);
  const auto* const tracked = reinterpret_cast<const TrackedPoint*>(staged_output.data());
  for (size_t i = 0; i < points; ++i) StoreTrackedPoint(tracked[i], i, result);
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

absl::Status Tracker::SetFrame(int frame, const ImageView& image) {
  const TrackerOptions& most = impl_->options;
  GLINT_RETURN_IF_ERROR(CheckMaximum("frame", frame, 0, most.frames - 1));
  GLINT_RETURN_IF_ERROR(CheckMaximum("image.width", image.width, 1, most.max_shape.width));
  GLINT_RETURN_IF_ERROR(CheckMaximum("image.height", image.height, 1, most.max_shape.height));
  GLINT_RETURN_IF_ERROR(ToStatus(impl_->api->SetDevice(most.device), "choosing the device"));
  return impl_->SetFrame(&impl_->frames[static_cast<size_t>(frame)], image);
}

absl::Status Tracker::Track(const FramePoints& points, const TrackOptions& options, TrackResult* result) {
  result->Resize(0);
  GLINT_RETURN_IF_ERROR(ToStatus(impl_->api->SetDevice(impl_->options.device), "choosing the device"));
  TrackParams params{};
  GLINT_RETURN_IF_ERROR(impl_->Prepare(points, options, &params));
  if (points.count == 0) return absl::OkStatus();
  GLINT_RETURN_IF_ERROR(TrackPoints(impl_->stream.view(), params));
  return impl_->Download(points.count, result);
}

absl::StatusOr<float> Tracker::TimeOnDevice(const FramePoints& points, const TrackOptions& options, int launches) {
  GLINT_RETURN_IF_ERROR(CheckMaximum("count", points.count, 1, impl_->options.max_points));
  GLINT_RETURN_IF_ERROR(CheckMaximum("launches", launches, 1, 1000));
  GLINT_RETURN_IF_ERROR(ToStatus(impl_->api->SetDevice(impl_->options.device), "choosing the device"));
  TrackParams params{};
  GLINT_RETURN_IF_ERROR(impl_->Prepare(points, options, &params));
  return impl_->Time(params, launches);
}

}  // namespace glint::cuda
