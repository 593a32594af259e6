// How one point is tracked: the order in which the rules of features/tracker.h are applied, for all backends. A backend
// supplies the sums over patches. Pure functions: thread-safe.
#ifndef GLINT_FEATURES_TRACK_POINT_H_
#define GLINT_FEATURES_TRACK_POINT_H_

#include <cstddef>

#include "features/track_search.h"
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
//   IntensityModel intensity() const
//   TemplateSums Template(int level, GridPoint, int size, GridPoint first)
//       reads the template that the next two refer to; `first`: where the other image will be read first
//   CellSums Cell(int x, int y)          of the other image, on the template's level, from this pixel on
//   ResidualSums Residual(GridPoint at)  likewise
//   void Reverse(float x, float y)       exchanges the images; tracking goes on from (x, y) of level 0
// Sums that the intensity model does not need may be anything.
//
// What the template says on one level, wherever the point has gone.
struct LevelTemplate {
  TemplateSums sums;
  TrackSystem system;
  bool is_flat;  // then there is no system
};

GLINT_HD inline int PatchSizeOf(int level, const TrackOptions& options) {
  return level < options.fine_levels ? options.patch_size : options.coarse_patch_size;
}

// `first`: as Patches::Template().
template <class Patches>
GLINT_TRACK LevelTemplate ReadLevelTemplate(int level, GridPoint origin, GridPoint first, const TrackOptions& options,
                                            Patches* patches) {
  const int size = PatchSizeOf(level, options);
  LevelTemplate read;
  read.sums = patches->Template(level, origin, size, first);
  read.is_flat = !MakeTrackSystem(patches->intensity(), size * size, read.sums, options.min_eigenvalue, &read.system);
  return read;
}

// Rules 4 to 6 on one level, from where `search` begins; the template, which is not flat, was the last one that was
// read. `way` has the displacement of this level, before and after.
template <class Patches>
GLINT_TRACK TrackStatus SearchTemplate(const LevelTemplate& from, int level, const TrackOptions& options,
                                       LevelSearch* search, Patches* patches, OneWay* way) {
  const int size = PatchSizeOf(level, options);
  const IntensityModel intensity = patches->intensity();
  const float epsilon = TrackGridSteps(options.epsilon);
  LevelEnd end = LevelEnd::kGoOn;
  while (end == LevelEnd::kGoOn) {
    const PatchPosition at = PatchPositionAt(SampledAt(*search), size);
    const CellSteps steps = SolveCell(intensity, from.sums, from.system, patches->Cell(at.x, at.y));
    const float corner_x = search->at_x - static_cast<float>(at.weight_x);
    const float corner_y = search->at_y - static_cast<float>(at.weight_y);
    // As long as the patch stays in the cell.
    float right = static_cast<float>(at.weight_x);
    float down = static_cast<float>(at.weight_y);
    do {
      end = AdvanceLevel(StepAt(intensity, steps, right, down), epsilon, search);
      right = search->at_x - corner_x;
      down = search->at_y - corner_y;
    } while ((end == LevelEnd::kGoOn) & (right >= 0) & (right < kTrackGrid) & (down >= 0) & (down < kTrackGrid));
  }
  way->iterations += options.max_iterations - search->iterations_left;
  if (end == LevelEnd::kOutOfImage || end == LevelEnd::kMovedTooFar) return StatusOf(end);
  way->dx = search->x * (1.0f / kTrackGrid);
  way->dy = search->y * (1.0f / kTrackGrid);
  if (level == 0) {
    const GridPoint at = FinalGridPoint(*search);
    way->fit = FitIntensity(intensity, from.sums, from.system, patches->Residual(at));
  }
  return end == LevelEnd::kOutOfIterations && options.require_convergence ? TrackStatus::kNotConverged
                                                                          : TrackStatus::kTracked;
}

template <class Patches>
GLINT_TRACK LevelEnd BeginSearch(float x, float y, int level, const TrackOptions& options, const OneWay& way,
                                 const Patches& patches, LevelSearch* search) {
  return BeginLevel(x, y, level, way.dx, way.dy, patches.width(level), patches.height(level), options.max_move,
                    options.max_iterations, search);
}

// Rules 3 to 6 on one level.
template <class Patches>
GLINT_TRACK TrackStatus SearchLevel(float x, float y, int level, const TrackOptions& options, Patches* patches,
                                    OneWay* way) {
  LevelSearch search;
  const LevelEnd end = BeginSearch(x, y, level, options, *way, *patches, &search);
  if (end != LevelEnd::kGoOn) return StatusOf(end);
  const LevelTemplate from = ReadLevelTemplate(level, search.origin, SampledAt(search), options, patches);
  return from.is_flat ? TrackStatus::kFlat : SearchTemplate(from, level, options, &search, patches, way);
}

GLINT_HD inline OneWay BeginWay(float dx, float dy, int coarsest) {
  const float down = TrackLevelScale(coarsest);
  return {dx * down, dy * down, TrackStatus::kTracked, {0, 1, 0}, 0};
}

// From a level to the next finer one.
GLINT_HD inline void GoDown(OneWay* way) {
  way->dx *= 2;
  way->dy *= 2;
}

// After level 0.
GLINT_HD inline void EndWay(const TrackOptions& options, OneWay* way) {
  if (way->status == TrackStatus::kTracked && options.max_residual > 0 &&
      !(way->fit.residual <= options.max_residual)) {
    way->status = TrackStatus::kHighResidual;
  }
}

// All rules but the last, from position (x, y) with displacement (dx, dy). A Patches that works on several levels at
// once has a function of this name beside it.
template <class Patches>
GLINT_TRACK OneWay TrackOneWay(float x, float y, float dx, float dy, const TrackOptions& options, Patches* patches) {
  const int coarsest = patches->levels() - 1;
  OneWay way = BeginWay(dx, dy, coarsest);
  for (int level = coarsest; level >= 0; --level) {
    if (level != coarsest) GoDown(&way);
    way.status = SearchLevel(x, y, level, options, patches, &way);  // a coarse level may fail
  }
  EndWay(options, &way);
  return way;
}

// All rules.
template <class Patches>
GLINT_TRACK TrackedPoint TrackPoint(float x, float y, float dx, float dy, const TrackOptions& options,
                                    Patches* patches) {
  TrackedPoint point = {};
  float moved_x = 0;
  float moved_y = 0;
  // One call, so that a kernel has the text once.
  for (bool back = false;; back = true) {
    const OneWay way = TrackOneWay(x, y, dx, dy, options, patches);
    if (back) {
      const bool is_back = way.status == TrackStatus::kTracked;
      if (is_back) point.backward_error = TrackDistance(moved_x + way.dx, moved_y + way.dy);
      if (!is_back || !(point.backward_error <= options.max_backward_error)) point.status = TrackStatus::kBackwardError;
      return point;
    }
    point = {x + way.dx, y + way.dy, way.status, way.fit, 0, way.iterations};
    if (point.status != TrackStatus::kTracked || !(options.max_backward_error > 0)) return point;
    patches->Reverse(point.x, point.y);
    moved_x = way.dx;
    moved_y = way.dy;
    x = point.x;
    y = point.y;
    dx = -dx;
    dy = -dy;
  }
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
