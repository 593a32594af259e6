// What one client of Foxglove's protocol has asked for.
#ifndef GLINT_CLIENT_VIEW_FOXGLOVE_SESSION_H_
#define GLINT_CLIENT_VIEW_FOXGLOVE_SESSION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "client/view/base/connection.h"
#include "client/view/foxglove/channels.h"
#include "client/view/foxglove/messages.h"
#include "client/view/foxglove/operation.pb.h"

namespace glint::view {

inline constexpr size_t kMaxOperationBytes = 64 << 10;

// What a client says, in at most kMaxOperationBytes. Nothing if it is no JSON of an operation.
std::optional<FoxgloveOperation> ParseFoxgloveOperation(const std::string& text);

// By channel: the subscription's id. A channel has one at most, so a client has no more than kChannelCount.
using FoxgloveSubscriptions = std::array<std::optional<uint32_t>, kChannelCount>;

// Thread-compatible.
class FoxgloveSession {
 public:
  // What the client is to be told, an op "status": what is wrong first. Empty: nothing is.
  std::string Take(const FoxgloveOperation& operation);

  // That are subscribed.
  Channels channels() const;
  const FoxgloveSubscriptions& subscriptions() const { return subscriptions_; }

 private:
  std::string Subscribe(uint32_t id, uint32_t channel_id);
  std::string Unsubscribe(uint32_t id);

  FoxgloveSubscriptions subscriptions_;
};

// Sends what is subscribed. False: the client has gone.
bool Send(const FoxgloveMessages& messages, const FoxgloveSubscriptions& subscriptions, Connection* connection);

}  // namespace glint::view

#endif  // GLINT_CLIENT_VIEW_FOXGLOVE_SESSION_H_
