#include "cuda/match/matcher.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cuda/devices.h"
#include "cuda/match/match_params.h"
#include "cuda/match/match_plan.h"
#include "cuda/match/match_stages.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/owners.h"
#include "features/error.h"

namespace glint::cuda {
namespace {

constexpr size_t kAlignment = 256;  // of arrays: whole cache lines

size_t RoundUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Bytes of the arrays that an input can have for each query or train descriptor beside the descriptor.
constexpr size_t kQueryConditionBytes = 6 * sizeof(float);
constexpr size_t kTrainKeypointBytes = 4 * sizeof(float);
constexpr size_t kArrays = 12;

enum class Descriptors { kOnHost, kOnDevice };

absl::Status CheckMaximum(absl::string_view field, int value, int low, int high) {
  return value >= low && value <= high ? absl::OkStatus() : OutOfRangeError(field, value, low, high);
}

absl::Status CheckOptions(const MatcherOptions& o) {
  GLINT_RETURN_IF_ERROR(CheckMaximum("max_queries", o.max_queries, 1, kMaxMatchDescriptors));
  GLINT_RETURN_IF_ERROR(CheckMaximum("max_trains", o.max_trains, 1, kMaxMatchDescriptors));
  return CheckMaximum("max_descriptor_bytes", o.max_descriptor_bytes, kDescriptorUnit, kMaxDescriptorBytes);
}

// Puts arrays behind each other into host memory and says where they will be on the device.
class Packer {
 public:
  Packer(uint8_t* host, uint8_t* device) : host_(host), device_(device) {}

  // Null stays null.
  template <typename T>
  const T* Pack(const T* from, size_t count) {
    if (from == nullptr) return nullptr;
    std::memcpy(host_ + bytes_, from, count * sizeof(T));
    const uint8_t* at = device_ + bytes_;
    bytes_ += RoundUp(count * sizeof(T));
    return reinterpret_cast<const T*>(at);
  }
  size_t bytes() const { return bytes_; }

 private:
  uint8_t* host_;
  uint8_t* device_;
  size_t bytes_ = 0;
};

}  // namespace

absl::Status EnqueueMatch(StreamView stream, const MatchParams& params) {
  GLINT_RETURN_IF_ERROR(params.plan.kernel == MatchKernel::kTensorCores ? FindPairsByTensorCores(stream, params)
                                                                        : FindPairsByPopcount(stream, params));
  GLINT_RETURN_IF_ERROR(FinishMatches(stream, params));
  return params.options.rotation_histogram ? KeepUsualRotations(stream, params) : absl::OkStatus();
}

struct Matcher::Impl {
  explicit Impl(const MatcherOptions& matcher_options) : options(matcher_options) {}

  absl::Status Initialize();
  absl::Status ClearState();
  // Copies the input to the device, clears what has to be clear, and says what to enqueue.
  absl::StatusOr<MatchParams> Begin(const MatchInput& from, Descriptors descriptors, const MatchOptions& match);
  // The result, once all before it is done.
  absl::Status Finish(MatchResult* result);
  absl::Status Run(const MatchInput& from, Descriptors descriptors, const MatchOptions& match, MatchResult* result);
  absl::Status Time(const MatchInput& from, const MatchOptions& match, int repeats, MatchResult* result,
                    std::vector<float>* us);
  absl::Status CheckInput(const MatchInput& from) const;
  absl::Status CheckAndRun(const MatchInput& from, Descriptors descriptors, const MatchOptions& match,
                           MatchResult* result);
  template <typename Call>
  absl::Status Guard(Call call);
  size_t MaxMatches() const { return static_cast<size_t>(options.max_queries) * kMaxMatchK; }

  const MatcherOptions options;
  Api* const api = &CudaApi();
  MatchDevice device;
  Stream stream;
  MappedBuffer staged_input, staged_output;
  DeviceBuffer input, partials, best_queries, state, output;
  bool state_dirty = true;  // a call did not run to its end
};

absl::Status Matcher::Impl::Initialize() {
  GLINT_RETURN_IF_ERROR(CheckOptions(options));
  cudaDeviceProp properties{};
  GLINT_RETURN_IF_ERROR(CheckDevice(api, options.device, &properties));
  device.compute_major = properties.major;
  device.multiprocessors = properties.multiProcessorCount;
  if (options.sm_limit > 0) device.multiprocessors = std::min(device.multiprocessors, options.sm_limit);
  GLINT_ASSIGN_OR_RETURN(stream, Stream::Create(api, options.device, options.sm_limit));

  const auto queries = static_cast<size_t>(options.max_queries);
  const auto trains = static_cast<size_t>(options.max_trains);
  const auto descriptor = static_cast<size_t>(options.max_descriptor_bytes);
  const size_t input_bytes = queries * (descriptor + kQueryConditionBytes) +
                             trains * (descriptor + kTrainKeypointBytes) + kArrays * kAlignment;
  const size_t output_bytes = 2 * MaxMatches() * sizeof(int32_t);
  for (auto [buffer, bytes] : {std::pair{&staged_input, input_bytes}, std::pair{&staged_output, output_bytes}}) {
    GLINT_ASSIGN_OR_RETURN(*buffer, MappedBuffer::Create(api, bytes));
  }
  for (auto [buffer, bytes] : {std::pair{&input, input_bytes}, std::pair{&partials, PartialBytes(options.max_queries)},
                               std::pair{&best_queries, 2 * trains * sizeof(uint32_t)},
                               std::pair{&state, sizeof(MatchState)}, std::pair{&output, output_bytes}}) {
    GLINT_ASSIGN_OR_RETURN(*buffer, DeviceBuffer::Create(stream.view(), bytes));
  }
  return ToStatus(api->StreamSynchronize(stream.view().stream), "starting the device");
}

absl::Status Matcher::Impl::ClearState() {
  const cudaStream_t s = stream.view().stream;
  GLINT_RETURN_IF_ERROR(ToStatus(api->MemsetAsync(state.data(), 0, state.bytes(), s), "clearing the matcher's state"));
  return ToStatus(api->MemsetAsync(best_queries.data(), 0xff, best_queries.bytes(), s), "clearing the best queries");
}

absl::StatusOr<MatchParams> Matcher::Impl::Begin(const MatchInput& from, Descriptors descriptors,
                                                 const MatchOptions& match) {
  if (state_dirty) GLINT_RETURN_IF_ERROR(ClearState());
  state_dirty = true;

  const auto queries = static_cast<size_t>(from.query.count);
  const auto trains = static_cast<size_t>(from.train.count);
  const auto bytes = static_cast<size_t>(from.query.bytes);
  MatchParams params{};
  Packer packer(staged_input.data(), input.data());
  const bool packs = descriptors == Descriptors::kOnHost;
  params.query = packs ? packer.Pack(from.query.data, queries * bytes) : from.query.data;
  params.train = packs ? packer.Pack(from.train.data, trains * bytes) : from.train.data;
  const QueryConditions& c = from.conditions;
  params.conditions = {packer.Pack(c.x, queries),          packer.Pack(c.y, queries),
                       packer.Pack(c.radius, queries),     packer.Pack(c.min_octave, queries),
                       packer.Pack(c.max_octave, queries), packer.Pack(c.angle, queries)};
  const TrainKeypoints& t = from.keypoints;
  params.keypoints = {packer.Pack(t.x, trains), packer.Pack(t.y, trains), packer.Pack(t.octave, trains),
                      packer.Pack(t.angle, trains)};
  params.queries = from.query.count;
  params.trains = from.train.count;
  params.bytes = from.query.bytes;
  params.options = match;
  params.plan =
      PlanMatch(device, params.queries, params.trains, params.bytes, match, LimitsPairs(from.conditions, match));
  const size_t matches = queries * static_cast<size_t>(match.k);
  params.partials = reinterpret_cast<uint32_t*>(partials.data());
  params.best_queries = reinterpret_cast<uint32_t*>(best_queries.data());
  params.best_queries_stride = options.max_trains;
  params.state = reinterpret_cast<MatchState*>(state.data());
  params.index = reinterpret_cast<int32_t*>(output.data());
  params.distance = params.index + matches;

  if (packer.bytes() == 0) return params;
  GLINT_RETURN_IF_ERROR(ToStatus(
      api->MemcpyAsync(input.data(), staged_input.data(), packer.bytes(), cudaMemcpyHostToDevice, stream.view().stream),
      "copying what is matched to the device"));
  return params;
}

absl::Status Matcher::Impl::Finish(MatchResult* result) {
  const cudaStream_t s = stream.view().stream;
  const size_t matches = result->index.size();
  GLINT_RETURN_IF_ERROR(ToStatus(
      api->MemcpyAsync(staged_output.data(), output.data(), 2 * matches * sizeof(int32_t), cudaMemcpyDeviceToHost, s),
      "copying matches to the host"));
  GLINT_RETURN_IF_ERROR(ToStatus(api->StreamSynchronize(s), "waiting for matches"));
  state_dirty = false;
  const auto* found = reinterpret_cast<const int32_t*>(staged_output.data());
  std::copy_n(found, matches, result->index.begin());
  std::copy_n(found + matches, matches, result->distance.begin());
  return absl::OkStatus();
}

absl::Status Matcher::Impl::Run(const MatchInput& from, Descriptors descriptors, const MatchOptions& match,
                                MatchResult* result) {
  GLINT_ASSIGN_OR_RETURN(const auto params, Begin(from, descriptors, match));
  GLINT_RETURN_IF_ERROR(EnqueueMatch(stream.view(), params));
  return Finish(result);
}

absl::Status Matcher::Impl::Time(const MatchInput& from, const MatchOptions& match, int repeats, MatchResult* result,
                                 std::vector<float>* us) {
  constexpr int kWarmUp = 3;
  GLINT_ASSIGN_OR_RETURN(const auto params, Begin(from, Descriptors::kOnHost, match));
  const auto enqueue_all = [&](StreamView s) {
    for (int i = 0; i < kCallsPerReplay; ++i) GLINT_RETURN_IF_ERROR(EnqueueMatch(s, params));
    return absl::OkStatus();
  };
  GLINT_ASSIGN_OR_RETURN(const Graph graph, CaptureGraph(stream.view(), enqueue_all));
  GLINT_ASSIGN_OR_RETURN(const auto replay, Instantiate(api, graph));
  GLINT_ASSIGN_OR_RETURN(const Event begun, CreateEvent(api, cudaEventDefault));
  GLINT_ASSIGN_OR_RETURN(const Event done, CreateEvent(api, cudaEventDefault));
  const cudaStream_t s = stream.view().stream;
  for (int i = 0; i < kWarmUp + repeats; ++i) {
    GLINT_RETURN_IF_ERROR(ToStatus(api->EventRecord(begun.get(), s), "recording an event"));
    GLINT_RETURN_IF_ERROR(ToStatus(api->GraphLaunch(replay.get(), s), "launching a graph"));
    GLINT_RETURN_IF_ERROR(ToStatus(api->EventRecord(done.get(), s), "recording an event"));
    GLINT_RETURN_IF_ERROR(ToStatus(api->EventSynchronize(done.get()), "waiting for matches"));
    float milliseconds = 0;
    GLINT_RETURN_IF_ERROR(ToStatus(api->EventElapsedTime(&milliseconds, begun.get(), done.get()), "reading an event"));
    if (i >= kWarmUp) us->push_back(1000 * milliseconds / kCallsPerReplay);
  }
  return Finish(result);
}

absl::Status Matcher::Impl::CheckInput(const MatchInput& from) const {
  GLINT_RETURN_IF_ERROR(CheckMaximum("query.count", from.query.count, 0, options.max_queries));
  GLINT_RETURN_IF_ERROR(CheckMaximum("train.count", from.train.count, 0, options.max_trains));
  if (from.query.count == 0 || from.train.count == 0) return absl::OkStatus();
  return CheckMaximum("query.bytes", from.query.bytes, kDescriptorUnit, options.max_descriptor_bytes);
}

// Runs `call`; after an error, nothing of it runs on when the next one begins.
template <typename Call>
absl::Status Matcher::Impl::Guard(Call call) {
  GLINT_RETURN_IF_ERROR(ToStatus(api->SetDevice(options.device), "choosing the device"));
  absl::Status status = call();
  if (!status.ok()) {
    api->GetLastError();
    api->StreamSynchronize(stream.view().stream);
  }
  return status;
}

absl::Status Matcher::Impl::CheckAndRun(const MatchInput& from, Descriptors descriptors, const MatchOptions& match,
                                        MatchResult* result) {
  GLINT_RETURN_IF_ERROR(CheckInput(from));
  result->Reset(from.query.count, match.k);
  if (from.query.count == 0 || from.train.count == 0) return absl::OkStatus();
  return Guard([&] { return Run(from, descriptors, match, result); });
}

Matcher::Matcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Matcher::~Matcher() = default;

absl::StatusOr<std::unique_ptr<Matcher>> Matcher::Create(const MatcherOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  GLINT_RETURN_IF_ERROR(impl->Initialize());
  return std::unique_ptr<Matcher>(new Matcher(std::move(impl)));
}

absl::Status Matcher::Match(const MatchInput& input, const MatchOptions& options, MatchResult* result) {
  return impl_->CheckAndRun(input, Descriptors::kOnHost, options, result);
}

absl::Status Matcher::MatchOnDevice(const MatchInput& input, const MatchOptions& options, MatchResult* result) {
  return impl_->CheckAndRun(input, Descriptors::kOnDevice, options, result);
}

absl::Status Matcher::TimeOnDevice(const MatchInput& input, const MatchOptions& options, int repeats,
                                   MatchResult* result, std::vector<float>* us) {
  GLINT_RETURN_IF_ERROR(impl_->CheckInput(input));
  result->Reset(input.query.count, options.k);
  return impl_->Guard([&] { return impl_->Time(input, options, repeats, result, us); });
}

}  // namespace glint::cuda
