// The requests of glint.v1.Localization, as frame_parser.h reads those of FeatureDetection.
#ifndef GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_PARSER_H_
#define GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_PARSER_H_

#include "server/wire/frame_parser.h"

namespace glint {

// glint.v1.LocalizeStreamRequest; of a request about the map, whichever of the three it is, its frame_id only, as an
// edit.
struct WireLocalizeStreamRequest : WireEnvelope {
  WireImagePair pair;
  int64_t time_ns = 0;
  bool relocalize = false;  // the pair is to be found in the map
  bool has_depth = false;
  WireImage depth;
};

// False if `message` is not a serialized message of that type. `*request` is overwritten.
bool ParseLocalizeStreamRequest(decode::Pieces message, WireLocalizeStreamRequest* request);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZE_PARSER_H_
