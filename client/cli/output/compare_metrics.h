// How well two sets of keypoints of the same scene agree. Pure functions.
#ifndef GLINT_CLIENT_CLI_OUTPUT_COMPARE_METRICS_H_
#define GLINT_CLIENT_CLI_OUTPUT_COMPARE_METRICS_H_

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "features/types.h"

namespace glint::cli {

// Row by row; maps pixels of a first image to those of a second.
using Homography = std::array<double, 9>;
inline constexpr Homography kSamePlace = {1, 0, 0, 0, 1, 0, 0, 0, 1};

struct Place {
  double x = 0;
  double y = 0;
};
Place Apply(const Homography& h, double x, double y);
// All zeros if there is none.
Homography Inverse(const Homography& h);

struct Agreement {
  size_t first = 0;     // keypoints of the first image that the second image shows
  size_t second = 0;    // and the other way round
  size_t repeated = 0;  // pairs of them no farther apart than the tolerance, nearest first, each keypoint in one only
  size_t matched = 0;   // pairs whose descriptors are each other's nearest by Hamming distance
  size_t correct = 0;   // of those, no farther apart than the tolerance

  // Repeated pairs, and correct matches, of as many as there could be; 0 if there are none.
  double repeatability() const { return Share(repeated); }
  double matching_score() const { return Share(correct); }
  // Correct matches of all matches.
  double precision() const { return matched == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(matched); }

 private:
  double Share(size_t n) const {
    const size_t most = first < second ? first : second;
    return most == 0 ? 0 : static_cast<double>(n) / static_cast<double>(most);
  }
};

// `tolerance` in pixels of the second image. Distances are between a keypoint of the second image and the
// projection of one of the first into it. Descriptors are compared if both sets have the same kind.
Agreement Compare(const Features& first, Shape first_shape, const Features& second, Shape second_shape,
                  const Homography& homography, double tolerance);

// The n keypoints with the greatest response; among equals the first.
Features Strongest(const Features& features, size_t n);

// Pairs of indices whose descriptors are each other's nearest; among equally near ones the first counts.
std::vector<std::pair<size_t, size_t>> MutualMatches(const Features& first, const Features& second);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_COMPARE_METRICS_H_
