// The arithmetic of tracking that all backends share: features/tracker.h states the rules. Pixels, gradients and sums
// are integers; the solution of the linear system and what follows are floats in the order written here, without
// contraction. Pure functions: thread-safe.
//
// Scales: samples are grey levels * 64, gradients grey levels per pixel * 16, the basis of the gain grey levels * 8.
// With a patch of 32 rows, 64 products of a sample's difference and a gradient (or a value of the basis) stay below
// 2^31.
#ifndef GLINT_FEATURES_TRACK_MATH_H_
#define GLINT_FEATURES_TRACK_MATH_H_

#include <cmath>
#include <cstdint>

#include "features/math.h"
#include "features/tracker.h"

namespace glint {

inline constexpr int kTrackGridBits = 6;
inline constexpr int kTrackGrid = 1 << kTrackGridBits;  // positions are sampled in steps of 1 / kTrackGrid pixel

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

// |v| <= 2 * kMaxTrackCoordinate.
GLINT_HD inline int ToTrackGrid(float v) {
  // In two parts: RoundHalfEven takes up to 2^22.
  const float whole = floorf(v);
  return static_cast<int>(whole) * kTrackGrid + RoundHalfEven((v - whole) * kTrackGrid);
}

// Rule 2.
GLINT_HD inline float ToTrackLevel(float v, int level) {
  return (v + 0.5f) * (1.0f / static_cast<float>(1 << level)) - 0.5f;
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

// Of the template: products of the gradients x, y and the basis b of the gain.
struct TemplateSums {
  int n;  // pixels that count
  int64_t xx, xy, yy;
  int64_t x, y;        // only for models with an offset
  int64_t xb, yb, bb;  // only with a gain
  int64_t b;           // only with both
};
// Of the differences of samples, image less template: times the gradients, alone, times the basis.
struct StepSums {
  int64_t x, y;
  int64_t one;  // only with an offset
  int64_t b;    // only with a gain
};
// Of ResidualOf(difference).
struct ResidualSums {
  int64_t square;
  int64_t one;  // only with an offset
  int64_t b;    // only with a gain
};

// ---- the linear system

// A sum over n pixels, times n; with an offset what the mean explains is taken away, exactly.
GLINT_HD inline float Centred(IntensityModel m, int n, int64_t ab, int64_t a, int64_t b) {
  return static_cast<float>(EstimatesOffset(m) ? n * ab - a * b : n * ab);
}

// The normal matrix of a template; what the gain explains is taken away.
struct TrackSystem {
  float xx, xy, yy, inverse_determinant;
  float xb, yb, bb;      // 0 without a gain
  float x_by_b, y_by_b;  // xb / bb, yb / bb
};

// False if the patch is flat (rule 5).
// `pixels`: of the whole patch.
GLINT_HD inline bool MakeTrackSystem(IntensityModel m, int pixels, const TemplateSums& t, float min_eigenvalue,
                                     TrackSystem* s) {
  const int n = t.n;
  s->xx = Centred(m, n, t.xx, t.x, t.x);
  s->xy = Centred(m, n, t.xy, t.x, t.y);
  s->yy = Centred(m, n, t.yy, t.y, t.y);
  s->xb = s->yb = s->bb = s->x_by_b = s->y_by_b = 0;
  if (EstimatesGain(m)) {
    s->bb = Centred(m, n, t.bb, t.b, t.b);
    if (s->bb > 0) {
      s->xb = Centred(m, n, t.xb, t.x, t.b);
      s->yb = Centred(m, n, t.yb, t.y, t.b);
      s->x_by_b = s->xb / s->bb;
      s->y_by_b = s->yb / s->bb;
      s->xx -= s->x_by_b * s->xb;
      s->xy -= s->x_by_b * s->yb;
      s->yy -= s->y_by_b * s->yb;
    }
  }
  const float determinant = s->xx * s->yy - s->xy * s->xy;
  const float difference = s->xx - s->yy;
  const float smaller = 0.5f * (s->xx + s->yy - sqrtf(difference * difference + 4.0f * s->xy * s->xy));
  // Of (gradients * 16)^2, times `pixels` for the mean and n for Centred().
  const float scale = 256.0f * static_cast<float>(pixels) * static_cast<float>(n);
  if (!(determinant > 0) || !(smaller >= min_eigenvalue * scale)) return false;
  s->inverse_determinant = 1.0f / determinant;
  return true;
}

// A step, pixels of the level.
struct TrackStep {
  float x;
  float y;
};

// Steps are divided by the gain, but by no less than this.
inline constexpr float kMinStepGain = 0.25f;

// Rule 3. With T the template, g its gradients, the image at the displacement is T - gain * g * step + (gain - 1) * T
// + offset, to the first order.
GLINT_HD inline TrackStep SolveTrackStep(IntensityModel m, const TemplateSums& t, const TrackSystem& s,
                                         const StepSums& sums) {
  const int n = t.n;
  float x = Centred(m, n, sums.x, t.x, sums.one);
  float y = Centred(m, n, sums.y, t.y, sums.one);
  float b = 0;
  if (s.bb > 0) {
    b = Centred(m, n, sums.b, t.b, sums.one);
    x -= s.x_by_b * b;
    y -= s.y_by_b * b;
  }
  const float u = (s.yy * x - s.xy * y) * s.inverse_determinant;
  const float v = (s.xx * y - s.xy * x) * s.inverse_determinant;
  float scale = -0.25f;  // samples * 64 by gradients * 16
  if (s.bb > 0) {
    const float gain = 1.0f + 0.125f * ((b - u * s.xb - v * s.yb) / s.bb);
    scale /= gain < kMinStepGain ? kMinStepGain : gain;
  }
  return {u * scale, v * scale};
}

// ---- the search on one level: rules 4 and 5

enum class LevelEnd : uint8_t { kGoOn, kConverged, kOutOfIterations, kOutOfImage, kMovedTooFar };

struct LevelSearch {
  float from_x, from_y;    // position in the template's level
  float start_x, start_y;  // displacement at the start
  float x, y;              // displacement so far
  GridPoint origin;        // from_x, from_y on the grid
  GridPoint at;            // where the image is sampled
  GridPoint before;        // where it was sampled in the iteration before
  float max_move;          // pixels of the level
  int iterations;
};

GLINT_HD inline bool IsInTrackImage(float x, float y, int width, int height) {
  return x >= -0.5f && y >= -0.5f && x < static_cast<float>(width) - 0.5f && y < static_cast<float>(height) - 0.5f;
}

// Of point (x, y) of level 0 with displacement (dx, dy) on `level`, whose size is width x height.
GLINT_HD inline LevelEnd BeginLevel(float x, float y, int level, float dx, float dy, int width, int height,
                                    float max_move, LevelSearch* s) {
  s->from_x = ToTrackLevel(x, level);
  s->from_y = ToTrackLevel(y, level);
  s->start_x = s->x = dx;
  s->start_y = s->y = dy;
  s->max_move = max_move * (1.0f / static_cast<float>(1 << level));
  s->iterations = 0;
  if (!IsInTrackImage(s->from_x, s->from_y, width, height) ||
      !IsInTrackImage(s->from_x + dx, s->from_y + dy, width, height)) {
    return LevelEnd::kOutOfImage;
  }
  s->origin = {ToTrackGrid(s->from_x), ToTrackGrid(s->from_y)};
  s->at = {s->origin.x + ToTrackGrid(dx), s->origin.y + ToTrackGrid(dy)};
  s->before = s->at;
  return LevelEnd::kGoOn;
}

// Takes one step.
GLINT_HD inline LevelEnd AdvanceLevel(TrackStep step, float epsilon, int max_iterations, int width, int height,
                                      LevelSearch* s) {
  ++s->iterations;
  const float x = static_cast<float>(s->at.x - s->origin.x) * (1.0f / kTrackGrid) + step.x;
  const float y = static_cast<float>(s->at.y - s->origin.y) * (1.0f / kTrackGrid) + step.y;
  // Written so that NaN fails.
  if (!(fabsf(x - s->start_x) <= s->max_move && fabsf(y - s->start_y) <= s->max_move)) return LevelEnd::kMovedTooFar;
  if (!IsInTrackImage(s->from_x + x, s->from_y + y, width, height)) return LevelEnd::kOutOfImage;
  const GridPoint next = {s->origin.x + ToTrackGrid(x), s->origin.y + ToTrackGrid(y)};
  if (step.x * step.x + step.y * step.y <= epsilon * epsilon || next == s->at) {
    s->x = x;
    s->y = y;
    return LevelEnd::kConverged;
  }
  if (s->iterations > 1 && next == s->before) {
    s->x = 0.5f * (s->x + x);
    s->y = 0.5f * (s->y + y);
    return LevelEnd::kConverged;
  }
  s->x = x;
  s->y = y;
  s->before = s->at;
  s->at = next;
  return s->iterations == max_iterations ? LevelEnd::kOutOfIterations : LevelEnd::kGoOn;
}

// Where the image is sampled for the residual, after the end.
GLINT_HD inline GridPoint FinalGridPoint(const LevelSearch& s) {
  return {s.origin.x + ToTrackGrid(s.x), s.origin.y + ToTrackGrid(s.y)};
}

// ---- rules 6 and 7

GLINT_HD inline float TrackDistance(float x, float y) { return sqrtf(x * x + y * y); }

struct TrackFit {
  float residual;
  float gain;
  float offset;
};

GLINT_HD inline TrackFit FitIntensity(IntensityModel m, const TemplateSums& t, const TrackSystem& s,
                                      const ResidualSums& sums) {
  const int n = t.n;
  // Squares of grey levels * 16, times n * n.
  float squares = Centred(m, n, sums.square, sums.one, sums.one);
  float slope = 0;  // grey levels * 16 by grey levels * 8
  if (s.bb > 0) {
    const float b = Centred(m, n, sums.b, t.b, sums.one);
    slope = b / s.bb;
    squares -= slope * b;
  }
  const float count = static_cast<float>(n);
  TrackFit fit;
  fit.residual = sqrtf(squares > 0 ? squares : 0.0f) / (16.0f * count);
  fit.gain = 1.0f + 0.5f * slope;
  fit.offset = 0;
  if (EstimatesOffset(m)) {
    fit.offset = (static_cast<float>(sums.one) - slope * static_cast<float>(t.b)) / (16.0f * count);
  }
  return fit;
}

}  // namespace glint

#endif  // GLINT_FEATURES_TRACK_MATH_H_
