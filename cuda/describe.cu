// Steered BRIEF (Rublee et al. 2011, section 4) on the Gaussian-blurred level, with the blur computed only where it is
// looked at: around each keypoint.
//
// A block takes one keypoint at a time: it loads the patch that the turned pattern can reach and three pixels more,
// blurs it by rows into floats, then by columns into bytes (GaussianRow, GaussianColumn: cv::GaussianBlur's own float
// arithmetic with FMA), and compares the 256 pairs, two per thread, a warp's ballot giving 32 bits at once. Outside the
// level the pattern reads the reflection of the level before blurring, as in cv::ORB.
//
// Shared memory, dynamic: (2 reach + 7)^2 floats for pixels, (2 reach + 7)(2 reach + 1) floats, (2 reach + 1)^2 bytes:
// 16 KiB for the reach of 18 that patch_size 31 has.
#include "cuda/chunks.cuh"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kBlocksPerMultiprocessor = 12;
constexpr int kRun = 5;  // results that a thread makes in a row from kRun + 6 inputs

struct PatchSides {
  int blurred;  // side of the patch that the pattern reads
  int loaded;   // and of what the blur reads

  GLINT_HD explicit PatchSides(int reach) : blurred(2 * reach + 1), loaded(2 * reach + 1 + 2 * kGaussianRadius) {}
  GLINT_HD int SharedBytes() const {
    return (loaded * loaded + loaded * blurred) * static_cast<int>(sizeof(float)) + blurred * blurred;
  }
};

// GaussianRow() of seven pixels that are floats already.
__device__ __forceinline__ float BlurRow(const float* p) {
  float sum = GaussianWeight(0) * p[0];
#pragma unroll
  for (int i = 1; i < 7; ++i) sum = fmaf(GaussianWeight(i), p[i], sum);
  return sum;
}

__global__ void __launch_bounds__(kThreads) DescribeKernel(GLINT_KERNEL_ARGUMENT Frame frame) {
  extern __shared__ __align__(16) uint8_t memory[];
  __shared__ __align__(16) uint32_t words[kRbriefBits / kWarp];
  const PatchSides side(frame.descriptor_reach);
  auto* pixels = reinterpret_cast<float*>(memory);
  float* rows = pixels + side.loaded * side.loaded;
  auto* blurred = reinterpret_cast<uint8_t*>(rows + side.loaded * side.blurred);

  AllowSuccessor();
  RbriefPair pairs[kRbriefBits / kThreads];
  for (int k = 0; k < kRbriefBits / kThreads; ++k) pairs[k] = frame.pattern[k * kThreads + threadIdx.x];
  WaitForPredecessor();
  const LevelSequence corners(frame.levels, [&](int l) {
    const uint32_t kept = frame.counters->kept[l];
    const auto room = static_cast<uint32_t>(frame.level[l].ranked_capacity);
    return kept < room ? kept : room;
  });
  const int runs = (side.blurred + kRun - 1) / kRun;
  for (uint32_t i = blockIdx.x; i < corners.total(); i += gridDim.x) {
    const LevelSequence::Place at = corners.Find(i);
    const Level& level = frame.level[at.level];
    const RankedCorner corner = level.ranked[at.index];
    const int x0 = XOf(corner.position) - side.loaded / 2;
    const int y0 = YOf(corner.position) - side.loaded / 2;
    const bool inside = x0 >= 0 && y0 >= 0 && x0 + side.loaded <= level.width && y0 + side.loaded <= level.height;

    for (int k = threadIdx.x; k < side.loaded * side.loaded; k += kThreads) {
      const int v = k / side.loaded;
      int x = x0 + k - v * side.loaded;
      int y = y0 + v;
      if (!inside) {
        x = Reflect101(x, level.width);
        y = Reflect101(y, level.height);
      }
      pixels[k] = static_cast<float>(level.image[static_cast<size_t>(y) * level.pitch + x]);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < side.loaded * runs; k += kThreads) {
      const int v = k / runs;
      // The last run may overlap the one before rather than leave the row.
      const int u = Min((k - v * runs) * kRun, side.blurred - kRun);
      const float* from = pixels + v * side.loaded + u;
      float p[kRun + 6];
#pragma unroll
      for (int j = 0; j < kRun + 6; ++j) p[j] = from[j];
#pragma unroll
      for (int j = 0; j < kRun; ++j) rows[v * side.blurred + u + j] = BlurRow(p + j);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < side.blurred * runs; k += kThreads) {
      const int run = k / side.blurred;
      const int u = k - run * side.blurred;
      const int v = Min(run * kRun, side.blurred - kRun);
      const float* from = rows + v * side.blurred + u;
      float p[kRun + 6];
#pragma unroll
      for (int j = 0; j < kRun + 6; ++j) p[j] = from[j * side.blurred];
#pragma unroll
      for (int j = 0; j < kRun; ++j) blurred[(v + j) * side.blurred + u] = GaussianColumn(p + j);
    }
    __syncthreads();

    const SinCos turn = SteeringSinCos(corner.angle);
    const auto pixel = [&](int px, int py) -> int {
      const int u = SteeredX(px, py, turn);
      const int v = SteeredY(px, py, turn);
      const int centre = side.blurred / 2;
      if (!inside) {
        const int x = XOf(corner.position) + u;
        const int y = YOf(corner.position) + v;
        if (x < 0 || y < 0 || x >= level.width || y >= level.height) {
          return static_cast<int>(pixels[(v + centre + kGaussianRadius) * side.loaded + u + centre + kGaussianRadius]);
        }
      }
      return blurred[(v + centre) * side.blurred + u + centre];
    };
#pragma unroll
    for (int k = 0; k < kRbriefBits / kThreads; ++k) {
      const bool darker = pixel(pairs[k].x0, pairs[k].y0) < pixel(pairs[k].x1, pairs[k].y1);
      const unsigned bits = __ballot_sync(kFullWarp, darker);
      if (threadIdx.x % kWarp == 0) words[(k * kThreads + threadIdx.x) / kWarp] = bits;
    }
    __syncthreads();
    if (threadIdx.x < kRbriefBytes / sizeof(uint4)) {
      reinterpret_cast<uint4*>(level.descriptors + static_cast<size_t>(at.index) * kRbriefBytes)[threadIdx.x] =
          reinterpret_cast<const uint4*>(words)[threadIdx.x];
    }
  }
}

}  // namespace

absl::Status PrepareDescribe(Api* api) {
  const PatchSides largest(RbriefReach(kMaxPatchSize));
  return ToStatus(api->FuncSetSharedBytes(reinterpret_cast<const void*>(&DescribeKernel), largest.SharedBytes()),
                  "reserving shared memory for the descriptor stage");
}

absl::Status Describe(StreamView stream, const Frame& frame, int multiprocessors) {
  const PatchSides side(frame.descriptor_reach);
  if (side.blurred < kRun || frame.pattern == nullptr) return absl::InternalError("descriptor stage: pattern");
  KernelLaunch launch;
  launch.kernel = reinterpret_cast<const void*>(&DescribeKernel);
  launch.block = dim3(kThreads);
  launch.grid = dim3(kBlocksPerMultiprocessor * multiprocessors);
  launch.shared_bytes = side.SharedBytes();
  launch.overlaps_predecessor = true;
  void* arguments[] = {const_cast<Frame*>(&frame)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching the descriptor stage");
}

}  // namespace glint::cuda
