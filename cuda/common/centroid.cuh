// The angle of a corner: the intensity centroid of the disc (Rosin 1999; Rublee et al. 2011, section 3.2),
//   m10 = sum u * I,  m01 = sum v * I,  angle = fastAtan2(m01, m10).
// Lanes read vectors of 8 pixels, several rows at a time (3 for patch_size 31), cut the disc out with masks of a bit
// for each byte, which are loaded for several rows at once, and sum with dp4a.
#ifndef GLINT_CUDA_COMMON_CENTROID_CUH_
#define GLINT_CUDA_COMMON_CENTROID_CUH_

#include <cstddef>

#include "cuda/common/warp.cuh"
#include "cuda/plan/frame.h"
#include "features/math.h"

namespace glint::cuda {

// What a lane reads of every disc.
struct DiscLane {
  int first_row;  // past the last one if the lane is left over
  int row_step;
  int vector;

  __device__ __forceinline__ explicit DiscLane(const Frame& frame) {
    const int lane = threadIdx.x % kAngleLanes;
    row_step = kAngleLanes / frame.disc_vectors;
    first_row = lane / frame.disc_vectors;
    vector = lane - first_row * frame.disc_vectors;
    if (first_row >= row_step) first_row = 2 * frame.half_patch + 1;
  }
};

__device__ __forceinline__ int AngleLanesSum(int v) {
#pragma unroll
  for (int step = kAngleLanes / 2; step > 0; step /= 2) v += __shfl_xor_sync(kFullWarp, v, step);
  return v;
}

// Bytes 0xff where the sign bits are set, else 0.
__device__ __forceinline__ uint32_t SignsToBytes(uint32_t v) {
  uint32_t bytes;
  asm("prmt.b32 %0, %1, %1, 0xba98;" : "=r"(bytes) : "r"(v));
  return bytes;
}

// By kAngleLanes lanes; valid in all of them. All lanes of the warp must call.
__device__ __forceinline__ float CentroidAngle(const Frame& frame, const Level& level, const DiscLane& mine, int x,
                                               int y) {
  const int half = frame.half_patch;
  int moment_x = 0;
  int moment_y = 0;
  if (x >= half && x < level.width - half && y >= half && y < level.height - half) {
    const int rows = 2 * half + 1;
    const int skew = (x - half) & 7;
    const uint8_t* pixels =
        level.image + static_cast<size_t>(y - half) * level.pitch + (x - half - skew) + 8 * mine.vector;
    const uint2* masks = frame.disc_masks + skew * frame.disc_batches * kAngleLanes + threadIdx.x % kAngleLanes;
    int sum = 0;
    int ramp = 0;  // sum of column within the vector * pixel
    for (int first = mine.first_row; first < rows; first += kRowsInFlight * mine.row_step) {
      const uint2 mask = *masks;
      masks += kAngleLanes;
      uint2 p[kRowsInFlight];
#pragma unroll
      for (int i = 0; i < kRowsInFlight; ++i) {
        const int v = first + i * mine.row_step;
        const bool exists = v < rows;
        p[i] = exists ? *reinterpret_cast<const uint2*>(pixels + v * level.pitch) : make_uint2(0, 0);
      }
#pragma unroll
      for (int i = 0; i < kRowsInFlight; ++i) {
        const uint32_t a = p[i].x & SignsToBytes(mask.x << i);
        const uint32_t b = p[i].y & SignsToBytes(mask.y << i);
        const int row_sum = __dp4a(b, 0x01010101u, __dp4a(a, 0x01010101u, 0u));
        ramp = __dp4a(b, 0x07060504u, __dp4a(a, 0x03020100u, static_cast<unsigned>(ramp)));
        sum += row_sum;
        moment_y += (first + i * mine.row_step - half) * row_sum;
      }
    }
    moment_x = ramp + sum * (8 * mine.vector - skew - half);
  } else {
    for (int v = static_cast<int>(threadIdx.x % kAngleLanes) - half; v <= half; v += kAngleLanes) {
      const int half_width = frame.half_width[v < 0 ? -v : v];
      const uint8_t* row = level.image + static_cast<size_t>(Reflect101(y + v, level.height)) * level.pitch;
      for (int u = -half_width; u <= half_width; ++u) {
        const int p = row[Reflect101(x + u, level.width)];
        moment_x += u * p;
        moment_y += v * p;
      }
    }
  }
  return FastAtan2(static_cast<float>(AngleLanesSum(moment_y)), static_cast<float>(AngleLanesSum(moment_x)));
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_COMMON_CENTROID_CUH_
