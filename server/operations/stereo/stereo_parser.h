// In-place parser of the requests of glint.v1.FeatureMatching.StereoStream; see frame_parser.h.
#ifndef GLINT_SERVER_OPERATIONS_STEREO_STEREO_PARSER_H_
#define GLINT_SERVER_OPERATIONS_STEREO_STEREO_PARSER_H_

#include "server/wire/frame_parser.h"

namespace glint {

// glint.v1.StereoStreamRequest.
struct WireStereoStreamRequest : WireEnvelope {
  WireImagePair pair;
  int64_t left_time_ns = 0, right_time_ns = 0;
};

// False if `message` is not a serialized message of that type. `*request` is overwritten.
bool ParseStereoStreamRequest(decode::Pieces message, WireStereoStreamRequest* request);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_STEREO_STEREO_PARSER_H_
