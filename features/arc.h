// Arcs of FAST's ring: longest arc, sum of differences, midpoint. Shared by all backends. Pure functions: thread-safe.
#ifndef GLINT_FEATURES_ARC_H_
#define GLINT_FEATURES_ARC_H_

#include <cstdint>

#include "features/math.h"

namespace glint {

constexpr int kFastRing = 16;  // pixels

// Bit i is set if ring pixel i is > centre + threshold.
GLINT_HD inline uint32_t BrighterBits(int centre, const uint8_t ring[kFastRing], int threshold) {
  uint32_t bits = 0;
  for (int i = 0; i < kFastRing; ++i) bits |= static_cast<uint32_t>(ring[i] > centre + threshold) << i;
  return bits;
}
// Bit i is set if ring pixel i is < centre - threshold.
GLINT_HD inline uint32_t DarkerBits(int centre, const uint8_t ring[kFastRing], int threshold) {
  uint32_t bits = 0;
  for (int i = 0; i < kFastRing; ++i) bits |= static_cast<uint32_t>(ring[i] < centre - threshold) << i;
  return bits;
}

// Length of the longest run of set bits on the ring, 0..16; bit 0 follows bit 15.
GLINT_HD inline int LongestRun(uint32_t bits) {
  if (bits == 0xffffu) return kFastRing;
  int length = 0;
  // Each step shortens every run by one.
  for (; bits != 0; ++length) bits &= (bits << 1 | bits >> (kFastRing - 1)) & 0xffffu;
  return length;
}

// The run of nine or more that makes a pixel a corner. Two such runs do not fit on a ring.
struct ArcRun {
  int first = 0;   // ring pixel; 0 if the run is the whole ring
  int length = 0;  // 0: no corner
};

// Bounded rectification: the longest run of brighter or of darker pixels has arc..max_arc pixels. arc >= 9.
GLINT_HD inline ArcRun FindArc(int centre, const uint8_t ring[kFastRing], int threshold, int arc, int max_arc) {
  uint32_t bits = BrighterBits(centre, ring, threshold);
  int length = LongestRun(bits);
  if (length < arc) {
    bits = DarkerBits(centre, ring, threshold);
    length = LongestRun(bits);
  }
  if (length < arc || length > max_arc) return {};
  if (length == kFastRing) return {0, length};
  for (int first = 0;; ++first) {
    bool inside = (bits >> ((first + kFastRing - 1) % kFastRing) & 1) == 0;  // the pixel before is not of the run
    for (int i = 0; i < length && inside; ++i) inside = (bits >> ((first + i) % kFastRing) & 1) != 0;
    if (inside) return {first, length};
  }
}

// Sum of |ring - centre| over the run. Over {0, 16} it is that of the whole circle, at most 4080.
GLINT_HD inline int SumOfDifferences(int centre, const uint8_t ring[kFastRing], ArcRun run) {
  int sum = 0;
  for (int i = 0; i < run.length; ++i) {
    const int difference = ring[(run.first + i) % kFastRing] - centre;
    sum += difference < 0 ? -difference : difference;
  }
  return sum;
}

// BFROST's orientation: the direction of the run's middle, in steps of 11.25 degrees, 0..31, clockwise from the right
// as y points down. A run of odd length points at a ring pixel (an even step), one of even length between two. The
// whole ring has no middle and gets 0.
constexpr int kArcSteps = 32;
constexpr float kDegreesPerArcStep = 11.25f;
GLINT_HD inline int ArcMidpointStep(ArcRun run) {
  if (run.length == kFastRing) return 0;
  // Ring pixel 0 is below the centre, at 8 steps; the next is 2 steps further to the right.
  return (8 - (2 * run.first + run.length - 1) + 2 * kArcSteps) % kArcSteps;
}

}  // namespace glint

#endif  // GLINT_FEATURES_ARC_H_
