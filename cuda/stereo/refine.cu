// The disparity of each match by SAD of 11x11 pixels at 11 positions and a parabola, on the keypoint's level and then
// on the image: a warp a left keypoint, two lanes a position, half of the window's rows each. A row of a window is four
// aligned words, shifted to where it begins.
#include "cuda/common/warp.cuh"
#include "cuda/match/match_params.h"
#include "cuda/runtime/error.h"
#include "cuda/stereo/stereo_stages.h"

namespace glint::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarp;
constexpr int kSide = 2 * kStereoWindow + 1;
constexpr int kWords = (kSide + 3) / 4;
constexpr int kUpperRows = (kSide + 1) / 2;
static_assert(2 * kStereoPositions <= kWarp && kSide % 4 == 3);

// The kSide bytes at `from`, and a zero.
__device__ __forceinline__ void LoadRow(const uint8_t* from, uint32_t (&row)[kWords]) {
  const auto address = reinterpret_cast<uintptr_t>(from);
  const auto* words = reinterpret_cast<const uint32_t*>(address & ~uintptr_t{3});
  const uint32_t shift = 8 * static_cast<uint32_t>(address & 3);
  uint32_t word[kWords + 1];
#pragma unroll
  for (int w = 0; w <= kWords; ++w) word[w] = words[w];
#pragma unroll
  for (int w = 0; w < kWords; ++w) row[w] = __funnelshift_r(word[w], word[w + 1], shift);
  row[kWords - 1] &= 0xffffff;
}

// The sum of a position in the lane of its number.
__device__ __forceinline__ int32_t WindowSad(const StereoLevel& level, const StereoWindows& windows) {
  const int lane = threadIdx.x % kWarp;
  const int position = lane % kStereoPositions;
  const int lower = lane / kStereoPositions;
  uint32_t sum = 0;
  if (lower < 2) {
    const int y = windows.y - kStereoWindow + lower * kUpperRows;
    const uint8_t* left = level.left + static_cast<size_t>(y) * level.left_pitch + (windows.left_x - kStereoWindow);
    const uint8_t* right = level.right + static_cast<size_t>(y) * level.right_pitch +
                           (windows.right_x - kStereoWindow - kStereoSteps + position);
#pragma unroll
    for (int row = 0; row < kUpperRows; ++row) {
      if (row >= kSide - kUpperRows && lower != 0) break;
      uint32_t a[kWords], b[kWords];
      LoadRow(left + static_cast<size_t>(row) * level.left_pitch, a);
      LoadRow(right + static_cast<size_t>(row) * level.right_pitch, b);
#pragma unroll
      for (int w = 0; w < kWords; ++w) sum += __vsadu4(a[w], b[w]);
    }
  }
  return static_cast<int32_t>(sum + __shfl_down_sync(kFullWarp, sum, kStereoPositions));
}

// A step of rule 3, for the whole warp; false if the match is dropped.
__device__ __forceinline__ bool Measure(const StereoLevel& level, const StereoWindows& windows, int image_width,
                                        FoundMatch* found) {
  if (!AreInside(windows, {level.width, level.height})) return false;
  const int32_t own = WindowSad(level, windows);
  int32_t sad[kStereoPositions];
#pragma unroll
  for (int p = 0; p < kStereoPositions; ++p) sad[p] = __shfl_sync(kFullWarp, own, p);
  // BestPosition() and RefineDisparity() of these, but for indices that are not constants.
  int best = 0;
  int32_t before = 0, least = sad[0], after = sad[1];
#pragma unroll
  for (int p = 1; p < kStereoPositions; ++p) {
    if (sad[p] >= least) continue;
    best = p;
    before = sad[p - 1];
    least = sad[p];
    after = p + 1 < kStereoPositions ? sad[p + 1 < kStereoPositions ? p + 1 : p] : 0;
  }
  if (best == 0 || best == kStereoPositions - 1) return false;
  const int32_t around[3] = {before, least, after};
  // Where `around` begins is position best - 1: the same windows, moved.
  const StereoWindows moved = {windows.left_x, windows.right_x + best - 1, windows.y};
  found->disparity = RefineDisparity(moved, around, 1, image_width, level.width);
  found->sad = least;
  return true;
}

// Rule 3, for the whole warp; false if the match is dropped.
__device__ __forceinline__ bool Refine(const StereoParams& params, const StereoPoint& left, int right_index,
                                       FoundMatch* found) {
  const StereoPoint right = {params.right.x[right_index], params.right.y[right_index], 0};
  StereoWindows windows = WindowsOf(left, right, params.level[left.octave].scale);
#pragma unroll 1
  for (int level = left.octave;; level = 0) {
    if (!Measure(params.level[level], windows, params.level[0].width, found)) return false;
    if (level == 0) break;
    windows = ImageWindowsOf(left, found->disparity);
  }
  return found->disparity >= params.options.min_disparity && found->disparity <= params.options.max_disparity;
}

__global__ void __launch_bounds__(kThreads) RefineKernel(GLINT_KERNEL_ARGUMENT StereoParams params) {
  AllowSuccessor();
  WaitForPredecessor();
  const int i = static_cast<int>(blockIdx.x * kWarps + threadIdx.x / kWarp);
  if (i >= params.left.count) return;
  const StereoOptions& options = params.options;
  const uint32_t key = params.nearest_right[i];
  bool has = key != kNoKey && DistanceIn(key) <= options.max_distance;
  const int right = has ? IndexIn(key) : 0;
  has = has && (!options.cross_check || IndexIn(params.nearest_left[right]) == i);
  FoundMatch found = {kNoMatch, 0, 0, 0};
  if (has) {
    const StereoPoint left = {params.left.x[i], params.left.y[i], params.left.octave[i]};
    found.disparity = left.x - params.right.x[right];
    has = !options.refine || Refine(params, left, right, &found);
    if (has) {
      found.right = right;
      found.distance = DistanceIn(key);
    }
  }
  if (threadIdx.x % kWarp == 0) params.found[i] = found;
}

}  // namespace

absl::Status RefineMatches(StreamView stream, const StereoParams& params) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&RefineKernel);
  launch.block = dim3(kThreads);
  launch.grid = dim3(DivideUp(params.left.count, kWarps));
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<StereoParams*>(&params)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the refinement of matches");
}

}  // namespace glint::cuda
