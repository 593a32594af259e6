// The oracle: cv::ORB of the installed OpenCV, asked in Glint's terms.
#ifndef GLINT_TESTS_CONFORMANCE_ORACLE_H_
#define GLINT_TESTS_CONFORMANCE_ORACLE_H_

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

// What cv::ORB says.
struct OrbAnswer {
  // In Glint's order, cut to OutputCapacity(options).
  Features features;
  // cv::ORB throws when a level has no pixels left; `features` is then empty.
  bool threw = false;
  int levels = 0;  // how many have pixels
};

// `options` must have orb's stages: score kMaxThreshold, arc length 9, an orientation.
OrbAnswer AskOrb(const DetectorOptions& options, const ImageView& image, const ImageView& mask = {});

// OpenCV's blur has the rounding that Glint pins only where it runs with AVX2 and FMA. Empty if it does here;
// otherwise why descriptors cannot be compared, for GTEST_SKIP.
std::string WhyDescriptorsCannotBeCompared();

// Success if `actual`, which some Glint backend found, is what cv::ORB finds; without descriptors on machines on which
// they cannot be compared. Where cv::ORB throws, success if there are no keypoints from the first vanished level on.
::testing::AssertionResult EqualsOrb(const OrbAnswer& orb, const Features& actual);

// Paths of all images below the folder that the environment variable GLINT_TEST_DATA names, sorted; none if unset.
std::vector<std::string> TestImages();
// As the server reads it; a test failure and an empty image if it cannot be read.
Image LoadGray(const std::string& path);

}  // namespace glint::testing

#endif  // GLINT_TESTS_CONFORMANCE_ORACLE_H_
