// The client's types of matching as protobuf messages. Internal to the library and to its load generator.
#ifndef GLINT_CLIENT_MATCHING_WIRE_H_
#define GLINT_CLIENT_MATCHING_WIRE_H_

#include "absl/status/status.h"
#include "client/image.h"
#include "client/matching.h"
#include "glint/v1/matching.pb.h"

namespace glint::client {

void ToWire(const MatchSettings& settings, v1::MatchOptions* wire);
void ToWire(const DescriptorInput& from, v1::DescriptorSet* wire);
// `field` names the side in errors, which are those of images.
absl::Status ToWire(absl::string_view field, const MatchSide& side, v1::MatchSide* wire);
// Arrays of `count` elements, or null ones.
void ToWire(const QueryConditions& conditions, int count, v1::MatchConditions* wire);
// Without `right`, `left` has both images. Errors are those of images.
absl::Status ToWire(const ImageInput& left, const ImageInput& right, v1::StereoPair* wire);

// The streams' first messages; `in_flight`, `timeout` and `traceparent` are not the server's business.
void ToWire(const MatchStreamOptions& options, v1::MatchStreamOptions* wire);
void ToWire(const StereoStreamOptions& options, v1::StereoStreamOptions* wire);

}  // namespace glint::client

#endif  // GLINT_CLIENT_MATCHING_WIRE_H_
