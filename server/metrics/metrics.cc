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

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

// Seconds. Five steps a decade and finer from 50 us to 1 s, where frames live.
const Histogram::BucketBoundaries& SecondsBuckets() {
  static const auto* const kBuckets = new Histogram::BucketBoundaries{
      10e-6,  25e-6,  50e-6,  75e-6,  100e-6, 150e-6, 200e-6, 300e-6, 400e-6, 500e-6, 750e-6, 1e-3,
      1.5e-3, 2e-3,   3e-3,   4e-3,   5e-3,   7.5e-3, 10e-3,  15e-3,  20e-3,  30e-3,  40e-3,  50e-3,
      75e-3,  100e-3, 150e-3, 200e-3, 300e-3, 400e-3, 500e-3, 750e-3, 1.0,    2.5,    5.0,    10.0};
  return *kBuckets;
}

// Streams live long.
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

Family<Counter>& Counters(prometheus::Registry* registry, const metric::Name& name) {
  return prometheus::BuildCounter().Name(name.name).Help(name.help).Register(*registry);
}
Family<Gauge>& Gauges(prometheus::Registry* registry, const metric::Name& name) {
  return prometheus::BuildGauge().Name(name.name).Help(name.help).Register(*registry);
}
Family<Histogram>& Histograms(prometheus::Registry* registry, const metric::Name& name) {
  return prometheus::BuildHistogram().Name(name.name).Help(name.help).Register(*registry);
}

std::function<void(int64_t)> AddTo(Counter* counter) {
  return [counter](int64_t more) { counter->Increment(static_cast<double>(more)); };
}

double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

size_t Index(absl::StatusCode code) {
  const int index = static_cast<int>(code);
  return static_cast<size_t>(index >= 0 && index < kStatusCodeCount ? index : 2);  // 2: UNKNOWN
}

EnergyMeterOptions MetersOf(const std::vector<LaneSet::Gpu>& gpus) {
  EnergyMeterOptions options;
  options.gpus.emplace();
  for (const LaneSet::Gpu& gpu : gpus) options.gpus->push_back({gpu.device, gpu.pci_bus_id});
  return options;
}

}  // namespace

const char* StatusCodeName(absl::StatusCode code) {
  static constexpr const char* kNames[kStatusCodeCount] = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  return kNames[Index(code)];
}

Metrics::Metrics(const BuildInfo& info, Sources sources)
    : sources_(std::move(sources)), gpu_sensors_(info.gpus), energy_meter_(MetersOf(info.gpus)) {
  AddCalls();
  AddSmallRefusals();
  AddFrames();
  AddTracks();
  AddLocations();
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
  const std::array<const char*, kSilenceCount> silences = {"first_message", "idle", "reply"};
  for (size_t i = 0; i < silences.size(); ++i) sessions_timed_out_[i] = &timed_out.Add({{"reason", silences[i]}});
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

void Metrics::AddCalls() {
  auto& started = Counters(&registry_, metric::kGrpcStarted);
  auto& handled = Counters(&registry_, metric::kGrpcHandled);
  auto& received = Counters(&registry_, metric::kGrpcMessagesReceived);
  auto& sent = Counters(&registry_, metric::kGrpcMessagesSent);
  auto& seconds = Histograms(&registry_, metric::kGrpcHandlingSeconds);
  struct Labels {
    const char *service, *method, *type;
  };
  constexpr char kDetection[] = "glint.v1.FeatureDetection", kMatching[] = "glint.v1.FeatureMatching",
                 kTracking[] = "glint.v1.FeatureTracking", kLocalization[] = "glint.v1.Localization";
  const std::array<Labels, kMethodCount> methods = {{{kDetection, "Detect", "unary"},
                                                     {kDetection, "DetectStream", "bidi_stream"},
                                                     {kDetection, "GetServerInfo", "unary"},
                                                     {kDetection, "RegisterSharedMemory", "unary"},
                                                     {kDetection, "UnregisterSharedMemory", "unary"},
                                                     {kMatching, "Match", "unary"},
                                                     {kMatching, "MatchStream", "bidi_stream"},
                                                     {kMatching, "StereoStream", "bidi_stream"},
                                                     {kTracking, "TrackStream", "bidi_stream"},
                                                     {kLocalization, "LocalizeStream", "bidi_stream"}}};
  for (size_t m = 0; m < methods.size(); ++m) {
    prometheus::Labels labels = {
        {"grpc_service", methods[m].service}, {"grpc_method", methods[m].method}, {"grpc_type", methods[m].type}};
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

void Metrics::AddSmallRefusals() {
  auto& refused = Counters(&registry_, metric::kSmallCallsRefused);
  const std::array<const char*, kSmallRefusalCount> reasons = {"too_many", "displaced", "late", "too_large"};
  for (size_t r = 0; r < reasons.size(); ++r) small_refused_[r] = &refused.Add({{"reason", reasons[r]}});
}

void Metrics::AddFrames() {
  const std::array<const char*, kWorkCount> operations = {"detect", "match",       "stereo",   "edit_set",
                                                          "track",  "edit_tracks", "localize", "map"};
  auto& frames = Counters(&registry_, metric::kFrames);
  auto& seconds = Histograms(&registry_, metric::kFrameDuration);
  for (size_t w = 0; w < operations.size(); ++w) {
    for (int code = 0; code < kStatusCodeCount; ++code) {
      work_[w].frames[static_cast<size_t>(code)] =
          &frames.Add({{"operation", operations[w]}, {"result", StatusCodeName(static_cast<absl::StatusCode>(code))}});
    }
    work_[w].seconds = &seconds.Add({{"operation", operations[w]}}, SecondsBuckets());
  }
  auto& stages = Histograms(&registry_, metric::kStageDuration);
  const auto stage = [&](const char* name) { return &stages.Add({{"stage", name}}, SecondsBuckets()); };
  stage_seconds_ = {stage("receive"), stage("queue"),    stage("decode"),    stage("upload"),
                    stage("detect"),  stage("match"),    stage("track"),     stage("locate"),
                    stage("adjust"),  stage("download"), stage("serialize"), stage("order")};
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
  auto& jpegs = Counters(&registry_, metric::kJpegs);
  jpegs_by_gpu_ = &jpegs.Add({{"decoder", "gpu"}});
  jpegs_by_cpu_ = &jpegs.Add({{"decoder", "cpu"}});
  auto& fallbacks = Counters(&registry_, metric::kJpegFallbacks);
  for (size_t i = 1; i < jpeg_fallbacks_.size(); ++i) {
    jpeg_fallbacks_[i] = &fallbacks.Add({{"reason", NameOf(static_cast<JpegFallback>(i))}});
  }
  for (size_t e = 0; e < encodings.size(); ++e) frame_bytes_[e] = &bytes.Add({{"encoding", encodings[e]}});
}

void Metrics::AddTracks() {
  tracks_live_ = &Gauges(&registry_, metric::kTracks).Add({});
  track_streams_ = &Gauges(&registry_, metric::kTrackStreams).Add({});
  tracks_begun_ = &Counters(&registry_, metric::kTracksBegun).Add({});
  auto& ended = Counters(&registry_, metric::kTracksEnded);
  const std::pair<TrackState, const char*> reasons[] = {{TrackState::kFlat, "flat"},
                                                        {TrackState::kOutOfImage, "out_of_image"},
                                                        {TrackState::kMovedTooFar, "moved_too_far"},
                                                        {TrackState::kNotConverged, "not_converged"},
                                                        {TrackState::kHighResidual, "high_residual"},
                                                        {TrackState::kBackwardError, "backward_error"},
                                                        {TrackState::kImageResized, "image_resized"},
                                                        {TrackState::kLastFrameLost, "last_frame_lost"},
                                                        {TrackState::kReset, "reset"},
                                                        {TrackState::kForgotten, "forgotten"}};
  for (const auto& [state, name] : reasons) {
    tracks_ended_[static_cast<size_t>(state)] = &ended.Add({{"reason", name}});
  }
  track_age_ =
      &Histograms(&registry_, metric::kTrackAge)
           .Add({}, Histogram::BucketBoundaries{0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100, 200, 500, 1000, 10000});
}

void Metrics::AddLocations() {
  localize_streams_ = &Gauges(&registry_, metric::kLocalizeStreams).Add({});
  map_keyframes_ = &Gauges(&registry_, metric::kMapKeyframes).Add({});
  map_points_ = &Gauges(&registry_, metric::kMapPoints).Add({});
  map_bytes_ = &Gauges(&registry_, metric::kMapBytes).Add({});
  auto& locations = Counters(&registry_, metric::kLocations);
  const std::pair<LocationStatus, const char*> statuses[] = {{LocationStatus::kInitializing, "initializing"},
                                                             {LocationStatus::kTracking, "tracking"},
                                                             {LocationStatus::kCoasting, "coasting"},
                                                             {LocationStatus::kLost, "lost"},
                                                             {LocationStatus::kRelocalized, "relocalized"}};
  for (const auto& [status, name] : statuses) {
    locations_[static_cast<size_t>(status)] = &locations.Add({{"status", name}});
  }
  keyframes_ = &Counters(&registry_, metric::kKeyframes).Add({});
  loops_closed_ = &Counters(&registry_, metric::kLoopsClosed).Add({});
}

void Metrics::CallStarted(Method method) { calls_[Index(method)].started->Increment(); }

void Metrics::CallEnded(Method method, absl::StatusCode code, int64_t duration_ns) {
  calls_[Index(method)].handled[glint::Index(code)]->Increment();
  calls_[Index(method)].seconds->Observe(Seconds(duration_ns));
}

void Metrics::FrameReceived(FrameEncoding encoding, size_t bytes) {
  frame_bytes_[static_cast<size_t>(encoding)]->Increment(static_cast<double>(bytes));
}

void Metrics::FrameSucceeded(Work work, const FrameTimes& times, int64_t total_ns, size_t keypoints) {
  const WorkChildren& children = work_[static_cast<size_t>(work)];
  children.frames[0]->Increment();
  children.seconds->Observe(Seconds(total_ns));
  if (work == Work::kEditSet || work == Work::kEditTracks || work == Work::kMap) return;
  stage_seconds_.receive->Observe(Seconds(times.receive_ns));
  stage_seconds_.queue->Observe(Seconds(times.queue_ns));
  stage_seconds_.decode->Observe(Seconds(times.decode_ns));
  stage_seconds_.upload->Observe(Seconds(times.stages.upload_ns));
  stage_seconds_.detect->Observe(Seconds(times.stages.detect_ns));
  if (work == Work::kMatch || work == Work::kStereo || work == Work::kLocalize) {
    stage_seconds_.match->Observe(Seconds(times.match_ns));
  }
  if (work == Work::kTrack) stage_seconds_.track->Observe(Seconds(times.track_ns));
  if (work == Work::kLocalize) {
    stage_seconds_.locate->Observe(Seconds(times.locate_ns));
    stage_seconds_.adjust->Observe(Seconds(times.adjust_ns));
  }
  stage_seconds_.download->Observe(Seconds(times.stages.download_ns));
  stage_seconds_.serialize->Observe(Seconds(times.serialize_ns));
  stage_seconds_.order->Observe(Seconds(times.order_ns));
  if (work != Work::kTrack) keypoints_->Observe(static_cast<double>(keypoints));
}

void Metrics::TracksChanged(const CameraTracks& tracks) {
  for (size_t i = 0; i < tracks.count(); ++i) {
    if (!tracks.lives(i)) {
      tracks_live_->Decrement();
      tracks_ended_[static_cast<size_t>(tracks.state[i])]->Increment();
      track_age_->Observe(tracks.age[i]);
    } else if (tracks.age[i] == 0) {
      tracks_live_->Increment();
      tracks_begun_->Increment();
    }
  }
}

void Metrics::Located(const LocalizeFound& found, const MapSize& before) {
  MapChanged(before, found.size);
  if (found.location == nullptr) return;
  locations_[static_cast<size_t>(found.location->status)]->Increment();
  if (found.location->is_keyframe) keyframes_->Increment();
  if (found.location->loop_closed) loops_closed_->Increment();
}

void Metrics::MapChanged(const MapSize& before, const MapSize& after) {
  const auto change = [](prometheus::Gauge* gauge, int64_t from, int64_t to) {
    gauge->Increment(static_cast<double>(to));
    gauge->Decrement(static_cast<double>(from));
  };
  change(map_keyframes_, before.keyframes, after.keyframes);
  change(map_points_, before.points, after.points);
  change(map_bytes_, before.bytes, after.bytes);
}

void Metrics::FrameFailed(absl::StatusCode code, int64_t total_ns, Work work) {
  const WorkChildren& children = work_[static_cast<size_t>(work)];
  children.frames[glint::Index(code)]->Increment();
  children.seconds->Observe(Seconds(total_ns));
}

void Metrics::LaneDone(const FrameJob& job) {
  const JpegsDecoded& jpegs = job.jpegs;
  if (jpegs.by_gpu > 0) jpegs_by_gpu_->Increment(static_cast<double>(jpegs.by_gpu));
  if (jpegs.by_cpu > 0) jpegs_by_cpu_->Increment(static_cast<double>(jpegs.by_cpu));
  if (jpegs.fallback != JpegFallback::kNone) jpeg_fallbacks_[static_cast<size_t>(jpegs.fallback)]->Increment();
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
  if (allocations_.has_value()) allocations_->Show(frame_path_allocations.count);
  log_lines_dropped_->Show(sources_.log_lines_dropped());
  log_lines_limited_->Show(sources_.log_lines_limited());
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
