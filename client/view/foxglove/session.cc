#include "client/view/foxglove/session.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/error.h"

namespace glint::view {
namespace {

constexpr char kMessageData = 1;  // opcode of Foxglove's binary messages

template <typename Integer>
void AppendLittleEndian(Integer value, std::string* out) {
  for (size_t i = 0; i < sizeof(value); ++i) out->push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

}  // namespace

std::optional<FoxgloveOperation> ParseFoxgloveOperation(const std::string& text) {
  if (text.size() > kMaxOperationBytes) return std::nullopt;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  FoxgloveOperation operation;
  if (!google::protobuf::util::JsonStringToMessage(text, &operation, options).ok()) return std::nullopt;
  return operation;
}

std::string FoxgloveSession::Subscribe(uint32_t id, uint32_t channel_id) {
  if (channel_id < 1 || channel_id > kChannelCount) {
    return StatusOp(absl::StrCat("subscribe: channelId ", channel_id, " is not in 1..", kChannelCount), true);
  }
  if (std::find(subscriptions_.begin(), subscriptions_.end(), id) != subscriptions_.end()) {
    return StatusOp(absl::StrCat("subscribe: there is a subscription with id ", id), true);
  }
  std::optional<uint32_t>& subscription = subscriptions_[channel_id - 1];
  if (subscription.has_value()) {
    return StatusOp(absl::StrCat("subscribe: channel ", channel_id, " has subscription ", *subscription), false);
  }
  subscription = id;
  return "";
}

std::string FoxgloveSession::Unsubscribe(uint32_t id) {
  const auto found = std::find(subscriptions_.begin(), subscriptions_.end(), id);
  if (found == subscriptions_.end()) {
    return StatusOp(absl::StrCat("unsubscribe: there is no subscription with id ", id), false);
  }
  found->reset();
  return "";
}

std::string FoxgloveSession::Take(const FoxgloveOperation& operation) {
  std::string first;
  const auto keep = [&first](std::string wrong) {
    if (first.empty()) first = std::move(wrong);
  };
  if (operation.op() == "subscribe") {
    for (const auto& one : operation.subscriptions()) keep(Subscribe(one.id(), one.channel_id()));
  } else if (operation.op() == "unsubscribe") {
    for (const uint32_t id : operation.subscription_ids()) keep(Unsubscribe(id));
  } else {
    keep(StatusOp(absl::StrCat("op '", Echo(operation.op()), "' is not one of subscribe, unsubscribe"), true));
  }
  return first;
}

Channels FoxgloveSession::channels() const {
  Channels channels = 0;
  for (uint32_t i = 0; i < kChannelCount; ++i) channels |= subscriptions_[i].has_value() ? Of(i) : 0;
  return channels;
}

bool Send(const FoxgloveMessages& messages, const FoxgloveSubscriptions& subscriptions, Connection* connection) {
  for (uint32_t i = 0; i < kChannelCount; ++i) {
    if (!subscriptions[i].has_value()) continue;
    std::string head = {kMessageData};
    AppendLittleEndian(*subscriptions[i], &head);
    AppendLittleEndian(messages.time_ns, &head);
    for (const std::string& message : messages.of[i]) {
      if (!connection->WriteFrame(kBinaryFrame, head, message)) return false;
    }
  }
  return true;
}

}  // namespace glint::view
