// Symbol boundaries: a thread a subsequence, a block a group of them and its warm-up.
#include "cuda/jpeg/launch.cuh"

namespace glint::cuda {
namespace {

constexpr int kThreads = kJpegGroup + kJpegWarmUp;
// Begins that a subsequence remembers, which is also how far one that began elsewhere is followed.
constexpr int kWays = 24;
constexpr uint8_t kUnknown = 0xff;

// Where a way begins, for equality within a subsequence: it is less than 32 bits behind the cut.
__device__ __forceinline__ uint16_t KeyOf(Cursor cursor, uint32_t cut) {
  return static_cast<uint16_t>((cursor.bit - cut) | cursor.place << 5);
}
__device__ __forceinline__ Cursor CursorOf(uint16_t key, uint32_t cut) {
  return {cut + (key & 31), uint32_t{key} >> 5};
}

struct Ways {
  uint16_t begin[kWays][kThreads];
  uint8_t next[kWays][kThreads];  // of the next subsequence
  uint8_t count[kThreads];
  // Of the way that each subsequence found last.
  uint16_t end[kThreads];
  uint8_t latest[kThreads];  // kUnknown: none in this round
  uint8_t chosen[kThreads];
};

// Follows ways from every cut, each until it joins one that is known, or the bound is reached.
template <typename Run>
__device__ void FindWays(bool active, uint32_t cut, Cursor start, const Run& run, Ways* ways) {
  const int thread = threadIdx.x;
  for (int i = 0; i < kWays; ++i) ways->next[i][thread] = kUnknown;
  int count = 0;
  bool found = active;
  for (int round = 0;; ++round) {
    if (found) {
      ways->begin[count][thread] = KeyOf(start, cut);
      ways->end[thread] = KeyOf(run(start), cut + kSubsequenceBits);
    }
    ways->latest[thread] = found ? count++ : kUnknown;
    if (round == kWays - 1 || !__syncthreads_or(found)) break;
    const uint8_t before = thread > 0 && active ? ways->latest[thread - 1] : kUnknown;
    const uint16_t key = before != kUnknown ? ways->end[thread - 1] : 0;
    __syncthreads();
    found = false;
    if (before == kUnknown) continue;
    int way = 0;
    while (way < count && ways->begin[way][thread] != key) ++way;
    ways->next[before][thread - 1] = static_cast<uint8_t>(way);
    found = way == count;
    start = CursorOf(key, cut);
  }
  ways->count[thread] = static_cast<uint8_t>(count);
  __syncthreads();
}

// One way through the group, by the first warp: from where most ways out of the warm-up lead. Where a way was not
// followed any further, the oldest one of the next subsequence is a guess.
__device__ void ChooseWay(bool is_first, int subsequences, Ways* ways) {
  if (threadIdx.x >= kWarp) return;
  int way = 0;
  if (!is_first) {
    for (int i = threadIdx.x; i < kJpegWarmUp && way != kUnknown; ++i) way = ways->next[way][i];
    const unsigned same = __match_any_sync(kFullWarp, way);
    const uint32_t votes = way == kUnknown ? 0 : __popc(same);
    const uint32_t most = WarpMax(votes << 8 | (way & 0xff));
    way = most >> 8 == 0 ? 0 : static_cast<int>(most & 0xff);
  }
  if (threadIdx.x != 0) return;
  for (int i = kJpegWarmUp; i < kJpegWarmUp + subsequences; ++i) {
    if (way == kUnknown) way = ways->count[i] - 1;
    ways->chosen[i] = static_cast<uint8_t>(way);
    way = ways->next[way][i];
  }
}

__global__ void __launch_bounds__(kThreads) FindSymbolsKernel(GLINT_KERNEL_ARGUMENT JpegFrame frame, int round) {
  __shared__ __align__(16) GroupMemory memory;
  __shared__ Ways ways;
  __shared__ Cursor shared_ends[kThreads];
  AllowSuccessor();
  WaitForPredecessor();
  const uint32_t bits = frame.status->bits;
  const auto group = static_cast<int>(blockIdx.x);
  const int thread = threadIdx.x;
  const int own = group * kJpegGroup + thread - kJpegWarmUp;
  const auto count = static_cast<int>(SubsequencesOf(bits));
  if (group * kJpegGroup >= count) return;
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
  memory.Load(frame, group * kJpegGroup - kJpegWarmUp, kThreads);
  __syncthreads();

  const GroupWords words = {memory.words,
                            static_cast<uint32_t>((group * kJpegGroup - kJpegWarmUp) * kSubsequenceWords)};
  const bool ours = thread >= kJpegWarmUp && own < count;
  const uint32_t cut = static_cast<uint32_t>(own) * kSubsequenceBits;
  const auto decode = [&](Cursor from, auto* sink) {
    DecodeSubsequence(frame.scan, memory, frame.begins, words, EndOf(own, bits), &from, sink);
    return from;
  };
  Cursor start, end;
  Passed passed;
  const auto count_from = [&](Cursor from) {
    start = from;
    Counter counter(frame.scan.interval_blocks);
    end = decode(from, &counter);
    passed = counter.passed();
  };
  if (round == 0) {
    // Blocks of the unit in turn, so that where pictures are flat, and no way joins another, some are right.
    const Cursor cold = {cut, own == 0 ? 0 : static_cast<uint32_t>(own) % frame.scan.unit_blocks * 64};
    const auto run = [&](Cursor from) {
      NoSink sink;
      return decode(from, &sink);
    };
    FindWays(own >= 0 && own < count, cut, cold, run, &ways);
    ChooseWay(group == 0, min(kJpegGroup, count - group * kJpegGroup), &ways);
    __syncthreads();
    if (ours) count_from(CursorOf(ways.begin[ways.chosen[thread]][thread], cut));
  } else if (ours && thread == kJpegWarmUp) {
    count_from(entry);
  } else if (ours) {
    start = frame.ends[own - 1];
    end = frame.ends[own];
    passed = frame.passed[own];
  }

  for (int i = 0; i < kThreads; ++i) {
    shared_ends[thread] = end;
    __syncthreads();
    const bool changed = ours && thread > kJpegWarmUp && !(shared_ends[thread - 1] == start);
    if (changed) count_from(shared_ends[thread - 1]);
    if (!__syncthreads_or(changed)) break;
  }

  if (ours) {
    frame.ends[own] = end;
    frame.passed[own] = passed;
    if (thread == kJpegWarmUp) frame.entries[group] = start;
    if (thread == kThreads - 1 || own + 1 == count) exits[group] = end;
  }
  Passed all;
  PassedBefore<kThreads>(ours ? passed : Passed(), &all);
  if (thread == 0) frame.sums[group] = all;
}

}  // namespace

absl::Status FindSymbols(StreamView stream, const JpegFrame& frame, int round) {
  return LaunchJpeg(stream, round == 0 ? Begin::kAfterPredecessor : Begin::kEarly, FindSymbolsKernel, frame.groups(),
                    kThreads, frame, round);
}

}  // namespace glint::cuda
