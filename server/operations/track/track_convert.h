// Options and edits of tracking from the wire. Nothing that comes in is trusted.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACK_CONVERT_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACK_CONVERT_H_

#include <array>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "glint/v1/tracking.pb.h"
#include "server/config/options.h"
#include "server/operations/track/track_session.h"
#include "server/session/session.h"
#include "server/wire/convert.h"

namespace glint {

// A stream's first message: valid options; what all streams have goes to `*session`. INVALID_ARGUMENT and
// RESOURCE_EXHAUSTED name the field.
absl::StatusOr<TrackingOptions> FromProto(const v1::TrackStreamOptions& proto, const ServerOptions& server,
                                          SessionOptions* session);

// Does the edit that a message of up to kMaxOptionsBytes holds. `changed` has the tracks that begin or end by it, by
// camera. Errors of TrackSession, and INVALID_ARGUMENT for what is no such message.
absl::Status ApplyTrackEdit(decode::Pieces message, TrackSession* session,
                            std::array<CameraTracks, kMaxTrackCameras>* changed);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_CONVERT_H_
