#include "server/metrics/metrics.h"

#include <prometheus/text_serializer.h>

#include <iterator>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "features/error.h"
#include "server/base/allocations.h"
#include "server/metrics/process.h"

namespace glint {
namespace {

using metric::Counters;
using metric::Gauges;
using metric::Histograms;
using metric::Seconds;
using metric::SecondsBuckets;
using prometheus::Counter;
using prometheus::Histogram;

// Buckets of streams, which are long-lived.
const Histogram::BucketBoundaries& CallSecondsBuckets() {
  static const auto* const kBuckets = [] {
    auto* buckets = new Histogram::BucketBoundaries(SecondsBuckets());
    for (const double bound : {60.0, 600.0, 3600.0, 86400.0}) buckets->push_back(bound);
    return buckets;
  }();
  return *kBuckets;
}

Histogram::BucketBoundaries KeypointBuckets() {
  return {0, 10, 25, 50, 100, 200, 300, 400, 500, 750, 1000, 1500, 2000, 3000, 5000, 10000, 20000, 50000, 100000};
}

std::function<void(int64_t)> AddTo(Counter* counter) {
  return [counter](int64_t more) { counter->Increment(static_cast<double>(more)); };
}

EnergyMeterOptions MetersOf(const std::vector<LaneSet::Gpu>& gpus) {
  EnergyMeterOptions options;
  options.gpus.emplace();
  for (const LaneSet::Gpu& gpu : gpus) options.gpus->push_back({gpu.device, gpu.pci_bus_id});
  return options;
}

}  // namespace

Metrics::Metrics(const BuildInfo& info, Sources sources)
    : sources_(std::move(sources)), gpu_sensors_(info.gpus), energy_meter_(MetersOf(info.gpus)) {
  AddCalls(info.methods);
  AddPlaces();
  AddFrames();
  AddDevices(info);
  AddSessions();
  AddAccess();
  const auto gauge = [this](const metric::Name& name) { return &Gauges(&registry_, name).Add({}); };
  queue_gauge_ = gauge(metric::kQueueFrames);
  gauge(metric::kQueueCapacity)->Set(info.queue_capacity);
  frames_in_flight_ = gauge(metric::kFramesInFlight);
  pool_bytes_ = gauge(metric::kPoolBytes);
  gauge(metric::kPoolLimit)->Set(static_cast<double>(info.pool_limit));
  gauge(metric::kMemoryBound)->Set(static_cast<double>(info.memory_bound));
  if (frame_path_allocations.counted) allocations_.emplace(AddTo(&Counters(&registry_, metric::kAllocations).Add({})));
  auto& log_lines = Counters(&registry_, metric::kLogLinesDropped);
  log_lines_dropped_.emplace(AddTo(&log_lines.Add({{"reason", "full"}})));
  log_lines_limited_.emplace(AddTo(&log_lines.Add({{"reason", "rate"}})));
  traceparent_ignored_ = &Counters(&registry_, metric::kTraceparentIgnored).Add({});
  lanes_stuck_ = gauge(metric::kLanesStuck);
  lanes_busy_ = gauge(metric::kLanesBusy);
  Gauges(&registry_, metric::kBuildInfo)
      .Add({{"version", info.version}, {"backend", info.backend}, {"device", info.device}, {"simd", info.simd}})
      .Set(1);
}

void Metrics::AddDevices(const BuildInfo& info) {
  lanes_ = &Gauges(&registry_, metric::kLanes).Add({});
  lanes_->Set(static_cast<double>(info.lanes.size()));
  last_device_frame_ = &Gauges(&registry_, metric::kLastDeviceFrame);
  auto& lanes = Gauges(&registry_, metric::kDeviceLanes);
  for (const std::string& device : info.lanes) {
    DeviceChildren& children = devices_[device];
    if (children.lanes == nullptr) children.lanes = &lanes.Add({{"device", device}});
    children.lanes->Increment();
  }
  cuda_errors_ = &Counters(&registry_, metric::kCudaErrors);
}

void Metrics::AddSessions() {
  sessions_ = &Gauges(&registry_, metric::kSessions).Add({});
  auto& refused = Counters(&registry_, metric::kSessionsRefused);
  const std::array<const char*, kSessionRefusalCount> refusals = {"draining", "max_sessions", "max_sessions_per_peer"};
  for (size_t i = 0; i < refusals.size(); ++i) sessions_refused_[i] = &refused.Add({{"reason", refusals[i]}});
  auto& timed_out = Counters(&registry_, metric::kSessionsTimedOut);
  const std::array<const char*, kStreamTimeoutCount> reasons = {"first_message", "idle", "reply"};
  for (size_t i = 0; i < reasons.size(); ++i) sessions_timed_out_[i] = &timed_out.Add({{"reason", reasons[i]}});
}

void Metrics::AddAccess() {
  auto& refusals = Counters(&registry_, metric::kClientRefusals);
  const std::array<const char*, kClientLimitCount> limits = {"frames", "bytes", "frame_rate", "lane_seconds"};
  for (size_t i = 0; i < limits.size(); ++i) client_refusals_[i] = &refusals.Add({{"limit", limits[i]}});
  auto& refused = Counters(&registry_, metric::kAccessRefused);
  access_refused_ = {&refused.Add({{"reason", "unauthenticated"}}), &refused.Add({{"reason", "permission_denied"}})};
  access_revoked_ = &Counters(&registry_, metric::kAccessRevoked).Add({});
  auto& reloads = Counters(&registry_, metric::kAccessReloads);
  access_reloads_ = {&reloads.Add({{"result", "ok"}}), &reloads.Add({{"result", "error"}})};
  access_identities_ = &Gauges(&registry_, metric::kAccessIdentities).Add({});
}

void Metrics::AddCalls(const std::vector<MethodLabels>& methods) {
  auto& started = Counters(&registry_, metric::kGrpcStarted);
  auto& handled = Counters(&registry_, metric::kGrpcHandled);
  auto& received = Counters(&registry_, metric::kGrpcMessagesReceived);
  auto& sent = Counters(&registry_, metric::kGrpcMessagesSent);
  auto& seconds = Histograms(&registry_, metric::kGrpcHandlingSeconds);
  constexpr char kService[] = "glint.v1.Server";
  std::vector<MethodLabels> all = {
      {kService, "GetServerInfo"}, {kService, "RegisterSharedMemory"}, {kService, "UnregisterSharedMemory"}};
  all.insert(all.end(), methods.begin(), methods.end());
  calls_.resize(all.size());
  for (size_t m = 0; m < all.size(); ++m) {
    prometheus::Labels labels = {{"grpc_service", all[m].service},
                                 {"grpc_method", all[m].method},
                                 {"grpc_type", all[m].unary ? "unary" : "bidi_stream"}};
    calls_[m].started = &started.Add(labels);
    calls_[m].received = &received.Add(labels);
    calls_[m].sent = &sent.Add(labels);
    calls_[m].seconds = &seconds.Add(labels, CallSecondsBuckets());
    for (int code = 0; code < kStatusCodeCount; ++code) {
      labels["grpc_code"] = StatusCodeName(static_cast<absl::StatusCode>(code));
      calls_[m].handled[static_cast<size_t>(code)] = &handled.Add(labels);
    }
  }
}

void Metrics::AddPlaces() {
  auto& small = Counters(&registry_, metric::kSmallCallsRefused);
  const std::array<const char*, kSmallRefusalCount> reasons = {"too_many", "displaced", "late", "too_large"};
  for (size_t r = 0; r < reasons.size(); ++r) small_refused_[r] = &small.Add({{"reason", reasons[r]}});
  auto& refused = Counters(&registry_, metric::kPlacesRefused);
  auto& preempted = Counters(&registry_, metric::kPlacesPreempted);
  const std::array<const char*, kPlaceKindCount> kinds = {"unary", "stream", "small", "watcher", "reflection"};
  for (size_t k = 0; k < kinds.size(); ++k) {
    places_refused_[k] = &refused.Add({{"kind", kinds[k]}});
    places_preempted_[k] = &preempted.Add({{"kind", kinds[k]}});
  }
}

void Metrics::AddFrames() {
  const auto stage = [this](const char* name) { return metric::Stage(&registry_, name); };
  stage_seconds_ = {stage("receive"), stage("queue"),    stage("decode"),    stage("upload"),
                    stage("detect"),  stage("download"), stage("serialize"), stage("order")};
  auto& dropped = Counters(&registry_, metric::kFramesDropped);
  const std::pair<DropReason, const char*> reasons[] = {
      {DropReason::kSuperseded, "superseded"}, {DropReason::kExpired, "expired"}, {DropReason::kRejected, "rejected"}};
  for (const auto& [reason, name] : reasons) {
    frames_dropped_[static_cast<size_t>(reason)] = &dropped.Add({{"reason", name}});
  }
  keypoints_ = &Histograms(&registry_, metric::kKeypoints).Add({}, KeypointBuckets());
  auto& bytes = Counters(&registry_, metric::kFrameBytes);
  const std::array<const char*, kFrameEncodingCount> encodings = {"raw", "shared", "jpeg", "png", "unknown"};
  copied_bytes_ = &Counters(&registry_, metric::kCopiedBytes).Add({});
  jpegs_by_cpu_ = &Counters(&registry_, metric::kJpegs).Add({{"decoder", "cpu"}});
  for (size_t e = 0; e < encodings.size(); ++e) frame_bytes_[e] = &bytes.Add({{"encoding", encodings[e]}});
}

void Metrics::CallStarted(Method method) { calls_[Index(method)].started->Increment(); }

void Metrics::CallEnded(Method method, absl::StatusCode code, int64_t duration_ns) {
  calls_[Index(method)].handled[IndexOf(code)]->Increment();
  calls_[Index(method)].seconds->Observe(Seconds(duration_ns));
}

void Metrics::FrameReceived(FrameEncoding encoding, size_t bytes) {
  frame_bytes_[static_cast<size_t>(encoding)]->Increment(static_cast<double>(bytes));
}

void Metrics::FrameSucceeded(const FrameCounters& counters, const FrameJob& job, int64_t total_ns) {
  counters.Ended(absl::StatusCode::kOk, total_ns);
  if (job.is_edit) return;
  const FrameTimes& times = job.times;
  stage_seconds_.receive->Observe(Seconds(times.receive_ns));
  stage_seconds_.queue->Observe(Seconds(times.queue_ns));
  stage_seconds_.decode->Observe(Seconds(times.decode_ns));
  stage_seconds_.upload->Observe(Seconds(times.stages.upload_ns));
  stage_seconds_.detect->Observe(Seconds(times.stages.detect_ns));
  stage_seconds_.download->Observe(Seconds(times.stages.download_ns));
  stage_seconds_.serialize->Observe(Seconds(times.serialize_ns));
  stage_seconds_.order->Observe(Seconds(times.order_ns));
  if (job.keypoints.has_value()) keypoints_->Observe(static_cast<double>(*job.keypoints));
}

void Metrics::LaneDone(const FrameJob& job) {
  if (job.jpegs > 0) jpegs_by_cpu_->Increment(static_cast<double>(job.jpegs));
  if (job.status.ok()) {
    devices_.at(*job.device).last_frame = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  } else if (const auto name = job.status.GetPayload(kDeviceErrorPayload); name.has_value()) {
    cuda_errors_->Add({{"code", std::string(*name)}}).Increment();
  }
}

void Metrics::LaneLeft(const std::string& device) {
  lanes_->Decrement();
  devices_.at(device).lanes->Decrement();
}

std::string Metrics::Page() {
  queue_gauge_->Set(sources_.queue_frames());
  frames_in_flight_->Set(sources_.frames_in_flight());
  pool_bytes_->Set(static_cast<double>(sources_.pool_bytes()));
  for (const auto& [device, children] : devices_) {
    if (children.last_frame > 0) last_device_frame_->Add({{"device", device}}).Set(children.last_frame);
  }
  if (allocations_.has_value()) allocations_->Update(frame_path_allocations.count);
  log_lines_dropped_->Update(sources_.log_lines_dropped());
  log_lines_limited_->Update(sources_.log_lines_limited());
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  std::vector<prometheus::MetricFamily> process = CollectProcessMetrics();
  std::vector<prometheus::MetricFamily> gpus = ToMetrics(gpu_sensors_.Read());
  std::vector<prometheus::MetricFamily> energy = ToMetrics(energy_meter_.Read());
  for (auto* more : {&process, &gpus, &energy}) {
    families.insert(families.end(), std::make_move_iterator(more->begin()), std::make_move_iterator(more->end()));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace glint
