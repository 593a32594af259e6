// The arithmetic of tracking that all backends share: features/tracker.h states the rules. Pixels, gradients and sums
// are integers; the linear system (track_system.h) and the search (track_search.h) are floats. Pure functions:
// thread-safe.
//
// Scales: samples are grey levels * 64, gradients grey levels per pixel * 16, the basis of the gain grey levels * 8.
// With a patch of 32 rows, 64 products of a sample's difference and a gradient (or a value of the basis) stay below
// 2^31, and so do 4 * 32 * 32 products of a pixel and a gradient: no gradient and no value of the basis is above
// kMaxTrackFactor.
#ifndef GLINT_FEATURES_TRACK_MATH_H_
#define GLINT_FEATURES_TRACK_MATH_H_

#include <cstdint>

#include "features/math.h"
#include "features/tracker.h"

namespace glint {

inline constexpr int kTrackGridBits = 6;
inline constexpr int kTrackGrid = 1 << kTrackGridBits;  // positions are sampled in steps of 1 / kTrackGrid pixel
inline constexpr int kMaxTrackFactor = 2040;
static_assert(int64_t{4} * kMaxTrackPatch * kMaxTrackPatch * 255 * kMaxTrackFactor < int64_t{1} << 31,
              "sums over the corners of a cell fit");

// ---- pixels

// One pixel of the next level: sums of 6 pixels of 6 lines, weighed by PyramidWeight() both ways.
inline constexpr int kPyramidTaps = 6;
inline constexpr int kPyramidReach = 2;  // the first one lies so far before pixel 2 * x of the finer level
GLINT_HD constexpr int PyramidWeight(int i) { return i == 0 || i == 5 ? 1 : i == 1 || i == 4 ? 5 : 10; }
GLINT_HD inline int PyramidPixel(int sum) { return (sum + 512) >> 10; }

// A position in steps of 1 / kTrackGrid pixel.
struct GridPoint {
  int x = 0;
  int y = 0;
  friend GLINT_HD bool operator==(GridPoint a, GridPoint b) { return a.x == b.x && a.y == b.y; }
};

// A length in pixels as a number of steps of the grid, and the nearest whole one, halves to the even one.
// |v| <= 2 * kMaxTrackCoordinate: 2^22 steps, the most that is rounded exactly.
GLINT_HD inline float TrackGridSteps(float v) { return v * kTrackGrid; }
GLINT_HD inline float WholeTrackSteps(float steps) {
  constexpr float kMagic = 12582912.0f;  // as in RoundHalfEven()
  return (steps + kMagic) - kMagic;
}
GLINT_HD inline int ToTrackGrid(float v) { return static_cast<int>(WholeTrackSteps(TrackGridSteps(v))); }

// Pixels of a level for one of level 0: 2^-level.
GLINT_HD inline float TrackLevelScale(int level) {
#ifdef __CUDA_ARCH__
  return __int_as_float((127 - level) << 23);  // there a division is a loop
#else
  return 1.0f / static_cast<float>(1 << level);
#endif
}

// Rule 2; exact on level 0.
GLINT_HD inline float ToTrackLevel(float v, int level) {
  return level == 0 ? v : (v + 0.5f) * TrackLevelScale(level) - 0.5f;
}

// The top-left pixel of a patch around `centre` and the weights of the next pixels, 0..kTrackGrid - 1.
struct PatchPosition {
  int x;
  int y;
  int weight_x;
  int weight_y;
};
GLINT_HD inline PatchPosition PatchPositionAt(GridPoint centre, int size) {
  // Half of size - 1 pixels, which need not be whole.
  const int left = centre.x - (size - 1) * (kTrackGrid / 2);
  const int top = centre.y - (size - 1) * (kTrackGrid / 2);
  // Shifts of negative numbers round down on every compiler that Glint is built with.
  return {left >> kTrackGridBits, top >> kTrackGridBits, left & (kTrackGrid - 1), top & (kTrackGrid - 1)};
}

// Bilinear interpolation: of two pixels side by side, then of two such rows.
GLINT_HD inline int SampleAcross(int weight, int pixel, int next) {
  return (kTrackGrid - weight) * pixel + weight * next;
}
GLINT_HD inline int SampleDown(int weight, int row, int next) {
  return row + (((next - row) * weight + kTrackGrid / 2) >> kTrackGridBits);
}
// Scharr's: `middle` is the difference of the samples on both sides, `beside` the sum of those of the lines before and
// after. Its two parts are rounded each on its own.
inline constexpr int kScharrMiddle = 10 << 8;
inline constexpr int kScharrBeside = 3 << 8;
GLINT_HD inline int TrackGradient(int middle, int beside) {
  return ((middle * kScharrMiddle + (1 << 14)) >> 15) + ((beside * kScharrBeside + (1 << 14)) >> 15);
}
// What the gain multiplies.
GLINT_HD inline int GainBasis(int sample) { return (sample + 4) >> 3; }
// A difference of samples as the residual counts it: grey levels * 16.
GLINT_HD inline int ResidualOf(int difference) { return (difference + 2) >> 2; }

// ---- sums over a patch

GLINT_HD constexpr bool EstimatesOffset(IntensityModel m) {
  return m == IntensityModel::kOffset || m == IntensityModel::kGainAndOffset;
}
GLINT_HD constexpr bool EstimatesGain(IntensityModel m) {
  return m == IntensityModel::kGain || m == IntensityModel::kGainAndOffset;
}

// Of the template: products of the gradients x, y, the samples t and the basis b of the gain.
struct TemplateSums {
  int n;  // pixels that count
  int64_t xx, xy, yy;
  int64_t xt, yt;
  int64_t x, y, t;         // only for models with an offset
  int64_t xb, yb, bb, bt;  // only with a gain
  int64_t b;               // only with both
};
// Of the image's pixels under the template's: times the gradients, alone, times the basis.
struct CornerSums {
  int x, y;
  int one;  // only with an offset
  int b;    // only with a gain
};
// All that an image says about a patch whose position lies between four whole ones: corner i is the patch (i & 1)
// pixels right of and (i >> 1) below the first one.
struct CellSums {
  CornerSums corner[4];
};
// Of ResidualOf(difference).
struct ResidualSums {
  int64_t square;
  int64_t one;  // only with an offset
  int64_t b;    // only with a gain
};

}  // namespace glint

#endif  // GLINT_FEATURES_TRACK_MATH_H_
