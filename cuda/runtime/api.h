// Every CUDA call of the backend goes through this interface, so that a test can make the n-th one fail or run the host
// code on a machine without a GPU. The names and meanings are those of the CUDA runtime. Thread-safe.
#ifndef GLINT_CUDA_RUNTIME_API_H_
#define GLINT_CUDA_RUNTIME_API_H_

#include <cuda_runtime_api.h>

#include <cstddef>

namespace glint::cuda {

struct KernelLaunch {
  const void* kernel = nullptr;
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
  // May start while its predecessor on the stream still runs; the kernel itself waits (cudaGridDependencySynchronize).
  // Ignored where toolkit or device cannot do that.
  bool overlaps_predecessor = false;
};

class Api {
 public:
  virtual ~Api() = default;

  virtual cudaError_t GetDeviceCount(int* count) = 0;
  virtual cudaError_t DriverGetVersion(int* version) = 0;
  virtual cudaError_t SetDevice(int device) = 0;
  virtual cudaError_t GetDeviceProperties(cudaDeviceProp* properties, int device) = 0;
  virtual cudaError_t GetLastError() = 0;

  virtual cudaError_t Malloc(void** pointer, size_t bytes) = 0;
  virtual cudaError_t Free(void* pointer) = 0;
  virtual cudaError_t HostAlloc(void** pointer, size_t bytes, unsigned flags) = 0;
  virtual cudaError_t FreeHost(void* pointer) = 0;
  virtual cudaError_t HostRegister(void* pointer, size_t bytes, unsigned flags) = 0;
  virtual cudaError_t HostUnregister(void* pointer) = 0;
  virtual cudaError_t HostGetDevicePointer(void** device, void* host) = 0;
  virtual cudaError_t PointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) = 0;

  virtual cudaError_t MemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s) = 0;
  virtual cudaError_t Memcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                    size_t height, cudaMemcpyKind kind, cudaStream_t s) = 0;
  virtual cudaError_t MemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t s) = 0;

  virtual cudaError_t FuncSetSharedBytes(const void* kernel, int bytes) = 0;
  virtual cudaError_t LaunchKernel(const KernelLaunch& launch, void** arguments, cudaStream_t s) = 0;

  virtual cudaError_t StreamCreate(cudaStream_t* s) = 0;
  virtual cudaError_t StreamDestroy(cudaStream_t s) = 0;
  virtual cudaError_t StreamSynchronize(cudaStream_t s) = 0;
  virtual cudaError_t StreamWaitEvent(cudaStream_t s, cudaEvent_t event) = 0;
  virtual cudaError_t StreamBeginCapture(cudaStream_t s) = 0;
  virtual cudaError_t StreamEndCapture(cudaStream_t s, cudaGraph_t* graph) = 0;
  // Puts a copy to the device in front of the graph's one root.
  virtual cudaError_t GraphAddUpload(cudaGraphNode_t* node, cudaGraph_t graph, void* to, const void* from,
                                     size_t bytes) = 0;
  // What that copy takes from now on; the graph must still be there.
  virtual cudaError_t GraphExecSetUpload(cudaGraphExec_t executable, cudaGraphNode_t node, void* to, const void* from,
                                         size_t bytes) = 0;
  // Kernels among the graph's nodes.
  virtual cudaError_t GraphCountKernels(cudaGraph_t graph, size_t* kernels) = 0;
  virtual cudaError_t GraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph) = 0;
  virtual cudaError_t GraphDestroy(cudaGraph_t graph) = 0;
  virtual cudaError_t GraphExecDestroy(cudaGraphExec_t executable) = 0;
  virtual cudaError_t GraphLaunch(cudaGraphExec_t executable, cudaStream_t s) = 0;

  virtual cudaError_t EventCreate(cudaEvent_t* event, unsigned flags) = 0;
  virtual cudaError_t EventDestroy(cudaEvent_t event) = 0;
  virtual cudaError_t EventRecord(cudaEvent_t event, cudaStream_t s) = 0;
  virtual cudaError_t EventQuery(cudaEvent_t event) = 0;
  virtual cudaError_t EventSynchronize(cudaEvent_t event) = 0;
  virtual cudaError_t EventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) = 0;

  // A stream confined to `multiprocessors` of the device (rounded up to what the device can partition), in a green
  // context that lives as long as the stream. cudaErrorNotSupported before CUDA 12.5.
  virtual cudaError_t GreenStreamCreate(cudaStream_t* s, void** context, int device, int multiprocessors) = 0;
  virtual cudaError_t GreenContextDestroy(void* context) = 0;
};

// Of memory of any kind; all 0 for what the runtime does not know.
cudaPointerAttributes AttributesOf(Api* api, const void* data);

// The CUDA runtime itself. It links no driver library: without a driver every call returns an error.
Api& CudaApi();

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RUNTIME_API_H_
