// A warp that finds the Harris measure of a strip of the image, its maxima within the suppression's radius, and the
// greatest measure.
//
// It walks down a strip of 128 columns, four neighbouring ones per lane: the last three rows' differences and sums
// give the gradients of the row before; products enter and leave the columns' sums, in registers, as their row enters
// and leaves the window, whose gradients wait in shared memory; neighbouring lanes' sums, by shuffles, make the
// window's. Suppression by one pixel compares with the two rows before in registers; by another radius it keeps 16 rows
// of measures in shared memory. Outside the image the products of gradients are reflected: the gradients of a reflected
// image are those of the pixel that it mirrors but for their sign, which is put right.
//
// The loop over rows is short on purpose, and the image's border adds little to it: warps wait for instructions if it
// does not fit the cache next to their scheduler. So where reflections are is worked out before the loop: for columns,
// in which of two words a lane's pixels are; for rows, where they begin, in a table.
//
// Shared memory for a warp: 1 KiB for each row of the window; what was found, 2 KiB; measures, 8 KiB; the table.
#ifndef GLINT_CUDA_DENSE_WALKER_CUH_
#define GLINT_CUDA_DENSE_WALKER_CUH_

#include "cuda/dense_strip.cuh"
#include "cuda/dense_window.cuh"
#include "cuda/map_device.cuh"

namespace glint::cuda {

// A warp on its way down a strip.
template <int kRadius, bool kByOne>
struct Walker {
  static constexpr int kSide = 2 * kRadius + 1;

  const Frame& frame;
  const MapFrame& map;
  const Level& level;
  Strip<kRadius, kByOne>& strip;
  MapList& list;
  int lane;
  int x;  // of the lane's leftmost column
  LanePixels pixels;
  bool exists[kLaneColumns];  // the column's measure
  int found = 0;
  uint32_t known;  // OrderedKey() of the greatest measure that the warp knows of
  uint32_t seen;   // of what all have found, at the last look
  float least;     // a measure must be greater

  __device__ __forceinline__ Walker(const Frame& f, const MapFrame& m, Strip<kRadius, kByOne>& s, MapList& to,
                                    int strip_x)
      : frame(f),
        map(m),
        level(f.level[0]),
        strip(s),
        list(to),
        lane(threadIdx.x % kWarp),
        x(strip_x + kLaneColumns * lane),
        pixels(level, x, strip_x >= 0 && strip_x + kStripColumns <= level.width) {
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      const int at = kLaneColumns * lane + k;
      exists[k] = at > kRadius && at < kStripColumns - 1 - kRadius && x + k >= 0 && x + k < level.width;
    }
  }

  __device__ __forceinline__ void Flush() {
    MoveFound(strip.found, found, OrderedKey(__float_as_uint(least)), &list.count[0], level.shortlist);
    found = 0;
  }

  // What is not over the threshold of the greatest measure so far will not be over that of the greatest. All lanes must
  // call, with the greatest that each has seen.
  __device__ __forceinline__ void RaiseLeast(float greatest) {
    if (!map.is_fraction) return;
    const uint32_t own = WarpMax(OrderedKey(__float_as_uint(greatest)));
    known = max(known, seen);
    if (own > known && lane == 0) atomicMax(&list.greatest, own);
    known = max(known, own);
    least = fmaxf(map.response_threshold * __uint_as_float(FromOrderedKey(known)), 0.0f);
    seen = *static_cast<volatile const uint32_t*>(&list.greatest);  // on its way until the next call
  }

  __device__ __forceinline__ bool IsMasked(int px, int y) const {
    return level.mask != nullptr && level.mask[static_cast<size_t>(y) * level.pitch + px] == 0;
  }

  // Appends maxima of row y, one per lane at most. All lanes must call.
  __device__ __forceinline__ void Append(bool keep, int px, int y, float response) {
    if (keep && IsMasked(px, y)) keep = false;
    const unsigned lanes = __ballot_sync(kFullWarp, keep);
    if (keep) {
      strip.found[found + LanesBelow(lanes)] = {PackPosition(0, px, y), OrderedKey(__float_as_uint(response))};
    }
    found += __popc(lanes);
  }

  // Row y's maxima, when the rows around it are in shared memory.
  __device__ __forceinline__ void Suppress(int y, int x_low, int x_high) {
    const int radius = map.radius;
#pragma unroll 1
    for (int k = 0; k < kLaneColumns; ++k) {
      const int at = kLaneColumns * lane + k;
      const float own = strip.response[y & (kHeldRows - 1)][at];
      bool keep = x + k >= x_low && x + k < x_high && own > least;
      if (keep) {
        float most = kOutside;
        for (int v = -radius; v <= radius; ++v) {
          const float* row = &strip.response[(y + v) & (kHeldRows - 1)][at];
          for (int u = -radius; u <= radius; ++u) {
            if (u != 0 || v != 0) most = fmaxf(most, row[u]);
          }
        }
        keep = own > most;
      }
      Append(keep, x + k, y, own);
    }
  }

  // The same by one pixel, as rows come: the row before, of which the upper neighbours are known.
  struct Row {
    float own[kLaneColumns];
    float all[kLaneColumns];   // the greatest of each measure and those left and right of it
    float best[kLaneColumns];  // the greatest of the neighbours above, left and right, and of what is too little
  };
  __device__ __forceinline__ void SuppressByOne(int y, int x_low, int x_high, const float (&response)[kLaneColumns],
                                                bool answers, Row* before) {
    const float left = __shfl_up_sync(kFullWarp, response[kLaneColumns - 1], 1);
    const float right = __shfl_down_sync(kFullWarp, response[0], 1);
    float side[kLaneColumns], all[kLaneColumns];
    bool keep[kLaneColumns];
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      side[k] = fmaxf(k == 0 ? left : response[k - 1], k + 1 == kLaneColumns ? right : response[k + 1]);
      all[k] = fmaxf(side[k], response[k]);
      keep[k] = before->own[k] > fmaxf(before->best[k], all[k]);
    }
    if (answers && __any_sync(kFullWarp, keep[0] || keep[1] || keep[2] || keep[3]) != 0) {
      // Neighbours are never both maxima.
#pragma unroll
      for (int k = 0; k < kLaneColumns; k += 2) {
        const int px = keep[k] ? x + k : x + k + 1;
        Append((keep[k] || keep[k + 1]) && px >= x_low && px < x_high, px, y,
               keep[k] ? before->own[k] : before->own[k + 1]);
      }
    }
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) {
      before->best[k] = fmaxf(fmaxf(side[k], before->all[k]), least);
      before->own[k] = response[k];
      before->all[k] = all[k];
    }
  }

  // Answers for columns x0..x1 - 1 and rows y0..y1 - 1 of the image.
  __device__ __forceinline__ void Walk(int x0, int x1, int y0, int y1) {
    const int radius = kByOne ? 1 : map.radius;
    const int x_low = Max(x0, frame.edge);
    const int x_high = Min(x1, level.width - frame.edge);
    const int y_low = Max(y0, frame.edge);
    const int y_high = Min(y1, level.height - frame.edge);
    known = seen = 0x80000000u;  // of 0
    least = map.is_fraction ? 0.0f : fmaxf(map.response_threshold, 0.0f);
    float greatest = kOutside;
    ColumnSums<kRadius> columns;
    Row before;
#pragma unroll
    for (int k = 0; k < kLaneColumns; ++k) before.own[k] = before.all[k] = before.best[k] = kOutside;

    const int first = y0 - radius - kRadius;  // row of gradients
    const int last = y1 - 1 + radius + kRadius;
    const bool mirrors = !pixels.inside || first < 0 || last >= level.height;
    for (int i = lane; i < last - first + 5; i += kWarp) {
      const int y = Min(first - 1 + i, last + 1);
      strip.row[i] = static_cast<uint32_t>(Reflect101(y, level.height) * level.pitch) |
                     (IsMirrored(y, level.height) ? kMirroredRow : 0u);
    }
    __syncwarp();
    const uint32_t* row = strip.row;
    PixelRow above = pixels.RowOf(pixels.Load(map.harris_image, row[0]));
    PixelRow at = pixels.RowOf(pixels.Load(map.harris_image, row[1]));
    LanePixels::Loaded next = pixels.Load(map.harris_image, row[2]);
    LanePixels::Loaded after = pixels.Load(map.harris_image, row[3]);
    // The next row of gradients enters the window; in the slot it waits until it leaves.
    const auto enter = [&](int slot) {
      const PixelRow below = pixels.RowOf(next);
      next = after;
      after = pixels.Load(map.harris_image, row[4]);
      float dx[kLaneColumns], dy[kLaneColumns];
#pragma unroll
      for (int k = 0; k < kLaneColumns; ++k) {
        dx[k] = fmaf(2.0f, at.difference[k], above.difference[k]) + below.difference[k];
        dy[k] = below.sum[k] - above.sum[k];
      }
      if (mirrors) {
        const uint32_t flipped = (row[1] & kMirroredRow) != 0 ? ~pixels.mirrored : pixels.mirrored;
#pragma unroll
        for (int k = 0; k < kLaneColumns; ++k) dx[k] = (flipped >> k & 1) != 0 ? -dx[k] : dx[k];
      }
#pragma unroll
      for (int k = 0; k < kLaneColumns; ++k) columns.Add(k, dx[k], dy[k]);
      strip.dx[slot][lane] = make_float4(dx[0], dx[1], dx[2], dx[3]);
      strip.dy[slot][lane] = make_float4(dy[0], dy[1], dy[2], dy[3]);
      ++row;
      above = at;
      at = below;
    };
    // The window fills, all but its last row, in whose place are zeros to leave first.
#pragma unroll 1
    for (int slot = 0; slot < kSide - 1; ++slot) enter(slot);
    int slot = kSide - 1;
    strip.dx[slot][lane] = strip.dy[slot][lane] = make_float4(0, 0, 0, 0);
#pragma unroll 1
    for (int v = first + kSide - 1; v <= last; ++v) {
      const float4 old_dx = strip.dx[slot][lane];
      const float4 old_dy = strip.dy[slot][lane];
      columns.Subtract(0, old_dx.x, old_dy.x);
      columns.Subtract(1, old_dx.y, old_dy.y);
      columns.Subtract(2, old_dx.z, old_dy.z);
      columns.Subtract(3, old_dx.w, old_dy.w);
      enter(slot);
      slot = slot + 1 == kSide ? 0 : slot + 1;

      const int y = v - kRadius;  // row of responses
      int sum_xx[kLaneColumns], sum_yy[kLaneColumns], sum_xy[kLaneColumns];
      columns.OfWindow(columns.xx, columns.kBias, sum_xx);
      columns.OfWindow(columns.yy, columns.kBias, sum_yy);
      columns.OfWindow(columns.xy, columns.kMixedBias, sum_xy);
      float response[kLaneColumns];
#pragma unroll
      for (int k = 0; k < kLaneColumns; ++k) {
        const float measure = HarrisResponse(sum_xx[k], sum_yy[k], sum_xy[k], map.harris_k, map.harris_scale4);
        response[k] = exists[k] && y >= 0 && y < level.height ? measure : kOutside;
        greatest = fmaxf(greatest, response[k]);
      }
      if (y % kRowsBetweenLooks == 0) RaiseLeast(greatest);
      if (found > kFound - kStripColumns) Flush();
      const int centre = y - radius;  // row of which all neighbours are known now
      const bool answers = centre >= y_low && centre < y_high;
      if (kByOne) {
        SuppressByOne(centre, x_low, x_high, response, answers, &before);
        continue;
      }
      auto* held = reinterpret_cast<float4*>(strip.response[kByOne ? 0 : y & (kHeldRows - 1)]);
      held[lane] = make_float4(response[0], response[1], response[2], response[3]);
      __syncwarp();
      if (answers) Suppress(centre, x_low, x_high);
      __syncwarp();
    }
    RaiseLeast(greatest);
    RaiseLeast(greatest);
    if (found > 0) Flush();
  }
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_DENSE_WALKER_CUH_
