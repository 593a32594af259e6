// Host memory of somebody else's, a client's for example, page-locked: then Pipeline::Detect() lets the device copy
// pixels straight out of it.
//
// Thread-safe. Locking and unlocking choose the thread's CUDA device, as each call of a Pipeline does.
#ifndef GLINT_CUDA_RUNTIME_HOST_REGION_H_
#define GLINT_CUDA_RUNTIME_HOST_REGION_H_

#include <cstddef>

#include "absl/status/status.h"

namespace glint::cuda {

class Api;

// Whether pipelines on device `ordinal` copy from page-locked memory. False for integrated devices, which read where
// the pipeline has put the pixels, and without a working device.
bool CopiesFromHostRegions(int ordinal);

// Page-locks [data, data + bytes), for all devices of the process; `device` is one of them. The memory may be mapped
// for reading only, where the device can have it so. It is there as a whole from now on, must not be locked yet, and
// must stay mapped until UnlockHostRegion(). On error, RESOURCE_EXHAUSTED or as the runtime has it, it is as it was.
absl::Status LockHostRegion(int device, const void* data, size_t bytes);

// After the last frame that reads the region. On error the runtime may take other memory that is mapped there later
// for this: its addresses must not be used again.
absl::Status UnlockHostRegion(int device, const void* data);

// The same over any Api: how tests inject faults.
absl::Status LockHostRegion(int device, const void* data, size_t bytes, Api* api);
absl::Status UnlockHostRegion(int device, const void* data, Api* api);

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RUNTIME_HOST_REGION_H_
