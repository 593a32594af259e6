// Orientation by intensity centroid (Rosin 1999; Rublee et al. 2011, section 3.2).
#ifndef GLINT_FEATURES_REFERENCE_ORIENTATION_H_
#define GLINT_FEATURES_REFERENCE_ORIENTATION_H_

#include "features/patch.h"
#include "features/types.h"

namespace glint::reference {

// Degrees in [0, 360], from (x, y) towards the centroid of the disc around it, clockwise as y points down (cv::ORB's
// ICAngles, orb.cpp). Reads reflections outside the level.
float CentroidAngle(const ImageView& level, int x, int y, const PatchDisc& disc);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_ORIENTATION_H_
