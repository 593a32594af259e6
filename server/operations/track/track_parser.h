// The requests of glint.v1.FeatureTracking, as frame_parser.h reads those of FeatureDetection.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACK_PARSER_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACK_PARSER_H_

#include <array>
#include <cstddef>

#include "absl/status/status.h"
#include "server/operations/track/predictions.h"
#include "server/operations/track/tracks.h"
#include "server/wire/frame_parser.h"

namespace glint {

// glint.v1.TrackStreamRequest; of predictions, how much there is; of an edit, whichever of the three it is, its
// frame_id only.
struct WireTrackStreamRequest : WireEnvelope {
  size_t images = 0;  // those beyond kMaxTrackCameras are counted only
  std::array<WireImage, kMaxTrackCameras> image;
  int64_t time_ns = 0;
  bool detect = false;
  size_t predictions = 0;
  size_t predicted = 0;  // elements of the longest array of each of them, together
};

// False if `message` is not a serialized message of that type. `*request` is overwritten.
bool ParseTrackStreamRequest(decode::Pieces message, WireTrackStreamRequest* request);

// OK, or INVALID_ARGUMENT: more predictions than cameras. RESOURCE_EXHAUSTED: more elements than there may be tracks.
// So unpacking takes no more memory than the limits allow.
absl::Status CheckPredictions(const WireTrackStreamRequest& request, const TrackingOptions& options);
// The predictions of a message that ParseTrackStreamRequest() took, a frame, which CheckPredictions() allowed.
void UnpackPredictions(decode::Pieces message, TrackPredictions* predictions);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_PARSER_H_
