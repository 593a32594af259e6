// Coefficients of luma, where the symbols are known; every end of a subsequence is checked to be the next one's begin.
#include "cuda/jpeg/launch.cuh"

namespace glint::cuda {
namespace {

constexpr int kThreads = kJpegGroup;

// What lies before the block's group.
__device__ Passed PassedBeforeGroup(const JpegFrame& frame) {
  const uint32_t groups = blockIdx.x;
  const uint32_t share = (groups + kThreads - 1) / kThreads;
  Passed own, all;
  for (uint32_t i = threadIdx.x * share; i < min(groups, (threadIdx.x + 1) * share); ++i) {
    own = Join(own, frame.sums[i]);
  }
  PassedBefore<kThreads>(own, &all);
  return all;
}

__global__ void __launch_bounds__(kThreads) WriteCoefficientsKernel(GLINT_KERNEL_ARGUMENT JpegFrame frame) {
  __shared__ __align__(16) GroupMemory memory;
  AllowSuccessor();
  WaitForPredecessor();
  const uint32_t bits = frame.status->bits;
  const uint32_t own = blockIdx.x * kJpegGroup + threadIdx.x;
  const uint32_t count = SubsequencesOf(frame, bits);
  if (blockIdx.x * kJpegGroup >= count) return;
  memory.Load(frame, static_cast<int>(blockIdx.x) * kJpegGroup, kJpegGroup);
  const bool active = own < count;
  const Passed passed = active ? frame.passed[own] : Passed();
  const Passed before_group = PassedBeforeGroup(frame);
  Passed all;
  const Passed before = Join(before_group, PassedBefore<kThreads>(passed, &all));
  if (!active) return;

  const Cursor start = own == 0 ? Cursor() : frame.ends[own - 1];
  Cursor end = start;
  const GroupWords words = {memory.words, blockIdx.x * kJpegGroup * frame.subsequence_words};
  Writer writer(frame.scan, memory.natural, before, start, IntervalAt(frame.begins, frame.scan.intervals, start.bit),
                frame.coefficients);
  DecodeSubsequence(frame.scan, memory, frame.begins, words, min(bits, (own + 1) * 32 * frame.subsequence_words), &end,
                    &writer);
  if (!(end == frame.ends[own]) || !(writer.passed() == passed)) Raise(frame, JpegReason::kSync);
  if (!writer.regular()) Raise(frame, JpegReason::kScan);
  if (writer.intervals() > 0) atomicAdd(&frame.status->intervals, writer.intervals());
}

}  // namespace

absl::Status WriteCoefficients(StreamView stream, const JpegFrame& frame) {
  return LaunchJpeg(stream, Begin::kEarly, WriteCoefficientsKernel, frame.groups(), kThreads, frame);
}

}  // namespace glint::cuda
