// Matching as features/matcher.h states it, pair by pair: slow and obvious.
#ifndef GLINT_FEATURES_REFERENCE_MATCHER_H_
#define GLINT_FEATURES_REFERENCE_MATCHER_H_

#include "features/matcher.h"

namespace glint::reference {

// Bits in which descriptors i and j differ.
int HammingDistance(const DescriptorView& a, int i, const DescriptorView& b, int j);

// Valid arguments (ValidateMatchOptions, ValidateMatchInput).
MatchResult Match(const MatchInput& input, const MatchOptions& options);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_MATCHER_H_
