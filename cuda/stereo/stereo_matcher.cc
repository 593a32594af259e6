#include "cuda/stereo/stereo_matcher.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cuda/devices.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/owners.h"
#include "cuda/stereo/stereo_factory.h"
#include "cuda/stereo/stereo_memory.h"

namespace glint::cuda {
namespace {

constexpr size_t kAlignment = 256;  // of arrays: whole cache lines
constexpr size_t kRowAlignment = 16;
constexpr size_t kSlack = 64;  // bytes after an image that kernels may read

size_t RoundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

// Puts arrays behind each other into host memory and says where they will be on the device. Without memory it counts
// bytes alone.
class Packer {
 public:
  Packer(uint8_t* host, uint8_t* device) : host_(host), device_(device) {}

  template <typename T>
  T* Pack(const T* from, size_t count) {
    uint8_t* const to = Take(count * sizeof(T));
    if (host_ != nullptr && count > 0) std::memcpy(host_ + (to - device_), from, count * sizeof(T));
    return reinterpret_cast<T*>(to);
  }
  uint8_t* Pack(const ImageView& image, size_t pitch) {
    uint8_t* const to = Take(pitch * static_cast<size_t>(image.height) + kSlack);
    for (int y = 0; host_ != nullptr && y < image.height; ++y) {
      std::memcpy(host_ + (to - device_) + static_cast<size_t>(y) * pitch, image.row(y),
                  static_cast<size_t>(image.width));
    }
    return to;
  }
  size_t bytes() const { return bytes_; }

 private:
  uint8_t* Take(size_t bytes) {
    uint8_t* const at = device_ + bytes_;
    bytes_ += RoundUp(bytes, kAlignment);
    return at;
  }

  uint8_t* host_;
  uint8_t* device_;
  size_t bytes_ = 0;
};

void PackEye(const Features& f, Packer* packer, StereoKeypoints* to) {
  to->x = packer->Pack(f.x.data(), f.count());
  to->y = packer->Pack(f.y.data(), f.count());
  to->octave = packer->Pack(f.octave.data(), f.count());
  to->descriptors = packer->Pack(f.descriptors.data(), f.descriptors.size());
}

// Both eyes: keypoints and, for refine, levels.
void PackInput(const StereoInput& input, bool levels, Packer* packer, StereoParams* params) {
  PackEye(*input.left.features, packer, &params->left);
  PackEye(*input.right.features, packer, &params->right);
  for (int l = 0; l < input.plan.levels; ++l) {
    const LevelPlan& plan = input.plan.level[static_cast<size_t>(l)];
    StereoLevel& level = params->level[l];
    level = {nullptr, nullptr, 0, 0, plan.shape.width, plan.shape.height, plan.scale};
    if (!levels || plan.shape.pixels() == 0) continue;
    const size_t pitch = RoundUp(static_cast<size_t>(plan.shape.width), kRowAlignment);
    level.left_pitch = level.right_pitch = static_cast<int>(pitch);
    level.left = packer->Pack(input.left.levels[l], pitch);
    level.right = packer->Pack(input.right.levels[l], pitch);
  }
}

}  // namespace

struct StereoMatcher::Impl {
  Impl(const StereoMatcherOptions& matcher_options, Api* matcher_api) : options(matcher_options), api(matcher_api) {}

  absl::Status Initialize();
  absl::Status ReserveInput(size_t bytes);
  absl::Status Run(const StereoInput& pair, const StereoOptions& stereo, StereoResult* result);

  const StereoMatcherOptions options;
  Api* const api;
  Stream stream;
  MappedBuffer staged;
  DeviceBuffer input;
  StereoMemory memory;
};

absl::Status StereoMatcher::Impl::Initialize() {
  cudaDeviceProp properties{};
  GLINT_RETURN_IF_ERROR(CheckDevice(api, options.device, &properties));
  MatchDevice device;
  device.compute_major = properties.major;
  device.multiprocessors = properties.multiProcessorCount;
  if (options.sm_limit > 0) device.multiprocessors = std::min(device.multiprocessors, options.sm_limit);
  memory.Initialize(device);
  GLINT_ASSIGN_OR_RETURN(stream, Stream::Create(api, options.device, options.sm_limit));
  return absl::OkStatus();
}

absl::Status StereoMatcher::Impl::ReserveInput(size_t bytes) {
  if (bytes <= input.bytes()) return absl::OkStatus();
  staged = MappedBuffer();
  input = DeviceBuffer();
  GLINT_ASSIGN_OR_RETURN(auto host, MappedBuffer::Create(api, bytes));
  GLINT_ASSIGN_OR_RETURN(auto device, DeviceBuffer::Create(stream.view(), bytes));
  staged = std::move(host);
  input = std::move(device);
  return absl::OkStatus();
}

absl::Status StereoMatcher::Impl::Run(const StereoInput& pair, const StereoOptions& stereo, StereoResult* result) {
  const int lefts = static_cast<int>(pair.left.features->count());
  const int rights = static_cast<int>(pair.right.features->count());
  const int bytes = pair.left.features->descriptor_bytes;
  StereoParams params{};
  params.options = stereo;
  params.levels = pair.plan.levels;
  params.bytes = bytes;
  Packer counter(nullptr, nullptr);
  PackInput(pair, stereo.refine, &counter, &params);
  GLINT_RETURN_IF_ERROR(ReserveInput(counter.bytes()));
  GLINT_RETURN_IF_ERROR(memory.Reserve(stream.view(), {lefts, rights, bytes, pair.plan.level[0].shape.height}));
  memory.Place(lefts, rights, &params);
  Packer packer(staged.data(), input.data());
  PackInput(pair, stereo.refine, &packer, &params);

  const cudaStream_t s = stream.view().stream;
  GLINT_RETURN_IF_ERROR(
      ToStatus(api->MemcpyAsync(input.data(), staged.data(), packer.bytes(), cudaMemcpyHostToDevice, s),
               "copying a stereo pair to the device"));
  GLINT_RETURN_IF_ERROR(memory.Enqueue(stream.view(), params, nullptr));
  GLINT_RETURN_IF_ERROR(ToStatus(api->StreamSynchronize(s), "waiting for stereo matches"));
  memory.Finished();
  memory.Read(params, result);
  return absl::OkStatus();
}

StereoMatcher::StereoMatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StereoMatcher::~StereoMatcher() = default;

absl::StatusOr<std::unique_ptr<StereoMatcher>> StereoFactory::CreateMatcher(const StereoMatcherOptions& options,
                                                                            Api* api) {
  auto impl = std::make_unique<StereoMatcher::Impl>(options, api);
  if (absl::Status status = impl->Initialize(); !status.ok()) {
    api->GetLastError();
    return status;
  }
  return std::unique_ptr<StereoMatcher>(new StereoMatcher(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<StereoMatcher>> StereoMatcher::Create(const StereoMatcherOptions& options) {
  return StereoFactory::CreateMatcher(options, &CudaApi());
}

absl::Status StereoMatcher::Match(const StereoInput& input, const StereoOptions& options, StereoResult* result) {
  result->Reset(input.left.features->count());
  if (input.left.features->count() == 0 || input.right.features->count() == 0) return absl::OkStatus();
  absl::Status status = ToStatus(impl_->api->SetDevice(impl_->options.device), "choosing the device");
  if (status.ok()) status = impl_->Run(input, options, result);
  if (!status.ok()) {
    // Nothing of the call may run on when the next one begins.
    impl_->api->GetLastError();
    impl_->api->StreamSynchronize(impl_->stream.view().stream);
    result->Reset(0);
  }
  return status;
}

}  // namespace glint::cuda
