// Tracking: the linear system of a patch, what it says in a cell of the image, and in the end (rules 3 and 6 of
// features/tracker.h). Floats in the order written here, without contraction. Pure functions: thread-safe.
#ifndef GLINT_FEATURES_TRACK_SYSTEM_H_
#define GLINT_FEATURES_TRACK_SYSTEM_H_

#include <cmath>
#include <cstdint>

#include "features/track_math.h"

namespace glint {

// A sum over n pixels. With an offset, n times what the mean does not explain, exactly.
GLINT_HD inline float Centred(IntensityModel m, int n, int64_t ab, int64_t a, int64_t b) {
  return static_cast<float>(EstimatesOffset(m) ? n * ab - a * b : ab);
}
// The factor that Centred() brings in.
GLINT_HD inline float CentredScale(IntensityModel m, int n) {
  return EstimatesOffset(m) ? static_cast<float>(n) : 1.0f;
}

// The normal matrix of a template, what the gain explains taken away, and its inverse.
struct TrackSystem {
  float xx, xy, yy;
  float step_xx, step_xy, step_yy;  // solves for steps of the grid
  float xb, yb, bb;                 // 0 without a gain
  float x_by_b, y_by_b;             // xb / bb, yb / bb
  float gain_x, gain_y, gain_b;     // solve for the gain less 1; 0 without one
};

// False if the patch is flat (rule 5).
// `pixels`: of the whole patch.
GLINT_HD inline bool MakeTrackSystem(IntensityModel m, int pixels, const TemplateSums& t, float min_eigenvalue,
                                     TrackSystem* s) {
  const int n = t.n;
  s->xx = Centred(m, n, t.xx, t.x, t.x);
  s->xy = Centred(m, n, t.xy, t.x, t.y);
  s->yy = Centred(m, n, t.yy, t.y, t.y);
  s->xb = s->yb = s->bb = s->x_by_b = s->y_by_b = s->gain_x = s->gain_y = s->gain_b = 0;
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
  // Of (gradients * 16)^2, times `pixels` for the mean.
  const float least = min_eigenvalue * 256.0f * static_cast<float>(pixels) * CentredScale(m, n);
  if (!(determinant > 0) || !(smaller >= least)) return false;
  // Gradients are times 16 and samples times 64, of which the grid's steps take 64 back.
  const float scale = -16.0f / determinant;
  s->step_xx = s->yy * scale;
  s->step_xy = -s->xy * scale;
  s->step_yy = s->xx * scale;
  if (s->bb > 0) {
    // The basis is times 8 and samples times 64; steps are -16 times the solution.
    s->gain_b = 0.125f / s->bb;
    s->gain_x = (0.125f / 16) * s->x_by_b;
    s->gain_y = (0.125f / 16) * s->y_by_b;
  }
  return true;
}

// A function that is bilinear in a cell: of the steps of the grid, 0 to kTrackGrid, by which the patch lies right of
// the cell's first corner and below it.
struct Bilinear {
  float base, right, down, both;
};
GLINT_HD inline float ValueAt(const Bilinear& f, float right, float down) {
  return f.base + f.right * right + (f.down + f.both * right) * down;
}

// The solutions of the linear system in one cell. The steps are those of a gain of 1.
struct CellSteps {
  Bilinear x, y;  // steps of the grid
  Bilinear gain;  // 1 without a gain
};

// Coefficient i of a bilinear function, in the order of its fields, from its values at the corners.
GLINT_HD inline int CoefficientOf(int i, int corner0, int corner1, int corner2, int corner3) {
  return i == 0   ? corner0
         : i == 1 ? corner1 - corner0
         : i == 2 ? corner2 - corner0
                  : corner3 - corner2 - corner1 + corner0;
}

// Coefficient i of all functions of a cell.
GLINT_HD inline void SolveCoefficient(IntensityModel m, const TemplateSums& t, const TrackSystem& s,
                                      const CellSums& cell, int i, float* step_x, float* step_y, float* gain) {
  const CornerSums* const c = cell.corner;
  const int n = t.n;
  // Pixels less samples. The first coefficient is in units of 1 / kTrackGrid grey level, as samples are; with positions
  // in steps of the grid so are the next two, and the last one is in units of 1 / kTrackGrid^2.
  const auto less = [i](int pixels, int64_t samples) {
    return i == 0 ? kTrackGrid * static_cast<int64_t>(pixels) - samples : static_cast<int64_t>(pixels);
  };
  const float unit = i == 3 ? 1.0f / kTrackGrid : 1.0f;
  int64_t one = 0;
  if (EstimatesOffset(m)) one = less(CoefficientOf(i, c[0].one, c[1].one, c[2].one, c[3].one), t.t);
  float x = Centred(m, n, less(CoefficientOf(i, c[0].x, c[1].x, c[2].x, c[3].x), t.xt), t.x, one);
  float y = Centred(m, n, less(CoefficientOf(i, c[0].y, c[1].y, c[2].y, c[3].y), t.yt), t.y, one);
  float b = 0;
  if (s.bb > 0) {
    b = Centred(m, n, less(CoefficientOf(i, c[0].b, c[1].b, c[2].b, c[3].b), t.bt), t.b, one);
    x -= s.x_by_b * b;
    y -= s.y_by_b * b;
  }
  *step_x = (s.step_xx * x + s.step_xy * y) * unit;
  *step_y = (s.step_xy * x + s.step_yy * y) * unit;
  *gain = s.gain_b * b * unit + (s.gain_x * *step_x + s.gain_y * *step_y);
}

// Rule 3. With T the template, g its gradients, the image at the displacement is T - gain * g * step + (gain - 1) * T
// + offset, to the first order.
GLINT_HD inline CellSteps SolveCell(IntensityModel m, const TemplateSums& t, const TrackSystem& s,
                                    const CellSums& cell) {
  CellSteps steps;
  SolveCoefficient(m, t, s, cell, 0, &steps.x.base, &steps.y.base, &steps.gain.base);
  SolveCoefficient(m, t, s, cell, 1, &steps.x.right, &steps.y.right, &steps.gain.right);
  SolveCoefficient(m, t, s, cell, 2, &steps.x.down, &steps.y.down, &steps.gain.down);
  SolveCoefficient(m, t, s, cell, 3, &steps.x.both, &steps.y.both, &steps.gain.both);
  steps.gain.base += 1.0f;
  return steps;
}

// Steps of the grid.
struct TrackStep {
  float x;
  float y;
};

// Steps are divided by the gain, but by no less than this.
inline constexpr float kMinStepGain = 0.25f;

// The step from a position in the cell, as in Bilinear.
GLINT_HD inline TrackStep StepAt(IntensityModel m, const CellSteps& steps, float right, float down) {
  TrackStep step = {ValueAt(steps.x, right, down), ValueAt(steps.y, right, down)};
  if (EstimatesGain(m)) {
    const float gain = ValueAt(steps.gain, right, down);
    const float inverse = 1.0f / (gain < kMinStepGain ? kMinStepGain : gain);
    step.x *= inverse;
    step.y *= inverse;
  }
  return step;
}

// ---- rule 6

struct TrackFit {
  float residual;
  float gain;
  float offset;
};

GLINT_HD inline TrackFit FitIntensity(IntensityModel m, const TemplateSums& t, const TrackSystem& s,
                                      const ResidualSums& sums) {
  const int n = t.n;
  // Squares of grey levels * 16.
  float squares = Centred(m, n, sums.square, sums.one, sums.one);
  float slope = 0;  // grey levels * 16 by grey levels * 8
  if (s.bb > 0) {
    const float b = Centred(m, n, sums.b, t.b, sums.one);
    slope = b / s.bb;
    squares -= slope * b;
  }
  const float count = static_cast<float>(n);
  TrackFit fit;
  fit.residual = sqrtf((squares > 0 ? squares : 0.0f) / (count * CentredScale(m, n))) * (1.0f / 16.0f);
  fit.gain = 1.0f + 0.5f * slope;
  fit.offset = 0;
  if (EstimatesOffset(m)) {
    fit.offset = (static_cast<float>(sums.one) - slope * static_cast<float>(t.b)) / (16.0f * count);
  }
  return fit;
}

}  // namespace glint

#endif  // GLINT_FEATURES_TRACK_SYSTEM_H_
