// Where a client expects points to be in the next frame.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_PREDICTIONS_H_
#define GLINT_SERVER_OPERATIONS_TRACK_PREDICTIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "features/types.h"
#include "server/operations/track/tracks.h"

namespace glint {

// glint.v1.TrackPrediction as it came: nothing in it is trusted.
struct TrackPrediction {
  uint32_t camera = 0;
  std::vector<float> homography;  // of nothing or of nine
  std::vector<uint64_t> ids;
  std::vector<float> x, y;

  // Keeps its memory.
  void Clear() {
    camera = 0;
    ids.clear();
    for (auto* v : {&homography, &x, &y}) v->clear();
  }
};

// Those of a frame.
struct TrackPredictions {
  std::array<TrackPrediction, kMaxTrackCameras> of;
  size_t count = 0;

  absl::Span<const TrackPrediction> view() const { return {of.data(), count}; }
};

// OK, or INVALID_ARGUMENT that names the field ("predictions[1].x[3]"): a camera that is not there or has two, a
// homography of another length or not finite, arrays of two lengths, an id that is there twice, positions out of range.
// `order`: scratch.
absl::Status ValidatePredictions(absl::Span<const TrackPrediction> predictions, int cameras,
                                 std::vector<uint32_t>* order);

// Changes the expected positions (to_x, to_y) of the tracks at (x, y) to those of a valid prediction, within the image.
// `ids` ascend. `order`: scratch. Pure arithmetic in double precision: the same everywhere.
void ApplyPrediction(const TrackPrediction& prediction, Shape image, absl::Span<const uint64_t> ids,
                     absl::Span<const float> x, absl::Span<const float> y, std::vector<uint32_t>* order,
                     absl::Span<float> to_x, absl::Span<float> to_y);

// The nearest position inside, of one coordinate.
float NearestInside(double v, int side);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_PREDICTIONS_H_
