// Tracking as features/tracker.h states it, pixel by pixel: slow and obvious.
#ifndef GLINT_FEATURES_REFERENCE_TRACKER_H_
#define GLINT_FEATURES_REFERENCE_TRACKER_H_

#include <vector>

#include "features/track_math.h"
#include "features/tracker.h"

namespace glint::reference {

// The next level of a pyramid: binomial means of 6x6 pixels (1 5 10 10 5 1 both ways), halves up. Pixels outside have
// the value of the nearest pixel inside. An odd last row or column only enters the means. Both sides 2 or more.
Image HalveForTracking(const ImageView& image);

// The samples of a patch and what follows from them, row by row: element y * size + x. Pixels outside of the image do
// not count: all but the sample is 0.
struct TrackPatch {
  int size = 0;
  std::vector<int> counts;  // 1 or 0
  std::vector<int> sample;
  std::vector<int> gradient_x;
  std::vector<int> gradient_y;
  std::vector<int> basis;
};

// Bilinear samples of a width x height window whose top-left one is at `at`, row by row (rule 1).
std::vector<int> SampleWindow(const ImageView& image, const PatchPosition& at, int width, int height);
TrackPatch MakeTrackPatch(const ImageView& image, GridPoint centre, int size);

TemplateSums SumTemplate(const TrackPatch& patch);
// Of the pixels of `image` from (x, y) on, and from the next ones.
CellSums SumCell(const TrackPatch& patch, const ImageView& image, int x, int y);
// Of the patch of `image` around `centre`, less the template.
ResidualSums SumResidual(const TrackPatch& patch, const ImageView& image, GridPoint centre);

// Valid arguments (ValidateTrackOptions, ValidateTrackInput).
TrackResult Track(const TrackInput& input, const TrackOptions& options);

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_TRACKER_H_
