// Symbol boundaries: a thread a subsequence, a block a group of them and its warm-up.
#include "cuda/jpeg/launch.cuh"

namespace glint::cuda {
namespace {

constexpr int kThreads = kGroup + kWarmUp;

__global__ void __launch_bounds__(kThreads) FindSymbolsKernel(GLINT_KERNEL_ARGUMENT JpegFrame frame, int round) {
  __shared__ __align__(16) GroupMemory memory;
  __shared__ Cursor shared_ends[kThreads];
  AllowSuccessor();
  WaitForPredecessor();
  const uint32_t bits = frame.status->bits;
  const auto group = static_cast<int>(blockIdx.x);
  const int thread = threadIdx.x;
  const int own = group * kGroup + thread - kWarmUp;
  const uint32_t count = SubsequencesOf(bits);
  if (static_cast<uint32_t>(group * kGroup) >= count) return;
  Cursor* const exits = frame.exits[round % 2];
  Cursor entry;  // of later rounds
  if (round > 0) {
    const Cursor* const last_exits = frame.exits[(round + 1) % 2];
    entry = group == 0 ? Cursor() : last_exits[group - 1];
    if (entry == frame.entries[group]) {
      if (thread == 0) exits[group] = last_exits[group];
      return;
    }
  }
  memory.Load(frame, group * kGroup - kWarmUp, kThreads);
  __syncthreads();

  const GroupWords words = {memory.words, static_cast<uint32_t>((group * kGroup - kWarmUp) * kSubsequenceWords)};
  const bool active = own >= 0 && static_cast<uint32_t>(own) < count && (round == 0 || thread >= kWarmUp);
  Cursor start, end;
  Passed passed;
  const auto run = [&] {
    Counter counter(frame.scan.interval_blocks);
    end = start;
    DecodeSubsequence(frame.scan, memory, frame.begins, words, EndOf(own, bits), &end, &counter);
    passed = counter.passed();
  };
  if (active) {
    if (round == 0) {
      start = {static_cast<uint32_t>(own) * kSubsequenceBits, 0};
      run();
    } else if (thread == kWarmUp) {
      start = entry;
      run();
    } else {
      start = frame.ends[own - 1];
      end = frame.ends[own];
      passed = frame.passed[own];
    }
  }
  const bool follows = active && own > 0 && thread > (round == 0 ? 0 : kWarmUp);
  for (int i = 0; i < kThreads; ++i) {
    shared_ends[thread] = end;
    __syncthreads();
    bool changed = false;
    if (follows && !(shared_ends[thread - 1] == start)) {
      start = shared_ends[thread - 1];
      run();
      changed = true;
    }
    if (!__syncthreads_or(changed)) break;
  }

  const bool ours = active && thread >= kWarmUp;
  if (ours) {
    frame.ends[own] = end;
    frame.passed[own] = passed;
    if (thread == kWarmUp) frame.entries[group] = start;
    if (thread == kThreads - 1 || static_cast<uint32_t>(own) + 1 == count) exits[group] = end;
  }
  Passed all;
  PassedBefore<kThreads>(ours ? passed : Passed(), &all);
  if (thread == 0) frame.sums[group] = all;
}

}  // namespace

absl::Status FindSymbols(StreamView stream, const JpegFrame& frame, int round) {
  return LaunchJpeg(stream, FindSymbolsKernel, frame.groups(), kThreads, frame, round);
}

}  // namespace glint::cuda
