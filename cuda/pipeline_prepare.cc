// Plans, their memory, and their graphs.
#include <algorithm>
#include <utility>

#include "cuda/devices.h"
#include "cuda/enqueue_frame.h"
#include "cuda/pipeline_impl.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/range.h"

namespace glint::cuda {
namespace {

// Graphs kept, least recently used first out: more shapes and options than the cameras of a lane have, few enough to be
// small (280 to 460 KB each on the host, as much on the device). To make one takes 1.2 ms, and 2.5 at 1920x1080.
constexpr size_t kMaxPlans = 32;

}  // namespace

absl::Status Pipeline::Impl::Initialize() {
  GLINT_RETURN_IF_ERROR(CheckDevice(api, options.device, &device));
  multiprocessors = device.multiProcessorCount;
  if (options.sm_limit > 0) multiprocessors = std::min(multiprocessors, options.sm_limit);
  GLINT_ASSIGN_OR_RETURN(stream, Stream::Create(api, options.device, options.sm_limit));
  GLINT_ASSIGN_OR_RETURN(upload_stream, Stream::Create(api, options.device, /*multiprocessors=*/0));
  for (int part = 0; part < kParts; ++part) {
    GLINT_ASSIGN_OR_RETURN(Event created, CreateEvent(api, cudaEventDisableTiming));
    part_uploaded.push_back(std::move(created));
  }
  for (auto [event, flags] : {std::pair<Event*, unsigned>{&begun, cudaEventDefault},
                              {&uploaded, cudaEventDefault},
                              {&done, cudaEventDefault},
                              {&finished, cudaEventDisableTiming},
                              {&wakes, cudaEventDisableTiming | cudaEventBlockingSync}}) {
    GLINT_ASSIGN_OR_RETURN(*event, CreateEvent(api, flags));
  }
  GLINT_ASSIGN_OR_RETURN(counters, DeviceBuffer::Create(stream.view(), sizeof(Counters)));
  return ToStatus(api->StreamSynchronize(stream.view().stream), "starting the device");
}

absl::Status Pipeline::Impl::MakeRoom(const Plan& plan) {
  const size_t images = plan.image_bytes() * (plan.key().masked ? 2 : 1);
  const size_t kept = keeps_descriptors ? plan.result_bytes() : 0;
  for (auto [buffer, bytes] : {std::pair{&scratch, plan.scratch_bytes()}, std::pair{&descriptors, kept}}) {
    if (bytes <= buffer->bytes()) continue;
    plans.clear();
    *buffer = DeviceBuffer();
    GLINT_ASSIGN_OR_RETURN(*buffer, DeviceBuffer::Create(stream.view(), bytes));
  }
  for (auto [buffer, bytes] : {std::pair{&staging, images}, std::pair{&result, plan.result_bytes()}}) {
    if (bytes <= buffer->bytes()) continue;
    plans.clear();
    *buffer = MappedBuffer();
    GLINT_ASSIGN_OR_RETURN(*buffer, MappedBuffer::Create(api, bytes));
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
  GLINT_ASSIGN_OR_RETURN(prepared.tables,
                         DeviceBuffer::Create(stream.view(), std::max<size_t>(plan.tables().size(), 1)));
  GLINT_RETURN_IF_ERROR(ToStatus(api->MemcpyAsync(prepared.tables.data(), plan.tables().data(), plan.tables().size(),
                                                  cudaMemcpyHostToDevice, stream.view().stream),
                                 "copying tables to the device"));
  GLINT_RETURN_IF_ERROR(ToStatus(api->StreamSynchronize(stream.view().stream), "waiting for tables"));
  PlanMemory memory;
  memory.scratch = scratch.data();
  memory.tables = prepared.tables.data();
  memory.counters = reinterpret_cast<Counters*>(counters.data());
  memory.result = result.device_data();
  if (keeps_descriptors) memory.descriptors = descriptors.data();
  if (device.integrated) {
    memory.image = staging.device_data();
    memory.mask = staging.device_data() + plan.image_bytes();
  }
  for (int part = 0; part < key.parts; ++part) {
    prepared.parts.push_back({plan.Place(memory, part), plan.PlaceSmallLevels(memory, part), {}, {}});
  }
  if (plan.quadtree().has_value()) prepared.parts.back().quadtree = plan.quadtree()->Place(memory.scratch);
  PlanMemory host_memory;
  host_memory.result = result.data();
  prepared.host = plan.Place(host_memory);
  if (keeps_descriptors) {
    for (Level& level : prepared.host.level) level.descriptors = nullptr;
  }
  if (plan.selection().has_value()) {
    GLINT_ASSIGN_OR_RETURN(prepared.state, DeviceBuffer::Create(stream.view(), plan.selection()->state_bytes()));
    prepared.parts.back().params =
        plan.selection()->Place(prepared.frame(), memory.scratch, memory.tables, prepared.state.data());
  }
  for (int part = 0; part < key.parts; ++part) {
    GLINT_ASSIGN_OR_RETURN(Graph graph,
                           CaptureGraph(stream.view(), [&](StreamView) { return Enqueue(prepared, part); }));
    GLINT_ASSIGN_OR_RETURN(auto executable, Instantiate(api, graph));
    prepared.graphs.push_back(std::move(executable));
  }
  if (!device.integrated && !key.masked && !CanComeInParts(key.options, key.shape, key.masked, device.integrated) &&
      plan.pitch() == key.shape.width) {
    GLINT_RETURN_IF_ERROR(PrepareUpload(&prepared));
  }
  if (plans.size() >= kMaxPlans) plans.pop_back();
  plans.push_front(std::move(prepared));
  return &plans.front();
}

// A launch that copies takes less than a copy and a launch, and the device goes on sooner.
absl::Status Pipeline::Impl::PrepareUpload(Prepared* prepared) {
  GLINT_ASSIGN_OR_RETURN(Graph graph, CaptureGraph(stream.view(), [&](StreamView) { return Enqueue(*prepared, 0); }));
  const auto bytes = static_cast<size_t>(prepared->plan.key().shape.pixels());
  GLINT_RETURN_IF_ERROR(ToStatus(
      api->GraphAddUpload(&prepared->upload_node, graph.get(), prepared->frame().level[0].image, staging.data(), bytes),
      "adding a copy to a graph"));
  GLINT_ASSIGN_OR_RETURN(prepared->upload_frame, Instantiate(api, graph));
  prepared->upload_graph = std::move(graph);
  prepared->source = staging.data();
  return absl::OkStatus();
}

absl::StatusOr<Pipeline::Impl::Prepared*> Pipeline::Impl::PrepareFor(const DetectorOptions& detector,
                                                                     const Pixels& image, const Pixels& mask,
                                                                     bool alone) {
  PlanKey key{detector, image.shape(), !mask.empty()};
  if (CanComeInParts(key.options, key.shape, key.masked, device.integrated)) {
    // The other plan, too, so that it is there when other frames come or go.
    key.parts = alone ? 1 : kParts;
    GLINT_RETURN_IF_ERROR(Prepare(key).status());
    key.parts = alone ? kParts : 1;
  }
  return Prepare(key);
}

// The launches of a part of a frame; the last one ends it. stage_events, if not null, are recorded before the first
// stage and after each: five.
absl::Status Pipeline::Impl::Enqueue(const Prepared& prepared, int part, cudaEvent_t* stage_events) {
  return EnqueueFrame(stream.view(), prepared.plan.schedule(part), prepared.parts[part], [&] {
    if (stage_events == nullptr) return absl::OkStatus();
    return ToStatus(api->EventRecord(*stage_events++, stream.view().stream), "recording an event");
  });
}

}  // namespace glint::cuda
