// The requests of glint.v1.Localization, as frame_parser.h reads those of FeatureDetection. A oneof must not change its
// content within a message, as in match_parser.h.
#ifndef GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_PARSER_H_
#define GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_PARSER_H_

#include "server/wire/frame_parser.h"

namespace glint {

// Contents of the oneof; of a request about the map, whichever of the three it is, its frame_id only, as an edit.
bool ParseLocalizeStreamRequest(decode::Pieces message, WireStreamRequest* request);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_PARSER_H_
