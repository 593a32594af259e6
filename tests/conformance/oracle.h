// The oracle: cv::ORB of the installed OpenCV, asked in Glint's terms.
#ifndef GLINT_TESTS_CONFORMANCE_ORACLE_H_
#define GLINT_TESTS_CONFORMANCE_ORACLE_H_

#include <optional>
#include <string>
#include <vector>

#include "features/options.h"
#include "features/types.h"
#include "gtest/gtest.h"
#include "opencv2/core.hpp"

namespace glint::testing {

// A header on the view's pixels, which must live on.
cv::Mat MatOf(const ImageView& image);
Image ImageOf(const cv::Mat& gray);

// What cv::ORB finds for `options`, which must be orb's stages (score kMaxThreshold, arc length 9, an orientation), in
// Glint's order and without truncation. Nothing if cv::ORB throws, as it does when a level vanishes.
std::optional<Features> OrbOf(const DetectorOptions& options, const ImageView& image, const ImageView& mask = {});

// OpenCV's blur has the rounding that Glint pins only where it runs with AVX2 and FMA. Empty if it does here;
// otherwise why descriptors cannot be compared, for GTEST_SKIP.
std::string WhyDescriptorsCannotBeCompared();

// Success if `actual`, which some Glint backend found, is what cv::ORB finds, up to OutputCapacity(options); without
// descriptors on machines on which they cannot be compared. Where cv::ORB throws because a level vanishes, success if
// there are no keypoints from that level on.
::testing::AssertionResult EqualsOrb(const DetectorOptions& options, const ImageView& image, const ImageView& mask,
                                     const Features& actual);

// Paths of all images below the folder that the environment variable GLINT_TEST_DATA names, sorted; none if unset.
std::vector<std::string> TestImages();
// As cv::imread, IMREAD_GRAYSCALE.
Image LoadGray(const std::string& path);

}  // namespace glint::testing

#endif  // GLINT_TESTS_CONFORMANCE_ORACLE_H_
