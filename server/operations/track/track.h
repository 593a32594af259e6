// Tracking: points of up to kMaxTrackCameras cameras, followed from frame to frame (TrackStream).
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACK_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACK_H_

#include <memory>

#include "server/operations/operation.h"

namespace glint {

std::unique_ptr<Operation> MakeTrackStream(const Host& host);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_H_
