// In-place parser of the requests of glint.v1.FeatureMatching, in two steps: the first locates the content and its
// sizes and copies nothing; the second unpacks descriptors and conditions into memory of known size.
//
// As in frame_parser.h, it accepts and refuses what the generated classes do, with the same content.
#ifndef GLINT_SERVER_OPERATIONS_MATCH_MATCH_PARSER_H_
#define GLINT_SERVER_OPERATIONS_MATCH_MATCH_PARSER_H_

#include <string>

#include "server/operations/match/descriptor_sets.h"
#include "server/wire/frame_parser.h"

namespace glint {

// glint.v1.MatchSide: kind of content and sizes.
struct WireMatchSide {
  enum class Content { kNone, kImage, kDescriptors, kSet };
  Content content = Content::kNone;
  SetSizes sizes;  // of descriptors
  WireBytes set;   // the name
  WireImage image;
};

// glint.v1.MatchConditions: number of elements of each array.
struct WireConditions {
  size_t x = 0, y = 0, radius = 0, min_octave = 0, max_octave = 0;
};

struct WireMatch {
  WireMatchSide query, train;
  WireConditions conditions;
};

// glint.v1.UpdateSet: sizes.
struct WireSetUpdate {
  size_t remove = 0;  // elements
  SetSizes add;
};

// glint.v1.MatchStreamRequest.
struct WireMatchStreamRequest : WireEnvelope {
  WireMatch match;
  bool forgets = false;  // the edit is a ForgetSet, else an UpdateSet
  WireBytes set;         // name of the edited set
  WireSetUpdate update;
};
bool ParseMatchStreamRequest(decode::Pieces message, WireMatchStreamRequest* request);

// glint.v1.MatchRequest. The serialized options hold all occurrences, concatenated, which merges them; bytes after the
// first kMaxOptionsBytes + 1 of each, kMaxCameraBytes + 1 of a camera, are missing.
struct WireMatchRequest {
  std::string detector, options;  // MatchRequest.detector and .match
  WireMatch match;
  WireGrayRange gray_range;
  bool has_query_camera = false, has_train_camera = false;
  std::string query_camera, train_camera;
};
bool ParseMatchRequest(decode::Pieces message, WireMatchRequest* request);

// Unpack the content of a parsed message, whose sizes bound the memory. Absent content is cleared.
void UnpackPair(decode::Pieces stream_request, const WireMatch& match, DescriptorSet* query, DescriptorSet* train,
                ConditionArrays* conditions);
void UnpackRequest(decode::Pieces request, const WireMatch& match, DescriptorSet* query, DescriptorSet* train,
                   ConditionArrays* conditions);
void UnpackUpdate(decode::Pieces stream_request, const WireSetUpdate& sizes, SetUpdate* update);

// A set's name, cut to kMaxSetName + 1 bytes.
std::string NameFromWire(decode::Pieces message, const WireBytes& name);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_MATCH_PARSER_H_
