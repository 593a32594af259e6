// Owners of what the CUDA runtime hands out. Each remembers the Api it came from and gives its resource back when it
// goes. Move-only; destructors do not throw and ignore errors, which by then have no reader.
#ifndef GLINT_CUDA_RUNTIME_OWNERS_H_
#define GLINT_CUDA_RUNTIME_OWNERS_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/runtime/api.h"
#include "features/status_macros.h"

namespace glint::cuda {

// A stream to launch on, and the Api to launch with.
struct StreamView {
  Api* api = nullptr;
  cudaStream_t stream = nullptr;
};

// One handle and how to destroy it.
template <typename Handle, cudaError_t (Api::*kDestroy)(Handle)>
class Owner {
 public:
  Owner() = default;
  Owner(Api* api, Handle handle) : api_(api), handle_(handle) {}
  Owner(Owner&& other) noexcept : api_(other.api_), handle_(std::exchange(other.handle_, Handle{})) {}
  Owner& operator=(Owner&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owner() {
    if (handle_) (api_->*kDestroy)(handle_);
  }
  Handle get() const { return handle_; }

 private:
  Api* api_ = nullptr;
  Handle handle_{};
};

using GreenContext = Owner<void*, &Api::GreenContextDestroy>;
using Event = Owner<cudaEvent_t, &Api::EventDestroy>;
using Graph = Owner<cudaGraph_t, &Api::GraphDestroy>;
using GraphExec = Owner<cudaGraphExec_t, &Api::GraphExecDestroy>;
using StreamHandle = Owner<cudaStream_t, &Api::StreamDestroy>;
using DeviceMemory = Owner<void*, &Api::Free>;
using HostMemory = Owner<void*, &Api::FreeHost>;

// A non-blocking stream, confined to some multiprocessors if asked.
class Stream {
 public:
  // multiprocessors 0: all of the device.
  static absl::StatusOr<Stream> Create(Api* api, int device, int multiprocessors);
  StreamView view() const { return {api_, stream_.get()}; }

 private:
  Api* api_ = nullptr;
  GreenContext green_;  // outlives its stream
  StreamHandle stream_;
};

absl::StatusOr<Event> CreateEvent(Api* api, unsigned flags);

// Device memory of `bytes`, all zero once what is enqueued on `stream` has run.
class DeviceBuffer {
 public:
  static absl::StatusOr<DeviceBuffer> Create(StreamView stream, size_t bytes);
  uint8_t* data() const { return static_cast<uint8_t*>(memory_.get()); }
  size_t bytes() const { return bytes_; }

 private:
  DeviceMemory memory_;
  size_t bytes_ = 0;
};

// Page-locked host memory that the device can also address, at device_data().
class MappedBuffer {
 public:
  static absl::StatusOr<MappedBuffer> Create(Api* api, size_t bytes);
  uint8_t* data() const { return static_cast<uint8_t*>(memory_.get()); }
  uint8_t* device_data() const { return device_; }
  size_t bytes() const { return bytes_; }

 private:
  HostMemory memory_;
  uint8_t* device_ = nullptr;
  size_t bytes_ = 0;
};

absl::Status BeginCapture(StreamView stream);
// Ends the capture in any case; `enqueued` is what became of the launches.
absl::StatusOr<Graph> EndCapture(StreamView stream, const absl::Status& enqueued);

// Captures what `enqueue(stream)` launches. Its error wins over the capture's.
template <typename Enqueue>
absl::StatusOr<Graph> CaptureGraph(StreamView stream, Enqueue enqueue) {
  GLINT_RETURN_IF_ERROR(BeginCapture(stream));
  return EndCapture(stream, enqueue(stream));
}

absl::StatusOr<GraphExec> Instantiate(Api* api, const Graph& graph);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RUNTIME_OWNERS_H_
