// Tracking: a warp a point, all levels in one launch. A patch is cut into blocks of 8 pixels of a row; each lane has up
// to kBlocks of them, with their samples and gradients in registers, and reads its blocks of the image in words. All
// lanes solve the same system from the same sums and so take the same steps.
#include "cuda/common/warp.cuh"
#include "cuda/runtime/error.h"
#include "cuda/track/track_stages.h"

namespace glint::cuda {
namespace {

constexpr int kBlock = 8;  // pixels
constexpr int kMaxBlocks = kMaxTrackPatch / kBlock * kMaxTrackPatch / kWarp;

// The sum over the warp, beyond 32 bits.
__device__ __forceinline__ int64_t WideWarpSum(int v) {
  const int low = WarpSum(v & 0xffff);
  const int high = WarpSum(v >> 16);
  return static_cast<int64_t>(high) * 65536 + low;
}

// kCount bytes of a row from (x, y), four to a word. `inside`: no clamping is needed; otherwise pixels outside have the
// value of the nearest one inside.
template <int kCount>
__device__ __forceinline__ void LoadRow(const TrackLevel& level, int x, int y, bool inside,
                                        uint32_t (&words)[(kCount + 3) / 4]) {
  constexpr int kWords = (kCount + 3) / 4;
  if (inside) {
    const size_t at = static_cast<size_t>(y) * level.pitch + x;
    const auto* const aligned = reinterpret_cast<const uint32_t*>(level.pixels + (at & ~size_t{3}));
    const unsigned shift = 8 * (at & 3);
    uint32_t low = __ldg(aligned);
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const uint32_t high = __ldg(aligned + w + 1);
      words[w] = __funnelshift_r(low, high, shift);
      low = high;
    }
    return;
  }
  const uint8_t* const row = level.pixels + static_cast<size_t>(Clamp(y, 0, level.height - 1)) * level.pitch;
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    words[w] = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      words[w] |= static_cast<uint32_t>(row[Clamp(x + 4 * w + i, 0, level.width - 1)]) << (8 * i);
    }
  }
}

template <int kWords>
__device__ __forceinline__ int ByteOf(const uint32_t (&words)[kWords], int i) {
  return static_cast<int>(words[i / 4] >> (8 * (i % 4)) & 0xff);
}

// SampleAcross() of kCount samples.
template <int kCount>
__device__ __forceinline__ void SampleRow(const TrackLevel& level, int x, int y, int weight, bool inside,
                                          int (&row)[kCount]) {
  uint32_t words[(kCount + 4) / 4];
  LoadRow<kCount + 1>(level, x, y, inside, words);
#pragma unroll
  for (int i = 0; i < kCount; ++i) row[i] = SampleAcross(weight, ByteOf(words, i), ByteOf(words, i + 1));
}

__device__ __forceinline__ int Low16(int v) { return static_cast<int16_t>(v); }
__device__ __forceinline__ int Pack16(int low, int high) { return (high << 16) | (low & 0xffff); }

// What TrackPoint() asks for.
template <int kBlocks, bool kIntensity>
class Patches {
 public:
  __device__ __forceinline__ explicit Patches(const TrackParams& params) : params_(params) {}

  __device__ __forceinline__ int levels() const { return params_.levels; }
  __device__ __forceinline__ int width(int level) const { return params_.frame[0].level[level].width; }
  __device__ __forceinline__ int height(int level) const { return params_.frame[0].level[level].height; }
  __device__ __forceinline__ void Reverse() { reversed_ = 1; }

  __device__ __forceinline__ TemplateSums Template(int level, GridPoint centre, int size) {
    level_ = level;
    size_ = size;
    const TrackLevel& image = params_.frame[reversed_].level[level];
    const PatchPosition at = PatchPositionAt(centre, size);
    const bool inside = at.x > 0 && at.y > 0 && at.x + size + 1 < image.width && at.y + size + 1 < image.height;
    int n = 0, xx = 0, xy = 0, yy = 0, x = 0, y = 0, xb = 0, yb = 0, bb = 0, b = 0;
#pragma unroll
    for (int k = 0; k < kBlocks; ++k) {
      int column, line;
      FindBlock(k, &column, &line);
      counts_[k] = 0;
      if (!Exists(column)) {
#pragma unroll
        for (int i = 0; i < kBlock; ++i) samples_[k][i] = gradients_[k][i] = 0;
        continue;
      }
      const int left = at.x + column;
      const int top = at.y + line;
      // Samples of three lines, one more on each side.
      int lines[3][kBlock + 2];
      int above[kBlock + 2];
      SampleRow(image, left - 1, top - 1, at.weight_x, inside, above);
#pragma unroll
      for (int j = 0; j < 3; ++j) {
        int below[kBlock + 2];
        SampleRow(image, left - 1, top + j, at.weight_x, inside, below);
#pragma unroll
        for (int i = 0; i < kBlock + 2; ++i) {
          lines[j][i] = SampleDown(at.weight_y, above[i], below[i]);
          above[i] = below[i];
        }
      }
      const bool line_counts = top >= 0 && top < image.height;
#pragma unroll
      for (int i = 0; i < kBlock; ++i) {
        const bool counts = line_counts && column + i < size && left + i >= 0 && left + i < image.width;
        const int across =
            TrackGradient(lines[1][i + 2] - lines[1][i], lines[0][i + 2] - lines[0][i] + lines[2][i + 2] - lines[2][i]);
        const int down = TrackGradient(lines[2][i + 1] - lines[0][i + 1],
                                       lines[2][i] - lines[0][i] + lines[2][i + 2] - lines[0][i + 2]);
        const int sample = lines[1][i + 1];
        const int gx = counts ? across : 0;
        const int gy = counts ? down : 0;
        const int basis = counts ? GainBasis(sample) : 0;
        counts_[k] |= static_cast<unsigned>(counts) << i;
        samples_[k][i] = Pack16(sample, basis);
        gradients_[k][i] = Pack16(gx, gy);
        xx += gx * gx;
        xy += gx * gy;
        yy += gy * gy;
        if (kIntensity) {
          x += gx;
          y += gy;
          xb += gx * basis;
          yb += gy * basis;
          bb += basis * basis;
          b += basis;
        }
      }
      n += __popc(counts_[k]);
    }
    TemplateSums sums = {};
    sums.n = WarpSum(n);
    sums.xx = WideWarpSum(xx);
    sums.xy = WideWarpSum(xy);
    sums.yy = WideWarpSum(yy);
    if (kIntensity) {
      sums.x = WarpSum(x);
      sums.y = WarpSum(y);
      sums.xb = WideWarpSum(xb);
      sums.yb = WideWarpSum(yb);
      sums.bb = WideWarpSum(bb);
      sums.b = WarpSum(b);
    }
    return sums;
  }

  __device__ __forceinline__ StepSums Step(GridPoint centre) const {
    int x = 0, y = 0, one = 0, b = 0;
    ForEachDifference(centre, [&](int k, int i, int difference) {
      const int gradient = gradients_[k][i];
      x += difference * Low16(gradient);
      y += difference * (gradient >> 16);
      if (kIntensity) {
        one += counts_[k] >> i & 1 ? difference : 0;
        b += difference * (samples_[k][i] >> 16);
      }
    });
    StepSums sums = {};
    sums.x = WideWarpSum(x);
    sums.y = WideWarpSum(y);
    if (kIntensity) {
      sums.one = WarpSum(one);
      sums.b = WideWarpSum(b);
    }
    return sums;
  }

  __device__ __forceinline__ ResidualSums Residual(GridPoint centre) const {
    int square = 0, one = 0, b = 0;
    ForEachDifference(centre, [&](int k, int i, int difference) {
      const int residual = counts_[k] >> i & 1 ? ResidualOf(difference) : 0;
      square += residual * residual;
      if (kIntensity) {
        one += residual;
        b += residual * (samples_[k][i] >> 16);
      }
    });
    ResidualSums sums = {};
    sums.square = WideWarpSum(square);
    if (kIntensity) {
      sums.one = WarpSum(one);
      sums.b = WideWarpSum(b);
    }
    return sums;
  }

 private:
  // The first pixel and the line of this lane's block k in the patch.
  __device__ __forceinline__ void FindBlock(int k, int* column, int* line) const {
    const int block = threadIdx.x + k * kWarp;
    *column = block / size_ * kBlock;
    *line = block % size_;
  }
  __device__ __forceinline__ bool Exists(int column) const { return column < size_; }

  // Calls visit(k, i, difference) for all pixels i of this lane's blocks k: of the image around `centre`, less the
  // template. What does not count has gradients and a basis of 0.
  template <class Visit>
  __device__ __forceinline__ void ForEachDifference(GridPoint centre, const Visit& visit) const {
    const TrackLevel& image = params_.frame[1 - reversed_].level[level_];
    const PatchPosition at = PatchPositionAt(centre, size_);
    const bool inside = at.x >= 0 && at.y >= 0 && at.x + size_ < image.width && at.y + size_ < image.height;
#pragma unroll
    for (int k = 0; k < kBlocks; ++k) {
      int column, line;
      FindBlock(k, &column, &line);
      if (!Exists(column)) continue;
      int row[kBlock], next[kBlock];
      SampleRow(image, at.x + column, at.y + line, at.weight_x, inside, row);
      SampleRow(image, at.x + column, at.y + line + 1, at.weight_x, inside, next);
#pragma unroll
      for (int i = 0; i < kBlock; ++i) {
        visit(k, i, SampleDown(at.weight_y, row[i], next[i]) - Low16(samples_[k][i]));
      }
    }
  }

  const TrackParams& params_;
  int reversed_ = 0;
  int level_ = 0;
  int size_ = 1;
  int samples_[kBlocks][kBlock];    // sample, basis
  int gradients_[kBlocks][kBlock];  // x, y
  unsigned counts_[kBlocks];        // bit i: pixel i counts
};

template <int kBlocks, bool kIntensity>
__global__ void __launch_bounds__(kWarp) TrackKernel(GLINT_KERNEL_ARGUMENT TrackParams params) {
  const int i = blockIdx.x;
  const float x = params.x[i];
  const float y = params.y[i];
  const float dx = params.to_x == nullptr ? 0 : params.to_x[i] - x;
  const float dy = params.to_y == nullptr ? 0 : params.to_y[i] - y;
  Patches<kBlocks, kIntensity> patches(params);
  const TrackedPoint point = TrackPoint(x, y, dx, dy, params.options, &patches);
  if (threadIdx.x == 0) params.points[i] = point;
}

template <bool kIntensity>
const void* KernelFor(int size) {
  const int blocks = (size + kBlock - 1) / kBlock * size;
  return blocks <= kWarp       ? reinterpret_cast<const void*>(&TrackKernel<1, kIntensity>)
         : blocks <= 2 * kWarp ? reinterpret_cast<const void*>(&TrackKernel<2, kIntensity>)
                               : reinterpret_cast<const void*>(&TrackKernel<kMaxBlocks, kIntensity>);
}

}  // namespace

absl::Status TrackPoints(StreamView stream, const TrackParams& params) {
  const TrackOptions& o = params.options;
  const int fine = o.fine_levels > 0 ? o.patch_size : 0;
  const int coarse = o.fine_levels < params.levels ? o.coarse_patch_size : 0;
  const int size = Max(fine, coarse);
  KernelLaunch launch;
  launch.kernel = o.intensity == IntensityModel::kSame ? KernelFor<false>(size) : KernelFor<true>(size);
  launch.block = dim3(kWarp);
  launch.grid = dim3(params.count);
  void* arguments[] = {const_cast<TrackParams*>(&params)};
  return ToStatus(stream.api->LaunchKernel(launch, arguments, stream.stream), "launching tracking");
}

}  // namespace glint::cuda
