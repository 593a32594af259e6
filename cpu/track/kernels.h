// The vector work of tracking as a table of functions, one table per SIMD target. Internal to Glint: Tracker strings
// them together, tests run each target. No function allocates. All are pure functions: thread-safe.
//
// A patch is cut into columns of 8 pixels. A block is 8 pixels of one row, 16 bytes, and the blocks of a column follow
// each other: a vector holds the blocks of as many rows as it has room for, whatever the width of the patch.
#ifndef GLINT_CPU_TRACK_KERNELS_H_
#define GLINT_CPU_TRACK_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "features/track_limits.h"
#include "features/track_math.h"

namespace glint::cpu {

inline constexpr int kTrackBlock = 8;
inline constexpr int kTrackRowStep = 4;  // the most blocks of a vector: columns have a multiple of it
constexpr int TrackColumns(int size) { return (size + kTrackBlock - 1) / kTrackBlock; }
constexpr int PaddedTrackRows(int size) { return (size + kTrackRowStep - 1) / kTrackRowStep * kTrackRowStep; }
// The first element of a block.
constexpr int TrackBlockAt(int size, int column, int row) {
  return (column * PaddedTrackRows(size) + row) * kTrackBlock;
}
inline constexpr int kTrackPatchElements = TrackColumns(kMaxTrackPatch) * PaddedTrackRows(kMaxTrackPatch) * kTrackBlock;

// Rows of pixels from which a window of `size` x `size` samples is read: rows 0..size, and of each row
// TrackReadBytes(size) bytes.
struct TrackWindow {
  const uint8_t* pixels;
  ptrdiff_t stride;
  int weight_x;  // 0..kTrackGrid - 1
  int weight_y;  // likewise
};
constexpr int TrackReadBytes(int size) { return (TrackColumns(size) + 1) * kTrackBlock; }

// 1 for the pixels of the patch that count, 0 for others and for what pads columns and rows.
struct TrackMask {
  int n = 0;  // pixels that count
  alignas(64) int16_t counts[kTrackPatchElements] = {};
};
// The pixels x0 <= x < x1, y0 <= y < y1 of the patch count.
void FillTrackMask(int size, int x0, int y0, int x1, int y1, TrackMask* mask);

// A template. Gradients and basis are 0 where the mask is.
struct TrackPatch {
  static constexpr int kPitch = 40;  // of the window, elements
  alignas(64) int16_t sample[kTrackPatchElements] = {};
  alignas(64) int16_t gradient_x[kTrackPatchElements] = {};
  alignas(64) int16_t gradient_y[kTrackPatchElements] = {};
  alignas(64) int16_t basis[kTrackPatchElements] = {};
  // Scratch: the samples row by row, with one more on each side.
  alignas(64) int16_t window[(kMaxTrackPatch + 2 + 2 * kTrackRowStep) * kPitch] = {};
};

struct TrackKernels {
  // `window`: one pixel above and to the left of the patch, for a window of size + 2. The sums that the model needs.
  TemplateSums (*make_template[4])(const TrackWindow& window, int size, const TrackMask& mask, TrackPatch* patch);
  // The weights of the window are not used.
  CellSums (*cell[4])(const TrackWindow& window, int size, const TrackMask& mask, const TrackPatch& patch);
  // Those of all models.
  ResidualSums (*residual)(const TrackWindow& window, int size, const TrackMask& mask, const TrackPatch& patch);
  // One row of the next level (HalveForTracking): `width` / 2 pixels of kPyramidTaps rows, which have `width` >= 2
  // pixels. `scratch`: HalveScratchElements(width).
  void (*halve_row)(const uint8_t* const* rows, int width, int16_t* scratch, uint8_t* out);
};
inline size_t HalveScratchElements(int width) { return static_cast<size_t>(width) + 128; }
// Index of the first two.
inline size_t IndexOf(IntensityModel model) { return static_cast<size_t>(model); }

TrackKernels TrackKernelsFor(int64_t target);

}  // namespace glint::cpu

#endif  // GLINT_CPU_TRACK_KERNELS_H_
