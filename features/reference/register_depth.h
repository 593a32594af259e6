// Scalar reference of the registration of depth: the specification of cpu/rectify/ and cuda/rectify/.
#ifndef GLINT_FEATURES_REFERENCE_REGISTER_DEPTH_H_
#define GLINT_FEATURES_REFERENCE_REGISTER_DEPTH_H_

#include <cstdint>
#include <vector>

#include "features/camera/depth_table.h"
#include "features/camera/remap_table.h"
#include "features/depth.h"

namespace glint::reference {

// Depths of the pixels of `table`'s image, whose lens is undone and which is not turned: those of the nearest pixels of
// the raw image, 0 outside of it. `depth` has table.source's shape.
void RemapDepth(const DepthView& depth, const RemapTable& table, std::vector<uint16_t>* remapped);

// Depths of the pixels of `table`'s image, in the sensor's unit: of what the sensor measured within its limits and a
// pixel sees, the nearest; 0: nothing, or beyond 65535. `depth` has table.source's shape.
//
// A pixel of the sensor covers what lies between the least and the largest x, and y, of its four corners at its depth,
// and table.kMargin around it. It counts only if all corners lie before the camera, and not further apart than
// table.kMostPixels. Arithmetic is that of single precision, in the order written.
void RegisterDepth(const DepthView& depth, const DepthTable& table, std::vector<uint16_t>* registered);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_REGISTER_DEPTH_H_
