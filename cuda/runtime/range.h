// A range of this thread on the timeline of NVIDIA's profilers (NVTX): from construction to destruction. Costs next to
// nothing unless a profiler is attached; without CUDA, or without the headers of NVTX, nothing at all.
#ifndef GLINT_CUDA_RUNTIME_RANGE_H_
#define GLINT_CUDA_RUNTIME_RANGE_H_

namespace glint::cuda {

class Range {
 public:
  // `name` is copied.
  explicit Range(const char* name);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RUNTIME_RANGE_H_
