#include "cuda/benchmark/remap_timing.h"

#include <cstring>
#include <utility>

#include "cuda/devices.h"
#include "cuda/rectify/depth_registrar.h"
#include "cuda/rectify/remapper.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/owners.h"
#include "cuda/stages.h"
#include "features/camera/remap_table.h"

namespace glint::cuda {
namespace {

constexpr int kInRow = 16;
// Replays that keep the device busy while what is to be timed is enqueued.
constexpr int kWarmUpReplays = 8;
constexpr int kReplaysPerBatch = 32;
constexpr int kPitchAlignment = 256;  // bytes

// Appends the time of each replay of a graph of what `enqueue` launches, divided by `launches`.
template <typename Enqueue>
absl::Status TimeGraph(StreamView stream, int replays, int launches, Enqueue enqueue, std::vector<float>* us) {
  GLINT_ASSIGN_OR_RETURN(const Graph graph, CaptureGraph(stream, enqueue));
  GLINT_ASSIGN_OR_RETURN(const auto replay, Instantiate(stream.api, graph));
  const auto launch = [&] {
    return ToStatus(stream.api->GraphLaunch(replay.get(), stream.stream), "launching a graph");
  };
  std::vector<Event> events;
  for (int i = 0; i <= kReplaysPerBatch; ++i) {
    GLINT_ASSIGN_OR_RETURN(Event event, CreateEvent(stream.api, cudaEventDefault));
    events.push_back(std::move(event));
  }
  while (static_cast<int>(us->size()) < replays) {
    for (int i = 0; i < kWarmUpReplays; ++i) GLINT_RETURN_IF_ERROR(launch());
    for (size_t i = 0; i < events.size(); ++i) {
      if (i > 0) GLINT_RETURN_IF_ERROR(launch());
      GLINT_RETURN_IF_ERROR(ToStatus(stream.api->EventRecord(events[i].get(), stream.stream), "recording an event"));
    }
    GLINT_RETURN_IF_ERROR(ToStatus(stream.api->StreamSynchronize(stream.stream), "waiting for the device"));
    for (size_t i = 1; i < events.size(); ++i) {
      float milliseconds = 0;
      GLINT_RETURN_IF_ERROR(ToStatus(stream.api->EventElapsedTime(&milliseconds, events[i - 1].get(), events[i].get()),
                                     "reading an event"));
      us->push_back(milliseconds * 1000 / static_cast<float>(launches));
    }
  }
  return absl::OkStatus();
}

template <typename Enqueue>
absl::StatusOr<RemapTiming> TimeLaunches(StreamView stream, int replays, Enqueue enqueue) {
  RemapTiming timing;
  GLINT_RETURN_IF_ERROR(TimeGraph(stream, replays, 1, enqueue, &timing.alone_us));
  const auto in_row = [&](StreamView s) {
    for (int i = 0; i < kInRow; ++i) GLINT_RETURN_IF_ERROR(enqueue(s));
    return absl::OkStatus();
  };
  GLINT_RETURN_IF_ERROR(TimeGraph(stream, replays, kInRow, in_row, &timing.in_row_us));
  GLINT_RETURN_IF_ERROR(TimeGraph(stream, replays, 1, LaunchNothing, &timing.empty_us));
  return timing;
}

absl::StatusOr<Stream> MakeStream(int device, int sm_limit) {
  Api* const api = &CudaApi();
  cudaDeviceProp properties{};
  GLINT_RETURN_IF_ERROR(CheckDevice(api, device, &properties));
  return Stream::Create(api, device, sm_limit);
}

}  // namespace

absl::StatusOr<RemapTiming> TimeRemap(int device, int sm_limit, const RemapSource& raw, int replays, Image* rectified) {
  GLINT_ASSIGN_OR_RETURN(const Stream owner, MakeStream(device, sm_limit));
  const StreamView stream = owner.view();
  Api* const api = stream.api;
  Remapper remapper;
  remapper.Choose(*raw.table);
  GLINT_RETURN_IF_ERROR(remapper.Prepare(stream, *raw.table));
  const ImageView& source = raw.source.view;
  const auto width = static_cast<size_t>(source.width);
  for (int y = 0; y < source.height; ++y) {
    std::memcpy(remapper.staging() + static_cast<size_t>(y) * width, source.row(y), width);
  }
  GLINT_RETURN_IF_ERROR(
      ToStatus(api->MemcpyAsync(remapper.source(), remapper.staging(), static_cast<size_t>(source.shape().pixels()),
                                cudaMemcpyHostToDevice, stream.stream),
               "copying pixels to the device"));
  const Shape shape = raw.table->shape;
  const int pitch = (shape.width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  GLINT_ASSIGN_OR_RETURN(const auto to,
                         DeviceBuffer::Create(stream, static_cast<size_t>(pitch) * static_cast<size_t>(shape.height)));
  const auto remap = [&](StreamView s) { return remapper.Enqueue(s, to.data(), pitch); };
  GLINT_RETURN_IF_ERROR(remap(stream));
  rectified->Resize(shape);
  GLINT_RETURN_IF_ERROR(
      ToStatus(api->Memcpy2DAsync(rectified->row(0), static_cast<size_t>(rectified->stride()), to.data(),
                                  static_cast<size_t>(pitch), static_cast<size_t>(shape.width),
                                  static_cast<size_t>(shape.height), cudaMemcpyDeviceToHost, stream.stream),
               "copying pixels from the device"));
  GLINT_RETURN_IF_ERROR(ToStatus(api->StreamSynchronize(stream.stream), "waiting for the device"));
  return TimeLaunches(stream, replays, remap);
}

absl::StatusOr<RemapTiming> TimeRegisterDepth(int device, int sm_limit, const DepthView& depth, const DepthTable& table,
                                              int replays) {
  GLINT_ASSIGN_OR_RETURN(const Stream owner, MakeStream(device, sm_limit));
  const StreamView stream = owner.view();
  DepthRegistrar registrar;
  registrar.Choose(table);
  GLINT_RETURN_IF_ERROR(registrar.Prepare(stream, table, /*in_place=*/false));
  const auto row = 2 * static_cast<size_t>(depth.width), height = static_cast<size_t>(depth.height);
  GLINT_RETURN_IF_ERROR(
      ToStatus(stream.api->Memcpy2DAsync(registrar.source(), row, depth.data, static_cast<size_t>(depth.stride), row,
                                         height, cudaMemcpyHostToDevice, stream.stream),
               "copying depths to the device"));
  GLINT_RETURN_IF_ERROR(ToStatus(stream.api->StreamSynchronize(stream.stream), "waiting for the device"));
  return TimeLaunches(stream, replays, [&](StreamView s) { return registrar.Enqueue(s, table, depth.sensor); });
}

}  // namespace glint::cuda
