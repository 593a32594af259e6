#include "cuda/runtime/range.h"

// A package of its own in NVIDIA's repositories, not part of every toolkit.
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define GLINT_HAVE_NVTX 1
#else
#define GLINT_HAVE_NVTX 0
#endif

namespace glint::cuda {

#if GLINT_HAVE_NVTX
Range::Range(const char* name) { nvtxRangePushA(name); }
Range::~Range() { nvtxRangePop(); }
#else
Range::Range(const char*) {}
Range::~Range() = default;
#endif

}  // namespace glint::cuda
