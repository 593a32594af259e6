// Options of localization and requests about maps from the wire. Nothing that comes in is trusted.
#ifndef GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_CONVERT_H_
#define GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_CONVERT_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "glint/v1/localization.pb.h"
#include "server/config/options.h"
#include "server/operations/localize/localize_work.h"
#include "server/operations/localize/map_directory.h"
#include "server/wire/convert.h"
#include "server/wire/stereo_rig.h"

namespace glint {

// Requests about maps are small.
inline constexpr size_t kMaxMapRequestBytes = 4096;

// The options of a stream's first message, which are valid but for the ranges of the camera. INVALID_ARGUMENT and
// RESOURCE_EXHAUSTED name the field. The rectification of a rig is one of `rectifications`.
absl::StatusOr<LocalizationOptions> FromProto(const v1::LocalizeStreamOptions& proto, const ServerOptions& server,
                                              Rectifications* rectifications);

// What the get_map, save_map or load_map of a LocalizeStreamRequest asks for, and the file that is meant. Errors of
// `maps`, and INVALID_ARGUMENT for what is no such message.
absl::Status ParseMapRequest(decode::Pieces message, const MapDirectory& maps, LocalizeTask* task);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_CONVERT_H_
