// Converts matching options from the wire. Input is untrusted.
#ifndef GLINT_SERVER_OPERATIONS_MATCH_MATCH_CONVERT_H_
#define GLINT_SERVER_OPERATIONS_MATCH_MATCH_CONVERT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/options.h"
#include "glint/v1/matching.pb.h"
#include "server/operations/match/match_parser.h"
#include "server/operations/match/match_work.h"

namespace glint {

// Returns valid options. INVALID_ARGUMENT names the field, as a part of "match".
absl::StatusOr<MatchCriteria> FromProto(const v1::MatchOptions& proto);

// Match options of a MatchRequest from their serialized form. Errors of FromProto().
absl::StatusOr<MatchCriteria> MatchOptionsFromWire(const std::string& serialized);

// INVALID_ARGUMENT or RESOURCE_EXHAUSTED: a side without content, a set that is too large or whose arrays do not fit
// together, too many conditions; or `options` has no descriptors, and a side is an image.
absl::Status ValidateMatch(const WireMatch& match, const DetectorOptions& options, int max_descriptors);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_MATCH_CONVERT_H_
