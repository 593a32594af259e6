// Tracking: the search on one level (rules 4 and 5 of features/tracker.h). Pure functions: thread-safe.
#ifndef GLINT_FEATURES_TRACK_SEARCH_H_
#define GLINT_FEATURES_TRACK_SEARCH_H_

#include <cmath>
#include <cstdint>

#include "features/track_system.h"

namespace glint {

enum class LevelEnd : uint8_t { kGoOn, kConverged, kOutOfIterations, kOutOfImage, kMovedTooFar };

// Displacements are floats, steps of the grid.
struct LevelSearch {
  GridPoint origin;          // the position in the template's level
  float start_x, start_y;    // displacement at the start
  float x, y;                // so far
  float at_x, at_y;          // where the image is sampled: whole steps
  float before_x, before_y;  // where it was sampled in the iteration before
  float low_x, high_x;       // displacements that leave neither the image nor max_move
  float low_y, high_y;
  float max_move;
  int iterations_left;
};

// How far an image reaches beyond the centres of its outermost pixels, pixels of the level. A position is inside of
// level 0 from the first centre to the last one; the centres of coarser levels do not reach so far.
GLINT_HD inline float TrackMargin(int level) { return level == 0 ? 0.0f : 0.5f; }

GLINT_HD inline bool IsInTrackImage(float x, float y, int width, int height, float margin) {
  const float last_x = static_cast<float>(width - 1) + margin;
  const float last_y = static_cast<float>(height - 1) + margin;
  return x >= -margin && y >= -margin && x <= last_x && y <= last_y;
}

// In one dimension: of a point at `from` pixels, and of its displacement at the start.
GLINT_HD inline void BoundTrackMove(float from, float start, float max_move, int size, float margin, float* low,
                                    float* high) {
  *low = TrackGridSteps(-margin - from);
  *high = TrackGridSteps(static_cast<float>(size - 1) + margin - from);
  const float least = start - max_move;
  const float most = start + max_move;
  *low = *low < least ? least : *low;
  *high = *high > most ? most : *high;
}

// Of point (x, y) of level 0 with displacement (dx, dy) on `level`, pixels; the level's size is width x height.
GLINT_HD inline LevelEnd BeginLevel(float x, float y, int level, float dx, float dy, int width, int height,
                                    float max_move, int max_iterations, LevelSearch* s) {
  const float from_x = ToTrackLevel(x, level);
  const float from_y = ToTrackLevel(y, level);
  s->start_x = s->x = TrackGridSteps(dx);
  s->start_y = s->y = TrackGridSteps(dy);
  s->max_move = TrackGridSteps(max_move * TrackLevelScale(level));
  s->iterations_left = max_iterations;
  const float margin = TrackMargin(level);
  // A coarser level, or a prediction, may be a little off: the search may begin beside the image, but not end there.
  if (!IsInTrackImage(from_x, from_y, width, height, margin) ||
      !IsInTrackImage(from_x + dx, from_y + dy, width, height, 0.5f)) {
    return LevelEnd::kOutOfImage;
  }
  BoundTrackMove(from_x, s->start_x, s->max_move, width, margin, &s->low_x, &s->high_x);
  BoundTrackMove(from_y, s->start_y, s->max_move, height, margin, &s->low_y, &s->high_y);
  s->origin = {ToTrackGrid(from_x), ToTrackGrid(from_y)};
  s->at_x = WholeTrackSteps(s->start_x);
  s->at_y = WholeTrackSteps(s->start_y);
  s->before_x = s->before_y = 2 * TrackGridSteps(kMaxTrackCoordinate);  // nowhere
  return LevelEnd::kGoOn;
}

// Where the image is sampled.
GLINT_HD inline GridPoint SampledAt(const LevelSearch& s) {
  return {s.origin.x + static_cast<int>(s.at_x), s.origin.y + static_cast<int>(s.at_y)};
}

// A last step below this both ways is none: samples of the template are rounded, and that alone suggests steps of some
// 1e-4 pixel.
inline constexpr float kNoTrackStep = kTrackGrid / 1024.0f;

GLINT_HD inline float WithinTrackMove(float at, float low, float high) {
  return at < low ? low : at > high ? high : at;
}

// Takes one step. `epsilon`: steps of the grid. Tests are joined without a branch: this is the innermost loop.
GLINT_HD inline LevelEnd AdvanceLevel(TrackStep step, float epsilon, LevelSearch* s) {
  --s->iterations_left;
  const float to_x = s->at_x + step.x;
  const float to_y = s->at_y + step.y;
  const float x = WithinTrackMove(to_x, s->low_x, s->high_x);
  const float y = WithinTrackMove(to_y, s->low_y, s->high_y);
  // Written so that NaN fails. A point that stands on the border stays there.
  if (!((fabsf(to_x - x) <= kNoTrackStep) & (fabsf(to_y - y) <= kNoTrackStep))) {
    const bool is_near = fabsf(to_x - s->start_x) <= s->max_move && fabsf(to_y - s->start_y) <= s->max_move;
    return is_near ? LevelEnd::kOutOfImage : LevelEnd::kMovedTooFar;
  }
  const float next_x = WholeTrackSteps(x);
  const float next_y = WholeTrackSteps(y);
  const bool is_short = step.x * step.x + step.y * step.y <= epsilon * epsilon;
  const bool is_same = (next_x == s->at_x) & (next_y == s->at_y);
  const bool alternates = (next_x == s->before_x) & (next_y == s->before_y);
  if (is_short | is_same | alternates) {
    const bool stays = fabsf(step.x) < kNoTrackStep && fabsf(step.y) < kNoTrackStep;
    const bool is_mean = !is_short && !is_same;
    s->x = is_mean ? 0.5f * (s->x + x) : stays ? WithinTrackMove(s->at_x, s->low_x, s->high_x) : x;
    s->y = is_mean ? 0.5f * (s->y + y) : stays ? WithinTrackMove(s->at_y, s->low_y, s->high_y) : y;
    return LevelEnd::kConverged;
  }
  s->x = x;
  s->y = y;
  s->before_x = s->at_x;
  s->before_y = s->at_y;
  s->at_x = next_x;
  s->at_y = next_y;
  return s->iterations_left == 0 ? LevelEnd::kOutOfIterations : LevelEnd::kGoOn;
}

// Where the image is sampled for the residual, after the end.
GLINT_HD inline GridPoint FinalGridPoint(const LevelSearch& s) {
  return {s.origin.x + static_cast<int>(WholeTrackSteps(s.x)), s.origin.y + static_cast<int>(WholeTrackSteps(s.y))};
}

// Rule 7.
GLINT_HD inline float TrackDistance(float x, float y) { return sqrtf(x * x + y * y); }

}  // namespace glint

#endif  // GLINT_FEATURES_TRACK_SEARCH_H_
