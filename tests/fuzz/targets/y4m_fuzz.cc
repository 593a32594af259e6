// Video in y4m, however its bytes arrive: frames of the size that the header says, with chroma or without the same ones
// and the same end. Input: how bytes are cut (4 bytes), then the file.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "client/video/y4m.h"
#include "tests/fuzz/targets/input.h"

namespace glint::video {
namespace {

constexpr size_t kMaxFrame = 1 << 20;  // bytes; larger pictures are as good when they are cut off

class Pieces : public ByteSource {
 public:
  Pieces(fuzz::Bytes bytes, uint32_t seed) : cut_(bytes, seed) {}
  absl::StatusOr<size_t> Read(uint8_t* to, size_t size) override {
    while (at_ < cut_.spans().size() && offset_ == cut_.spans()[at_].size()) {
      ++at_;
      offset_ = 0;
    }
    if (at_ == cut_.spans().size()) return 0;
    const fuzz::Bytes piece = cut_.spans()[at_].subspan(offset_, size);
    std::copy(piece.begin(), piece.end(), to);
    offset_ += piece.size();
    return piece.size();
  }

 private:
  const fuzz::CutBytes cut_;
  size_t at_ = 0, offset_ = 0;
};

struct Video {
  absl::Status status;
  std::vector<std::string> lumas;
};

// Nothing if its pictures are too large to look at.
std::optional<Video> ReadAll(fuzz::Bytes bytes, uint32_t seed, bool with_chroma) {
  Pieces pieces(bytes, seed);
  Y4mReader reader(&pieces);
  Video video;
  video.status = reader.ReadHeader();
  if (!video.status.ok()) return video;
  const Y4mHeader& header = reader.header();
  FUZZ_CHECK(header.shape.width >= 1 && header.shape.height >= 1);
  FUZZ_CHECK((header.rate_numerator == 0) == (header.rate_denominator == 0));
  if (header.luma_bytes() + header.chroma_bytes() > kMaxFrame) return std::nullopt;
  std::vector<uint8_t> luma(header.luma_bytes()), chroma(header.chroma_bytes());
  while (true) {
    video.status = reader.Next(luma.data(), with_chroma ? chroma.data() : nullptr);
    if (!video.status.ok()) return video;
    video.lumas.emplace_back(luma.begin(), luma.end());
  }
}

void Check(fuzz::Input input) {
  const auto seed = input.Number<uint32_t>();
  const fuzz::Bytes bytes = input.Rest();
  const auto one = ReadAll(bytes, seed, true), other = ReadAll(bytes, seed ^ 0x5a5a5a5a, false);
  FUZZ_CHECK(one.has_value() == other.has_value());
  if (!one.has_value()) return;
  FUZZ_CHECK(one->status == other->status && one->lumas == other->lumas);
  FUZZ_CHECK(absl::IsInvalidArgument(one->status) || absl::IsOutOfRange(one->status));
}

}  // namespace
}  // namespace glint::video

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  glint::video::Check(glint::fuzz::Input(data, size));
  return 0;
}
