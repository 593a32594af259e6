// Pictures of matches and of disparities.
#ifndef GLINT_CLIENT_CLI_OUTPUT_DRAW_PAIRS_H_
#define GLINT_CLIENT_CLI_OUTPUT_DRAW_PAIRS_H_

#include <opencv2/core.hpp>
#include <vector>

#include "client/matching.h"

namespace glint::cli {

// Both pictures side by side, 8-bit BGR, with a line for each query's first match: green, or red where `good` has a 0
// for the query. `good` may be empty.
cv::Mat DrawMatches(const cv::Mat& first, const cv::Mat& second, const client::MatchFound& found,
                    const std::vector<uint8_t>& good);

// The left picture, 8-bit BGR, with a dot at each match, coloured by its disparity, and at the right a scale from the
// least to the greatest.
cv::Mat DrawDisparities(const cv::Mat& left, const client::StereoAnswer& answer);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_DRAW_PAIRS_H_
