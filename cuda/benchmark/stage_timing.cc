// What benchmarks ask of a pipeline.
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "cuda/pipeline_impl.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/hooks.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

// Launches that keep the device busy while the ones to be timed are enqueued.
constexpr int kWarmUpReplays = 8;
constexpr int kReplaysPerBatch = 32;

float Median(std::vector<float> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + v.size() / 2, v.end());
  return v[v.size() / 2];
}

}  // namespace

absl::StatusOr<DeviceTiming> Pipeline::Impl::TimeOnDevice(const PlanKey& key, const ImageView& image,
                                                          const ImageView& mask, int repeats) {
  GLINT_RETURN_IF_ERROR(ToStatus(api->SetDevice(options.device), "choosing the device"));
  GLINT_ASSIGN_OR_RETURN(Prepared* const prepared, Prepare(key));
  GLINT_RETURN_IF_ERROR(ClearCounters());
  GLINT_RETURN_IF_ERROR(UploadAll(*prepared, image, /*raw=*/nullptr, mask));
  const cudaStream_t s = stream.view().stream;
  const auto replay = [&] { return Launch(*prepared, 0); };
  std::vector<Event> events;
  for (int i = 0; i <= kReplaysPerBatch; ++i) {
    GLINT_ASSIGN_OR_RETURN(Event event, CreateEvent(api, cudaEventDefault));
    events.push_back(std::move(event));
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
      GLINT_ASSIGN_OR_RETURN(const float us, Microseconds(events[i], events[i + 1]));
      timing.replay_us.push_back(us);
    }
  }
  Features features;
  FillByLevel(prepared->host, key.options, CountsOf(prepared->host), &features);
  timing.keypoints = static_cast<int>(features.count());
  GLINT_ASSIGN_OR_RETURN(const Graph graph,
                         CaptureGraph(stream.view(), [&](StreamView) { return Enqueue(*prepared, 0); }));
  size_t kernels = 0;
  GLINT_RETURN_IF_ERROR(ToStatus(api->GraphCountKernels(graph.get(), &kernels), "asking for a graph's kernels"));
  timing.launches = static_cast<int>(kernels);
  GLINT_RETURN_IF_ERROR(TimeStages(*prepared, std::min(repeats, kReplaysPerBatch), &timing.stages));
  return timing;
}

absl::Status Pipeline::Impl::TimeStages(const Prepared& prepared, int repeats, StageTimes* stages) {
  constexpr int kMarks = 5;
  std::vector<Event> events;
  cudaEvent_t handles[kMarks];
  for (cudaEvent_t& handle : handles) {
    GLINT_ASSIGN_OR_RETURN(Event event, CreateEvent(api, cudaEventDefault));
    handle = event.get();
    events.push_back(std::move(event));
  }
  std::vector<float> us[kMarks - 1];
  for (int i = 0; i < repeats; ++i) {
    for (int k = 0; k < kWarmUpReplays; ++k) {
      GLINT_RETURN_IF_ERROR(Launch(prepared, 0));
    }
    GLINT_RETURN_IF_ERROR(Enqueue(prepared, 0, handles));
    GLINT_RETURN_IF_ERROR(ToStatus(api->StreamSynchronize(stream.view().stream), "waiting for the device"));
    for (int k = 0; k + 1 < kMarks; ++k) {
      GLINT_ASSIGN_OR_RETURN(const float stage, Microseconds(events[k], events[k + 1]));
      us[k].push_back(stage);
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
  GLINT_ASSIGN_OR_RETURN(auto host,
                         MappedBuffer::Create(api, static_cast<size_t>(std::max({bytes_up, bytes_down, int64_t{1}}))));
  GLINT_ASSIGN_OR_RETURN(auto memory, DeviceBuffer::Create(view, host.bytes()));
  GLINT_ASSIGN_OR_RETURN(Graph nothing, CaptureGraph(view, LaunchNothing));
  GLINT_ASSIGN_OR_RETURN(auto empty, Instantiate(api, nothing));
  const auto median = [&](auto enqueue) -> absl::StatusOr<float> {
    std::vector<float> us;
    ExpectedWait wait;
    for (int i = 0; i < repeats + kWarmUpReplays; ++i) {
      const Clock::time_point start = Clock::now();
      GLINT_RETURN_IF_ERROR(ToStatus(enqueue(), "measuring a floor"));
      GLINT_RETURN_IF_ERROR(Record(done));
      GLINT_RETURN_IF_ERROR(WaitFor(done, &wait));
      if (i >= kWarmUpReplays) us.push_back(static_cast<float>(Nanoseconds(Clock::now() - start)) / 1000);
    }
    return Median(us);
  };
  Floors floors;
  GLINT_ASSIGN_OR_RETURN(floors.empty_graph_us, median([&] { return api->GraphLaunch(empty.get(), view.stream); }));
  const auto copy = [&](void* to, const void* from, int64_t bytes, cudaMemcpyKind kind) {
    return median([=] { return api->MemcpyAsync(to, from, static_cast<size_t>(bytes), kind, view.stream); });
  };
  GLINT_ASSIGN_OR_RETURN(floors.upload_us, copy(memory.data(), host.data(), bytes_up, cudaMemcpyHostToDevice));
  GLINT_ASSIGN_OR_RETURN(floors.download_us, copy(host.data(), memory.data(), bytes_down, cudaMemcpyDeviceToHost));
  return floors;
}

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

}  // namespace glint::cuda
