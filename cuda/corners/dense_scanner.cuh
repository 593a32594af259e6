// A warp that finds the Harris measure of a strip of a tile, its maxima within the suppression's radius, and the
// greatest measure, from the tile's gradients in shared memory.
//
// It walks down the strip, four neighbouring columns per lane: products of gradients enter and leave the columns' sums,
// in registers, as their row enters and leaves the window; neighbouring lanes' sums, by shuffles, make the window's.
// Suppression by one pixel compares with neighbouring rows in registers, two rows at a time, so that one hides the
// other's latency; by another radius it keeps 16 rows of measures in shared memory.
//
// The measure of reflected gradients outside the image is that of the pixel mirrored. For suppression by one it need
// not be told apart: the pixel mirrored is a neighbour of any that has its reflection for one. (In an image of one row
// or column, where it is that pixel itself, no measure is positive.)
#ifndef GLINT_CUDA_CORNERS_DENSE_SCANNER_CUH_
#define GLINT_CUDA_CORNERS_DENSE_SCANNER_CUH_

#include "cuda/corners/dense_finder.cuh"

namespace glint::cuda {

// Suppression by one pixel, two rows at a time.
struct Suppress3x3 {
  // The greatest of the measures left and right of each, and with it.
  struct Row {
    float side[kLaneColumns], all[kLaneColumns];

    __device__ __forceinline__ explicit Row(const float (&response)[kLaneColumns]) {
      const float left = __shfl_up_sync(kFullWarp, response[kLaneColumns - 1], 1);
      const float right = __shfl_down_sync(kFullWarp, response[0], 1);
#pragma unroll
      for (int k = 0; k < kLaneColumns; ++k) {
        side[k] = fmaxf(k == 0 ? left : response[k - 1], k + 1 == kLaneColumns ? right : response[k + 1]);
        all[k] = fmaxf(side[k], response[k]);
      }
    }
  };

  // Of the row before; best: the greatest of each one's neighbours but for those below, and of what is too little.
  float own[kLaneColumns], all[kLaneColumns], best[kLaneColumns];

  __device__ __forceinline__ Suppress3x3() {
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) own[k] = all[k] = best[k] = kOutside;
  }

  // Lists the maxima of the row before and of the next row, `y`, of which `below` is the one after.
  __device__ __forceinline__ void Suppress(int y, const float (&next)[kLaneColumns], const Row& row,
                                           const float (&below)[kLaneColumns], const Row& row_below,
                                           Finder<true>& finder) {
    // Lanes without measures have none over this.
    const float least = finder.has_measures ? finder.least : INFINITY;
    bool keep_before[kLaneColumns], keep[kLaneColumns];
    bool any = false;
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      keep_before[k] = own[k] > fmaxf(best[k], row.all[k]);
      best[k] = fmaxf(fmaxf(row.side[k], all[k]), least);
      keep[k] = next[k] > fmaxf(best[k], row_below.all[k]);
      any = any || keep_before[k] || keep[k];
    }
    if (__any_sync(kFullWarp, any) != 0) {
      // Of two by two pixels at most one is a maximum.
#pragma unroll
      for (int k = 0; k < kLaneColumns; k += 2) {
        const bool first = keep_before[k] || keep_before[k + 1];
        const bool second = keep[k] || keep[k + 1];
        if (__any_sync(kFullWarp, first || second) == 0) continue;
        const bool left = keep_before[k] || keep[k];
        const float of_first = left ? own[k] : own[k + 1];
        const float of_second = left ? next[k] : next[k + 1];
        finder.Append(first || second, finder.x + (left ? k : k + 1), first ? y - 1 : y, first ? of_first : of_second);
      }
    }
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      own[k] = below[k];
      all[k] = row_below.all[k];
      best[k] = fmaxf(fmaxf(row_below.side[k], row.all[k]), least);
    }
  }
};

// Row y's maxima within the suppression's radius, when the rows around it are in shared memory.
__device__ __forceinline__ void Suppress(const float (*response)[kStripColumns], int y, Finder<false>& finder) {
  const int radius = finder.params.radius;
#pragma unroll 1
  for (int k = 0; k < kLaneColumns; ++k) {
    const int at = kLaneColumns * finder.lane + k;
    const int px = finder.x + k;
    const float own = response[y & (kHeldRows - 1)][at];
    bool keep = px >= finder.x_low && px < finder.x_high && own > finder.least;
    if (keep) {
      float most = kOutside;
      for (int v = -radius; v <= radius; ++v) {
        const float* row = &response[(y + v) & (kHeldRows - 1)][at];
        for (int u = -radius; u <= radius; ++u) {
          if (u != 0 || v != 0) most = fmaxf(most, row[u]);
        }
      }
      keep = own > most;
    }
    finder.Append(keep, px, y, own);
  }
}

// Measures rows y0 - 1 to y1 at least, and lists the maxima in the region that the finder owns, which are within y0 to
// y1 - 1. `gradients`: the lane's, from the first row of the first window.
template <int kRadius>
__device__ __forceinline__ void ScanSuppressing3x3(const Gradients* gradients, int y0, int y1, Finder<true>& finder) {
  const SelectionParams& params = finder.params;
  ColumnSums<kRadius> columns;
  // The window fills, all but its last row.
#pragma unroll 2
  for (int i = 0; i < 2 * kRadius; ++i) columns.template Add<1>(gradients[i * kWarp]);
  const auto step = [&](float(&response)[kLaneColumns]) {
    columns.template Add<1>(gradients[2 * kRadius * kWarp]);
    columns.Measure(params.harris_k, params.harris_scale4, response);
    columns.template Add<-1>(*gradients);
    gradients += kWarp;
  };
  Suppress3x3 suppression;
#pragma unroll 1
  for (int y = y0 - 1; y <= y1; y += 2) {
    float response[kLaneColumns], below[kLaneColumns];
    step(response);
    step(below);
    const Suppress3x3::Row row(response), row_below(below);
    const float of_row = fmaxf(row.all[1], response[3]);
    finder.greatest = fmaxf(fmaxf(finder.greatest, of_row), fmaxf(row_below.all[1], below[3]));
    if (((y - y0) & 2) != 0) finder.RaiseLeast();  // every 4 rows
    finder.MakeRoom(kStripColumns / 2);
    suppression.Suppress(y, response, row, below, row_below, finder);
  }
}

// The same for any radius; `held`: room for kHeldRows rows.
template <int kRadius>
__device__ __forceinline__ void ScanSuppressingByRadius(const Gradients* gradients, int y0, int y1,
                                                        float (*held)[kStripColumns], Finder<false>& finder) {
  const SelectionParams& params = finder.params;
  ColumnSums<kRadius> columns;
#pragma unroll 2
  for (int i = 0; i < 2 * kRadius; ++i) columns.template Add<1>(gradients[i * kWarp]);
  bool exists[kLaneColumns];
#pragma unroll
  for (int k = 0; k < kLaneColumns; ++k) {
    const int at = kLaneColumns * finder.lane + k;
    const int px = finder.x + k;
    exists[k] = at > kRadius && at < kStripColumns - 1 - kRadius && px >= 0 && px < finder.level.width;
  }
#pragma unroll 1
  for (int y = y0 - params.radius; y < y1 + params.radius; ++y) {
    float response[kLaneColumns];
    columns.template Add<1>(gradients[2 * kRadius * kWarp]);
    columns.Measure(params.harris_k, params.harris_scale4, response);
    columns.template Add<-1>(*gradients);
    gradients += kWarp;
    const bool row_exists = y >= 0 && y < finder.level.height;
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      if (!exists[k] || !row_exists) response[k] = kOutside;
      finder.greatest = fmaxf(finder.greatest, response[k]);
    }
    if ((y & 3) == 0) finder.RaiseLeast();
    finder.MakeRoom(kStripColumns);
    auto* row = reinterpret_cast<float4*>(held[y & (kHeldRows - 1)]);
    row[finder.lane] = make_float4(response[0], response[1], response[2], response[3]);
    __syncwarp();
    const int centre = y - params.radius;  // row of which all neighbours are known now
    if (centre >= finder.y_low && centre < finder.y_high) Suppress(held, centre, finder);
    __syncwarp();
  }
}

}  // namespace glint::cuda

#endif  // GLINT_CUDA_CORNERS_DENSE_SCANNER_CUH_
