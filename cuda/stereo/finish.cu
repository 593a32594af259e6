// The cut by the median, the result, and the checks of the pair: a block for matches, a block for checks. A median is
// found by its digits, most significant first: count the values that begin with the digits so far by their next one.
#include "cuda/common/warp.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stereo/stereo_stages.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = 1024;
constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;
constexpr int kSadBits = 16;
static_assert(255 * (2 * kStereoWindow + 1) * (2 * kStereoWindow + 1) < 1 << kSadBits);
constexpr uint32_t kNoValue = 0xffffffff;  // of an element that does not count; no SAD and no finite float

struct Digits {
  uint32_t count[kDigits];
  uint32_t digit;  // of the median
  uint32_t rank;   // of the median among values with the same digits so far
  uint32_t values;
};

// Element n / 2 of the n sorted values of `bits` bits that value(i), i = 0..elements-1, has beside kNoValue; 0 without
// any. `count`: n. All threads of the block must call and get the same.
template <typename Value>
__device__ __forceinline__ uint32_t MedianOf(Digits& digits, int elements, int bits, Value value, uint32_t* count) {
  uint32_t prefix = 0;
#pragma unroll 1
  for (int shift = bits - kDigitBits; shift >= 0; shift -= kDigitBits) {
    const bool is_first = shift == bits - kDigitBits;
    if (threadIdx.x < kDigits) digits.count[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < elements; i += kThreads) {
      const uint32_t v = value(i);
      if (v == kNoValue || (!is_first && v >> shift >> kDigitBits != prefix)) continue;
      atomicAdd(&digits.count[v >> shift & (kDigits - 1)], 1u);
    }
    __syncthreads();
    if (threadIdx.x < kWarp) {
      constexpr int kEach = kDigits / kWarp;
      uint32_t own[kEach];
      uint32_t sum = 0;
#pragma unroll
      for (int d = 0; d < kEach; ++d) sum += own[d] = digits.count[kEach * threadIdx.x + d];
      const uint32_t up_to = SumUpTo(sum);
      const uint32_t all = __shfl_sync(kFullWarp, up_to, kWarp - 1);
      const uint32_t rank = is_first ? all / 2 : digits.rank;
      __syncwarp();
      if (is_first && threadIdx.x == 0) digits.values = all;
      uint32_t before = up_to - sum;
#pragma unroll
      for (int d = 0; d < kEach; ++d) {
        if (rank >= before && rank < before + own[d]) {
          digits.digit = kEach * threadIdx.x + d;
          digits.rank = rank - before;
        }
        before += own[d];
      }
    }
    __syncthreads();
    if (digits.values == 0) break;
    prefix = prefix << kDigitBits | digits.digit;
  }
  *count = digits.values;
  return prefix;
}

__device__ __forceinline__ void FinishMatches(const StereoParams& params, Digits& digits) {
  __shared__ uint32_t matches;
  const StereoOptions& options = params.options;
  const int lefts = params.left.count;
  const bool cuts = options.refine && options.median_cut;
  if (threadIdx.x == 0) matches = 0;
  uint32_t values = 0;
  const auto sad = [&](int i) {
    const FoundMatch found = params.found[i];
    return found.right == kNoMatch ? kNoValue : static_cast<uint32_t>(found.sad);
  };
  const auto median = static_cast<int32_t>(cuts ? MedianOf(digits, lefts, kSadBits, sad, &values) : 0);
  __syncthreads();
  uint32_t own = 0;
  for (int i = threadIdx.x; i < lefts; i += kThreads) {
    const FoundMatch found = params.found[i];
    const bool stays = found.right != kNoMatch && !(cuts && IsOverMedian(found.sad, median));
    own += stays;
    params.right_index[i] = stays ? found.right : kNoMatch;
    params.distance[i] = stays ? found.distance : 0;
    params.right_x[i] = stays ? params.left.x[i] - found.disparity : 0;
    params.disparity[i] = stays ? found.disparity : 0;
    params.depth[i] = stays ? DepthOf(options, found.disparity) : 0;
  }
  atomicAdd(&matches, own);
  __syncthreads();
  if (threadIdx.x == 0) params.header->matches = static_cast<int32_t>(matches);
}

__device__ __forceinline__ void FinishChecks(const StereoParams& params, Digits& digits) {
  __shared__ uint32_t negative, matches;
  if (threadIdx.x == 0) negative = matches = 0;
  uint32_t sure = 0;
  const int stride = CheckStride(params.left.count);
  // Floats that are not negative have the order of their bits.
  const auto distance = [&](int checked) {
    const int i = checked * stride;
    const int32_t right = params.checked_index[i];
    if (right == kNoMatch || !IsSureMatch(params.checked_distance[i], params.bytes)) return kNoValue;
    return __float_as_uint(fabsf(params.left.y[i] - params.right.y[right]));
  };
  const uint32_t median = MedianOf(digits, CheckedKeypoints(params.left.count), 32, distance, &sure);
  uint32_t own_matches = 0, own_negative = 0;
  for (int i = threadIdx.x * stride; i < params.left.count; i += kThreads * stride) {
    const int32_t right = params.checked_index[i];
    own_matches += right != kNoMatch;
    own_negative += right != kNoMatch && params.left.x[i] < params.right.x[right];
  }
  atomicAdd(&matches, own_matches);
  atomicAdd(&negative, own_negative);
  __syncthreads();
  if (threadIdx.x != 0) return;
  params.header->checked_matches = static_cast<int32_t>(matches);
  params.header->sure_matches = static_cast<int32_t>(sure);
  params.header->negative_disparities = static_cast<int32_t>(negative);
  params.header->median_dy = __uint_as_float(median);
}

__global__ void __launch_bounds__(kThreads) FinishStereoKernel(GLINT_KERNEL_ARGUMENT StereoParams params) {
  __shared__ Digits digits;
  WaitForPredecessor();
  if (blockIdx.x == 0) {
    FinishMatches(params, digits);
  } else {
    FinishChecks(params, digits);
  }
}

}  // namespace

absl::Status FinishStereo(StreamView stream, const StereoParams& params) {
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&FinishStereoKernel);
  launch.block = dim3(kThreads);
  launch.grid = dim3(params.checked_index != nullptr ? 2 : 1);
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<StereoParams*>(&params)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the end of stereo matching");
}

}  // namespace glint::cuda
