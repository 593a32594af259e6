#include "cuda/devices.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cuda/pipeline.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/hooks.h"
#include "cuda/runtime/integrated.h"
#include "cuda/stages.h"

namespace glint::cuda {

absl::Status CheckDevice(Api* api, int ordinal, cudaDeviceProp* properties) {
  GLINT_RETURN_IF_ERROR(CheckIntegratedSwitch());
  int count = 0;
  if (const cudaError_t error = api->GetDeviceCount(&count); error != cudaSuccess) {
    api->GetLastError();
    int driver = 0;
    api->DriverGetVersion(&driver);
    const std::string state = driver == 0 ? "no NVIDIA driver found"
                                          : absl::StrCat("driver for CUDA ", driver / 1000, ".", driver % 1000 / 10);
    return absl::FailedPreconditionError(absl::StrCat("no usable CUDA device: ", state, "; ", cudaGetErrorName(error),
                                                      " (", cudaGetErrorString(error), ")"));
  }
  if (ordinal < 0 || ordinal >= count) {
    return absl::FailedPreconditionError(absl::StrCat("no CUDA device ", ordinal, ": the driver has ", count));
  }
  GLINT_RETURN_IF_ERROR(ToStatus(api->GetDeviceProperties(properties, ordinal), "asking for the device's properties"));
  GLINT_RETURN_IF_ERROR(ToStatus(api->SetDevice(ordinal), absl::StrCat("choosing CUDA device ", ordinal)));
  absl::Status prepared = PrepareCorners(api);
  if (prepared.ok()) prepared = PrepareBoundedCorners(api);
  if (prepared.ok()) prepared = PrepareQuadtree(api);
  if (prepared.ok()) prepared = PrepareRbrief(api);
  if (!prepared.ok()) {
    api->GetLastError();
    return absl::FailedPreconditionError(absl::StrCat("this build cannot run on ", properties->name, " (sm_",
                                                      properties->major, properties->minor, "): ", prepared.message()));
  }
  return absl::OkStatus();
}

absl::Status ProbeDevice(int ordinal) {
  cudaDeviceProp properties{};
  return CheckDevice(&CudaApi(), ordinal, &properties);
}

int DeviceCount() {
  int count = 0;
  return CudaApi().GetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::string DevicePciBusId(int ordinal) {
  cudaDeviceProp properties{};
  if (!CheckDevice(&CudaApi(), ordinal, &properties).ok()) return "";
  return absl::AsciiStrToUpper(absl::StrCat(absl::Hex(properties.pciDomainID, absl::kZeroPad8), ":",
                                            absl::Hex(properties.pciBusID, absl::kZeroPad2), ":",
                                            absl::Hex(properties.pciDeviceID, absl::kZeroPad2), ".0"));
}

std::string DeviceDescription(int ordinal) {
  cudaDeviceProp properties{};
  if (!CheckDevice(&CudaApi(), ordinal, &properties).ok()) return "";
  int driver = 0;
  if (CudaApi().DriverGetVersion(&driver) != cudaSuccess) return "";
  return absl::StrCat(properties.name, " (sm_", properties.major, properties.minor, ", ",
                      properties.multiProcessorCount, " SMs",
                      TreatsDevicesAsIntegrated() ? ", treated as integrated" : "", "), driver ", driver / 1000, ".",
                      driver % 1000 / 10);
}

absl::StatusOr<PinnedMemory> PinnedMemory::Allocate(size_t bytes) {
  void* data = nullptr;
  GLINT_RETURN_IF_ERROR(ToStatus(CudaApi().HostAlloc(&data, bytes, cudaHostAllocPortable),
                                 absl::StrCat("allocating ", bytes, " bytes of pinned memory")));
  return PinnedMemory(static_cast<uint8_t*>(data));
}

PinnedMemory::~PinnedMemory() {
  if (data_ != nullptr) CudaApi().FreeHost(data_);
}

}  // namespace glint::cuda
