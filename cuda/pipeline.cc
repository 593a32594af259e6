#include "cuda/pipeline.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "cuda/pipeline_factory.h"
#include "cuda/pipeline_impl.h"
#include "cuda/result.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/range.h"

namespace glint::cuda {
namespace {

// Of so many frames of a plan, one records the events that tell upload from detection, which take 8 us; its first two,
// too. The smaller of the last two uploads is what the frames between take theirs for, as one may have been
// interrupted.
constexpr int64_t kFramesPerSample = 64;
constexpr int64_t kFirstSamples = 2;

// A thread of this process that wants to spin.
class SpinningThread {
 public:
  explicit SpinningThread(int limit) : allowed_(threads_.fetch_add(1, std::memory_order_relaxed) < limit) {
    if (!allowed_) threads_.fetch_sub(1, std::memory_order_relaxed);
  }
  ~SpinningThread() {
    if (allowed_) threads_.fetch_sub(1, std::memory_order_relaxed);
  }
  SpinningThread(const SpinningThread&) = delete;
  SpinningThread& operator=(const SpinningThread&) = delete;

  bool allowed() const { return allowed_; }

 private:
  static std::atomic<int> threads_;
  const bool allowed_;
};
std::atomic<int> SpinningThread::threads_;

}  // namespace

std::atomic<int> FrameUnderWay::frames_on_device_[kDevices];

bool Pipeline::Impl::Samples::Next() {
  const int64_t number = frames++;
  return number < kFirstSamples || number % kFramesPerSample == 0;
}

absl::Status Pipeline::Impl::SpinAndBlock(const Event& event, ExpectedWait* expected) {
  const Clock::time_point start = Clock::now();
  const std::chrono::nanoseconds spin(expected->SpinNs());
  const SpinningThread spinning(options.spinning);
  cudaError_t state = cudaErrorNotReady;
  while (spinning.allowed() && state == cudaErrorNotReady && Clock::now() - start < spin) {
    state = api->EventQuery(event.get());
  }
  absl::Status status = state == cudaErrorNotReady ? Block() : ToStatus(state, "waiting for the device");
  expected->Took(Nanoseconds(Clock::now() - start));
  return status;
}

// Until all that is on the stream is done. For each event that can wake a thread the driver has one of its own woken,
// whether anybody blocks or not: so it is recorded only here.
absl::Status Pipeline::Impl::Block() {
  GLINT_RETURN_IF_ERROR(Record(wakes));
  return ToStatus(api->EventSynchronize(wakes.get()), "waiting for the device");
}

absl::Status Pipeline::Impl::WaitFor(const Event& event, ExpectedWait* expected) {
  if (options.wait == Wait::kAdaptive) return SpinAndBlock(event, expected);
  if (options.wait == Wait::kBlock) return Block();
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

// Of a frame with events, but download_ns.
absl::StatusOr<StageTimes> Pipeline::Impl::TimesOnDevice() {
  GLINT_ASSIGN_OR_RETURN(const float upload, Microseconds(begun, uploaded));
  GLINT_ASSIGN_OR_RETURN(const float detect, Microseconds(uploaded, done));
  StageTimes times;
  times.upload_ns = static_cast<int64_t>(upload * 1000);
  times.detect_ns = static_cast<int64_t>(detect * 1000);
  return times;
}

// But download_ns. `to_result`: from the call until the device was done.
absl::StatusOr<StageTimes> Pipeline::Impl::TimesOf(Samples* samples, int64_t to_result, bool timed) {
  StageTimes times;
  StageTimes(&sampled)[2] = samples->times;
  if (!timed) {
    const StageTimes& sample = sampled[0].upload_ns < sampled[1].upload_ns ? sampled[0] : sampled[1];
    // No more of this frame than it was of that one: with both interrupted, nothing might remain for detection.
    const double share = static_cast<double>(sample.upload_ns) /
                         static_cast<double>(std::max<int64_t>(1, sample.upload_ns + sample.detect_ns));
    times.upload_ns = std::min(sample.upload_ns, static_cast<int64_t>(share * static_cast<double>(to_result)));
    times.detect_ns = to_result - times.upload_ns;
    return times;
  }
  GLINT_ASSIGN_OR_RETURN(times, TimesOnDevice());
  sampled[0] = std::exchange(sampled[1], times);
  return times;
}

// After FillByLevel() with Prepared::counts.
void Pipeline::Impl::Read(Prepared* prepared, Features* features) {
  const Plan& plan = prepared->plan;
  const DetectorOptions& detector = plan.key().options;
  const bool has_selection = plan.selection().has_value();
  const bool integer_keys = !has_selection && detector.score != Score::kHarris && detector.ranking != Ranking::kHarris;
  prepared->counts = ReadResult(prepared->host, detector, integer_keys,
                                has_selection ? plan.selection()->response_scale() : 1.0f, prepared->counts, features);
}

// After an error: nothing of the frame runs any more, and either the next one can, or fatal says why not.
void Pipeline::Impl::Recover() {
  api->GetLastError();
  api->StreamSynchronize(upload_stream.view().stream);
  const cudaError_t state = api->StreamSynchronize(stream.view().stream);
  if (IsSticky(state)) fatal = absl::InternalError(ToStatus(state, "the device is lost to this process").message());
  counters_dirty = true;
  open.reset();
  plans.clear();  // as may be what they keep zero between frames
  jpeg.Drop();
  remapper.Drop();
  registrar.Drop();
}

absl::StatusOr<Pipeline::Impl::UnderWay> Pipeline::Impl::Begin(const DetectorOptions& detector, const Pixels& image,
                                                               const Pixels& mask, bool alone, bool wants_times) {
  GLINT_RETURN_IF_ERROR(ToStatus(api->SetDevice(options.device), "choosing the device"));
  const RemapSource* raw = image.view.empty() ? image.rows->remap() : nullptr;
  if (raw != nullptr && !remapper.Choose(*raw->table)) raw = nullptr;
  // Any part of a raw image may be needed for the first row.
  const bool as_it_comes = alone && raw == nullptr;
  GLINT_ASSIGN_OR_RETURN(Prepared* const prepared, PrepareFor(detector, image, mask, as_it_comes));
  GLINT_RETURN_IF_ERROR(ClearCounters());
  begun_alone = alone;
  const bool timed = wants_times && prepared->samples.Next();
  // Where frames of others keep the device busy, nothing is gained, and copies of their own let those overlap.
  const uint8_t* const source = !timed && as_it_comes ? SourceForGraph(*prepared, image) : nullptr;
  if (source != nullptr) {
    GLINT_RETURN_IF_ERROR(LaunchWithUpload(prepared, source));
    GLINT_RETURN_IF_ERROR(Record(finished));
  } else {
    GLINT_RETURN_IF_ERROR(Run(*prepared, image, raw, mask, timed));
  }
  return UnderWay{prepared, timed};
}

absl::Status Pipeline::Impl::Start(const DetectorOptions& detector, const Pixels& image, const Pixels& mask,
                                   Features* features, StageTimes* times) {
  const Clock::time_point start = Clock::now();
  open.emplace(options.device);
  open->features = features;
  open->times = times;
  GLINT_ASSIGN_OR_RETURN(open->frame, Begin(detector, image, mask, open->on_device.alone(), times != nullptr));
  // While the device works. Frames of a stream often have as many corners on each level as the one before: what is
  // asked for.
  Prepared* const prepared = open->frame.prepared;
  FillByLevel(prepared->host, detector, prepared->counts, features);
  open->start_ns = Nanoseconds(Clock::now() - start);
  return absl::OkStatus();
}

absl::Status Pipeline::Impl::Finish() {
  const Clock::time_point start = Clock::now();
  // Since Start() the thread may have worked with another device.
  GLINT_RETURN_IF_ERROR(ToStatus(api->SetDevice(options.device), "choosing the device"));
  const auto [prepared, timed] = open->frame;
  {
    const Range range("wait");
    GLINT_RETURN_IF_ERROR(WaitFor(EndOf(timed), &prepared->wait));
  }
  const int64_t to_result = open->start_ns + Nanoseconds(Clock::now() - start);
  {
    const Range range("read");
    Read(prepared, open->features);
  }
  StageTimes* const times = open->times;
  if (times == nullptr) return absl::OkStatus();
  GLINT_ASSIGN_OR_RETURN(*times, TimesOf(&prepared->samples, to_result, timed));
  // What the device did while the caller did something else is not this frame's.
  if (const int64_t device = times->upload_ns + times->detect_ns; device > to_result) {
    const double share = static_cast<double>(to_result) / static_cast<double>(device);
    times->upload_ns = static_cast<int64_t>(share * static_cast<double>(times->upload_ns));
    times->detect_ns = to_result - times->upload_ns;
  }
  times->download_ns = open->start_ns + Nanoseconds(Clock::now() - start) - times->upload_ns - times->detect_ns;
  return absl::OkStatus();
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

absl::Status Pipeline::Start(const DetectorOptions& options, const Pixels& image, const Pixels& mask,
                             Features* features, StageTimes* times) {
  absl::Status status = impl_->fatal;
  if (status.ok()) {
    status = impl_->Start(options, image, mask, features, times);
    if (!status.ok()) impl_->Recover();
  }
  if (!status.ok()) features->Clear();
  return status;
}

absl::Status Pipeline::Finish() {
  Features* const features = impl_->open->features;
  absl::Status status = impl_->Finish();
  impl_->open.reset();
  if (!status.ok()) {
    impl_->Recover();
    features->Clear();
  }
  return status;
}

absl::Status Pipeline::Detect(const DetectorOptions& options, const Pixels& image, const Pixels& mask,
                              Features* features, StageTimes* times) {
  absl::Status status = Start(options, image, mask, features, times);
  return status.ok() ? Finish() : status;
}

absl::StatusOr<JpegReason> Pipeline::DetectJpeg(const DetectorOptions& options, const JpegPlan& plan,
                                                const uint8_t* file, size_t size, const Pixels& mask,
                                                Features* features, StageTimes* times) {
  absl::StatusOr<JpegReason> reason = JpegReason::kNone;
  if (!impl_->fatal.ok()) {
    reason = impl_->fatal;
  } else {
    const FrameUnderWay under_way(impl_->options.device);
    reason = impl_->DetectJpeg(options, plan, file, size, mask, features, times);
    if (!reason.ok()) impl_->Recover();
  }
  if (!reason.ok() || *reason != JpegReason::kNone) features->Clear();
  return reason;
}

absl::StatusOr<DepthView> Pipeline::RegisterDepth(const DepthView& depth, const DepthTable& table) {
  if (!impl_->fatal.ok()) return impl_->fatal;
  const FrameUnderWay under_way(impl_->options.device);
  absl::StatusOr<DepthView> registered = impl_->RegisterDepth(depth, table);
  if (!registered.ok()) impl_->Recover();
  return registered;
}

ImageView Pipeline::image_on_device() const { return impl_->plans.front().image(); }

const absl::Status& Pipeline::fatal() const { return impl_->fatal; }

}  // namespace glint::cuda
