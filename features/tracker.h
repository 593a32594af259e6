// Tracking points from one image to another by pyramidal Lucas-Kanade: what goes in, what comes out, and the rules that
// every backend follows bit for bit. Plain values and pure functions: thread-safe.
//
// Sources: Lucas and Kanade 1981; Baker and Matthews 2002, 2003 (inverse compositional form; intensity parameters in
// its linear system); Bouguet 2000 (pyramid); Nagy, Foehn and Scaramuzza 2020 (patches by level). The meaning of
// patch, levels, criteria and min_eigenvalue is that of cv::calcOpticalFlowPyrLK.
//
// The rules, for each point on its own; features/track_math.h has the arithmetic:
//   1. A patch is a square of patch_size pixels around a position, or coarse_patch_size on levels fine_levels and up.
//      Pixels outside an image have the value of the nearest pixel inside; those of the template's patch do not count.
//      Positions of a level are rounded to 1/64 pixel; what rounding takes away is part of the next estimate. Samples
//      of the template, and of the image for the residual, are bilinear with 6 fraction bits.
//   2. The displacement starts as prediction - position, at the coarsest level. Each level refines it and passes twice
//      its value to the next finer one. Pixel (x, y) of a level is centred between pixels 2 x, 2 x + 1 and 2 y, 2 y + 1
//      of the finer one, so position p of level 0 is (p + 0.5) / 2^l - 0.5 on level l.
//   3. On each level: gradients of the template are Scharr's, of its samples. With them, and with the intensity model,
//      the difference of image and template at the current displacement is explained in the sense of least squares;
//      the solution is the step. The image between four pixels is taken as bilinear without rounding. So is the
//      solution, then, as a function of the displacement, while the patch lies between the same pixels (a cell): its
//      four coefficients are solved from the sums over the patch at the four whole positions, which are exact integers.
//   4. A level ends when a step is not longer than epsilon, when the next step would read the same pixels at the same
//      weights, when two displacements alternate (their mean is taken), or after max_iterations. A last step below
//      1/1024 pixel both ways is not taken.
//   5. A level fails when the patch is flat (the smaller eigenvalue of the normal matrix, its determinant included, is
//      too small), or when a displacement leaves the image or max_move. A level that fails leaves the displacement as
//      it was. On level 0 the point is then lost: positions of tracked points, in both images, are within
//      0..width - 1 and 0..height - 1. A search may begin half a pixel outside, and coarser levels reach so far.
//   6. residual, gain and offset are those of least squares at the final position on level 0.
//   7. With max_backward_error the point is tracked back from where it was found, starting with the opposite
//      displacement of the prediction.
#ifndef GLINT_FEATURES_TRACKER_H_
#define GLINT_FEATURES_TRACKER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "features/track_limits.h"
#include "features/types.h"

namespace glint {

// How intensities may differ between template and image: image = gain * template + offset.
enum class IntensityModel : uint8_t {
  kSame,           // gain 1, offset 0
  kOffset,         // gain 1
  kGain,           // offset 0
  kGainAndOffset,  // both are estimated
};

struct TrackOptions {
  int levels = 5;             // kMinTrackLevels..kMaxTrackLevels; levels without pixels are left out
  int patch_size = 16;        // kMinTrackPatch..kMaxTrackPatch
  int coarse_patch_size = 8;  // likewise
  int fine_levels = 3;        // 0..kMaxTrackLevels: levels 0..fine_levels - 1 use patch_size
  IntensityModel intensity = IntensityModel::kSame;
  int max_iterations = 30;           // of each level, kMinTrackIterations..kMaxTrackIterations
  float epsilon = 0.01f;             // 0..kMaxTrackEpsilon, pixels of the level
  float min_eigenvalue = 0.1f;       // 0..kMaxTrackEigenvalue, (grey levels per pixel)^2, mean over the patch; 0.1 is
                                     // what cv::calcOpticalFlowPyrLK calls 1e-4
  bool require_convergence = false;  // a point whose level 0 ends by max_iterations is lost
  float max_move = kMaxTrackCoordinate;  // 0..kMaxTrackCoordinate: from the prediction, in x and in y, pixels
  float max_residual = 0;                // 0..kMaxTrackResidual, grey levels; 0: no such test
  float max_backward_error = 0;          // 0..kMaxTrackBackwardError, pixels; 0: no such test
};

// The levels of an image, borrowed: level 0 is the image, each other one is half the one before, odd last rows and
// columns left out. Made for tracking (reference::HalveForTracking) each pixel is a binomial mean of 6x6; levels of
// Pyramid::kHalf, means of 2x2, serve too: a few points in a hundred fewer survive.
struct TrackPyramid {
  const ImageView* levels = nullptr;
  int count = 0;
};

// Points and where they are looked for. Borrowed. The template may be the last frame or an older one, whose pyramid the
// caller has kept; with an older one, predictions say where the points were last seen.
struct TrackInput {
  TrackPyramid from;            // shows the points
  TrackPyramid to;              // is searched; of the same shape
  int count = 0;                // 0..kMaxTrackPoints
  const float* x = nullptr;     // `count` positions in `from`, pixels, within +-kMaxTrackCoordinate
  const float* y = nullptr;     // likewise
  const float* to_x = nullptr;  // predicted positions in `to`, likewise, or null for the same as x, y
  const float* to_y = nullptr;  // likewise; both or none
};

// So many points, one after the other, of one of several frames that a backend keeps.
struct TrackSegment {
  int frame = 0;
  int count = 0;
};

enum class TrackStatus : uint8_t {
  kTracked,
  kFlat,           // level 0 of the patch has not enough texture
  kOutOfImage,     // the position is outside `from`, or left `to`
  kMovedTooFar,    // beyond max_move
  kNotConverged,   // only with require_convergence
  kHighResidual,   // only with max_residual
  kBackwardError,  // only with max_backward_error: lost on the way back, or too far from where it began
};
inline constexpr int kTrackStatuses = 7;

// Results as a structure of arrays: element i belongs to point i.
struct TrackResult {
  std::vector<float> x;  // position in `to`, pixels. Of lost points: the last one that no rule refused
  std::vector<float> y;
  std::vector<TrackStatus> status;
  // Root mean square of image - gain * template - offset, grey levels. This and what follows is 0 (gain 1) for points
  // with a status up to kMovedTooFar other than kTracked.
  std::vector<float> residual;
  std::vector<float> gain;            // 1 unless estimated
  std::vector<float> offset;          // grey levels; 0 unless estimated
  std::vector<float> backward_error;  // distance between where the point began and where tracking back ended, pixels;
                                      // 0 without max_backward_error, or if it was lost on the way
  std::vector<int32_t> iterations;    // of all levels, without tracking back

  size_t count() const { return x.size(); }
  // Allocates only beyond the largest count so far.
  void Resize(size_t count) {
    for (auto* v : {&x, &y, &residual, &gain, &offset, &backward_error}) v->resize(count);
    status.resize(count);
    iterations.resize(count);
  }
  // The elements of `part` from `at` on.
  void Put(size_t at, const TrackResult& part) {
    const auto put = [at](const auto& from, auto* to) {
      std::copy(from.begin(), from.end(), to->begin() + static_cast<ptrdiff_t>(at));
    };
    put(part.x, &x);
    put(part.y, &y);
    put(part.residual, &residual);
    put(part.gain, &gain);
    put(part.offset, &offset);
    put(part.backward_error, &backward_error);
    put(part.status, &status);
    put(part.iterations, &iterations);
  }
};

// How many levels are used: the coarsest still has pixels.
inline int UsedTrackLevels(const TrackOptions& options, Shape shape) {
  int levels = 1;
  while (levels < options.levels && shape.width >> levels > 0 && shape.height >> levels > 0) ++levels;
  return levels;
}

// OK, or INVALID_ARGUMENT that names the first bad field, its value and its range.
absl::Status ValidateTrackOptions(const TrackOptions& options);
// The same of points and pyramids; reads all points once. Backends take what passed both.
absl::Status ValidateTrackInput(const TrackInput& input, const TrackOptions& options);

}  // namespace glint

#endif  // GLINT_FEATURES_TRACKER_H_
