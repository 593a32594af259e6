#include "cuda/runtime/host_region.h"

#include "absl/strings/str_cat.h"
#include "cuda/runtime/api.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

// Errors are told here, and not to whoever uses this thread next.
absl::Status Told(Api* api, cudaError_t error, absl::string_view doing) {
  if (error != cudaSuccess) api->GetLastError();
  return ToStatus(error, doing);
}

// Else the runtime would make a context on device 0, whatever the lanes use.
absl::Status Choose(int device, Api* api) {
  return Told(api, api->SetDevice(device), absl::StrCat("choosing CUDA device ", device));
}

}  // namespace

bool CopiesFromHostRegions(int ordinal) {
  cudaDeviceProp properties{};
  return CudaApi().GetDeviceProperties(&properties, ordinal) == cudaSuccess && !properties.integrated;
}

absl::Status LockHostRegion(int device, const void* data, size_t bytes, Api* api) {
  GLINT_RETURN_IF_ERROR(Choose(device, api));
  void* const memory = const_cast<void*>(data);
  // Most devices can have memory that is mapped for reading only if they are told so; those that do not know the flag
  // share the processor's page tables, or refuse below.
  cudaError_t error = api->HostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterReadOnly);
  if (error == cudaErrorNotSupported) {
    api->GetLastError();
    error = api->HostRegister(memory, bytes, cudaHostRegisterPortable);
  }
  return Told(api, error, absl::StrCat("page-locking ", bytes, " bytes"));
}

absl::Status UnlockHostRegion(int device, const void* data, Api* api) {
  GLINT_RETURN_IF_ERROR(Choose(device, api));
  return Told(api, api->HostUnregister(const_cast<void*>(data)), "unlocking pages");
}

absl::Status LockHostRegion(int device, const void* data, size_t bytes) {
  return LockHostRegion(device, data, bytes, &CudaApi());
}

absl::Status UnlockHostRegion(int device, const void* data) { return UnlockHostRegion(device, data, &CudaApi()); }

}  // namespace glint::cuda
