// The right keypoints in a list by rows of the image, so that a left one looks at its band of rows alone. A counting
// sort: each keypoint takes a place in its row by an atomic, one block sums up the rows and fills the list. The order
// within a row differs from run to run; what is made of the list, minima of keys, does not.
#include "cuda/common/warp.cuh"
#include "cuda/match/match_params.h"
#include "cuda/runtime/error.h"
#include "cuda/stereo/stereo_stages.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kSortThreads = 1024;

__device__ __forceinline__ int RowOf(float y) { return static_cast<int>(y); }

__device__ __forceinline__ void CountRow(const StereoParams& params, int j, float y) {
  params.row_slot[j] = atomicAdd(&params.row_counts[RowOf(y)], 1u);
  params.nearest_left[j] = kNoKey;
}

// Two threads a keypoint, half a descriptor each.
__global__ void __launch_bounds__(kThreads)
    GatherKernel(GLINT_KERNEL_ARGUMENT StereoParams params, GLINT_KERNEL_ARGUMENT StereoSources sources) {
  static_assert(kRbriefBytes == 2 * sizeof(uint4));
  AllowSuccessor();
  WaitForPredecessor();
  const bool is_right = blockIdx.y != 0;
  const StereoSource& source = is_right ? sources.right : sources.left;
  const StereoKeypoints& to = is_right ? params.right : params.left;
  const int thread = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  const int i = thread / 2;
  if (i >= to.count) return;
  int l = 0;
#pragma unroll
  for (int next = 1; next < kMaxLevels; ++next) l = i >= source.first[next] ? next : l;
  const int at = i - source.first[l];
  const uint4 half = reinterpret_cast<const uint4*>(source.descriptors[l])[2 * at + thread % 2];
  reinterpret_cast<uint4*>(to.descriptors)[thread] = half;
  reinterpret_cast<uint4*>(source.gathered_on_host)[thread] = half;
  if (thread % 2 != 0) return;
  const uint32_t position = source.ranked[l][at].position;
  const float scale = params.level[l].scale;
  const float y = static_cast<float>(YOf(position)) * scale;
  to.x[i] = static_cast<float>(XOf(position)) * scale;
  to.y[i] = y;
  to.octave[i] = l;
  if (is_right && params.row_counts != nullptr) CountRow(params, i, y);
}

__global__ void __launch_bounds__(kThreads) CountRowsKernel(GLINT_KERNEL_ARGUMENT StereoParams params) {
  AllowSuccessor();
  WaitForPredecessor();
  const int j = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (j < params.right.count) CountRow(params, j, params.right.y[j]);
}

// One block.
__global__ void __launch_bounds__(kSortThreads) SortByRowsKernel(GLINT_KERNEL_ARGUMENT StereoParams params) {
  __shared__ uint32_t warp_sums[kWarp];
  AllowSuccessor();
  const int rows = params.level[0].height;
  const int rows_each = (rows + kSortThreads - 1) / kSortThreads;
  const int first_row = Min(static_cast<int>(threadIdx.x) * rows_each, rows);
  const int end_row = Min(first_row + rows_each, rows);
  WaitForPredecessor();
  uint32_t own = 0;
  for (int row = first_row; row < end_row; ++row) own += params.row_counts[row];
  const uint32_t up_to = SumUpTo(own);
  const int warp = threadIdx.x / kWarp;
  if (threadIdx.x % kWarp == kWarp - 1) warp_sums[warp] = up_to;
  __syncthreads();
  if (warp == 0) warp_sums[threadIdx.x] = SumUpTo(warp_sums[threadIdx.x]);
  __syncthreads();
  uint32_t first = up_to - own + (warp > 0 ? warp_sums[warp - 1] : 0);
  for (int row = first_row; row < end_row; ++row) {
    params.row_first[row] = first;
    first += params.row_counts[row];
    params.row_counts[row] = 0;
  }
  if (threadIdx.x == 0) params.row_first[rows] = static_cast<uint32_t>(params.right.count);
  __syncthreads();
  const StereoKeypoints& right = params.right;
  for (int j = threadIdx.x; j < right.count; j += kSortThreads) {
    const float y = right.y[j];
    params.candidates[params.row_first[RowOf(y)] + params.row_slot[j]] = {right.x[j], y, right.octave[j], j};
  }
}

}  // namespace

absl::Status GatherKeypoints(StreamView stream, const StereoParams& params, const StereoSources& sources) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&GatherKernel);
  launch.block = dim3(kThreads);
  launch.grid = dim3(DivideUp(2 * Max(params.left.count, params.right.count), kThreads), 2);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<StereoParams*>(&params), const_cast<StereoSources*>(&sources)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the gathering of keypoints");
}

absl::Status CountRows(StreamView stream, const StereoParams& params) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&CountRowsKernel);
  launch.block = dim3(kThreads);
  launch.grid = dim3(DivideUp(params.right.count, kThreads));
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<StereoParams*>(&params)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the count of rows");
}

absl::Status SortByRows(StreamView stream, const StereoParams& params) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&SortByRowsKernel);
  launch.block = dim3(kSortThreads);
  launch.grid = dim3(1);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<StereoParams*>(&params)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the sort by rows");
}

}  // namespace glint::cuda
