// Converts tracking options and edits from the wire. Input is untrusted.
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

// Options of a stream's first message, valid; common options go to `*session`. INVALID_ARGUMENT and RESOURCE_EXHAUSTED
// name the field.
absl::StatusOr<TrackingOptions> FromProto(const v1::TrackStreamOptions& proto, const ServerOptions& server,
                                          SessionOptions* session);

// Applies the edit in a message of up to kMaxOptionsBytes. `changed` receives the tracks that it begins or ends, by
// camera. Errors of TrackSession; INVALID_ARGUMENT: not such a message.
absl::Status ApplyTrackEdit(decode::Pieces message, TrackSession* session,
                            std::array<CameraTracks, kMaxTrackCameras>* changed);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_CONVERT_H_
