// The scalar specification of a detector: slow, obvious, what the fast backends are tested against. Each stage has a
// header of its own beside this one. Thread-safe; allocates freely.
#ifndef GLINT_FEATURES_REFERENCE_REFERENCE_H_
#define GLINT_FEATURES_REFERENCE_REFERENCE_H_

#include "features/options.h"
#include "features/types.h"

namespace glint::reference {

// Arguments must be valid (ValidateOptions, ValidateImages); `mask` may be empty.
Features Detect(const DetectorOptions& options, const ImageView& image, const ImageView& mask = {});

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_REFERENCE_H_
