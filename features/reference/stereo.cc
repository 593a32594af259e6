#include "features/reference/stereo.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "features/reference/matcher.h"

namespace glint::reference {
namespace {

DescriptorView DescriptorsOf(const Features& f) {
  return {f.descriptors.data(), static_cast<int>(f.count()), f.descriptor_bytes};
}

// Element n / 2 of the sorted values; 0 without any.
template <typename T>
T MedianOf(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? T{0} : values[values.size() / 2];
}

StereoChecks CheckPair(const Features& left, const Features& right, int max_distance) {
  MatchOptions options;
  options.cross_check = true;
  options.max_distance = max_distance;
  const MatchResult all = Match({DescriptorsOf(left), DescriptorsOf(right), {}, {}}, options);
  StereoChecks checks;
  std::vector<float> dy;
  const size_t stride = static_cast<size_t>(CheckStride(static_cast<int>(left.count())));
  for (size_t i = 0; i < all.index.size(); i += stride) {
    if (all.index[i] == kNoMatch) continue;
    const size_t j = static_cast<size_t>(all.index[i]);
    ++checks.matches;
    if (IsSureMatch(all.distance[i], left.descriptor_bytes)) dy.push_back(std::fabs(left.y[i] - right.y[j]));
    checks.negative_disparities += left.x[i] < right.x[j];
  }
  checks.sure = static_cast<int>(dy.size());
  checks.median_dy = MedianOf(dy);
  return checks;
}

// The nearest of `others` that may be paired with keypoint i: its number, or kNoMatch, and the distance.
template <typename Allowed>
int Nearest(const DescriptorView& own, int i, const DescriptorView& others, const Allowed& allowed, int* distance) {
  int nearest = kNoMatch;
  for (int j = 0; j < others.count; ++j) {
    if (!allowed(j)) continue;
    const int d = HammingDistance(own, i, others, j);
    if (nearest != kNoMatch && d >= *distance) continue;
    nearest = j;
    *distance = d;
  }
  return nearest;
}

// A step of rule 3, on a level; false if the match is dropped.
bool Measure(const StereoInput& input, size_t level, const StereoWindows& windows, float* disparity, int* sad) {
  const Shape shape = input.plan.level[level].shape;
  if (!AreInside(windows, shape)) return false;
  int32_t sads[kStereoPositions];
  for (int p = 0; p < kStereoPositions; ++p) {
    sads[p] = WindowSad(input.left.levels[level], windows.left_x, input.right.levels[level],
                        windows.right_x + p - kStereoSteps, windows.y);
  }
  const int best = BestPosition(sads);
  if (best < 0) return false;
  *sad = sads[best];
  *disparity = RefineDisparity(windows, sads, best, input.plan.level[0].shape.width, shape.width);
  return true;
}

// Rule 3 for left keypoint i and right keypoint j; false if the match is dropped.
bool Refine(const StereoInput& input, const StereoOptions& options, size_t i, size_t j, float* disparity, int* sad) {
  const StereoPoint left = PointOf(*input.left.features, i);
  const size_t octave = static_cast<size_t>(left.octave);
  const StereoWindows windows = WindowsOf(left, PointOf(*input.right.features, j), input.plan.level[octave].scale);
  if (!Measure(input, octave, windows, disparity, sad)) return false;
  if (octave > 0 && !Measure(input, 0, ImageWindowsOf(left, *disparity), disparity, sad)) return false;
  return *disparity >= options.min_disparity && *disparity <= options.max_disparity;
}

}  // namespace

int WindowSad(const ImageView& left, int left_x, const ImageView& right, int right_x, int y) {
  int sum = 0;
  for (int dy = -kStereoWindow; dy <= kStereoWindow; ++dy) {
    for (int dx = -kStereoWindow; dx <= kStereoWindow; ++dx) {
      sum += std::abs(left.at(left_x + dx, y + dy) - right.at(right_x + dx, y + dy));
    }
  }
  return sum;
}

StereoResult MatchStereo(const StereoInput& input, const StereoOptions& options) {
  const Features& left = *input.left.features;
  const Features& right = *input.right.features;
  const DescriptorView left_rows = DescriptorsOf(left);
  const DescriptorView right_rows = DescriptorsOf(right);
  StereoResult result;
  result.Reset(left.count());
  const auto allowed = [&](int i, int j) {
    const StereoPoint l = PointOf(left, static_cast<size_t>(i));
    const StereoPoint r = PointOf(right, static_cast<size_t>(j));
    return IsStereoPair(options, l, r, input.plan.level[static_cast<size_t>(r.octave)].scale);
  };
  std::vector<int> least_sad(left.count());
  std::vector<int> sums;  // of those with a match
  for (int i = 0; i < left_rows.count; ++i) {
    int distance = 0;
    int back = 0;
    const int j = Nearest(
        left_rows, i, right_rows, [&](int r) { return allowed(i, r); }, &distance);
    if (j == kNoMatch || distance > options.max_distance) continue;
    if (options.cross_check && Nearest(
                                   right_rows, j, left_rows, [&](int l) { return allowed(l, j); }, &back) != i) {
      continue;
    }
    const size_t at = static_cast<size_t>(i);
    float disparity = left.x[at] - right.x[static_cast<size_t>(j)];
    if (options.refine && !Refine(input, options, at, static_cast<size_t>(j), &disparity, &least_sad[at])) continue;
    result.right_index[at] = j;
    result.distance[at] = distance;
    result.disparity[at] = disparity;
    result.right_x[at] = left.x[at] - disparity;
    result.depth[at] = DepthOf(options, disparity);
    sums.push_back(least_sad[at]);
  }
  const int median = MedianOf(sums);
  for (size_t i = 0; i < left.count(); ++i) {
    if (result.right_index[i] == kNoMatch) continue;
    if (options.refine && options.median_cut && IsOverMedian(least_sad[i], median)) {
      result.Drop(i);
    } else {
      ++result.matches;
    }
  }
  if (options.check_pair) result.checks = CheckPair(left, right, options.max_distance);
  return result;
}

}  // namespace glint::reference
