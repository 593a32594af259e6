// How one point is tracked: the order in which the rules of features/tracker.h are applied, for all backends. A backend
// supplies the sums over patches. Pure functions: thread-safe.
#ifndef GLINT_FEATURES_TRACK_POINT_H_
#define GLINT_FEATURES_TRACK_POINT_H_

#include <cstddef>

#include "features/track_math.h"
#include "features/tracker.h"

// On a device all lanes that share a point run the same text.
#ifdef __CUDACC__
#define GLINT_TRACK __device__ __forceinline__
#else
#define GLINT_TRACK inline
#endif

namespace glint {

// The result of one point: fields as in TrackResult.
struct TrackedPoint {
  float x;
  float y;
  TrackStatus status;
  TrackFit fit;
  float backward_error;
  int iterations;
};

// One way of tracking, forward or back; (dx, dy) is the displacement on level 0.
struct OneWay {
  float dx;
  float dy;
  TrackStatus status;
  TrackFit fit;
  int iterations;
};

GLINT_HD inline TrackStatus StatusOf(LevelEnd end) {
  return end == LevelEnd::kMovedTooFar ? TrackStatus::kMovedTooFar : TrackStatus::kOutOfImage;
}

// Patches is a class with
//   int levels() const                                  UsedTrackLevels()
//   int width(int level) const, height(int level)       of both images
//   TemplateSums Template(int level, GridPoint, int size)  reads the template that the next two refer to
//   StepSums Step(GridPoint at)                         of the other image, on the template's level
//   ResidualSums Residual(GridPoint at)                 likewise
//   void Reverse()                                      exchanges the images
// Sums that the intensity model does not need may be anything.
//
// Rules 3 to 6 on one level. `way` has the displacement of this level, before and after.
template <class Patches>
GLINT_TRACK TrackStatus SearchLevel(float x, float y, int level, const TrackOptions& options, Patches* patches,
                                    OneWay* way) {
  const int width = patches->width(level);
  const int height = patches->height(level);
  LevelSearch search;
  LevelEnd end = BeginLevel(x, y, level, way->dx, way->dy, width, height, options.max_move, &search);
  if (end != LevelEnd::kGoOn) return StatusOf(end);
  const int size = level < options.fine_levels ? options.patch_size : options.coarse_patch_size;
  const TemplateSums sums = patches->Template(level, search.origin, size);
  TrackSystem system;
  if (!MakeTrackSystem(options.intensity, size * size, sums, options.min_eigenvalue, &system)) {
    return TrackStatus::kFlat;
  }
  while (end == LevelEnd::kGoOn) {
    const TrackStep step = SolveTrackStep(options.intensity, sums, system, patches->Step(search.at));
    end = AdvanceLevel(step, options.epsilon, options.max_iterations, width, height, &search);
  }
  way->iterations += search.iterations;
  if (end == LevelEnd::kOutOfImage || end == LevelEnd::kMovedTooFar) return StatusOf(end);
  way->dx = search.x;
  way->dy = search.y;
  if (level == 0) {
    const GridPoint at = FinalGridPoint(search);
    way->fit = FitIntensity(options.intensity, sums, system, patches->Residual(at));
  }
  return end == LevelEnd::kOutOfIterations && options.require_convergence ? TrackStatus::kNotConverged
                                                                          : TrackStatus::kTracked;
}

// All rules but the last, from position (x, y) with displacement (dx, dy).
template <class Patches>
GLINT_TRACK OneWay TrackOneWay(float x, float y, float dx, float dy, const TrackOptions& options, Patches* patches) {
  const int coarsest = patches->levels() - 1;
  const float down = 1.0f / static_cast<float>(1 << coarsest);
  OneWay way = {dx * down, dy * down, TrackStatus::kTracked, {0, 1, 0}, 0};
  for (int level = coarsest; level > 0; --level) {
    SearchLevel(x, y, level, options, patches, &way);  // a coarse level may fail
    way.dx *= 2;
    way.dy *= 2;
  }
  way.status = SearchLevel(x, y, 0, options, patches, &way);
  if (way.status == TrackStatus::kTracked && options.max_residual > 0 && !(way.fit.residual <= options.max_residual)) {
    way.status = TrackStatus::kHighResidual;
  }
  return way;
}

// All rules.
template <class Patches>
GLINT_TRACK TrackedPoint TrackPoint(float x, float y, float dx, float dy, const TrackOptions& options,
                                    Patches* patches) {
  const OneWay way = TrackOneWay(x, y, dx, dy, options, patches);
  TrackedPoint point = {x + way.dx, y + way.dy, way.status, way.fit, 0, way.iterations};
  if (point.status != TrackStatus::kTracked || !(options.max_backward_error > 0)) return point;
  patches->Reverse();
  const OneWay back = TrackOneWay(point.x, point.y, -dx, -dy, options, patches);
  const bool is_back = back.status == TrackStatus::kTracked;
  if (is_back) point.backward_error = TrackDistance(way.dx + back.dx, way.dy + back.dy);
  if (!is_back || !(point.backward_error <= options.max_backward_error)) point.status = TrackStatus::kBackwardError;
  return point;
}

// Element i of a result.
inline void StoreTrackedPoint(const TrackedPoint& point, size_t i, TrackResult* result) {
  result->x[i] = point.x;
  result->y[i] = point.y;
  result->status[i] = point.status;
  result->residual[i] = point.fit.residual;
  result->gain[i] = point.fit.gain;
  result->offset[i] = point.fit.offset;
  result->backward_error[i] = point.backward_error;
  result->iterations[i] = point.iterations;
}

}  // namespace glint

#endif  // GLINT_FEATURES_TRACK_POINT_H_
