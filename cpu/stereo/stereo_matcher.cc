#include "cpu/stereo/stereo_matcher.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/common/stages.h"

namespace glint::cpu {
namespace {

constexpr int kKeypointsWorthAThread = 64;

DescriptorView DescriptorsOf(const Features& f) {
  return {f.descriptors.data(), static_cast<int>(f.count()), f.descriptor_bytes};
}

// Element n / 2 of n sorted values, n > 0; changes their order.
template <typename T>
T MedianOf(T* values, size_t n) {
  std::nth_element(values, values + n / 2, values + n);
  return values[n / 2];
}

}  // namespace

StereoMatcher::StereoMatcher(int threads)
    : pool_(threads),
      matcher_(&pool_),
      kernels_(MatchKernelsFor(BestSimdTarget())),
      collect_(CollectCandidatesFor(BestSimdTarget())),
      window_sads_(WindowSadsFor(BestSimdTarget())) {}

void StereoMatcher::Match(const StereoInput& input, const StereoOptions& options, StereoResult* result) {
  const size_t lefts = input.left.features->count();
  rights_ = input.right.features->count();
  result->Reset(lefts);
  if (lefts == 0 || rights_ == 0) return;
  parts_ = std::clamp(static_cast<int>(lefts) / kKeypointsWorthAThread, 1, pool_.threads());
  SortRightByRow(input, options);
  FindNearest(input, options);
  sad_.Reserve(lefts);
  pool_.ForEach(parts_, [&](int part, int) {
    const size_t p = static_cast<size_t>(part);
    const size_t parts = static_cast<size_t>(parts_);
    for (size_t i = lefts * p / parts; i < lefts * (p + 1) / parts; ++i) Judge(input, options, i, result);
  });
  if (options.refine && options.median_cut) CutByMedian(result);
  for (const int32_t right : result->right_index) result->matches += right != kNoMatch;
  if (options.check_pair) CheckPair(input, options, &result->checks);
}

void StereoMatcher::SortRightByRow(const StereoInput& input, const StereoOptions& options) {
  const Features& right = *input.right.features;
  const size_t rows = static_cast<size_t>(input.plan.level[0].shape.height);
  int32_t* const first = first_.Reserve(rows + 1);
  const size_t padded = rights_ + kCandidatePad;
  for (Buffer<float>* buffer : {&row_x_, &row_low_, &row_high_}) buffer->Grow(padded);
  for (Buffer<int32_t>* buffer : {&row_octave_, &row_index_}) buffer->Grow(padded);
  std::fill(first, first + rows + 1, 0);
  for (const float y : right.y) ++first[static_cast<size_t>(y)];
  // Where each row ends; filling from the back makes that where it begins.
  for (size_t row = 1; row <= rows; ++row) first[row] += first[row - 1];
  for (size_t j = rights_; j-- > 0;) {
    const StereoPoint point = PointOf(right, j);
    const float scale = input.plan.level[static_cast<size_t>(point.octave)].scale;
    const StereoBand band = BandOf(options, point, scale);
    const size_t at = static_cast<size_t>(--first[static_cast<size_t>(point.y)]);
    row_x_[at] = point.x;
    row_low_[at] = band.low;
    row_high_[at] = band.high;
    row_octave_[at] = point.octave;
    row_index_[at] = static_cast<int32_t>(j);
  }
}

void StereoMatcher::FindNearest(const StereoInput& input, const StereoOptions& options) {
  const int64_t lefts = static_cast<int64_t>(input.left.features->count());
  const size_t parts = static_cast<size_t>(parts_);
  key_.Reserve(static_cast<size_t>(lefts));
  candidates_.Reserve(2 * rights_ * parts);
  int32_t* const column = column_.Reserve(rights_ * parts);
  std::fill(column, column + rights_ * parts, kNoKey);
  pool_.ForEach(parts_, [&](int part, int) {
    const int last = static_cast<int>(lefts * (part + 1) / parts_);
    for (int i = static_cast<int>(lefts * part / parts_); i < last; ++i) FindNearest(input, options, i, part);
  });
  for (size_t part = 1; part < parts; ++part) {
    for (size_t j = 0; j < rights_; ++j) column[j] = std::min(column[j], column[part * rights_ + j]);
  }
}

void StereoMatcher::FindNearest(const StereoInput& input, const StereoOptions& options, int left, int part) {
  const Features& right = *input.right.features;
  const StereoPoint point = PointOf(*input.left.features, static_cast<size_t>(left));
  int32_t* const candidates = candidates_.data() + 2 * rights_ * static_cast<size_t>(part);
  int32_t* const keys = candidates + rights_;
  int32_t* const column = column_.data() + rights_ * static_cast<size_t>(part);
  const int highest = std::min(point.octave + options.max_octave_difference, input.plan.levels - 1);
  // The band ends within two rows; see IsStereoPair().
  const float reach = options.band * input.plan.level[static_cast<size_t>(highest)].scale + 2;
  const int rows = input.plan.level[0].shape.height;
  const int top = std::clamp(static_cast<int>(point.y - reach), 0, rows - 1);
  const int bottom = std::clamp(static_cast<int>(point.y + reach), 0, rows - 1);
  const RowCandidates by_row = {row_x_.data(), row_low_.data(), row_high_.data(), row_octave_.data(),
                                row_index_.data()};
  const size_t count =
      collect_(by_row, static_cast<size_t>(first_[static_cast<size_t>(top)]),
               static_cast<size_t>(first_[static_cast<size_t>(bottom) + 1]), point, options, candidates);
  kernels_.keys(DescriptorsOf(*input.left.features).row(left), DescriptorsOf(right), candidates, count, keys);
  int32_t least = kNoKey;
  for (size_t i = 0; i < count; ++i) {
    least = std::min(least, keys[i]);
    int32_t& back = column[candidates[i]];
    back = std::min(back, MakeKey(KeyDistance(keys[i]), left));
  }
  key_[static_cast<size_t>(left)] = least;
}

bool StereoMatcher::Measure(const StereoInput& input, size_t level, const StereoWindows& windows, size_t left,
                            float* disparity) {
  const Shape shape = input.plan.level[level].shape;
  if (!AreInside(windows, shape)) return false;
  int32_t sad[kStereoPositions];
  window_sads_(input.left.levels[level], input.right.levels[level], windows, sad);
  const int best = BestPosition(sad);
  if (best < 0) return false;
  sad_[left] = sad[best];
  *disparity = RefineDisparity(windows, sad, best, input.plan.level[0].shape.width, shape.width);
  return true;
}

bool StereoMatcher::Refine(const StereoInput& input, const StereoOptions& options, size_t left, size_t right,
                           float* disparity) {
  const StereoPoint point = PointOf(*input.left.features, left);
  const size_t octave = static_cast<size_t>(point.octave);
  const StereoWindows windows = WindowsOf(point, PointOf(*input.right.features, right), input.plan.level[octave].scale);
  if (!Measure(input, octave, windows, left, disparity)) return false;
  if (octave > 0 && !Measure(input, 0, ImageWindowsOf(point, *disparity), left, disparity)) return false;
  return *disparity >= options.min_disparity && *disparity <= options.max_disparity;
}

void StereoMatcher::Judge(const StereoInput& input, const StereoOptions& options, size_t left, StereoResult* result) {
  const int32_t key = key_[left];
  if (key == kNoKey || KeyDistance(key) > options.max_distance) return;
  const size_t right = static_cast<size_t>(KeyIndex(key));
  if (options.cross_check && static_cast<size_t>(KeyIndex(column_[right])) != left) return;
  const float x = input.left.features->x[left];
  float disparity = x - input.right.features->x[right];
  if (options.refine && !Refine(input, options, left, right, &disparity)) return;
  result->right_index[left] = KeyIndex(key);
  result->distance[left] = KeyDistance(key);
  result->disparity[left] = disparity;
  result->right_x[left] = x - disparity;
  result->depth[left] = DepthOf(options, disparity);
}

void StereoMatcher::CutByMedian(StereoResult* result) {
  const size_t lefts = result->right_index.size();
  int32_t* const sorted = sorted_sad_.Reserve(lefts);
  size_t count = 0;
  for (size_t i = 0; i < lefts; ++i) {
    if (result->right_index[i] != kNoMatch) sorted[count++] = sad_[i];
  }
  if (count == 0) return;
  const int32_t median = MedianOf(sorted, count);
  for (size_t i = 0; i < lefts; ++i) {
    if (result->right_index[i] != kNoMatch && IsOverMedian(sad_[i], median)) result->Drop(i);
  }
}

DescriptorView StereoMatcher::Gather(const DescriptorView& from, const int32_t* index, size_t count) {
  const size_t bytes = static_cast<size_t>(from.bytes);
  uint8_t* const to = some_.Reserve(count * bytes);
  for (size_t i = 0; i < count; ++i) std::memcpy(to + i * bytes, from.row(index[i]), bytes);
  return {to, static_cast<int>(count), from.bytes};
}

size_t StereoMatcher::FindMutual(const StereoInput& input, const StereoOptions& options) {
  const DescriptorView left = DescriptorsOf(*input.left.features);
  const DescriptorView right = DescriptorsOf(*input.right.features);
  const int stride = CheckStride(left.count);
  const size_t most = static_cast<size_t>(CheckedKeypoints(left.count));
  int32_t* const checked = checked_.Reserve(most);
  int32_t* const found = found_.Reserve(most);
  int32_t* const distance = found_distance_.Reserve(most);
  for (size_t i = 0; i < most; ++i) checked[i] = static_cast<int32_t>(i) * stride;
  MatchOptions nearest;
  nearest.max_distance = options.max_distance;
  nearest.cross_check = stride == 1;  // of all, one pass takes less than two
  matcher_.Match({stride == 1 ? left : Gather(left, checked, most), right, {}, {}}, nearest, &nearest_);
  size_t count = 0;
  for (size_t i = 0; i < most; ++i) {
    if (nearest_.index[i] == kNoMatch) continue;
    // Not mutual, if the right one's rows have a left one that is nearer.
    const size_t j = static_cast<size_t>(nearest_.index[i]);
    if (column_[j] < MakeKey(nearest_.distance[i], checked[i])) continue;
    checked[count] = checked[i];
    distance[count] = nearest_.distance[i];
    found[count++] = nearest_.index[i];
  }
  if (stride == 1) return count;
  // No more queries than before: nothing is allocated.
  matcher_.Match({Gather(right, found, count), left, {}, {}}, nearest, &nearest_);
  size_t mutual = 0;
  for (size_t i = 0; i < count; ++i) {
    if (nearest_.index[i] != checked[i]) continue;
    checked[mutual] = checked[i];
    distance[mutual] = distance[i];
    found[mutual++] = found[i];
  }
  return mutual;
}

void StereoMatcher::CheckPair(const StereoInput& input, const StereoOptions& options, StereoChecks* checks) {
  const Features& left = *input.left.features;
  const Features& right = *input.right.features;
  const size_t count = FindMutual(input, options);
  float* const dy = sorted_dy_.Reserve(left.count());
  size_t sure = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t l = static_cast<size_t>(checked_[i]);
    const size_t r = static_cast<size_t>(found_[i]);
    if (IsSureMatch(found_distance_[i], left.descriptor_bytes)) dy[sure++] = std::fabs(left.y[l] - right.y[r]);
    checks->negative_disparities += left.x[l] < right.x[r];
  }
  checks->matches = static_cast<int>(count);
  checks->sure = static_cast<int>(sure);
  checks->median_dy = sure == 0 ? 0 : MedianOf(dy, sure);
}

}  // namespace glint::cpu
