#include "cpu/stereo/stereo_matcher.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "cpu/common/stages.h"

namespace glint::cpu {
namespace {

constexpr size_t kKeypointsOfACheckpoint = 256;

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
      tiles_(&pool_),
      lists_(&pool_),
      collect_(CollectCandidatesFor(BestSimdTarget())),
      window_sads_(WindowSadsFor(BestSimdTarget())) {}

bool StereoMatcher::Match(const StereoInput& input, const StereoOptions& options, StereoResult* result,
                          const Checkpoint& checkpoint) {
  const size_t lefts = input.left.features->count();
  result->Reset(lefts);
  if (lefts == 0 || input.right.features->count() == 0) return true;
  if (!FindNearest(input, options, checkpoint)) return false;
  if (!JudgeAll(input, options, result, checkpoint)) return false;
  if (options.refine && options.median_cut) CutByMedian(result);
  for (const int32_t right : result->right_index) result->matches += right != kNoMatch;
  return !options.check_pair || CheckPair(input, options, &result->checks, checkpoint);
}

bool StereoMatcher::FindNearest(const StereoInput& input, const StereoOptions& options, const Checkpoint& checkpoint) {
  const DescriptorView left = DescriptorsOf(*input.left.features);
  const DescriptorView right = DescriptorsOf(*input.right.features);
  rows_.Build(input, options);
  if (rows_.pairs() * kPairsForTiles > int64_t{left.count} * right.count) {
    return tiles_.Match(rows_.Job(options), checkpoint, &keys_);
  }
  const auto collect = [&](int l, int32_t* numbers) { return rows_.Collect(collect_, options, l, numbers); };
  return lists_.Match(left, right, /*each=*/2, collect, checkpoint, &keys_);
}

bool StereoMatcher::JudgeAll(const StereoInput& input, const StereoOptions& options, StereoResult* result,
                             const Checkpoint& checkpoint) {
  const size_t lefts = input.left.features->count();
  const int parts = PartsOf(static_cast<int>(lefts), pool_);
  sad_.Reserve(lefts);
  std::atomic<bool> goes_on{true};
  pool_.ForEach(parts, [&](int part, int) {
    const size_t p = static_cast<size_t>(part);
    const size_t last = lefts * (p + 1) / static_cast<size_t>(parts);
    for (size_t i = lefts * p / static_cast<size_t>(parts); i < last && goes_on; ++i) {
      Judge(input, options, i, result);
      if (i % kKeypointsOfACheckpoint == 0 && !GoesOn(checkpoint)) goes_on = false;
    }
  });
  return goes_on;
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
  const int32_t key = *keys_.of(left);
  if (key == kNoKey || KeyDistance(key) > options.max_distance) return;
  const size_t right = static_cast<size_t>(KeyIndex(key));
  if (options.cross_check && static_cast<size_t>(KeyIndex(keys_.of_train[right])) != left) return;
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

bool StereoMatcher::FindMutual(const StereoInput& input, const StereoOptions& options, size_t* mutual,
                               const Checkpoint& checkpoint) {
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
  if (!matcher_.Match({stride == 1 ? left : Gather(left, checked, most), right, {}, {}}, nearest, &nearest_,
                      checkpoint)) {
    return false;
  }
  size_t count = 0;
  for (size_t i = 0; i < most; ++i) {
    if (nearest_.index[i] == kNoMatch) continue;
    // Not mutual, if the right one's rows have a left one that is nearer.
    const size_t j = static_cast<size_t>(nearest_.index[i]);
    if (keys_.of_train[j] < MakeKey(nearest_.distance[i], checked[i])) continue;
    checked[count] = checked[i];
    distance[count] = nearest_.distance[i];
    found[count++] = nearest_.index[i];
  }
  *mutual = count;
  if (stride == 1) return true;
  // No more queries than before: nothing is allocated.
  if (!matcher_.Match({Gather(right, found, count), left, {}, {}}, nearest, &nearest_, checkpoint)) return false;
  *mutual = 0;
  for (size_t i = 0; i < count; ++i) {
    if (nearest_.index[i] != checked[i]) continue;
    checked[*mutual] = checked[i];
    distance[*mutual] = distance[i];
    found[(*mutual)++] = found[i];
  }
  return true;
}

bool StereoMatcher::CheckPair(const StereoInput& input, const StereoOptions& options, StereoChecks* checks,
                              const Checkpoint& checkpoint) {
  const Features& left = *input.left.features;
  const Features& right = *input.right.features;
  size_t count = 0;
  if (!FindMutual(input, options, &count, checkpoint)) return false;
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
  return true;
}

}  // namespace glint::cpu
