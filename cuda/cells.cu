// What cells chose, and aggregation over levels (Kumar, Park, Behera 2023).
//
// Aggregation gathers corners by the pixel of the image that they fall on, in a hash table with open addressing: the
// slot is claimed by compare and swap; counts, sums and the strongest corner are atomic sums and maxima, so that the
// outcome does not depend on order. The table was cleared by the corner stage.
#include "cuda/map_device.cuh"
#include "cuda/map_stages.h"
#include "cuda/runtime/error.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    CollectCellsKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT MapFrame map) {
  AllowSuccessor();
  WaitForPredecessor();
  // Whole warps go round together.
  for (uint32_t first = blockIdx.x * kThreads; first < map.cell_count; first += gridDim.x * kThreads) {
    const uint32_t i = first + threadIdx.x;
    const uint64_t entry = i < map.cell_count ? map.cells[i] : 0;
    if (entry != 0) map.cells[i] = 0;
    EmitWinner(frame, map, entry != 0, {PositionOf(entry), KeyOf(map, RawOf(entry))});
  }
}

__device__ __forceinline__ uint32_t FirstSlot(const MapFrame& map, uint32_t pixel) {
  return (pixel * 0x9e3779b1u >> 7) & (map.slot_count - 1);
}

__global__ void __launch_bounds__(kThreads)
    GatherKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT MapFrame map) {
  AllowSuccessor();
  WaitForPredecessor();
  const Level& image = frame.level[0];
  for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < map.cell_count; i += gridDim.x * kThreads) {
    const uint64_t entry = map.cells[i];
    if (entry == 0) continue;
    map.cells[i] = 0;
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

// The total at the pixel, 0 if no corner fell on it.
__device__ __forceinline__ uint32_t TotalAt(const MapFrame& map, uint32_t pixel) {
  for (uint32_t slot = FirstSlot(map, pixel);; slot = (slot + 1) & (map.slot_count - 1)) {
    const uint2 found = *reinterpret_cast<const uint2*>(&map.slots[slot]);
    if (found.x == pixel) return found.y;
    if (found.x == 0) return 0;
  }
}

// More levels precede, then the greater sum, then the smaller y, then x.
__device__ bool Survives(const Frame& frame, const MapFrame& map, uint32_t pixel, uint32_t total) {
  const int x = XOf(pixel - 1);
  const int y = YOf(pixel - 1);
  for (int v = Max(y - map.reach, 0); v <= Min(y + map.reach, frame.level[0].height - 1); ++v) {
    for (int u = Max(x - map.reach, 0); u <= Min(x + map.reach, frame.level[0].width - 1); ++u) {
      const uint32_t other = PackPosition(0, u, v) + 1;
      if (other == pixel) continue;
      const uint32_t of_other = TotalAt(map, other);
      if (of_other > total || (of_other == total && other < pixel)) return false;
    }
  }
  return true;
}

__global__ void __launch_bounds__(kThreads)
    SurvivorsKernel(GLINT_KERNEL_ARGUMENT Frame frame, GLINT_KERNEL_ARGUMENT MapFrame map) {
  AllowSuccessor();
  WaitForPredecessor();
  for (uint32_t first = blockIdx.x * kThreads; first < map.slot_count; first += gridDim.x * kThreads) {
    const uint32_t i = first + threadIdx.x;
    Gathered at = {0, 0, 0};
    if (i < map.slot_count) at = map.slots[i];
    const bool survives = at.pixel != 0 && Survives(frame, map, at.pixel, at.total);
    const uint32_t sum = at.total & ((1u << kTotalShift) - 1);
    EmitWinner(frame, map, survives, {PositionOf(at.best), KeyOf(map, sum)});
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

absl::Status CollectCells(StreamView stream, const Frame& frame, const MapFrame& map, int multiprocessors) {
  return Launch(stream, frame, map, reinterpret_cast<const void*>(&CollectCellsKernel), map.cell_count,
                multiprocessors);
}

absl::Status Aggregate(StreamView stream, const Frame& frame, const MapFrame& map, int multiprocessors) {
  GLINT_RETURN_IF_ERROR(
      Launch(stream, frame, map, reinterpret_cast<const void*>(&GatherKernel), map.cell_count, multiprocessors));
  return Launch(stream, frame, map, reinterpret_cast<const void*>(&SurvivorsKernel), map.slot_count, multiprocessors);
}

}  // namespace glint::cuda
