// Picture files. One byte chooses the encoding, the rest is the file. A file is an error or a picture, the same for a
// decoder that has seen other files, for one that takes JPEGs apart for several threads, and for a new one, and never
// more. As depths it is an error or samples whose upper bytes are that picture.
#include <vector>

#include "decode/decode.h"
#include "tests/fuzz/targets/input.h"

namespace glint::decode {
namespace {

constexpr int64_t kMaxPixels = 128 * 128;  // keeps pictures small

struct Outcome {
  absl::Status status;
  Shape shape;
  std::vector<uint8_t> pixels;
};

Outcome Decode(Decoder* decoder, Encoding encoding, fuzz::Bytes file) {
  Outcome outcome;
  const auto shape = decoder->Inspect(encoding, file, kMaxPixels);
  outcome.status = shape.status();
  if (!shape.ok()) return outcome;
  outcome.shape = *shape;
  FUZZ_CHECK(shape->width >= 1 && shape->height >= 1 && shape->pixels() <= kMaxPixels);
  outcome.pixels.resize(static_cast<size_t>(shape->pixels()));
  outcome.status = decoder->DecodeInto(encoding, file, {outcome.pixels.data(), *shape, shape->width});
  return outcome;
}

// Samples of 16 bits: their upper bytes are the grey of the same file.
void CheckDepth(Decoder* decoder, Encoding encoding, fuzz::Bytes file, const Outcome& picture) {
  const auto shape = decoder->InspectDepth(encoding, file, kMaxPixels);
  if (!shape.ok()) return;
  FUZZ_CHECK(*shape == picture.shape);
  std::vector<uint8_t> samples(2 * static_cast<size_t>(shape->pixels()));
  const absl::Status status = decoder->DecodeDepthInto(encoding, file, {samples.data(), *shape, 2 * shape->width});
  FUZZ_CHECK(status.ok() == picture.status.ok());
  for (size_t i = 0; status.ok() && i < picture.pixels.size(); ++i) {
    FUZZ_CHECK(samples[2 * i + 1] == picture.pixels[i]);
  }
}

// Four threads, as far as the decoder can tell.
class Backwards final : public Parallel {
 public:
  int threads() const override { return 4; }
  void Share(int count, absl::FunctionRef<void(int i)> task) override {
    for (int i = count - 1; i >= 0; --i) task(i);
  }
};

void CheckSame(const Outcome& first, const Outcome& second) {
  FUZZ_CHECK(first.status == second.status);
  FUZZ_CHECK(!first.status.ok() || first.pixels == second.pixels);
}

}  // namespace
}  // namespace glint::decode

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using glint::decode::Encoding;
  static glint::decode::Decoder used;
  static glint::decode::Backwards backwards;
  static glint::decode::Decoder sharing(&backwards);
  glint::fuzz::Input input(data, size);
  const auto encoding = static_cast<Encoding>(input.Number<uint8_t>() % 4);
  const glint::fuzz::Bytes file = input.Rest();
  const auto first = glint::decode::Decode(&used, encoding, file);
  FUZZ_CHECK(first.status.ok() || first.status.code() == absl::StatusCode::kInvalidArgument ||
             first.status.code() == absl::StatusCode::kResourceExhausted);
  FUZZ_CHECK(first.status.ok() || !first.status.message().empty());
  glint::decode::CheckDepth(&used, encoding, file, first);
  CheckSame(first, glint::decode::Decode(&sharing, encoding, file));
  if (size % 4 != 0) return 0;  // making a decoder takes longer than a small file
  glint::decode::Decoder fresh;
  CheckSame(first, glint::decode::Decode(&fresh, encoding, file));
  return 0;
}
