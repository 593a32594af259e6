// Detector options for tests that try many of them.
#ifndef GLINT_TESTS_SUPPORT_OPTIONS_H_
#define GLINT_TESTS_SUPPORT_OPTIONS_H_

#include <string>

#include "features/options.h"
#include "tests/support/random.h"

namespace glint::testing {

DetectorOptions OrbOptions();
DetectorOptions OrientedFastOptions();

// Valid options over the whole range of limits.h (max_features up to 20000), usual values more often than others. The
// stages themselves are `base`'s; for score kMaxThreshold the ranking is either.
DetectorOptions RandomOptions(Random* random, const DetectorOptions& base);

// Valid options of detectors for which SelectsTopNPerLevel() is false: a preset with several choices changed.
DetectorOptions RandomDetector(Random* random);

// One line, for messages of failed tests.
std::string ToString(const DetectorOptions& options);

// How often a randomised test repeats its body: `usual` times, 50 times that when the environment variable
// GLINT_TEST_SWEEP is set.
int Repetitions(int usual);

}  // namespace glint::testing

#endif  // GLINT_TESTS_SUPPORT_OPTIONS_H_
