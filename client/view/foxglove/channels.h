// What a view offers to clients of Foxglove's protocol: its channels, as they are advertised.
#ifndef GLINT_CLIENT_VIEW_FOXGLOVE_CHANNELS_H_
#define GLINT_CLIENT_VIEW_FOXGLOVE_CHANNELS_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace glint::view {

// A channel's id is its number plus 1. docs/view.md has their topics and what is in them.
enum Channel : uint32_t {
  kImageChannel,
  kAnnotationsChannel,
  kPoseChannel,
  kTransformChannel,
  kPathChannel,
  kMapChannel,
  kStagesChannel,
  kLogChannel,
  kChannelCount
};

// A set of channels.
using Channels = uint32_t;
constexpr Channels Of(uint32_t channel) { return Channels{1} << channel; }

// What a channel has, in the words of Foxglove's protocol and of MCAP.
struct Offer {
  std::string topic, encoding, schema_name, schema_encoding;
  std::string schema;  // of "protobuf" a FileDescriptorSet
};
std::array<Offer, kChannelCount> Offers();

// Of those that a client offers (Sec-WebSocket-Protocol), the one to speak; empty: none is known.
std::string ChooseFoxgloveProtocol(absl::string_view offered);

// The first two messages of a server: op "serverInfo" with the view's title, and op "advertise".
std::string ServerInfo(const std::string& title);
std::string Advertisement();

// Op "status"; `error`: else a warning.
std::string StatusOp(const std::string& message, bool error);

}  // namespace glint::view

#endif  // GLINT_CLIENT_VIEW_FOXGLOVE_CHANNELS_H_
