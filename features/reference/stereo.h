// Stereo matching as features/stereo.h states it, pair by pair: slow and obvious.
#ifndef GLINT_FEATURES_REFERENCE_STEREO_H_
#define GLINT_FEATURES_REFERENCE_STEREO_H_

#include "features/stereo.h"

namespace glint::reference {

// Valid arguments (ValidateStereoOptions, ValidateStereoInput).
StereoResult MatchStereo(const StereoInput& input, const StereoOptions& options);

// The sum of absolute differences of two windows of a side of 2 * kStereoWindow + 1, around (left_x, y) and
// (right_x, y).
int WindowSad(const ImageView& left, int left_x, const ImageView& right, int right_x, int y);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_STEREO_H_
