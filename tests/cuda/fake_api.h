// A CUDA runtime that can be told to fail. No GPU is needed: device memory is host memory, and launches do nothing.
#ifndef GLINT_TESTS_CUDA_FAKE_API_H_
#define GLINT_TESTS_CUDA_FAKE_API_H_

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <utility>

#include "cuda/runtime/api.h"
#include "gtest/gtest.h"

namespace glint::cuda {

// Succeeds at everything, counts what is outstanding, and fails call number `fail_at` with `error`.
class FakeApi final : public Api {
 public:
  static constexpr int kMultiprocessors = 4;

  int calls = 0;
  int fail_at = -1;
  cudaError_t error = cudaErrorUnknown;
  bool sticky = false;  // once failed, every later call fails
  bool integrated = false;
  bool pinned = false;
  bool knows_read_only = true;        // memory can be registered as such
  int live = 0;                       // handles, allocations and registrations not given back
  int device = -1;                    // the last one chosen
  const void* copied_from = nullptr;  // by the last copy to the device
  int copies_to_device = 0;
  int graph_copies = 0;            // of these, copies that a graph was told of
  int queries = 0;                 // of events
  int not_ready = 0;               // queries that say so
  int blocked = 0;                 // threads on events
  int wakers = 0;                  // records of events that can wake such a thread
  std::function<void()> launched;  // called by each launch of a graph
  std::map<const void*, size_t> registered;
  unsigned register_flags = 0;  // of the last registration

  cudaError_t GetDeviceCount(int* count) override {
    *count = 1;
    return Call();
  }
  cudaError_t DriverGetVersion(int* version) override {
    *version = 13000;
    return cudaSuccess;
  }
  cudaError_t SetDevice(int ordinal) override {
    device = ordinal;
    return Call();
  }
  cudaError_t GetDeviceProperties(cudaDeviceProp* properties, int) override {
    *properties = {};
    std::strcpy(properties->name, "Fake");
    properties->multiProcessorCount = kMultiprocessors;
    properties->integrated = integrated;
    return Call();
  }
  cudaError_t GetLastError() override { return std::exchange(last_, cudaSuccess); }

  cudaError_t Malloc(void** pointer, size_t bytes) override { return Allocate(pointer, bytes); }
  cudaError_t Free(void* pointer) override { return Release(pointer); }
  cudaError_t HostAlloc(void** pointer, size_t bytes, unsigned) override { return Allocate(pointer, bytes); }
  cudaError_t FreeHost(void* pointer) override { return Release(pointer); }
  cudaError_t HostRegister(void* pointer, size_t bytes, unsigned flags) override {
    if (!knows_read_only && (flags & cudaHostRegisterReadOnly) != 0) return last_ = cudaErrorNotSupported;
    const cudaError_t e = Call();
    if (e != cudaSuccess) return e;
    EXPECT_TRUE(registered.emplace(pointer, bytes).second);
    register_flags = flags;
    ++live;
    return e;
  }
  cudaError_t HostUnregister(void* pointer) override {
    const cudaError_t e = Call();
    if (e != cudaSuccess) return e;
    EXPECT_EQ(registered.erase(pointer), 1u);
    return Destroy();
  }
  cudaError_t HostGetDevicePointer(void** device, void* host) override {
    *device = host;
    return Call();
  }
  cudaError_t PointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) override {
    attributes->type = pinned || IsRegistered(pointer) ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
    attributes->devicePointer = const_cast<void*>(pointer);
    return Call();
  }
  cudaError_t MemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) override {
    NoteCopy(from, kind);
    const cudaError_t e = Call();
    if (e == cudaSuccess) std::memcpy(to, from, bytes);
    return e;
  }
  cudaError_t Memcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                            cudaMemcpyKind kind, cudaStream_t) override {
    NoteCopy(from, kind);
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
  cudaError_t FuncSetSharedBytes(const void* kernel, int bytes) override {
    shared_bytes_[kernel] = static_cast<size_t>(bytes);
    return Call();
  }
  cudaError_t LaunchKernel(const KernelLaunch& launch, void**, cudaStream_t) override {
    EXPECT_NE(launch.kernel, nullptr);
    EXPECT_GT(launch.grid.x * launch.grid.y * launch.grid.z, 0u);
    EXPECT_LE(launch.grid.y, 65535u);
    const auto reserved = shared_bytes_.find(launch.kernel);
    EXPECT_LE(launch.shared_bytes, reserved != shared_bytes_.end() ? reserved->second : size_t{48} << 10);
    captured_kernels_ += capturing_ ? 1 : 0;
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
    captured_kernels_ = 0;
    return e;
  }
  cudaError_t StreamEndCapture(cudaStream_t, cudaGraph_t* graph) override {
    EXPECT_TRUE(capturing_);
    capturing_ = false;
    return Create(graph);
  }
  cudaError_t GraphAddUpload(cudaGraphNode_t* node, cudaGraph_t, void*, const void*, size_t) override {
    *node = reinterpret_cast<cudaGraphNode_t>(this);
    return Call();
  }
  cudaError_t GraphExecSetUpload(cudaGraphExec_t, cudaGraphNode_t node, void*, const void* from, size_t) override {
    EXPECT_EQ(node, reinterpret_cast<cudaGraphNode_t>(this));
    NoteCopy(from, cudaMemcpyHostToDevice);
    ++graph_copies;
    return Call();
  }
  // Of the last one captured.
  cudaError_t GraphCountKernels(cudaGraph_t, size_t* kernels) override {
    *kernels = captured_kernels_;
    return Call();
  }
  cudaError_t GraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t) override { return Create(executable); }
  cudaError_t GraphDestroy(cudaGraph_t) override { return Destroy(); }
  cudaError_t GraphExecDestroy(cudaGraphExec_t) override { return Destroy(); }
  cudaError_t GraphLaunch(cudaGraphExec_t, cudaStream_t) override {
    EXPECT_FALSE(capturing_);
    if (launched) launched();
    return Call();
  }
  cudaError_t EventCreate(cudaEvent_t* event, unsigned flags) override {
    const cudaError_t e = Create(event);
    if (e == cudaSuccess && (flags & cudaEventBlockingSync) != 0) *event = waker();
    return e;
  }
  cudaError_t EventDestroy(cudaEvent_t) override { return Destroy(); }
  cudaError_t EventRecord(cudaEvent_t event, cudaStream_t) override {
    wakers += event == waker();
    return Call();
  }
  cudaError_t EventQuery(cudaEvent_t) override { return ++queries <= not_ready ? cudaErrorNotReady : Call(); }
  cudaError_t EventSynchronize(cudaEvent_t) override {
    ++blocked;
    return Call();
  }
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
  // Events that can wake a thread are all one, and the others another.
  cudaEvent_t waker() { return reinterpret_cast<cudaEvent_t>(&wakers); }
  void NoteCopy(const void* from, cudaMemcpyKind kind) {
    if (kind != cudaMemcpyHostToDevice) return;
    copied_from = from;
    ++copies_to_device;
  }
  bool IsRegistered(const void* pointer) const {
    auto after = registered.upper_bound(pointer);
    if (after == registered.begin()) return false;
    --after;
    return static_cast<const char*>(pointer) < static_cast<const char*>(after->first) + after->second;
  }
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
  size_t captured_kernels_ = 0;
  std::map<const void*, size_t> shared_bytes_;  // that kernels may have at most
  cudaError_t last_ = cudaSuccess;
};

}  // namespace glint::cuda

#endif  // GLINT_TESTS_CUDA_FAKE_API_H_
