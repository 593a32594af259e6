// The requests of glint.v1.FeatureMatching, read where they lie, in two steps: the first finds what there is and how
// much, and copies nothing; the second unpacks descriptors and conditions into memory whose size is then known.
//
// As frame_parser.h: accepted and refused is what the generated classes accept and refuse, with the same content.
#ifndef GLINT_SERVER_OPERATIONS_MATCH_MATCH_PARSER_H_
#define GLINT_SERVER_OPERATIONS_MATCH_MATCH_PARSER_H_

#include <string>

#include "server/operations/match/descriptor_sets.h"
#include "server/wire/frame_parser.h"

namespace glint {

// glint.v1.MatchSide: what there is, and how much.
struct WireMatchSide {
  enum class Content { kNone, kImage, kDescriptors, kSet };
  Content content = Content::kNone;
  SetSizes sizes;  // of descriptors
  WireBytes set;   // the name
  WireImage image;
};

// glint.v1.MatchConditions: elements of each array.
struct WireConditions {
  size_t x = 0, y = 0, radius = 0, min_octave = 0, max_octave = 0;
};

struct WireMatch {
  WireMatchSide query, train;
  WireConditions conditions;
};

// glint.v1.UpdateSet: how much there is.
struct WireSetUpdate {
  size_t remove = 0;  // elements
  SetSizes add;
};

// glint.v1.MatchStreamRequest.
struct WireMatchStreamRequest : WireEnvelope {
  WireMatch match;
  bool forgets = false;  // the edit is a ForgetSet, else an UpdateSet
  WireBytes set;         // the name of the edit's
  WireSetUpdate update;
};
bool ParseMatchStreamRequest(decode::Pieces message, WireMatchStreamRequest* request);

// The options are serialized: all that came, side by side, which is their merger; those behind the first
// kMaxOptionsBytes + 1 bytes of each are missing.
struct WireMatchRequest {
  std::string detector, options;  // MatchRequest.detector and .match
  WireMatch match;
};
bool ParseMatchRequest(decode::Pieces message, WireMatchRequest* request);

// Of a message that was parsed, which gave the sizes: no more memory is taken. What there is not is cleared.
void UnpackPair(decode::Pieces stream_request, const WireMatch& match, DescriptorSet* query, DescriptorSet* train,
                ConditionArrays* conditions);
void UnpackRequest(decode::Pieces request, const WireMatch& match, DescriptorSet* query, DescriptorSet* train,
                   ConditionArrays* conditions);
void UnpackUpdate(decode::Pieces stream_request, const WireSetUpdate& sizes, SetUpdate* update);

// A name, of kMaxSetName + 1 bytes at most.
std::string NameFromWire(decode::Pieces message, const WireBytes& name);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_MATCH_PARSER_H_
