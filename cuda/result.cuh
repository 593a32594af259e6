// Where element i of each array of the result is; see ResultHeader.
#ifndef GLINT_CUDA_RESULT_CUH_
#define GLINT_CUDA_RESULT_CUH_

#include "cuda/device.cuh"
#include "cuda/level_lists.cuh"

namespace glint::cuda {

__device__ __forceinline__ float* ResultFloats(const Frame& frame, int array) {
  return reinterpret_cast<float*>(frame.result + sizeof(ResultHeader)) + array * ResultStride(frame.output_capacity);
}
__device__ __forceinline__ int32_t* ResultOctaves(const Frame& frame) {
  return reinterpret_cast<int32_t*>(ResultFloats(frame, 5));
}
__device__ __forceinline__ uint8_t* ResultDescriptors(const Frame& frame) {
  return reinterpret_cast<uint8_t*>(ResultFloats(frame, kResultArrays));
}

// The ranked corners of all levels as the sequence that the result holds.
struct RankedLists : LevelLists {
  uint32_t count;  // that fit
  __device__ __forceinline__ explicit RankedLists(const Frame& frame)
      : LevelLists(frame.counters->kept, frame.levels),
        count(total < static_cast<uint32_t>(frame.output_capacity) ? total : frame.output_capacity) {}
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_RESULT_CUH_
