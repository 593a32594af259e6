// Comparing what two detectors found, bit for bit.
#ifndef GLINT_TESTS_SUPPORT_FEATURES_H_
#define GLINT_TESTS_SUPPORT_FEATURES_H_

#include "features/types.h"
#include "gtest/gtest.h"

namespace glint::testing {

// Success if both have the same keypoints in the same order, floats and descriptors equal bit for bit, and the same
// truncation flag. Otherwise the message lists the first keypoints that only one has and those whose fields differ:
//
//   EXPECT_TRUE(SameFeatures(reference::Detect(options, image), actual)) << ToString(options);
::testing::AssertionResult SameFeatures(const Features& expected, const Features& actual);

// Success if every array of `features` has count() elements (descriptor rows), and the order is the documented one.
::testing::AssertionResult IsWellFormed(const Features& features);

}  // namespace glint::testing

#endif  // GLINT_TESTS_SUPPORT_FEATURES_H_
