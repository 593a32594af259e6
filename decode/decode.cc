#include "decode/decode.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "decode/jpeg.h"
#include "decode/png.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::decode {
namespace {

constexpr uint8_t kJpegStart[] = {0xff, 0xd8, 0xff};
constexpr uint8_t kPngStart[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

template <size_t kSize>
bool StartsWith(absl::Span<const uint8_t> file, const uint8_t (&start)[kSize]) {
  return file.size() >= kSize && std::memcmp(file.data(), start, kSize) == 0;
}

// The encoding to decode by; a file that is not what the client says it is, is an error.
absl::StatusOr<Encoding> Resolve(Encoding encoding, absl::Span<const uint8_t> file) {
  if (file.empty()) return ContradictionError("image.data", "is empty");
  const bool jpeg = IsJpeg(file);
  const bool png = StartsWith(file, kPngStart);
  switch (encoding) {
    case Encoding::kDetect:
      if (jpeg) return Encoding::kJpeg;
      if (png) return Encoding::kPng;
      return ContradictionError("image.data", "is neither a JPEG nor a PNG file");
    case Encoding::kJpeg:
      if (jpeg) return Encoding::kJpeg;
      return ContradictionError("image.data", "is not a JPEG file");
    case Encoding::kMjpeg:
      if (jpeg) return Encoding::kJpeg;
      return ContradictionError("image.data", "is not a frame of an MJPEG video");
    case Encoding::kPng:
      if (png) return Encoding::kPng;
      return ContradictionError("image.data", "is not a PNG file");
  }
  return NotOneOfError("image.encoding", absl::StrCat(static_cast<int>(encoding)), "UNSPECIFIED, JPEG, PNG, MJPEG");
}

}  // namespace

bool IsJpeg(absl::Span<const uint8_t> file) { return StartsWith(file, kJpegStart); }

bool LacksEndMarker(absl::Span<const uint8_t> jpeg) {
  constexpr uint8_t kMarker = 0xff, kRestart0 = 0xd0, kStart = 0xd8, kEnd = 0xd9;
  for (size_t at = 0; at + 1 < jpeg.size();) {
    const uint8_t code = jpeg[at + 1];
    // Neither data of a scan, nor what lies between segments, has an end marker in it: 0xff stands before 0 there.
    if (jpeg[at] != kMarker || code <= 1 || code == kMarker) {
      ++at;
    } else if (code == kEnd) {
      return false;
    } else if (code >= kRestart0 && code <= kStart) {
      at += 2;
    } else if (at + 3 < jpeg.size()) {
      at += 2 + static_cast<size_t>(jpeg[at + 2] * 256 + jpeg[at + 3]);
    } else {
      break;
    }
  }
  return true;
}

struct Decoder::Codecs {
  explicit Codecs(Parallel* parallel) : jpeg(parallel) {}

  JpegDecoder jpeg;
  PngDecoder png;
};

Decoder::Decoder(Parallel* parallel) : codecs_(std::make_unique<Codecs>(parallel)) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

int64_t Decoder::shared_jpegs() const { return codecs_->jpeg.shared(); }

absl::StatusOr<Shape> Decoder::Inspect(Encoding encoding, absl::Span<const uint8_t> file, int64_t max_pixels) {
  GLINT_ASSIGN_OR_RETURN(auto kind, Resolve(encoding, file));
  return kind == Encoding::kJpeg ? codecs_->jpeg.Inspect(file, max_pixels) : codecs_->png.Inspect(file, max_pixels);
}

absl::Status Decoder::DecodeInto(Encoding encoding, absl::Span<const uint8_t> file, const Destination& to) {
  GLINT_ASSIGN_OR_RETURN(auto kind, Resolve(encoding, file));
  if (kind == Encoding::kPng) return codecs_->png.DecodeInto(file, to);
  absl::Status status = codecs_->jpeg.DecodeInto(file, to);
  if (status.ok()) ++jpegs_;
  return status;
}

absl::StatusOr<Shape> Decoder::InspectDepth(Encoding encoding, absl::Span<const uint8_t> file, int64_t max_pixels) {
  GLINT_ASSIGN_OR_RETURN(auto kind, Resolve(encoding, file));
  if (kind == Encoding::kJpeg) return ContradictionError("image.data", "is a JPEG file, not a grey PNG of 16 bits");
  return PngDecoder::InspectDepth(file, max_pixels);
}

absl::Status Decoder::DecodeDepthInto(Encoding encoding, absl::Span<const uint8_t> file, const Destination& to) {
  GLINT_ASSIGN_OR_RETURN(auto kind, Resolve(encoding, file));
  if (kind == Encoding::kJpeg) return ContradictionError("image.data", "is a JPEG file, not a grey PNG of 16 bits");
  return PngDecoder::DecodeDepthInto(file, to);
}

}  // namespace glint::decode
