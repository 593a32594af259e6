// Bytes of an HTTP/2 connection, from both sides in turn and cut anywhere: the guard's answer is the same. Input: how
// bytes are cut (4 bytes), then turns of length (2 bytes, the highest bit: the server's), milliseconds since the last
// turn (1 byte) and bytes. Client's bytes begin behind the preface.
#include <string>
#include <string_view>

#include "server/net/http2_guard.h"
#include "tests/fuzz/targets/input.h"

namespace glint {
namespace {

int64_t now_ns = 0;

struct Side {
  Http2Peer all{nullptr}, peer{&all};
  Http2Guard guard{[] { return now_ns; }};
  const char* over = nullptr;

  void Turn(bool server, fuzz::Bytes bytes) {
    if (server) guard.Send(bytes.data(), bytes.size());
    if (!server) over = guard.Receive(bytes.data(), bytes.size(), &peer);
  }
};

void Check(fuzz::Input input) {
  const auto seed = input.Number<uint32_t>();
  Side whole, cut;
  constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const fuzz::Bytes preface(reinterpret_cast<const uint8_t*>(kPreface.data()), kPreface.size());
  whole.Turn(false, preface);
  const fuzz::CutBytes preface_pieces(preface, seed);
  for (const fuzz::Bytes piece : preface_pieces.spans()) cut.Turn(false, piece);
  now_ns = 0;
  while (!input.empty()) {
    const auto length = input.Number<uint16_t>();
    now_ns += input.Number<uint8_t>() * int64_t{1'000'000};
    const fuzz::Bytes bytes = input.Take(length & 0x7fff);
    const bool server = length >> 15 != 0;
    whole.Turn(server, bytes);
    const fuzz::CutBytes pieces(bytes, seed);
    for (const fuzz::Bytes piece : pieces.spans()) cut.Turn(server, piece);
    FUZZ_CHECK(whole.over == cut.over);
    FUZZ_CHECK(whole.guard.open_calls() == cut.guard.open_calls());
    FUZZ_CHECK(whole.guard.last_call_ns() == cut.guard.last_call_ns());
  }
}

}  // namespace
}  // namespace glint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  glint::Check(glint::fuzz::Input(data, size));
  return 0;
}
