// The patches of one point, of which a warp keeps samples and gradients in registers. A patch is cut into runs of
// pixels of a row: of 8, or of 2 where the whole patch is at most 8 wide. Each lane has up to kRuns of them. Windows of
// both images lie in shared memory. The template's is requested one level ahead; the other one has a margin, in which
// the patch moves without another load.
#ifndef GLINT_CUDA_TRACK_PATCHES_CUH_
#define GLINT_CUDA_TRACK_PATCHES_CUH_

#include <cstdint>

#include "cuda/common/warp.cuh"
#include "cuda/track/samples.cuh"
#include "cuda/track/track_params.h"
#include "cuda/track/warp_sums.cuh"
#include "cuda/track/window.cuh"
#include "features/track_point.h"

namespace glint::cuda {

inline constexpr int kLongRun = 8;   // pixels
inline constexpr int kShortRun = 2;  // for patches up to kSmallPatch: a warp has a lane for each
inline constexpr int kSmallPatch = 8;
inline constexpr int kMargin = 4;  // pixels

// Patches up to a size, for which a lane has kRuns long runs.
template <int kRuns>
struct Layout {
  static constexpr int kPatch = kRuns == 1 ? 16 : kRuns == 2 ? 21 : kMaxTrackPatch;
  static_assert((kPatch + kLongRun - 1) / kLongRun * kPatch <= kRuns * kWarp, "there is a lane for each run");
  // One row of samples more on each side, for the gradients, and one of pixels for the samples.
  static constexpr int kFromRows = kPatch + 3;
  static constexpr int kToRows = kPatch + 1 + 2 * kMargin;
  // A window may begin up to kWindowUnit - 1 pixels before what is needed.
  static constexpr int kPitch = (kToRows + 2 * kWindowUnit - 2) / kWindowUnit * kWindowUnit;
  static constexpr int kPitchWords = kPitch / kWordBytes;
};

// kLevels: of the template, 1 or 2; with 2 the next level is requested while one is read.
template <int kRuns, int kLevels>
struct Windows {
  using L = Layout<kRuns>;
  alignas(kWindowUnit) uint32_t from[kLevels][L::kFromRows * L::kPitchWords];
  alignas(kWindowUnit) uint32_t to[L::kToRows * L::kPitchWords];
};

// What TrackPoint() asks for.
template <int kRuns, bool kIntensity, int kLevels>
class Patches {
  using L = Layout<kRuns>;
  static constexpr int kPairs = kLongRun / 2;

 public:
  __device__ __forceinline__ Patches(const TrackParams& params, float x, float y, Windows<kRuns, kLevels>* windows)
      : params_(params), windows_(windows), x_(x), y_(y) {}

  __device__ __forceinline__ int levels() const { return params_.levels; }
  __device__ __forceinline__ int width(int level) const { return params_.frame[0].level[level].width; }
  __device__ __forceinline__ int height(int level) const { return params_.frame[0].level[level].height; }
  __device__ __forceinline__ IntensityModel intensity() const {
    return kIntensity ? params_.options.intensity : IntensityModel::kSame;
  }
  __device__ __forceinline__ void Reverse(float x, float y) {
    reversed_ = 1;
    requested_ = kNoLevel;
    x_ = x;
    y_ = y;
  }

  __device__ __forceinline__ TemplateSums Template(int level, GridPoint centre, int size, GridPoint first) {
    level_ = level;
    size_ = size;
    // A run is read in whole words.
    most_ = static_cast<unsigned>(L::kPitch - (size + kLongRun - 1) / kLongRun * kLongRun - kWordBytes);
    __syncwarp();  // what is overwritten now has been read
    if (requested_ != level) RequestTemplate(level, centre);
    const PatchPosition start = PatchPositionAt(first, size);
    RequestWindow(start.x, start.y);
    const bool goes_on = kLevels > 1 && level > 0;
    if (goes_on) {
      const GridPoint next = {ToTrackGrid(ToTrackLevel(x_, level - 1)), ToTrackGrid(ToTrackLevel(y_, level - 1))};
      RequestTemplate(level - 1, next);
      WaitForGroups<2>();
    } else {
      WaitForGroups<1>();
    }
    const PatchPosition at = PatchPositionAt(centre, size);
    const TemplateSums sums = size <= kSmallPatch ? MakeTemplate<kShortRun, 1>(at) : MakeTemplate<kLongRun, kRuns>(at);
    if (goes_on) {
      WaitForGroups<1>();
    } else {
      WaitForGroups<0>();
    }
    return sums;
  }

  __device__ __forceinline__ CellSums Cell(int x, int y) {
    MoveWindow(x, y);
    return size_ <= kSmallPatch ? SumCell<kShortRun, 1>(x, y) : SumCell<kLongRun, kRuns>(x, y);
  }

  __device__ __forceinline__ ResidualSums Residual(GridPoint centre) {
    const PatchPosition at = PatchPositionAt(centre, size_);
    MoveWindow(at.x, at.y);
    return size_ <= kSmallPatch ? SumResidual<kShortRun, 1>(at) : SumResidual<kLongRun, kRuns>(at);
  }

 private:
  static constexpr int kNoLevel = -1;

  // Begins to copy the template's window of a level.
  __device__ __forceinline__ void RequestTemplate(int level, GridPoint centre) {
    const bool fine = level < params_.options.fine_levels;
    const int size = fine ? params_.options.patch_size : params_.options.coarse_patch_size;
    const PatchPosition at = PatchPositionAt(centre, size);
    CopyWindow<L::kPitch>(params_.frame[reversed_].level[level], (at.x - 1) & -kWindowUnit, at.y - 1, size + 3,
                          windows_->from[level % kLevels]);
    CloseCopies();
    requested_ = level;
  }
  // Begins to copy the other image's window for patches from (x, y) on.
  __device__ __forceinline__ void RequestWindow(int x, int y) {
    left_ = (x - kMargin) & -kWindowUnit;
    top_ = y - kMargin;
    CopyWindow<L::kPitch>(params_.frame[1 - reversed_].level[level_], left_, top_, size_ + 1 + 2 * kMargin,
                          windows_->to);
    CloseCopies();
  }
  // The same where the patch has left the window.
  __device__ __forceinline__ void MoveWindow(int x, int y) {
    if (static_cast<unsigned>(x - left_) <= most_ && static_cast<unsigned>(y - top_) <= 2 * kMargin) return;
    __syncwarp();
    RequestWindow(x, y);
    WaitForGroups<0>();
  }

  template <int kRun, int kUsed>
  __device__ __forceinline__ TemplateSums MakeTemplate(const PatchPosition& at) {
    const TrackLevel& image = params_.frame[reversed_].level[level_];
    const int x0 = Clamp(-at.x, 0, size_);
    const int y0 = Clamp(-at.y, 0, size_);
    const int x1 = Clamp(image.width - at.x, 0, size_);
    const int y1 = Clamp(image.height - at.y, 0, size_);
    const Weights weights = WeightsOf(at);
    const unsigned reciprocal = params_.run_reciprocals[level_ < params_.options.fine_levels ? 0 : 1];
    LaneTemplateSums sums = {};
#pragma unroll
    for (int k = 0; k < kUsed; ++k) {
      const int run = threadIdx.x + k * kWarp;
      int column = static_cast<int>(run * reciprocal >> 16);
      int line = run - column * size_;
      column *= kRun;
      // Bit i: pixel i counts.
      unsigned counts = 0;
      if (column < x1 && line >= y0 && line < y1) {
        counts = ((1u << Min(x1 - column, kRun)) - 1) & ~0u << Max(x0 - column, 0);
      }
      if (column >= size_) column = line = 0;  // there is no such run
      column_[k] = column;
      line_[k] = line;

      const int offset = at.x - 1 - ((at.x - 1) & -kWindowUnit) + column;
      const uint32_t* const words =
          windows_->from[level_ % kLevels] + line * L::kPitchWords + (static_cast<unsigned>(offset) / kWordBytes);
      const unsigned shift = 8 * (static_cast<unsigned>(offset) % kWordBytes);
      RowPixels<kRun + 2> rows[2];
      uint32_t above[kRun / 2 + 1], below[kRun / 2 + 1];
      int middle[kRun + 2];
      rows[0].Load(words, shift);
#pragma unroll
      for (int j = 0; j < 3; ++j) {
        rows[(j + 1) % 2].Load(words + (j + 1) * L::kPitchWords, shift);
        const auto sample = [&](int i) { return SampleOf(i, weights, rows[j % 2], rows[(j + 1) % 2], 0); };
#pragma unroll
        for (int p = 0; p <= kRun / 2; ++p) {
          const int low = sample(2 * p);
          const int high = sample(2 * p + 1);
          if (j == 0) above[p] = PairOf(low, high);
          if (j == 2) below[p] = PairOf(low, high);
          if (j == 1) {
            middle[2 * p] = low;
            middle[2 * p + 1] = high;
          }
        }
      }
      int x[kRun], y[kRun];
      Gradients<kRun>(above, middle, below, x, y);
      if (__any_sync(kFullWarp, counts != (1u << kRun) - 1)) {
#pragma unroll
        for (int i = 0; i < kRun; ++i) {
          if ((counts >> i & 1) == 0) x[i] = y[i] = 0;
        }
      }
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        AddTemplatePixel<kIntensity>(x[i], y[i], middle[i + 1], counts >> i & 1, &sums);
      }
      counts_[k] = counts;
#pragma unroll
      for (int p = 0; p < kRun / 2; ++p) {
        x_gradients_[k][p] = PairOf(x[2 * p], x[2 * p + 1]);
        y_gradients_[k][p] = PairOf(y[2 * p], y[2 * p + 1]);
        samples_[k][p] = PairOf(middle[2 * p + 1], middle[2 * p + 2]);
      }
    }
    return SumOverWarp<kIntensity, L::kPatch>((x1 - x0) * (y1 - y0), sums);
  }

  // Pixels of this lane's run k, in two rows of the other image's patch from (x, y) on.
  template <int kRun>
  __device__ __forceinline__ void LoadRun(int k, int x, int y, RowPixels<kRun> (&rows)[2]) const {
    const auto offset = static_cast<unsigned>(x - left_ + column_[k]);
    const uint32_t* const words = windows_->to + (y - top_ + line_[k]) * L::kPitchWords + offset / kWordBytes;
    const unsigned shift = 8 * (offset % kWordBytes);
    rows[0].Load(words, shift);
    rows[1].Load(words + L::kPitchWords, shift);
  }
  // 0xffff or 0 for each of the pixels of pair p.
  __device__ __forceinline__ uint32_t CountsOf(int k, int p) const {
    const unsigned bits = counts_[k] >> (2 * p);
    return (bits & 1) | (bits & 2) << 15;
  }
  __device__ __forceinline__ uint32_t BasisOf(int k, int p) const {
    const uint32_t pair = samples_[k][p] + 0x00040004u;
    return (pair >> 3 & 0x1fff1fffu) & CountsOf(k, p) * 0xffffu;
  }

  template <int kRun, int kUsed>
  __device__ __forceinline__ CellSums SumCell(int x, int y) const {
    CellSums sums = {};
#pragma unroll
    for (int k = 0; k < kUsed; ++k) {
      RowPixels<kRun> rows[2];
      LoadRun<kRun>(k, x, y, rows);
#pragma unroll
      for (int p = 0; p < kRun / 2; ++p) {
        const uint32_t counts = kIntensity ? CountsOf(k, p) : 0;
        const uint32_t basis = kIntensity ? BasisOf(k, p) : 0;
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          CornerSums& corner = sums.corner[c];
          const auto add = [&](uint32_t factors, int* sum) { *sum = rows[c / 2].Dot(2 * p + c % 2, factors, *sum); };
          add(x_gradients_[k][p], &corner.x);
          add(y_gradients_[k][p], &corner.y);
          if (kIntensity) {
            add(counts, &corner.one);
            add(basis, &corner.b);
          }
        }
      }
    }
#pragma unroll
    for (CornerSums& corner : sums.corner) {
      corner.x = WarpSum(corner.x);
      corner.y = WarpSum(corner.y);
      if (kIntensity) {
        corner.one = WarpSum(corner.one);
        corner.b = WarpSum(corner.b);
      }
    }
    return sums;
  }

  template <int kRun, int kUsed>
  __device__ __forceinline__ ResidualSums SumResidual(const PatchPosition& at) const {
    const Weights weights = WeightsOf(at);
    int square = 0, one = 0, b = 0;
#pragma unroll
    for (int k = 0; k < kUsed; ++k) {
      RowPixels<kRun> rows[2];
      LoadRun<kRun>(k, at.x, at.y, rows);
#pragma unroll
      for (int i = 0; i < kRun; ++i) {
        const uint32_t pair = samples_[k][i / 2];
        const int sample = i % 2 == 0 ? LowHalf(pair) : static_cast<int>(pair >> 16);
        const int difference = SampleOf(i, weights, rows[0], rows[1], sample);
        const int residual = counts_[k] >> i & 1 ? ResidualOf(difference) : 0;
        square += residual * residual;
        if (kIntensity) {
          one += residual;
          b += residual * GainBasis(sample);
        }
      }
    }
    ResidualSums sums = {};
    sums.square = WideWarpSum(square);
    if (kIntensity) {
      sums.one = WarpSum(one);
      sums.b = WideWarpSum(b);
    }
    return sums;
  }

  const TrackParams& params_;
  Windows<kRuns, kLevels>* const windows_;
  float x_, y_;  // where the point is in the template's image, level 0
  int reversed_ = 0;
  int level_ = 0;
  int size_ = 1;
  int requested_ = kNoLevel;  // the level of the template that was requested last
  int left_ = 0, top_ = 0;    // of the other image's window
  unsigned most_ = 0;         // how far right of `left_` a patch in it may begin
  // Of each run: the first pixel in the patch; pixels in pairs.
  int column_[kRuns], line_[kRuns];
  unsigned counts_[kRuns];
  uint32_t samples_[kRuns][kPairs];
  uint32_t x_gradients_[kRuns][kPairs], y_gradients_[kRuns][kPairs];  // 0 where nothing counts
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_TRACK_PATCHES_CUH_
