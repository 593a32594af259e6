// Steered BRIEF (Rublee et al. 2011, section 4) on the Gaussian-blurred level, with the blur computed only where it is
// looked at: around each keypoint.
//
// A warp takes one keypoint at a time: it loads the patch that the turned pattern can reach and three pixels more,
// blurs it (the arithmetic of GaussianRow and GaussianColumn: cv::GaussianBlur's own floats with FMA; of the blur of
// whole images: FixedGaussianRow and FixedGaussianColumn, in floats, where their integers are exact) and compares the
// 256 pairs, eight per lane, a ballot giving 32 bits at once. A lane blurs a block of 4 columns and 13 rows, going down
// row by row with the last seven results of the row pass in registers; 30 such blocks cover the 37 x 37 pixels of
// patch_size 31. Outside the level the pattern reads the reflection of the level before blurring, as in cv::ORB.
//
// What it needs of its next keypoints, their angles' sines and cosines in doubles above all, its lanes find at once,
// one keypoint each.
//
// Shared memory: 4 KiB for the pattern in floats, 2 KiB for the next keypoints, and for each warp the patch's bytes
// before and after blurring, 4.4 KB with patch_size 31.
#include <initializer_list>

#include "cuda/common/enqueue.h"
#include "cuda/describe/level_sequence.cuh"
#include "cuda/plan/patch_shape.h"
#include "cuda/runtime/error.h"
#include "cuda/stages.h"

namespace glint::cuda {
namespace {

constexpr int kThreads = kRbriefThreads;
constexpr int kBlocksPerMultiprocessor = kRbriefBlocksWanted;
constexpr int kTaps = 2 * kGaussianRadius + 1;
constexpr int kVector = kPatchVector;
static_assert(kVector == sizeof(uint4));
constexpr int kVectorsInFlight = 6;  // loads of a lane before the first use

// Byte i of a word, as a float: 2^23 + byte has the byte for its lowest bits.
__device__ __forceinline__ float ByteAsFloat(uint32_t word, int i) {
  return __uint_as_float(__byte_perm(word, 0x4b000000u, 0x7650u | i)) - 8388608.0f;
}

// RoundHalfEven(v) + kRounded, without a conversion. |v| < 2^21.
constexpr uint32_t kRounded = 0x4b400000;
__device__ __forceinline__ uint32_t RoundedBits(float v) { return __float_as_uint(v + 12582912.0f); }

template <bool kFixed>
__device__ __forceinline__ float Weight(int i) {
  return kFixed ? static_cast<float>(FixedGaussianWeight(i)) : GaussianWeight(i);
}

// GaussianRow() or, kFixed, FixedGaussianRow() of seven pixels that are floats already.
template <bool kFixed>
__device__ __forceinline__ float BlurRow(const float* p) {
  float sum = Weight<kFixed>(0) * p[0];
#pragma unroll
  for (int i = 1; i < kTaps; ++i) sum = fmaf(Weight<kFixed>(i), p[i], sum);
  return sum;
}

// A number whose lowest byte is GaussianColumn(), or FixedGaussianColumn(), of rows first, first + 1, ... (modulo
// kTaps) of column j. The sum is within 0..255.5, so that it needs no clamp; the fixed one has 24 bits, of which the
// addition cuts those below 1.
template <bool kFixed>
__device__ __forceinline__ uint32_t BlurColumn(const float (&rows)[kTaps][kBlurColumns], int first, int j) {
  const auto row = [&](int i) { return rows[(first + i) % kTaps][j]; };
  constexpr float kUnit = kFixed ? 0x1p-16f : 1.0f;
  const auto weight = [=](int i) { return Weight<kFixed>(i) * kUnit; };
  float sum = kFixed ? fmaf(weight(3), row(3), 0.5f) : weight(3) * row(3);
#pragma unroll
  for (int k = 1; k < 4; ++k) sum = fmaf(weight(3 + k), row(3 + k) + row(3 - k), sum);
  return kFixed ? __float_as_uint(__fadd_rz(sum, 8388608.0f)) : RoundedBits(sum);
}

// Blurs a block. The pixel at its upper left, less the blur's radius, is `skew` bits into the word at `from`.
template <bool kFixed>
__device__ __forceinline__ void BlurBlock(const uint8_t* from, int pitch, int skew, uint8_t* to, int to_pitch) {
  float rows[kTaps][kBlurColumns];
#pragma unroll
  for (int v = 0; v < kBlurRows + kTaps - 1; ++v) {
    const auto* words = reinterpret_cast<const uint32_t*>(from + v * pitch);
    float p[12];
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      const uint32_t word = __funnelshift_r(words[k], words[k + 1], skew);
#pragma unroll
      for (int j = 0; j < 4; ++j) p[4 * k + j] = ByteAsFloat(word, j);
    }
#pragma unroll
    for (int j = 0; j < kBlurColumns; ++j) rows[v % kTaps][j] = BlurRow<kFixed>(p + j);
    if (v < kTaps - 1) continue;
    const int first = v - (kTaps - 1);
    const auto column = [&](int j) { return BlurColumn<kFixed>(rows, first, j); };
    const uint32_t low = __byte_perm(column(0), column(1), 0x0040);
    const uint32_t high = __byte_perm(column(2), column(3), 0x0040);
    *reinterpret_cast<uint32_t*>(to + first * to_pitch) = __byte_perm(low, high, 0x5410);
  }
}

// Writes the columns of a patch that lie beyond the level, of which there are no more than the blur's radius at a side.
// `row`: where column 0 of the level would be in the patch's first row. By a warp.
__device__ __forceinline__ void ReflectColumns(uint8_t* row, int x0, int width, const PatchShape& patch) {
  __syncwarp();
  for (int y = threadIdx.x % kWarp; y < patch.loaded; y += kWarp) {
    uint8_t* const pixel = row + y * patch.pitch;
    for (int x = x0; x < 0; ++x) pixel[x] = pixel[-x];
    for (int x = width; x < x0 + patch.loaded; ++x) pixel[x] = pixel[2 * (width - 1) - x];
  }
}

// A keypoint that a warp is to describe.
struct alignas(16) Corner {
  uint32_t position;
  uint32_t index;  // in its level's output
  float sine, cosine;
};

template <bool kFixed>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    DescribeKernel(GLINT_KERNEL_ARGUMENT Frame frame) {
  extern __shared__ __align__(16) uint8_t memory[];
  __shared__ float4 pattern[kRbriefBits];
  __shared__ Corner corner_batch[kThreads / kWarp][kWarp];
  const PatchShape patch(frame.descriptor_reach);
  const int lane = threadIdx.x % kWarp;
  uint8_t* pixels = memory + threadIdx.x / kWarp * patch.bytes;
  uint8_t* blurred = pixels + patch.pixel_bytes;

  AllowSuccessor();
  for (int k = threadIdx.x; k < kRbriefBits; k += kThreads) {
    const RbriefPair pair = frame.pattern[k];
    pattern[k] = make_float4(pair.x0, pair.y0, pair.x1, pair.y1);
  }
  __syncthreads();
  // The part of every patch that a lane loads.
  const int row_vectors = patch.pitch / kVector;
  const int row_step = kWarp / row_vectors;
  const int first_row = lane / row_vectors;
  const int vector = lane - first_row * row_vectors;

  WaitForPredecessor();
  // Made anew when it is needed, rather than held in registers.
  const auto corners = [&] {
    return LevelSequence(frame.levels, [&](int l) {
      const uint32_t kept = frame.counters->kept[l];
      const auto room = static_cast<uint32_t>(frame.level[l].ranked_capacity);
      return kept < room ? kept : room;
    });
  };
  uint32_t total = 0;
  constexpr uint32_t kWarps = kThreads / kWarp;
  const uint32_t warps = gridDim.x * kWarps;
  Corner* const batch = corner_batch[threadIdx.x / kWarp];  // the warp's next corners, each by one lane
  uint32_t taken = 0;
  for (uint32_t i = blockIdx.x * kWarps + threadIdx.x / kWarp;; i += warps, ++taken) {
    if (taken % kWarp == 0) {
      const LevelSequence sequence = corners();
      total = sequence.total();
      if (i + lane * warps < total) {
        const LevelSequence::Element element = sequence.Find(i + lane * warps);
        const RankedCorner corner = frame.level[element.level].ranked[element.index];
        const SinCos rotation = SteeringSinCos(corner.angle);
        batch[lane] = {corner.position, element.index, rotation.sin, rotation.cos};
      }
      __syncwarp();
    }
    if (i >= total) break;
    const Corner& corner = batch[taken % kWarp];
    const Level& level = frame.level[LevelOf(corner.position)];
    const int x = XOf(corner.position);
    const int y = YOf(corner.position);
    const int x0 = x - patch.loaded / 2;
    const int y0 = y - patch.loaded / 2;
    // What the pattern reads; the blur may read a few pixels beyond the level.
    const int reach = patch.blurred / 2;
    const bool inside = x >= reach && y >= reach && x + reach < level.width && y + reach < level.height &&
                        Min(level.width, level.height) > kGaussianRadius;
    const int skew = inside ? x0 & (kVector - 1) : 0;  // bytes before the patch in its first vector
    if (inside) {
      const int from_x = x0 - skew + vector * kVector;
      const uint8_t* from = level.image + from_x;
      const bool takes_part = first_row < row_step && vector * kVector < skew + patch.loaded && from_x >= 0;
      const auto reflected = [&](int y) {
        const int v = y0 + y < 0 ? -(y0 + y) : y0 + y;
        return static_cast<size_t>(Min(v, 2 * (level.height - 1) - v));
      };
      for (int first = first_row; first < patch.loaded; first += kVectorsInFlight * row_step) {
        uint4 v[kVectorsInFlight];
#pragma unroll
        for (int k = 0; k < kVectorsInFlight; ++k) {
          const int y = first + k * row_step;
          if (takes_part && y < patch.loaded) v[k] = *reinterpret_cast<const uint4*>(from + reflected(y) * level.pitch);
        }
#pragma unroll
        for (int k = 0; k < kVectorsInFlight; ++k) {
          const int y = first + k * row_step;
          if (takes_part && y < patch.loaded)
            *reinterpret_cast<uint4*>(pixels + y * patch.pitch + vector * kVector) = v[k];
        }
      }
      if (x0 < 0 || x0 + patch.loaded > level.width) ReflectColumns(pixels - (x0 - skew), x0, level.width, patch);
    } else {
      for (int y = 0; y < patch.loaded; ++y) {
        const uint8_t* from = level.image + static_cast<size_t>(Reflect101(y0 + y, level.height)) * level.pitch;
        for (int x = lane; x < patch.loaded; x += kWarp) {
          pixels[y * patch.pitch + x] = from[Reflect101(x0 + x, level.width)];
        }
      }
    }
    __syncwarp();
    for (int k = lane; k < patch.blocks; k += kWarp) {
      const int v = k / patch.block_columns * kBlurRows;
      const int u = k % patch.block_columns * kBlurColumns;
      BlurBlock<kFixed>(pixels + v * patch.pitch + skew / 4 * 4 + u, patch.pitch, skew % 4 * 8,
                        blurred + v * patch.blurred_pitch + u, patch.blurred_pitch);
    }
    __syncwarp();

    const float sine = corner.sine;
    const float cosine = corner.cosine;
    // SteeredX() and SteeredY() of floats, each with kRounded added.
    const auto turned_x = [&](float px, float py) { return RoundedBits(px * cosine - py * sine); };
    const auto turned_y = [&](float px, float py) { return RoundedBits(px * sine + py * cosine); };
    const int centre = patch.blurred / 2;
    uint32_t word = 0;  // of the descriptor, in lanes 0..7
    const auto compare_pairs = [&](auto pixel) {
#pragma unroll
      for (int k = 0; k < kRbriefBits / kWarp; ++k) {
        const float4 pair = pattern[k * kWarp + lane];
        const unsigned bits = __ballot_sync(kFullWarp, pixel(pair.x, pair.y) < pixel(pair.z, pair.w));
        if (lane == k) word = bits;
      }
    };
    if (inside) {
      const auto pitch = static_cast<uint32_t>(patch.blurred_pitch);
      const uint32_t to_centre = (centre - kRounded) * (pitch + 1);
      compare_pairs([&](float px, float py) -> int {
        return blurred[turned_y(px, py) * pitch + (turned_x(px, py) + to_centre)];
      });
    } else {
      compare_pairs([&](float px, float py) -> int {
        const int u = static_cast<int>(turned_x(px, py) - kRounded);
        const int v = static_cast<int>(turned_y(px, py) - kRounded);
        if (x + u < 0 || y + v < 0 || x + u >= level.width || y + v >= level.height) {
          return pixels[(v + centre + kGaussianRadius) * patch.pitch + u + centre + kGaussianRadius];
        }
        return blurred[(v + centre) * patch.blurred_pitch + u + centre];
      });
    }
    if (lane < kRbriefBits / kWarp) {
      reinterpret_cast<uint32_t*>(level.descriptors + static_cast<size_t>(corner.index) * kRbriefBytes)[lane] = word;
    }
    __syncwarp();
  }
}

}  // namespace

absl::Status PrepareRbrief(Api* api) {
  const PatchShape largest(RbriefReach(kMaxPatchSize));
  for (const auto kernel : {DescribeKernel<false>, DescribeKernel<true>}) {
    GLINT_RETURN_IF_ERROR(
        ToStatus(api->FuncSetSharedBytes(reinterpret_cast<const void*>(kernel), largest.SharedBytes()),
                 "reserving shared memory for the descriptor stage"));
  }
  return absl::OkStatus();
}

absl::Status DescribeRbrief(StreamView stream, const Launch& launch, const Frame& frame) {
  return Enqueue(stream, launch, launch.fixed_blur ? DescribeKernel<true> : DescribeKernel<false>, frame);
}

}  // namespace glint::cuda
