#include "cuda/runtime/api.h"

#if CUDART_VERSION >= 12050
#include <cuda.h>
#endif

#include <vector>

#include "cuda/runtime/integrated.h"

namespace glint::cuda {
namespace {

#if CUDART_VERSION >= 12050
// A function of the driver, found at run time so that no binary needs libcuda to start.
template <typename Function>
Function DriverFunction(const char* name) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &address, CUDART_VERSION, cudaEnableDefault, &found);
  if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<Function>(address);
}
#endif

class RuntimeApi final : public Api {
 public:
  cudaError_t GetDeviceCount(int* count) override { return cudaGetDeviceCount(count); }
  cudaError_t DriverGetVersion(int* version) override { return cudaDriverGetVersion(version); }
  cudaError_t SetDevice(int device) override { return cudaSetDevice(device); }
  cudaError_t GetDeviceProperties(cudaDeviceProp* properties, int device) override {
    const cudaError_t error = cudaGetDeviceProperties(properties, device);
    if (error == cudaSuccess && TreatsDevicesAsIntegrated()) properties->integrated = 1;
    return error;
  }
  cudaError_t GetLastError() override { return cudaGetLastError(); }

  cudaError_t Malloc(void** pointer, size_t bytes) override { return cudaMalloc(pointer, bytes); }
  cudaError_t Free(void* pointer) override { return cudaFree(pointer); }
  cudaError_t HostAlloc(void** pointer, size_t bytes, unsigned flags) override {
    return cudaHostAlloc(pointer, bytes, flags);
  }
  cudaError_t FreeHost(void* pointer) override { return cudaFreeHost(pointer); }
  cudaError_t HostRegister(void* pointer, size_t bytes, unsigned flags) override {
    return cudaHostRegister(pointer, bytes, flags);
  }
  cudaError_t HostUnregister(void* pointer) override { return cudaHostUnregister(pointer); }
  cudaError_t HostGetDevicePointer(void** device, void* host) override {
    return cudaHostGetDevicePointer(device, host, 0);
  }
  cudaError_t PointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) override {
    return cudaPointerGetAttributes(attributes, pointer);
  }

  cudaError_t MemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s) override {
    return cudaMemcpyAsync(to, from, bytes, kind, s);
  }
  cudaError_t Memcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                            cudaMemcpyKind kind, cudaStream_t s) override {
    return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, s);
  }
  cudaError_t MemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t s) override {
    return cudaMemsetAsync(pointer, value, bytes, s);
  }

  cudaError_t FuncSetSharedBytes(const void* kernel, int bytes) override {
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  }
  cudaError_t LaunchKernel(const KernelLaunch& launch, void** arguments, cudaStream_t s) override {
#if CUDART_VERSION >= 12030
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = launch.grid;
    config.blockDim = launch.block;
    config.dynamicSmemBytes = launch.shared_bytes;
    config.stream = s;
    config.attrs = &attribute;
    config.numAttrs = launch.overlaps_predecessor ? 1 : 0;
    return cudaLaunchKernelExC(&config, launch.kernel, arguments);
#else
    return cudaLaunchKernel(launch.kernel, launch.grid, launch.block, arguments, launch.shared_bytes, s);
#endif
  }

  cudaError_t StreamCreate(cudaStream_t* s) override { return cudaStreamCreateWithFlags(s, cudaStreamNonBlocking); }
  cudaError_t StreamDestroy(cudaStream_t s) override { return cudaStreamDestroy(s); }
  cudaError_t StreamSynchronize(cudaStream_t s) override { return cudaStreamSynchronize(s); }
  cudaError_t StreamWaitEvent(cudaStream_t s, cudaEvent_t event) override { return cudaStreamWaitEvent(s, event, 0); }
  cudaError_t StreamBeginCapture(cudaStream_t s) override {
    return cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
  }
  cudaError_t StreamEndCapture(cudaStream_t s, cudaGraph_t* graph) override { return cudaStreamEndCapture(s, graph); }
  cudaError_t GraphAddUpload(cudaGraphNode_t* node, cudaGraph_t graph, void* to, const void* from,
                             size_t bytes) override {
    size_t roots = 0;
    cudaError_t error = cudaGraphGetRootNodes(graph, nullptr, &roots);
    if (error != cudaSuccess) return error;
    if (roots != 1) return cudaErrorInvalidValue;
    cudaGraphNode_t root{};
    error = cudaGraphGetRootNodes(graph, &root, &roots);
    if (error != cudaSuccess) return error;
    error = cudaGraphAddMemcpyNode1D(node, graph, nullptr, 0, to, from, bytes, cudaMemcpyHostToDevice);
    if (error != cudaSuccess) return error;
#if CUDART_VERSION >= 13000
    return cudaGraphAddDependencies(graph, node, &root, nullptr, 1);
#else
    return cudaGraphAddDependencies(graph, node, &root, 1);
#endif
  }
  cudaError_t GraphExecSetUpload(cudaGraphExec_t executable, cudaGraphNode_t node, void* to, const void* from,
                                 size_t bytes) override {
    return cudaGraphExecMemcpyNodeSetParams1D(executable, node, to, from, bytes, cudaMemcpyHostToDevice);
  }
  cudaError_t GraphCountKernels(cudaGraph_t graph, size_t* kernels) override {
    size_t count = 0;
    cudaError_t error = cudaGraphGetNodes(graph, nullptr, &count);
    if (error != cudaSuccess) return error;
    std::vector<cudaGraphNode_t> nodes(count);
    error = cudaGraphGetNodes(graph, nodes.data(), &count);
    *kernels = 0;
    for (size_t i = 0; error == cudaSuccess && i < count; ++i) {
      cudaGraphNodeType type{};
      error = cudaGraphNodeGetType(nodes[i], &type);
      *kernels += type == cudaGraphNodeTypeKernel ? 1 : 0;
    }
    return error;
  }
  cudaError_t GraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph) override {
#if CUDART_VERSION >= 12000
    return cudaGraphInstantiate(executable, graph, 0);
#else
    return cudaGraphInstantiateWithFlags(executable, graph, 0);
#endif
  }
  cudaError_t GraphDestroy(cudaGraph_t graph) override { return cudaGraphDestroy(graph); }
  cudaError_t GraphExecDestroy(cudaGraphExec_t executable) override { return cudaGraphExecDestroy(executable); }
  cudaError_t GraphLaunch(cudaGraphExec_t executable, cudaStream_t s) override {
    return cudaGraphLaunch(executable, s);
  }

  cudaError_t EventCreate(cudaEvent_t* event, unsigned flags) override {
    return cudaEventCreateWithFlags(event, flags);
  }
  cudaError_t EventDestroy(cudaEvent_t event) override { return cudaEventDestroy(event); }
  cudaError_t EventRecord(cudaEvent_t event, cudaStream_t s) override { return cudaEventRecord(event, s); }
  cudaError_t EventQuery(cudaEvent_t event) override { return cudaEventQuery(event); }
  cudaError_t EventSynchronize(cudaEvent_t event) override { return cudaEventSynchronize(event); }
  cudaError_t EventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) override {
    return cudaEventElapsedTime(milliseconds, from, to);
  }

#if CUDART_VERSION >= 12050
  cudaError_t GreenStreamCreate(cudaStream_t* s, void** context, int device, int multiprocessors) override {
    const auto get_resource = DriverFunction<decltype(&cuDeviceGetDevResource)>("cuDeviceGetDevResource");
    const auto split = DriverFunction<decltype(&cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount");
    const auto describe = DriverFunction<decltype(&cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc");
    const auto create = DriverFunction<decltype(&cuGreenCtxCreate)>("cuGreenCtxCreate");
    const auto create_stream = DriverFunction<decltype(&cuGreenCtxStreamCreate)>("cuGreenCtxStreamCreate");
    if (!get_resource || !split || !describe || !create || !create_stream) return cudaErrorNotSupported;
    CUdevResource all{};
    CUdevResource part{};
    CUdevResource rest{};
    unsigned groups = 1;
    CUdevResourceDesc description{};
    CUgreenCtx green{};
    CUstream stream{};
    const auto count = static_cast<unsigned>(multiprocessors);
    if (get_resource(device, &all, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS ||
        split(&part, &groups, &all, &rest, 0, count) != CUDA_SUCCESS || groups != 1 ||
        describe(&description, &part, 1) != CUDA_SUCCESS ||
        create(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM) != CUDA_SUCCESS) {
      return cudaErrorInvalidValue;
    }
    if (create_stream(&stream, green, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) {
      GreenContextDestroy(green);
      return cudaErrorInvalidValue;
    }
    *s = stream;
    *context = green;
    return cudaSuccess;
  }
  cudaError_t GreenContextDestroy(void* context) override {
    const auto destroy = DriverFunction<decltype(&cuGreenCtxDestroy)>("cuGreenCtxDestroy");
    const bool destroyed = destroy && destroy(static_cast<CUgreenCtx>(context)) == CUDA_SUCCESS;
    return destroyed ? cudaSuccess : cudaErrorInvalidResourceHandle;
  }
#else
  cudaError_t GreenStreamCreate(cudaStream_t*, void**, int, int) override { return cudaErrorNotSupported; }
  cudaError_t GreenContextDestroy(void*) override { return cudaErrorNotSupported; }
#endif
};

}  // namespace

cudaPointerAttributes AttributesOf(Api* api, const void* data) {
  cudaPointerAttributes attributes{};
  if (api->PointerGetAttributes(&attributes, data) == cudaSuccess) return attributes;
  api->GetLastError();  // pageable memory is an error to some drivers, and none to us
  return {};
}

Api& CudaApi() {
  static RuntimeApi api;
  return api;
}

}  // namespace glint::cuda
