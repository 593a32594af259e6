#include "cuda/common/enqueue.h"

#include "absl/strings/str_cat.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

dim3 Dim(const GridSize& size) {
  return dim3(static_cast<unsigned>(size.x), static_cast<unsigned>(size.y), static_cast<unsigned>(size.z));
}

}  // namespace

absl::Status EnqueueKernel(StreamView stream, const Launch& launch, const void* kernel, void** arguments) {
  KernelLaunch call;
  call.kernel = kernel;
  call.grid = Dim(launch.grid);
  call.block = Dim(launch.block);
  call.shared_bytes = static_cast<size_t>(launch.shared_bytes);
  call.overlaps_predecessor = launch.overlaps_predecessor;
  const cudaError_t error = stream.api->LaunchKernel(call, arguments, stream.stream);
  return ToStatus(error, error == cudaSuccess ? "" : absl::StrCat("launching ", NameOf(launch.kernel)));
}

}  // namespace glint::cuda
