// Lenses whose coefficients were written as another library orders them, and whether a lens can be real.
#ifndef GLINT_CALIBRATION_OTHER_LENSES_H_
#define GLINT_CALIBRATION_OTHER_LENSES_H_

#include <string>
#include <vector>

#include "features/camera/camera.h"
#include "features/types.h"

namespace glint::calibration {

struct OtherLens {
  std::string name;  // of the reading: "coefficients in cuVSLAM's order, k1 k2 k3 p1 p2"
  Camera camera;
};

// Of a radial-tangential camera: as if the file had k1 k2 k3 p1 p2 in place of OpenCV's k1 k2 p1 p2 k3. The other way
// round with `of_cuvslam`: the format has cuVSLAM's order.
OtherLens InOtherOrder(const Camera& camera, bool of_cuvslam);
// InOtherOrder(), tangential terms exchanged, and the same coefficients of another model with as many of them.
std::vector<OtherLens> OtherLenses(const Camera& camera, bool of_cuvslam);

// "radial-tangential k1 -0.28 k2 0.07 p1 0 p2 0 k3 0"; a pinhole: "pinhole".
std::string LensText(const Camera& camera);

// The camera with an image of `shape`, or, if that is 0 x 0, of twice the centre.
Camera WithSize(const Camera& camera, const Shape& shape);
// The share of the way from the centre to the middle of an edge, the worst one, up to which the model has rays.
double SeenShare(const Camera& camera);
// Whether the model has rays from the centre to `share` of the way to the middle of each edge.
bool SeesTo(const Camera& camera, double share);
// Whether those rays are 0.6 to 8 times as far from the axis as a pinhole's, as of all lenses that are made.
bool BendsLittle(const Camera& camera);

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_OTHER_LENSES_H_
