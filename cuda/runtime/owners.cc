#include "cuda/runtime/owners.h"

#include "absl/strings/str_cat.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {

absl::StatusOr<Stream> Stream::Create(Api* api, int device, int multiprocessors) {
  Stream stream;
  stream.api_ = api;
  cudaStream_t handle = nullptr;
  if (multiprocessors == 0) {
    GLINT_RETURN_IF_ERROR(ToStatus(api->StreamCreate(&handle), "creating a stream"));
  } else {
    void* green = nullptr;
    GLINT_RETURN_IF_ERROR(ToStatus(api->GreenStreamCreate(&handle, &green, device, multiprocessors),
                                   absl::StrCat("creating a stream on ", multiprocessors, " multiprocessors")));
    stream.green_ = GreenContext(api, green);
  }
  stream.stream_ = StreamHandle(api, handle);
  return stream;
}

absl::StatusOr<Event> CreateEvent(Api* api, unsigned flags) {
  cudaEvent_t event = nullptr;
  GLINT_RETURN_IF_ERROR(ToStatus(api->EventCreate(&event, flags), "creating an event"));
  return Event(api, event);
}

absl::StatusOr<DeviceBuffer> DeviceBuffer::Create(StreamView stream, size_t bytes) {
  void* data = nullptr;
  GLINT_RETURN_IF_ERROR(
      ToStatus(stream.api->Malloc(&data, bytes), absl::StrCat("allocating ", bytes, " bytes of device memory")));
  DeviceBuffer buffer;
  buffer.memory_ = DeviceMemory(stream.api, data);
  buffer.bytes_ = bytes;
  GLINT_RETURN_IF_ERROR(ToStatus(stream.api->MemsetAsync(data, 0, bytes, stream.stream), "clearing device memory"));
  return buffer;
}

absl::StatusOr<MappedBuffer> MappedBuffer::Create(Api* api, size_t bytes) {
  void* data = nullptr;
  GLINT_RETURN_IF_ERROR(ToStatus(api->HostAlloc(&data, bytes, cudaHostAllocMapped | cudaHostAllocPortable),
                                 absl::StrCat("allocating ", bytes, " bytes of pinned memory")));
  MappedBuffer buffer;
  buffer.memory_ = HostMemory(api, data);
  buffer.bytes_ = bytes;
  void* device = nullptr;
  GLINT_RETURN_IF_ERROR(ToStatus(api->HostGetDevicePointer(&device, data), "mapping pinned memory"));
  buffer.device_ = static_cast<uint8_t*>(device);
  return buffer;
}

absl::Status BeginCapture(StreamView stream) {
  return ToStatus(stream.api->StreamBeginCapture(stream.stream), "beginning a graph");
}

absl::StatusOr<Graph> EndCapture(StreamView stream, const absl::Status& enqueued) {
  cudaGraph_t captured = nullptr;
  const cudaError_t ended = stream.api->StreamEndCapture(stream.stream, &captured);
  Graph graph(stream.api, captured);
  GLINT_RETURN_IF_ERROR(enqueued);
  GLINT_RETURN_IF_ERROR(ToStatus(ended, "ending a graph"));
  return graph;
}

absl::StatusOr<GraphExec> Instantiate(Api* api, const Graph& graph) {
  cudaGraphExec_t executable = nullptr;
  GLINT_RETURN_IF_ERROR(ToStatus(api->GraphInstantiate(&executable, graph.get()), "instantiating a graph"));
  return GraphExec(api, executable);
}

}  // namespace glint::cuda
