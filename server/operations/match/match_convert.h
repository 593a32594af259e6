// Options of matching and stereo from the wire. Nothing that comes in is trusted.
#ifndef GLINT_SERVER_OPERATIONS_MATCH_MATCH_CONVERT_H_
#define GLINT_SERVER_OPERATIONS_MATCH_MATCH_CONVERT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "glint/v1/matching.pb.h"
#include "server/operations/match/match_parser.h"
#include "server/session/session.h"
#include "server/wire/convert.h"

namespace glint {

// max_features of each image of a pair.
inline int FeaturesOfAnEye(const ServerOptions& server) { return std::max(1, server.max_features / 2); }

// Valid options, and nothing else of the request. INVALID_ARGUMENT names the field.
absl::StatusOr<MatchRequest> FromProto(const v1::MatchOptions& proto);
absl::StatusOr<StereoRequest> FromProto(const v1::StereoOptions& proto);

// A stream's first message. The same errors, and those of FromProto(v1::StreamOptions).
absl::StatusOr<SessionOptions> FromProto(const v1::MatchStreamOptions& proto, const ServerOptions& server);
absl::StatusOr<SessionOptions> FromProto(const v1::StereoStreamOptions& proto, const ServerOptions& server);

// Serialized options of a MatchRequest.
absl::StatusOr<MatchRequest> MatchOptionsFromWire(const std::string& serialized);

// INVALID_ARGUMENT or RESOURCE_EXHAUSTED: a side without content, a set that is too large or whose arrays do not fit
// together, too many conditions; or `options` has no descriptors, and a side is an image.
absl::Status ValidateMatch(const WireMatch& match, const DetectorOptions& options, int max_descriptors);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_MATCH_CONVERT_H_
