// BFROST descriptors from an integral image.
#ifndef GLINT_CPU_DESCRIBE_BFROST_H_
#define GLINT_CPU_DESCRIBE_BFROST_H_

#include <cstddef>
#include <cstdint>

#include "features/bfrost.h"
#include "features/types.h"

namespace glint::cpu {

// Sums over all pixels above and to the left, exclusive, modulo 2^32: a region's sum is right as long as it fits.
struct IntegralView {
  const uint32_t* data = nullptr;  // row 0 and column 0 are zero
  size_t pitch = 0;                // elements
  Shape shape;                     // of the image

  const uint32_t* row(int y) const { return data + static_cast<size_t>(y) * pitch; }
};

inline size_t IntegralPitch(int width) { return static_cast<size_t>(width) + 1; }

// Fills (height + 1) * IntegralPitch(width) elements.
IntegralView MakeIntegral(const ImageView& image, uint32_t* data);

struct BfrostTable {
  BfrostPattern pattern;
  int reach = 0;  // no region touches pixels further away in x or y
};
BfrostTable MakeBfrostTable(float scale);

// `step` is the keypoint's orientation (features/arc.h).
void DescribeBfrost(const IntegralView& integral, const BfrostTable& table, int x, int y, int step,
                    uint8_t* descriptor);

}  // namespace glint::cpu

#endif  // GLINT_CPU_DESCRIBE_BFROST_H_
