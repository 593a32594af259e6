// Whether a calibration can be right: by its numbers alone, and by what a pair of images says.
#ifndef GLINT_CALIBRATION_CHECK_H_
#define GLINT_CALIBRATION_CHECK_H_

#include <Eigen/Core>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "calibration/calibration.h"
#include "features/camera/rig.h"
#include "features/types.h"

namespace glint::calibration {

// What is wrong with a calibration.
struct Finding {
  // kWarning: improbable, or right but not for a stereo pair; kError: cannot be right.
  enum class Severity { kWarning, kError };
  Severity severity = Severity::kWarning;
  std::string text;  // a sentence: field, value, what it probably is, and what mends it
};

// Of each camera, of the first two as a stereo pair (left, right) unless they are of more and look apart by over 60
// degrees, and of the inertial sensor. `image`: of the images that the calibration is for; 0 x 0: unknown. Thresholds
// are such that no calibration of a real rig up to 2 m wide is accused.
std::vector<Finding> Check(const Calibration& calibration, const Shape& image = {});

// Positions of one point in both images as the cameras took them, pixels.
struct MatchedPixels {
  Eigen::Vector2d left, right;
};

// A way to read the first two cameras, and how well matches agree with it.
struct Reading {
  std::string name;         // "as it stands", "the right camera's pose inverted"
  double median_error = 0;  // Sampson's distance to the epipolar geometry, pixels; infinite: under a half has rays
  double in_front = 0;      // share of the matches with a parallax over 1 pixel whose point is in front of both, 0..1
};

// As it stands first, then with poses inverted, cameras exchanged, coefficients in another order or of another model,
// and as rectified images. Empty for fewer than two cameras or 16 matches. Matches may have outliers, up to about 40 %.
std::vector<Reading> ReadByMatches(const Calibration& calibration, absl::Span<const MatchedPixels> matches);

// What ReadByMatches() shows: a reading whose error is under a half of that as it stands and under a pixel, or whose
// points lie in front where those as it stands lie behind; or no reading that agrees.
std::vector<Finding> Judge(absl::Span<const Reading> readings);

}  // namespace glint::calibration

#endif  // GLINT_CALIBRATION_CHECK_H_
