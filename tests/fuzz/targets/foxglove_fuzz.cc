// What a client of the live view sends: nothing that it says is believed beyond its bounds, every answer is text, and a
// session stays as it was but for what was asked of it. Input: a byte, then by its lowest bit the bytes of a
// connection, or texts of operations, each ended by a line feed.
#include <sys/socket.h>
#include <unistd.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "client/view/base/connection.h"
#include "client/view/foxglove/session.h"
#include "client/view/message.h"
#include "features/limits.h"
#include "features/utf8.h"
#include "tests/fuzz/targets/input.h"

namespace glint::view {
namespace {

constexpr size_t kMaxInput = 32 << 10;  // less than a socket holds

void Check(const std::string& text, FoxgloveSession* session) {
  const auto operation = ParseFoxgloveOperation(text);
  if (!operation.has_value()) return;
  const Channels before = session->channels();
  const std::string told = session->Take(*operation);
  FUZZ_CHECK(told.empty() || absl::StartsWith(told, "{\"op\": \"status\",\"level\": "));
  for (size_t at = 0; at < told.size();) {
    const size_t size = Utf8Size(absl::string_view(told).substr(at));
    FUZZ_CHECK(size > 0);
    at += size;
  }
  const Channels after = session->channels(), added = after & ~before, removed = before & ~after;
  FUZZ_CHECK(after < Of(kChannelCount));
  FUZZ_CHECK(operation->op() == "subscribe" || added == 0);
  FUZZ_CHECK(operation->op() == "unsubscribe" || removed == 0);
  std::set<uint32_t> ids;
  for (const auto& id : session->subscriptions()) FUZZ_CHECK(!id.has_value() || ids.insert(*id).second);
}

void CheckConnection(fuzz::Bytes bytes, FoxgloveSession* session) {
  int sockets[2];
  FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
  FUZZ_CHECK(send(sockets[0], bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  shutdown(sockets[0], SHUT_WR);
  {
    Connection connection(sockets[1]);
    const auto request = connection.ReadRequest();
    const std::string protocol =
        request.has_value() ? ChooseFoxgloveProtocol(request->header("sec-websocket-protocol")) : "";
    FUZZ_CHECK(protocol.empty() || absl::StartsWith(protocol, "foxglove."));
    while (request.has_value()) {
      const auto frame = connection.ReadMessage(kMaxOperationBytes);
      if (!frame.has_value()) break;
      FUZZ_CHECK(frame->data.size() <= bytes.size());
      Check(frame->data, session);
      const auto said = ParseRequest(frame->data);
      FUZZ_CHECK(!said.has_value() || (said->value >= 0 && said->value <= kMaxFeatures));
    }
  }
  close(sockets[0]);
}

void Check(fuzz::Input input) {
  const bool whole = (input.Number<uint8_t>() & 1) != 0;
  const fuzz::Bytes bytes = input.Rest();
  if (bytes.size() > kMaxInput) return;
  FoxgloveSession session;
  if (whole) return CheckConnection(bytes, &session);
  std::string text;
  for (const uint8_t byte : bytes) {
    if (byte == '\n') {
      Check(text, &session);
      text.clear();
    } else {
      text += static_cast<char>(byte);
    }
  }
  Check(text, &session);
}

}  // namespace
}  // namespace glint::view

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  glint::view::Check(glint::fuzz::Input(data, size));
  return 0;
}
