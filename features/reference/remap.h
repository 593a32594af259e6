// Scalar reference of rectification: the specification of cpu/rectify/.
#ifndef GLINT_FEATURES_REFERENCE_REMAP_H_
#define GLINT_FEATURES_REFERENCE_REMAP_H_

#include "features/camera/remap_table.h"
#include "features/types.h"

namespace glint::reference {

// The rectified image: bilinear, as cv::remap (INTER_LINEAR, BORDER_CONSTANT 0) with the same table. `source` has
// table.source's shape.
void Remap(const ImageView& source, const RemapTable& table, Image* rectified);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_REMAP_H_
