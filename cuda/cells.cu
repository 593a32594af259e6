// Aggregation over levels (Kumar, Park, Behera 2023): gathers corners by the pixel of the image that they fall on, in a
// hash table with open addressing: the slot is claimed by compare and swap; counts, sums and the strongest corner are
// atomic sums and maxima, so that the outcome does not depend on order. The table was cleared by the corner stage.
#include "cuda/map_device.cuh"
#include "cuda/map_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ uint32_t FirstSlot(const MapFrame& map, uint32_t pixel) {
  return (pixel * 0x9e3779b1u >> 7) & (map.slot_count - 1);
}

__global__ void __launch_bounds__(kThreads)
    GatherKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT MapFrame map) {
  AllowSuccessor();
  WaitForPredecessor();
  const Level& image = frame.level[0];
  const uint32_t turn = map.counters->turn;
  const uint64_t* cells = map.cells + turn * map.cell_count;
  if (blockIdx.x == 0 && threadIdx.x == 0) map.counters->next_turn = turn ^ 1;
  for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < map.cell_count; i += gridDim.x * kThreads) {
    const uint64_t entry = cells[i];
    if (entry == 0) continue;
    const uint32_t position = PositionOf(entry);
    const float scale = frame.level[LevelOf(position)].scale;
    const uint32_t pixel = PackPosition(0, ImagePosition(XOf(position), scale, image.width),
                                        ImagePosition(YOf(position), scale, image.height)) +
                           1;
    uint32_t slot = FirstSlot(map, pixel);
    for (;; slot = (slot + 1) & (map.slot_count - 1)) {
      const uint32_t found = atomicCAS(&map.slots[slot].pixel, 0u, pixel);
      if (found == 0 || found == pixel) break;
    }
    atomicAdd(&map.slots[slot].total, (1u << kTotalShift) + RawOf(entry));
    AtomicMax(&map.slots[slot].best, entry);
  }
}

// Where the search for a pixel begins, and what is there.
struct Probe {
  uint32_t pixel;  // 0: none
  uint32_t slot;
  uint2 found;  // pixel and total
};

// Pixel i of the window around (x, y), row by row; nothing for the middle one and those outside the image.
__device__ __forceinline__ Probe ProbeAt(const Frame& frame, const MapFrame& map, int x, int y, int i) {
  const int side = 2 * map.reach + 1;
  const int v = i / side;
  const int at_y = y + v - map.reach;
  const int at_x = x + i - v * side - map.reach;
  const Level& image = frame.level[0];
  if (i >= side * side || at_x < 0 || at_x >= image.width || at_y < 0 || at_y >= image.height) return {};
  if (at_x == x && at_y == y) return {};
  Probe probe;
  probe.pixel = PackPosition(0, at_x, at_y) + 1;
  probe.slot = FirstSlot(map, probe.pixel);
  probe.found = *reinterpret_cast<const uint2*>(&map.slots[probe.slot]);
  return probe;
}

// The total at the pixel, 0 if no corner fell on it.
__device__ __forceinline__ uint32_t TotalOf(const MapFrame& map, Probe probe) {
  while (probe.found.x != probe.pixel) {
    if (probe.found.x == 0) return 0;
    probe.slot = (probe.slot + 1) & (map.slot_count - 1);
    probe.found = *reinterpret_cast<const uint2*>(&map.slots[probe.slot]);
  }
  return probe.found.y;
}

// More levels precede, then the greater sum, then the smaller y, then x.
__device__ bool Survives(const Frame& frame, const MapFrame& map, uint32_t pixel, uint32_t total) {
  constexpr int kInFlight = 9;  // all of the smallest window
  const int x = XOf(pixel - 1);
  const int y = YOf(pixel - 1);
  const int side = 2 * map.reach + 1;
  for (int first = 0; first < side * side; first += kInFlight) {
    Probe probe[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) probe[i] = ProbeAt(frame, map, x, y, first + i);
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      if (probe[i].pixel == 0) continue;
      const uint32_t other = TotalOf(map, probe[i]);
      if (other > total || (other == total && probe[i].pixel < pixel)) return false;
    }
  }
  return true;
}

__global__ void __launch_bounds__(kThreads)
    SurvivorsKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT MapFrame map) {
  AllowSuccessor();
  WaitForPredecessor();
  uint32_t* counts = map.counters->list[map.counters->turn].count;
  // Whole warps go round together.
  for (uint32_t first = blockIdx.x * kThreads; first < map.slot_count; first += gridDim.x * kThreads) {
    const uint32_t i = first + threadIdx.x;
    Gathered at = {0, 0, 0};
    if (i < map.slot_count) at = map.slots[i];
    const bool survives = at.pixel != 0 && Survives(frame, map, at.pixel, at.total);
    const uint32_t sum = at.total & ((1u << kTotalShift) - 1);
    const Candidate c = {PositionOf(at.best), KeyOf(map, sum)};
    if (map.ranks) {
      AppendToShortlist(frame, counts, survives, c);
    } else {
      AppendCandidate(frame, map, survives, c);
    }
  }
}

absl::Status Launch(StreamView stream, const Frame& frame, const MapFrame& map, const void* kernel, uint32_t elements,
                    int multiprocessors) {
  constexpr int kBlocksPerMultiprocessor = 4;
  KernelLaunch launch;
  launch.kernel = kernel;
  launch.block = dim3(kThreads);
  launch.grid = dim3(
      Clamp(static_cast<int>((elements + kThreads - 1) / kThreads), 1, kBlocksPerMultiprocessor * multiprocessors));
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame), const_cast<MapFrame*>(&map)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the cell stage");
}

}  // namespace

absl::Status Aggregate(StreamView stream, const Frame& frame, const MapFrame& map, int multiprocessors) {
  GLINT_RETURN_IF_ERROR(
      Launch(stream, frame, map, reinterpret_cast<const void*>(&GatherKernel), map.cell_count, multiprocessors));
  return Launch(stream, frame, map, reinterpret_cast<const void*>(&SurvivorsKernel), map.slot_count, multiprocessors);
}

}  // namespace glint::cuda
