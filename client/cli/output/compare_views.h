// How one view of a scene maps to another: read, estimated, or known because the view is made.
#ifndef GLINT_CLIENT_CLI_OUTPUT_COMPARE_VIEWS_H_
#define GLINT_CLIENT_CLI_OUTPUT_COMPARE_VIEWS_H_

#include <opencv2/core.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/output/compare_metrics.h"
#include "features/types.h"

namespace glint::cli {

// The nine numbers of a file, row by row. NOT_FOUND; INVALID_ARGUMENT: it has others. Both name the file.
absl::StatusOr<Homography> ReadHomography(const std::string& path);

// From the matches of two images' descriptors, by RANSAC. NOT_FOUND if there are too few or none fits.
absl::StatusOr<Homography> EstimateHomography(const Features& first, const Features& second);

// An image turned clockwise about its middle, on a canvas that holds all of it; around it, its reflection.
struct Turned {
  cv::Mat image;
  cv::Mat mask;     // 255 where the image is, 0 around it
  Homography from;  // how its pixels moved
};
Turned Turn(const cv::Mat& image, double degrees);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_COMPARE_VIEWS_H_
