// The requests of glint.v1.FeatureMatching, read where they lie, in two steps: the first finds what there is and how
// much, and copies nothing; the second unpacks descriptors and conditions into memory whose size is then known.
//
// As frame_parser.h, but a oneof must not change its content within a message: that is refused as damaged.
#ifndef GLINT_SERVER_OPERATIONS_MATCH_MATCH_PARSER_H_
#define GLINT_SERVER_OPERATIONS_MATCH_MATCH_PARSER_H_

#include <string>

#include "server/operations/match/descriptor_sets.h"
#include "server/wire/frame_parser.h"

namespace glint {

// Contents of the oneof. A pair's images are `frame.image` and `frame.second`.
bool ParseMatchStreamRequest(decode::Pieces message, WireStreamRequest* request);
bool ParseStereoStreamRequest(decode::Pieces message, WireStreamRequest* request);

// What all pairs of eyes have, fields 1 to 4. False: `tag` is none of these, and what follows it is not read.
bool ReadEyes(WireReader* in, uint32_t tag, WireFrame* frame);

// The options are serialized: all that came, side by side, which is their merger; those behind the first
// kMaxOptionsBytes + 1 bytes of each are missing.
struct WireMatchRequest {
  std::string detector, options;
  WireMatch match;
  WireImage query, train;
};
bool ParseMatchRequest(decode::Pieces message, WireMatchRequest* request);

// Of a message that was parsed; what there is not is cleared.
void UnpackPair(decode::Pieces stream_request, DescriptorSet* query, DescriptorSet* train, ConditionArrays* conditions);
void UnpackRequest(decode::Pieces request, DescriptorSet* query, DescriptorSet* train, ConditionArrays* conditions);
void UnpackEdit(decode::Pieces stream_request, SetChange* change);

// A name, of kMaxSetName + 1 bytes at most.
std::string NameFromWire(decode::Pieces message, const WireBytes& name);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_MATCH_PARSER_H_
