// The host side of the CUDA backend over a runtime that can be told to fail. No GPU is needed: device memory is host
// memory, and launches do nothing.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "cuda/pipeline.h"
#include "cuda/pipeline_factory.h"
#include "cuda/runtime/api.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/images.h"
#include "tests/support/options.h"

namespace glint::cuda {
namespace {

using ::glint::testing::OrbOptions;

// Succeeds at everything, counts what is outstanding, and fails call number `fail_at` with `error`.
class FakeApi final : public Api {
 public:
  int calls = 0;
  int fail_at = -1;
  cudaError_t error = cudaErrorUnknown;
  bool sticky = false;  // once failed, every later call fails
  bool integrated = false;
  bool pinned = false;
  int live = 0;  // handles and allocations not given back

  cudaError_t GetDeviceCount(int* count) override {
    *count = 1;
    return Call();
  }
  cudaError_t DriverGetVersion(int* version) override {
    *version = 13000;
    return cudaSuccess;
  }
  cudaError_t SetDevice(int) override { return Call(); }
  cudaError_t GetDeviceProperties(cudaDeviceProp* properties, int) override {
    *properties = {};
    std::strcpy(properties->name, "Fake");
    properties->multiProcessorCount = 4;
    properties->integrated = integrated;
    return Call();
  }
  cudaError_t GetLastError() override { return std::exchange(last_, cudaSuccess); }

  cudaError_t Malloc(void** pointer, size_t bytes) override { return Allocate(pointer, bytes); }
  cudaError_t Free(void* pointer) override { return Release(pointer); }
  cudaError_t HostAlloc(void** pointer, size_t bytes, unsigned) override { return Allocate(pointer, bytes); }
  cudaError_t FreeHost(void* pointer) override { return Release(pointer); }
  cudaError_t HostGetDevicePointer(void** device, void* host) override {
    *device = host;
    return Call();
  }
  cudaError_t PointerGetAttributes(cudaPointerAttributes* attributes, const void*) override {
    attributes->type = pinned ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
    return Call();
  }
  cudaError_t MemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t) override {
    const cudaError_t e = Call();
    if (e == cudaSuccess) std::memcpy(to, from, bytes);
    return e;
  }
  cudaError_t Memcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                            cudaMemcpyKind, cudaStream_t) override {
    const cudaError_t e = Call();
    for (size_t y = 0; e == cudaSuccess && y < height; ++y) {
      std::memcpy(static_cast<char*>(to) + y * to_pitch, static_cast<const char*>(from) + y * from_pitch, width);
    }
    return e;
  }
  cudaError_t MemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t) override {
    const cudaError_t e = Call();
    if (e == cudaSuccess) std::memset(pointer, value, bytes);
    return e;
  }
  cudaError_t FuncSetSharedBytes(const void*, int) override { return Call(); }
  cudaError_t LaunchKernel(const KernelLaunch& launch, void**, cudaStream_t) override {
    EXPECT_NE(launch.kernel, nullptr);
    EXPECT_GT(launch.grid.x * launch.grid.y * launch.grid.z, 0u);
    EXPECT_LE(launch.grid.y, 65535u);
    return Call();
  }
  cudaError_t StreamCreate(cudaStream_t* s) override { return Create(s); }
  cudaError_t StreamDestroy(cudaStream_t) override { return Destroy(); }
  cudaError_t StreamSynchronize(cudaStream_t) override { return Call(); }
  cudaError_t StreamWaitEvent(cudaStream_t, cudaEvent_t) override { return Call(); }
  cudaError_t StreamBeginCapture(cudaStream_t) override {
    EXPECT_FALSE(capturing_);
    const cudaError_t e = Call();
    capturing_ = e == cudaSuccess;
    return e;
  }
  cudaError_t StreamEndCapture(cudaStream_t, cudaGraph_t* graph) override {
    EXPECT_TRUE(capturing_);
    capturing_ = false;
    return Create(graph);
  }
  cudaError_t GraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t) override { return Create(executable); }
  cudaError_t GraphDestroy(cudaGraph_t) override { return Destroy(); }
  cudaError_t GraphExecDestroy(cudaGraphExec_t) override { return Destroy(); }
  cudaError_t GraphLaunch(cudaGraphExec_t, cudaStream_t) override {
    EXPECT_FALSE(capturing_);
    return Call();
  }
  cudaError_t EventCreate(cudaEvent_t* event, unsigned) override { return Create(event); }
  cudaError_t EventDestroy(cudaEvent_t) override { return Destroy(); }
  cudaError_t EventRecord(cudaEvent_t, cudaStream_t) override { return Call(); }
  cudaError_t EventQuery(cudaEvent_t) override { return Call(); }
  cudaError_t EventSynchronize(cudaEvent_t) override { return Call(); }
  cudaError_t EventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) override {
    *milliseconds = 1;
    return Call();
  }
  cudaError_t GreenStreamCreate(cudaStream_t* s, void** context, int, int) override {
    const cudaError_t e = Create(s);
    if (e == cudaSuccess) {
      ++live;
      *context = this;
    }
    return e;
  }
  cudaError_t GreenContextDestroy(void*) override { return Destroy(); }

 private:
  // Whether this call works.
  cudaError_t Call() {
    const int number = calls++;
    const bool fails = fail_at >= 0 && (sticky ? number >= fail_at : number == fail_at);
    if (fails) last_ = error;
    return fails ? error : cudaSuccess;
  }
  template <typename Handle>
  cudaError_t Create(Handle* handle) {
    const cudaError_t e = Call();
    *handle = e == cudaSuccess ? reinterpret_cast<Handle>(this) : nullptr;
    live += e == cudaSuccess;
    return e;
  }
  // Giving back never fails: it has no reader.
  cudaError_t Destroy() {
    --live;
    return cudaSuccess;
  }
  cudaError_t Allocate(void** pointer, size_t bytes) {
    const cudaError_t e = Call();
    *pointer = e == cudaSuccess ? std::calloc(bytes, 1) : nullptr;
    live += e == cudaSuccess;
    return e;
  }
  cudaError_t Release(void* pointer) {
    std::free(pointer);
    return Destroy();
  }

  bool capturing_ = false;
  cudaError_t last_ = cudaSuccess;
};

// What one client sees, from the first call to the end of a frame. The first error, if any.
absl::Status OneFrame(FakeApi* api, std::unique_ptr<Pipeline>* pipeline, const PipelineOptions& options, bool masked,
                      const char* preset = "orb", Shape shape = {100, 80}) {
  if (*pipeline == nullptr) {
    auto created = PipelineFactory::Create(options, api);
    if (!created.ok()) return created.status();
    *pipeline = *std::move(created);
  }
  const Image image = testing::Flat(shape, 1);
  const Image mask = testing::Flat(shape, 255);
  Features features;
  features.Resize(3, 0);
  StageTimes times;
  const absl::Status status =
      (*pipeline)->Detect(PresetOptions(preset).value(), image, masked ? mask.view() : ImageView{}, &features, &times);
  EXPECT_TRUE(status.ok() || features.count() == 0);
  return status;
}

struct Setting {
  Wait wait;
  bool integrated, pinned, masked;
  int sm_limit;
  const char* preset;
  Shape shape = {100, 80};
};
const Setting kSettings[] = {{Wait::kBlock, false, false, false, 0, "orb"},
                             {Wait::kSpin, false, true, true, 0, "oriented_fast"},
                             {Wait::kYield, true, false, true, 2, "orb"},
                             {Wait::kBlock, false, false, true, 0, "fast_grid"},
                             {Wait::kBlock, false, false, false, 0, "pyca"},
                             {Wait::kSpin, false, true, false, 0, "bfrost"},
                             {Wait::kBlock, true, false, true, 0, "harris"},
                             // Large enough to come in parts.
                             {Wait::kBlock, false, false, false, 0, "orb", {2560, 1600}}};

// Every call up to the end of a second frame fails once. The error is clean, nothing leaks, and the next frame works.
TEST(CudaFaults, EveryCallFailsOnce) {
  for (const Setting& setting : kSettings) {
    PipelineOptions options;
    options.wait = setting.wait;
    options.sm_limit = setting.sm_limit;
    int failures = 0;
    for (int n = 0;; ++n) {
      SCOPED_TRACE(n);
      FakeApi api;
      api.integrated = setting.integrated;
      api.pinned = setting.pinned;
      api.fail_at = n;
      api.error = cudaErrorMemoryAllocation;
      std::unique_ptr<Pipeline> pipeline;
      absl::Status status = OneFrame(&api, &pipeline, options, setting.masked, setting.preset, setting.shape);
      if (status.ok()) status = OneFrame(&api, &pipeline, options, setting.masked, setting.preset, setting.shape);
      const bool reached = api.calls > n;
      if (!status.ok()) {
        ++failures;
        EXPECT_TRUE(status.code() == absl::StatusCode::kResourceExhausted ||
                    status.code() == absl::StatusCode::kFailedPrecondition)
            << status;
        EXPECT_THAT(status.message(), ::testing::HasSubstr("cudaErrorMemoryAllocation"));
        EXPECT_TRUE(pipeline == nullptr || pipeline->fatal().ok());
        EXPECT_TRUE(OneFrame(&api, &pipeline, options, setting.masked, setting.preset, setting.shape).ok());
      }
      pipeline.reset();
      EXPECT_EQ(api.live, 0);
      if (!reached) break;
    }
    // All but the question whether memory is pinned, whose failure means that it is not.
    EXPECT_GT(failures, 30);
  }
}

// A sticky error in the middle of a frame is reported as lost, once and for all.
TEST(CudaFaults, StickyErrorsAreFatal) {
  FakeApi api;
  std::unique_ptr<Pipeline> pipeline;
  ASSERT_TRUE(OneFrame(&api, &pipeline, {}, false).ok());
  const int before = api.calls;
  ASSERT_TRUE(OneFrame(&api, &pipeline, {}, false).ok());
  const int frame = api.calls - before;
  for (int n = 0; n < frame; ++n) {
    SCOPED_TRACE(n);
    FakeApi lost;
    std::unique_ptr<Pipeline> victim;
    ASSERT_TRUE(OneFrame(&lost, &victim, {}, false).ok());
    lost.fail_at = lost.calls + n;
    lost.sticky = true;
    lost.error = cudaErrorIllegalAddress;
    EXPECT_FALSE(OneFrame(&lost, &victim, {}, false).ok());
    EXPECT_EQ(victim->fatal().code(), absl::StatusCode::kInternal);
    EXPECT_EQ(OneFrame(&lost, &victim, {}, false), victim->fatal());
  }
}

TEST(CudaFaults, AFrameOfAKnownShapeAllocatesNothing) {
  FakeApi api;
  std::unique_ptr<Pipeline> pipeline;
  ASSERT_TRUE(OneFrame(&api, &pipeline, {}, true).ok());
  const int live = api.live;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(OneFrame(&api, &pipeline, {}, true).ok());
  EXPECT_EQ(api.live, live);
}

// Clients that change shapes cannot make a pipeline grow without bound.
TEST(CudaFaults, GraphsAreBounded) {
  FakeApi api;
  auto pipeline = PipelineFactory::Create({}, &api);
  ASSERT_TRUE(pipeline.ok());
  Features features;
  const auto detect = [&](int width) {
    return (*pipeline)->Detect(OrbOptions(), testing::Flat({width, 300}, 1), {}, &features, nullptr);
  };
  ASSERT_TRUE(detect(400).ok());
  int live = 0;
  for (int width = 399; width > 300; --width) {
    ASSERT_TRUE(detect(width).ok());
    if (width == 350) live = api.live;
  }
  EXPECT_EQ(api.live, live);
}

TEST(CudaFaults, NoDriverIsNamed) {
  FakeApi api;
  api.fail_at = 0;
  api.error = cudaErrorInsufficientDriver;
  const auto pipeline = PipelineFactory::Create({}, &api);
  EXPECT_EQ(pipeline.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(pipeline.status().message(), ::testing::HasSubstr("no usable CUDA device"));
  EXPECT_THAT(pipeline.status().message(), ::testing::HasSubstr("13.0"));
}

}  // namespace
}  // namespace glint::cuda
