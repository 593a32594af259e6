// In-place parser of the requests of glint.v1.FeatureTracking; see frame_parser.h.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACK_PARSER_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACK_PARSER_H_

#include <array>
#include <cstddef>

#include "absl/status/status.h"
#include "server/operations/track/predictions.h"
#include "server/operations/track/tracks.h"
#include "server/wire/frame_parser.h"

namespace glint {

// glint.v1.TrackStreamRequest. Of predictions only the sizes are read; of an edit only its frame_id.
struct WireTrackStreamRequest : WireEnvelope {
  size_t images = 0, masks = 0;  // all; those beyond kMaxTrackCameras are not stored
  std::array<WireImage, kMaxTrackCameras> image, mask;
  int64_t time_ns = 0;
  bool detect = false;
  size_t predictions = 0;
  size_t predicted = 0;  // sum over predictions of the longest array's elements
};

// False if `message` is not a serialized message of that type. `*request` is overwritten.
bool ParseTrackStreamRequest(decode::Pieces message, WireTrackStreamRequest* request);

// Bounds the memory for unpacking. INVALID_ARGUMENT: more predictions than cameras. RESOURCE_EXHAUSTED: more elements
// than tracks allowed.
absl::Status CheckPredictions(const WireTrackStreamRequest& request, const TrackingOptions& options);
// Unpacks the predictions of a frame that ParseTrackStreamRequest() and CheckPredictions() accepted.
void UnpackPredictions(decode::Pieces message, TrackPredictions* predictions);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_PARSER_H_
