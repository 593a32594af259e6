// Runs of neighbouring pixels on the ring, from a bit per pixel.
#ifndef GLINT_CPU_FAST_ARC_RUNS_H_
#define GLINT_CPU_FAST_ARC_RUNS_H_

#include <cstdint>

#include "features/arc.h"

namespace glint::cpu {

// Where `length` neighbouring bits of the ring are set: bit i stands for those from i on. length 9..16.
inline uint32_t Runs(uint32_t bits, int length) {
  const uint32_t twice = bits | bits << kFastRing;
  const uint32_t two = twice & twice >> 1;
  const uint32_t four = two & two >> 2;
  const uint32_t eight = four & four >> 4;
  return eight & eight >> (length - 8) & 0xffffu;
}

}  // namespace glint::cpu

#endif  // GLINT_CPU_FAST_ARC_RUNS_H_
