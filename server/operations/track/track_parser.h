// The requests of glint.v1.FeatureTracking, as frame_parser.h reads those of FeatureDetection. A oneof must not change
// its content within a message, as in match_parser.h.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACK_PARSER_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACK_PARSER_H_

#include "absl/status/status.h"
#include "server/wire/frame_parser.h"

namespace glint {

// Contents of the oneof; of predictions, how much there is; of an edit, whichever of the three it is, its frame_id
// only.
bool ParseTrackStreamRequest(decode::Pieces message, WireStreamRequest* request);

// What the edits of all streams have; the rest of the message is read when it is carried out.
void ReadEditId(WireReader* in, WireFrame* frame);

// OK, or INVALID_ARGUMENT: more predictions than cameras. RESOURCE_EXHAUSTED: more elements than there may be tracks.
// So unpacking takes no more memory than the limits allow.
absl::Status CheckPredictions(const WireTrack& track, const TrackingOptions& options);
// The predictions of a message that ParseTrackStreamRequest() took, a frame, which CheckPredictions() allowed.
void UnpackPredictions(decode::Pieces message, TrackPredictions* predictions);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_PARSER_H_
