#include "cuda/range.h"

#include <nvtx3/nvToolsExt.h>

namespace glint::cuda {

Range::Range(const char* name) { nvtxRangePushA(name); }
Range::~Range() { nvtxRangePop(); }

}  // namespace glint::cuda
