// Symbol boundaries: a block a group of subsequences and its warm-up, a thread one way after the other.
#include <algorithm>

#include "cuda/jpeg/launch.cuh"

namespace glint::cuda {
namespace {

constexpr int kSubsequences = kJpegGroup + kJpegWarmUp;
// Groups whose maps lead from a guess to a group's entry.
constexpr int kMapsBefore = 3;
constexpr uint32_t kNoWay = 0xff;

// A way into a subsequence, 15 bits: where it begins, less than 32 bits behind the cut, and kUsed.
constexpr uint32_t kUsed = 1u << 14;
constexpr uint32_t kWayBits = 2 * kUsed - 1;
__device__ __forceinline__ uint32_t WayAt(Cursor cursor, uint32_t cut) {
  // The scan may end in front of the cut.
  return (max(cursor.bit, cut) - cut) | cursor.place << 5 | kUsed;
}
__device__ __forceinline__ Cursor CursorOf(uint32_t way, uint32_t cut) {
  return {cut + (way & 31), (way & (kUsed - 1)) >> 5};
}

// Ways into each subsequence and out of the last one, hashed. A slot: the way, and from bit 16 on, once it has been
// followed, 1 + the slot of the way that it leads to.
template <uint32_t kWays>
struct Ways {
  uint32_t slots[kSubsequences + 1][kWays];

  // Equal ways into neighbouring subsequences lie in different banks.
  static __device__ uint32_t FirstSlot(int subsequence, uint32_t way) {
    return ((way * 0x9e3779b1u) >> 16) + static_cast<uint32_t>(subsequence);
  }
  // The slot of `way`; kNoWay: there is no room.
  __device__ uint32_t Insert(int subsequence, uint32_t way, bool* is_new) {
    uint32_t* const row = slots[subsequence];
    uint32_t slot = FirstSlot(subsequence, way);
    *is_new = false;
#pragma unroll 1
    for (uint32_t i = 0; i < kWays; ++i, ++slot) {
      const uint32_t found = atomicCAS(&row[slot % kWays], 0, way);
      *is_new = found == 0;
      if (*is_new || (found & kWayBits) == way) return slot % kWays;
    }
    return kNoWay;
  }
  __device__ void Link(int subsequence, uint32_t slot, uint32_t next) {
    if (next != kNoWay) atomicAdd(&slots[subsequence][slot], (next + 1) << 16);
  }
  __device__ uint32_t Way(int subsequence, uint32_t slot) const { return slots[subsequence][slot] & kWayBits; }
  // kNoWay: it was not followed.
  __device__ uint32_t Next(int subsequence, uint32_t slot) const {
    return slot == kNoWay ? kNoWay : (slots[subsequence][slot] >> 16) - 1 & kNoWay;
  }
  __device__ uint32_t Find(int subsequence, uint32_t way) const {
    uint32_t slot = FirstSlot(subsequence, way);
    for (uint32_t i = 0; i < kWays; ++i, ++slot) {
      const uint32_t found = Way(subsequence, slot % kWays);
      if (found == way) return slot % kWays;
      if (found == 0) break;
    }
    return kNoWay;
  }
};

__device__ void Publish(const JpegFrame& frame, int group, JpegGroupState state) {
  __threadfence();
  atomicExch(&frame.states[group], static_cast<uint32_t>(state));
}
// Blocks of lower numbers begin first, and never wait for this one.
__device__ void Await(const JpegFrame& frame, int group, JpegGroupState state) {
  const volatile uint32_t* const at = &frame.states[group];
  while (*at < static_cast<uint32_t>(state)) {
  }
  __threadfence();
}
__device__ uint32_t AwaitExit(const JpegFrame& frame, int group) {
  Await(frame, group, JpegGroupState::kExit);
  return __ldcg(&frame.exits[group]);
}

// `threads` of a block, of which kParts trace ways through the parts of a group at once, one for each way of each.
template <int threads, uint32_t ways>
struct BlockShape {
  static constexpr int kThreads = threads;
  static constexpr uint32_t kWays = ways;
  static constexpr int kParts = kThreads / static_cast<int>(kWays);
  static constexpr int kPart = kJpegGroup / kParts;
  static_assert(kParts * kPart == kJpegGroup && kThreads >= kJpegGroup && kThreads >= (kMapsBefore + 1) * kWarp);
  static_assert(kWays <= kJpegWays && kWays < kNoWay);
};
// A way begins at every second cut (grey), or at every fourth in each block of the unit. Where blocks have many bits,
// ways are longer, and more of them meet.
using Grey = BlockShape<128, 16>;
using Colour = BlockShape<192, 32>;
using Dense = BlockShape<384, 64>;
constexpr int kGreySpacing = 2, kColourSpacing = 4;
static_assert(Grey::kThreads >= kSubsequences && Colour::kThreads >= kSubsequences / kColourSpacing * kMaxUnitBlocks);

template <typename Shape>
struct Memory {
  GroupMemory scan;
  Ways<Shape::kWays> ways;
  uint32_t maps[kMapsBefore + 1][Shape::kWays];
  uint8_t part_ends[Shape::kParts][Shape::kWays];  // slots, by those at the part's begin
  uint16_t chosen[kJpegGroup];                     // ways
  uint32_t entry;                                  // way
};

// The way into the group: by the maps of those before it, from where most ways out of one of them lead. By a warp.
template <typename Shape>
__device__ uint32_t FindEntry(const JpegFrame& frame, const Memory<Shape>& memory, int group) {
  constexpr uint32_t kShares = (Shape::kWays + kWarp - 1) / kWarp;
  const auto map_of = [&](int before, uint32_t share) {
    const uint32_t i = share * kWarp + threadIdx.x;
    return i < Shape::kWays ? memory.maps[before][i] : 0;
  };
  uint32_t way = kUsed;
  int at = group - kMapsBefore;
  if (at <= 0) {
    at = 0;
  } else {
    uint32_t most = 0;
    for (uint32_t share = 0; share < kShares; ++share) {
      const uint32_t out = map_of(0, share) >> 16;
      const uint32_t votes = __popc(__match_any_sync(kFullWarp, out));
      most = max(most, WarpMax(out == 0 ? 0 : votes << 16 | out));
    }
    way = most & 0xffff;
    if (way == 0) way = AwaitExit(frame, at - 1);
  }
  for (; at < group; ++at) {
    uint32_t out = 0;
    for (uint32_t share = 0; share < kShares; ++share) {
      const uint32_t map = map_of(at - group + kMapsBefore + 1, share);
      out = max(out, WarpMax((map & 0xffff) == way ? map >> 16 : 0));
    }
    way = out != 0 ? out : AwaitExit(frame, at);
  }
  return way;
}

// `spacing`: subsequences from one at whose cut ways begin to the next; `length`: those that a way is followed through.
template <typename Shape>
__global__ void __launch_bounds__(Shape::kThreads)
    FindSymbolsKernel(GLINT_KERNEL_ARGUMENT JpegFrame frame, int spacing, int length) {
  constexpr int kThreads = Shape::kThreads, kParts = Shape::kParts, kWays = static_cast<int>(Shape::kWays);
  __shared__ __align__(16) Memory<Shape> memory;
  auto& ways = memory.ways;
  AllowSuccessor();
  const int thread = threadIdx.x;
  for (int i = thread; i < (kSubsequences + 1) * kWays; i += kThreads) ways.slots[i / kWays][i % kWays] = 0;
  WaitForPredecessor();
  const uint32_t bits = frame.status->bits;
  const auto group = static_cast<int>(blockIdx.x);
  const auto count = static_cast<int>(SubsequencesOf(frame, bits));
  if (group * kJpegGroup >= count) return;
  const int first = group * kJpegGroup - kJpegWarmUp;
  memory.scan.Load(frame, first, kSubsequences);
  __syncthreads();

  const GroupWords words = {memory.scan.words,
                            static_cast<uint32_t>(first * static_cast<int>(frame.subsequence_words))};
  const auto cut_of = [&](int i) { return static_cast<uint32_t>(first + i) * 32 * frame.subsequence_words; };
  const auto decode = [&](int i, Cursor* cursor, auto* sink) {
    DecodeSubsequence(frame.scan, memory.scan, frame.begins, words, min(bits, cut_of(i + 1)), cursor, sink);
  };
  const int begin = max(0, -first), end = min(kSubsequences, count - first);

  // Ways begin in each block of the unit, and end where another was.
  {
    const int cuts = (end - begin + spacing - 1) / spacing;
    int at = begin + thread % cuts * spacing;
    const auto block = static_cast<uint32_t>(thread / cuts);
    if (block < frame.scan.unit_blocks) {
      Cursor cursor = {cut_of(at), 64 * block};
      NoSink sink;
      bool is_new = false;
      uint32_t slot = ways.Insert(at, WayAt(cursor, cut_of(at)), &is_new);
      const int limit = min(end, at + length);
      for (; is_new && at < limit; ++at) {
        decode(at, &cursor, &sink);
        const uint32_t next = ways.Insert(at + 1, WayAt(cursor, cut_of(at + 1)), &is_new);
        ways.Link(at, slot, next);
        slot = next;
      }
    }
  }
  __syncthreads();

  // Where each way into the group leads.
  const auto part_begin = [&](int part) { return min(kJpegWarmUp + part * Shape::kPart, end); };
  {
    const int part = thread / kWays;
    uint32_t slot = thread % kWays;
    for (int i = part_begin(part); i < part_begin(part + 1); ++i) slot = ways.Next(i, slot);
    memory.part_ends[part][thread % kWays] = static_cast<uint8_t>(slot);
  }
  __syncthreads();
  const auto to_part = [&](uint32_t slot, int part) {
    for (int p = 0; p < part; ++p) slot = slot == kNoWay ? kNoWay : memory.part_ends[p][slot];
    return slot;
  };
  if (thread < kWays) {
    const uint32_t out = to_part(thread, kParts);
    frame.maps[group * kWays + thread] = ways.Way(kJpegWarmUp, thread) | (out == kNoWay ? 0 : ways.Way(end, out)) << 16;
    __threadfence();
  }
  __syncthreads();
  if (thread == 0) Publish(frame, group, JpegGroupState::kMap);

  // The way into the group.
  {
    const int other = group - kMapsBefore - 1 + thread / kWarp;
    if (thread / kWarp <= kMapsBefore && other >= 0) {
      Await(frame, other, JpegGroupState::kMap);
      for (int i = thread % kWarp; i < kWays; i += kWarp) {
        memory.maps[thread / kWarp][i] = __ldcg(&frame.maps[other * kWays + i]);
      }
    }
  }
  __syncthreads();
  if (thread < kWarp) {
    const uint32_t entry = FindEntry(frame, memory, group);
    if (thread == 0) memory.entry = entry;
  }
  __syncthreads();

  // The way through it.
  const uint32_t entry = memory.entry;
  const uint32_t entry_slot = ways.Find(kJpegWarmUp, entry);
  const uint32_t exit_slot = to_part(entry_slot, kParts);
  if (exit_slot != kNoWay) {
    if (thread < kParts) {
      uint32_t slot = to_part(entry_slot, thread);
      for (int i = part_begin(thread); i < part_begin(thread + 1); ++i) {
        memory.chosen[i - kJpegWarmUp] = static_cast<uint16_t>(ways.Way(i, slot));
        slot = ways.Next(i, slot);
      }
    }
    if (thread == 0) frame.exits[group] = ways.Way(end, exit_slot);
  } else if (thread == 0) {
    // It has a gap.
    uint32_t way = entry, slot = entry_slot;
    for (int i = kJpegWarmUp; i < end; ++i) {
      memory.chosen[i - kJpegWarmUp] = static_cast<uint16_t>(way);
      slot = ways.Next(i, slot);
      if (slot != kNoWay) {
        way = ways.Way(i + 1, slot);
        continue;
      }
      if (atomicAdd(&frame.status->repairs, 1) >= kMaxJpegRepairs) {
        Raise(frame, JpegReason::kSync);
        way = kUsed;
      } else {
        Cursor cursor = CursorOf(way, cut_of(i));
        NoSink sink;
        decode(i, &cursor, &sink);
        way = WayAt(cursor, cut_of(i + 1));
      }
      slot = ways.Find(i + 1, way);
    }
    frame.exits[group] = way;
  }
  if (thread == 0) Publish(frame, group, JpegGroupState::kExit);
  __syncthreads();

  Passed passed;
  const int own = group * kJpegGroup + thread;
  if (thread < kJpegGroup && own < count) {
    Cursor cursor = CursorOf(memory.chosen[thread], cut_of(kJpegWarmUp + thread));
    Counter counter(frame.scan.interval_blocks);
    decode(kJpegWarmUp + thread, &cursor, &counter);
    passed = counter.passed();
    frame.ends[own] = cursor;
    frame.passed[own] = passed;
  }
  Passed all;
  PassedBefore<kThreads>(passed, &all);
  if (thread == 0) frame.sums[group] = all;
}

}  // namespace

absl::Status FindSymbols(StreamView stream, const JpegFrame& frame) {
  const bool dense = frame.subsequence_words > kMinSubsequenceWords;
  // Twenty blocks' worth: nearly every wrong way ends within half of that, but for pictures with empty parts.
  const uint64_t block_bits = uint64_t{8} * frame.size / frame.scan.blocks;
  const auto blocks_worth = static_cast<int>(20 * block_bits / (32 * frame.subsequence_words));
  const int length = dense ? kSubsequences : std::clamp(blocks_worth, 12, kSubsequences);
  const auto launch = [&](auto* kernel, int threads, int spacing) {
    return LaunchJpeg(stream, Begin::kAfterPredecessor, kernel, frame.groups(), threads, frame, spacing, length);
  };
  if (frame.scan.unit_blocks == 1) return launch(FindSymbolsKernel<Grey>, Grey::kThreads, kGreySpacing);
  return dense ? launch(FindSymbolsKernel<Dense>, Dense::kThreads, kColourSpacing)
               : launch(FindSymbolsKernel<Colour>, Colour::kThreads, kColourSpacing);
}

}  // namespace glint::cuda
