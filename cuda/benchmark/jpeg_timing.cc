#include "cuda/benchmark/jpeg_timing.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cuda/devices.h"
#include "cuda/jpeg/jpeg_decoder.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/owners.h"

namespace glint::cuda {
namespace {

// Frames that keep the device busy while what is to be timed is enqueued.
constexpr int kWarmUpReplays = 8;
constexpr int kPitchAlignment = 256;  // bytes
static_assert(JpegDecoder::kMarks == kTimedJpegStages + 1 && std::size(kJpegStageNames) == kTimedJpegStages);

absl::StatusOr<std::vector<Event>> CreateEvents(Api* api, int count) {
  std::vector<Event> events;
  for (int i = 0; i < count; ++i) {
    GLINT_ASSIGN_OR_RETURN(Event event, CreateEvent(api, cudaEventDefault));
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace

struct JpegTimer::Impl {
  absl::Status Wait() {
    GLINT_RETURN_IF_ERROR(ToStatus(api->EventRecord(done.get(), stream.view().stream), "recording an event"));
    cudaError_t state = cudaErrorNotReady;
    while (state == cudaErrorNotReady) state = api->EventQuery(done.get());
    return ToStatus(state, "waiting for the device");
  }
  absl::Status Microseconds(const Event& from, const Event& to, std::vector<float>* us) {
    float milliseconds = 0;
    GLINT_RETURN_IF_ERROR(ToStatus(api->EventElapsedTime(&milliseconds, from.get(), to.get()), "reading an event"));
    us->push_back(milliseconds * 1000);
    return absl::OkStatus();
  }

  Api* api = &CudaApi();
  int device = 0;
  Stream stream;
  Event done;
  DeviceBuffer luma;
  Shape shape;  // of the last file
  int pitch = 0;
  JpegDecoder decoder;
};

JpegTimer::JpegTimer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JpegTimer::~JpegTimer() = default;

absl::StatusOr<std::unique_ptr<JpegTimer>> JpegTimer::Create(int device, int sm_limit) {
  auto impl = std::make_unique<Impl>();
  impl->device = device;
  cudaDeviceProp properties;
  GLINT_RETURN_IF_ERROR(CheckDevice(impl->api, device, &properties));
  GLINT_RETURN_IF_ERROR(ToStatus(impl->api->SetDevice(device), "choosing the device"));
  GLINT_ASSIGN_OR_RETURN(impl->stream, Stream::Create(impl->api, device, sm_limit));
  GLINT_ASSIGN_OR_RETURN(impl->done, CreateEvent(impl->api, cudaEventDisableTiming));
  return std::unique_ptr<JpegTimer>(new JpegTimer(std::move(impl)));
}

absl::StatusOr<JpegReason> JpegTimer::Decode(const JpegPlan& plan, const uint8_t* file, size_t size) {
  GLINT_RETURN_IF_ERROR(ToStatus(impl_->api->SetDevice(impl_->device), "choosing the device"));
  impl_->shape = plan.shape;
  impl_->pitch = (plan.shape.width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  const auto bytes = static_cast<size_t>(impl_->pitch) * static_cast<size_t>(plan.shape.height);
  if (bytes > impl_->luma.bytes()) {
    GLINT_ASSIGN_OR_RETURN(impl_->luma, DeviceBuffer::Create(impl_->stream.view(), bytes));
  }
  GLINT_RETURN_IF_ERROR(
      impl_->decoder.Enqueue(impl_->stream.view(), plan, file, size, impl_->luma.data(), impl_->pitch));
  GLINT_RETURN_IF_ERROR(impl_->Wait());
  return impl_->decoder.Result();
}

absl::Status JpegTimer::ReadLuma(Image* luma) {
  luma->Resize(impl_->shape);
  const auto width = static_cast<size_t>(impl_->shape.width);
  GLINT_RETURN_IF_ERROR(ToStatus(
      impl_->api->Memcpy2DAsync(luma->row(0), static_cast<size_t>(luma->stride()), impl_->luma.data(),
                                static_cast<size_t>(impl_->pitch), width, static_cast<size_t>(impl_->shape.height),
                                cudaMemcpyDeviceToHost, impl_->stream.view().stream),
      "copying luma from the device"));
  return impl_->Wait();
}

absl::StatusOr<JpegTiming> JpegTimer::TimeOnDevice(int replays, int frames) {
  GLINT_RETURN_IF_ERROR(ToStatus(impl_->api->SetDevice(impl_->device), "choosing the device"));
  const StreamView stream = impl_->stream.view();
  // A graph, since enqueuing launch by launch can take longer than the device does.
  GLINT_ASSIGN_OR_RETURN(const Graph graph,
                         CaptureGraph(stream, [&](StreamView s) { return impl_->decoder.EnqueueAgain(s); }));
  GLINT_ASSIGN_OR_RETURN(const auto replay, Instantiate(impl_->api, graph));
  const auto launch = [&](int times) {
    for (int i = 0; i < times; ++i) {
      GLINT_RETURN_IF_ERROR(ToStatus(impl_->api->GraphLaunch(replay.get(), stream.stream), "launching a graph"));
    }
    return absl::OkStatus();
  };
  GLINT_ASSIGN_OR_RETURN(auto events, CreateEvents(impl_->api, std::max(replays + 1, JpegDecoder::kMarks)));

  JpegTiming timing;
  GLINT_RETURN_IF_ERROR(launch(kWarmUpReplays));
  for (int i = 0; i <= replays; ++i) {
    GLINT_RETURN_IF_ERROR(
        ToStatus(impl_->api->EventRecord(events[static_cast<size_t>(i)].get(), stream.stream), "recording an event"));
    if (i < replays) GLINT_RETURN_IF_ERROR(launch(1));
  }
  GLINT_RETURN_IF_ERROR(impl_->Wait());
  for (size_t i = 0; i < static_cast<size_t>(replays); ++i) {
    GLINT_RETURN_IF_ERROR(impl_->Microseconds(events[i], events[i + 1], &timing.replay_us));
  }

  cudaEvent_t marks[JpegDecoder::kMarks];
  for (size_t i = 0; i < std::size(marks); ++i) marks[i] = events[i].get();
  for (int frame = 0; frame < frames; ++frame) {
    GLINT_RETURN_IF_ERROR(launch(kWarmUpReplays));
    GLINT_RETURN_IF_ERROR(impl_->decoder.EnqueueMarked(stream, marks));
    GLINT_RETURN_IF_ERROR(impl_->Wait());
    for (size_t i = 0; i < kTimedJpegStages; ++i) {
      GLINT_RETURN_IF_ERROR(impl_->Microseconds(events[i], events[i + 1], &timing.stage_us[i]));
    }
  }
  return timing;
}

}  // namespace glint::cuda
