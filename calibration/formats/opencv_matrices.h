// The matrices of files of OpenCV's programs, by the names that people give them.
#ifndef GLINT_CALIBRATION_FORMATS_OPENCV_MATRICES_H_
#define GLINT_CALIBRATION_FORMATS_OPENCV_MATRICES_H_

#include <string>
#include <vector>

#include "calibration/formats/format.h"

namespace glint::calibration::opencv {

// What a matrix is: K, D, P, xi of the omnidirectional model and the image's size belong to a camera, the rotation to
// its rectified image too; rotation, translation and transform relate the first camera to the second.
// The baseline is of a rectified pair.
enum class Role {
  kNone,
  kIntrinsics,
  kLens,
  kXi,
  kSize,
  kProjection,
  kRectification,
  kRotation,
  kTranslation,
  kPose,
  kBaseline
};

constexpr int kNoEye = -1;

struct Matrix {
  const Source* source = nullptr;
  std::string name;
  std::vector<double> values;
  Role role = Role::kNone;
  int eye = kNoEye;        // 0, 1, ..; of names with digits: the digit
  bool has_digit = false;  // the eye is a digit: counted from 0 or from 1
  bool inverse = false;    // "right_to_left"
  bool is_metres = false;  // of a baseline whose name says its unit, "baseline_mm": turned into metres
};

// What a file has.
struct Found {
  std::vector<Matrix> matrices;
  bool fisheye = false;  // it says that lenses are those of cv::fisheye
};

// All matrices of a file that have a role: by their names, and K and P by their numbers as well.
Found Collect(const Source& source);
bool Has(const Found& found, Role role);

}  // namespace glint::calibration::opencv

#endif  // GLINT_CALIBRATION_FORMATS_OPENCV_MATRICES_H_
