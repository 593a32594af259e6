// Positions that a client predicts for tracks in the next frame.
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

// glint.v1.TrackPrediction, untrusted.
struct TrackPrediction {
  uint32_t camera = 0;
  std::vector<float> homography;  // 3x3, row-major; empty or 9 elements
  std::vector<uint64_t> ids;
  std::vector<float> x, y;

  // Empties the prediction and keeps its memory.
  void Clear() {
    camera = 0;
    ids.clear();
    for (auto* v : {&homography, &x, &y}) v->clear();
  }
};

// Predictions of one frame.
struct TrackPredictions {
  std::array<TrackPrediction, kMaxTrackCameras> of;
  size_t count = 0;

  absl::Span<const TrackPrediction> view() const { return {of.data(), count}; }
};

// Checks predictions. INVALID_ARGUMENT names the field ("predictions[1].x[3]"): an unknown or repeated camera, a
// homography of another length or not finite, arrays of different lengths, a repeated id, positions out of range.
// `order`: scratch.
absl::Status ValidatePredictions(absl::Span<const TrackPrediction> predictions, int cameras,
                                 std::vector<uint32_t>* order);

// Replaces the predicted positions (to_x, to_y) of the tracks at (x, y) by those of a valid prediction, clamped to the
// image. `ids` ascend. `order`: scratch. Pure arithmetic in double precision: the same everywhere.
void ApplyPrediction(const TrackPrediction& prediction, Shape image, absl::Span<const uint64_t> ids,
                     absl::Span<const float> x, absl::Span<const float> y, std::vector<uint32_t>* order,
                     absl::Span<float> to_x, absl::Span<float> to_y);

// Clamps one coordinate to the image.
float NearestInside(double v, int side);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_PREDICTIONS_H_
