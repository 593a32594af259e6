// The best of the image's candidates, for the ranking: the histogram tells in which bin the threshold falls, and
// candidates in it and above go to the ranking's buckets, whose blocks then find for themselves which of them stay.
#include "cuda/common/enqueue.h"
#include "cuda/common/sort_key.cuh"
#include "cuda/select/bins.cuh"
#include "cuda/select/histogram.cuh"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = kThresholdThreads;

__global__ void __launch_bounds__(kThreads)
    ThresholdKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT SelectionParams params) {
  __shared__ int threshold;
  WaitForPredecessor();
  const uint32_t total = frame.counters->candidates;
  const uint32_t buffer = params.counters->buffer;
  uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (blockIdx.x * kThreads >= total) return;
  Candidate c = {0, 0};
  if (i < total) c = frame.candidates[i];
  if (threadIdx.x < kWarp) {
    uint32_t count;
    const int found = FindThresholdBin<kBins>(frame.counters->histogram[0], params.wanted, &count);
    if (threadIdx.x == 0) threshold = found;
  }
  __syncthreads();
  while (true) {
    AppendToBucket(frame, params, buffer, i < total && HarrisBin(c.key) >= threshold, c);
    i += gridDim.x * kThreads;
    if (i - threadIdx.x >= total) break;
    if (i < total) c = frame.candidates[i];
  }
  AllowSuccessor();  // not before: its blocks would be placed where there is room now, unevenly
}

}  // namespace

absl::Status ThresholdCandidates(StreamView stream, const Launch& launch, const Frame& frame,
                                 const SelectionParams& params) {
  return Enqueue(stream, launch, ThresholdKernel, frame, params);
}

}  // namespace glint::cuda
