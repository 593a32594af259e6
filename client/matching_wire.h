// The client's types of matching as protobuf messages. Internal to the library and to its load generator.
#ifndef GLINT_CLIENT_MATCHING_WIRE_H_
#define GLINT_CLIENT_MATCHING_WIRE_H_

#include "absl/status/status.h"
#include "client/image.h"
#include "client/matching.h"
#include "client/rig_wire.h"
#include "client/stream_core.h"
#include "client/wire.h"
#include "features/status_macros.h"
#include "glint/v1/matching.pb.h"

namespace glint::client {

void ToWire(const MatchSettings& settings, v1::MatchOptions* wire);
// The cameras of a MatchRequest or of MatchStreamOptions.
template <typename Wire>
void SetCameras(const MatchSettings& settings, Wire* wire) {
  if (settings.query_camera.has_value()) ToWire(*settings.query_camera, wire->mutable_query_camera());
  if (settings.train_camera.has_value()) ToWire(*settings.train_camera, wire->mutable_train_camera());
}
void ToWire(const DescriptorInput& from, v1::DescriptorSet* wire);
// `field` names the side in errors, which are those of images.
absl::Status ToWire(absl::string_view field, const MatchSide& side, v1::MatchSide* wire);
// Arrays of `count` elements, or null ones.
void ToWire(const QueryConditions& conditions, int count, v1::MatchConditions* wire);
// Without `right`, `left` has both images. Errors are those of images.
absl::Status ToWire(const ImageInput& left, const ImageInput& right, v1::StereoPair* wire);

// The streams' first messages; `in_flight`, `timeout` and `traceparent` are not the server's business.
void ToWire(const MatchStreamOptions& options, v1::MatchStreamOptions* wire);
absl::Status ToWire(const StereoStreamOptions& options, v1::StereoStreamOptions* wire);

// The masks of a pair or, with null `slots`, of options. `prefix`: of their fields' names in errors.
template <typename Wire>
absl::Status SetMasks(absl::string_view prefix, const ImageInput& mask, const ImageInput& right_mask, FrameSlots* slots,
                      Wire* wire) {
  wire->clear_mask();
  wire->clear_right_mask();
  for (const ImageInput* one : {&mask, &right_mask}) {
    if (one->kind == ImageInput::Kind::kNone) continue;
    const bool is_left = one == &mask;
    if (slots != nullptr) slots->more.push_back(one->slot);
    GLINT_RETURN_IF_ERROR(ToWire(absl::StrCat(prefix, is_left ? "mask" : "right_mask"), *one,
                                 is_left ? wire->mutable_mask() : wire->mutable_right_mask()));
  }
  return absl::OkStatus();
}

// The masks and the region of options.
template <typename Options, typename Wire>
absl::Status SetWhereToLook(const Options& options, Wire* wire) {
  if (options.region.wanted()) ToWire(options.region, wire->mutable_region());
  return SetMasks("options.", options.mask, options.right_mask, nullptr, wire);
}

}  // namespace glint::client

#endif  // GLINT_CLIENT_MATCHING_WIRE_H_
