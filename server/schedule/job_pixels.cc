#include "server/schedule/job_pixels.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace glint {

void RawRows::CopyRows(int first, int count, uint8_t* to, ptrdiff_t stride) const {
  decode::RawToGray(source_->raw, source_->bytes, 0, first, {to, {source_->raw.shape.width, count}, stride}, &row_);
  copied_bytes_ += static_cast<int64_t>(source_->raw.row_bytes) * count;
}

absl::StatusOr<Pixels> PixelsOf(const ImageSource& source, decode::Decoder* decoder, int64_t max_pixels,
                                PixelScratch* scratch) {
  switch (source.kind) {
    case ImageSource::Kind::kNone:
      break;
    case ImageSource::Kind::kRaw: {
      scratch->rows.Use(source);
      Pixels pixels(&scratch->rows);
      if (decode::IsGrayInPlace(source.raw.format) && source.bytes.size() == 1) {
        pixels.view = {source.bytes[0].data(), source.raw.shape.width, source.raw.shape.height,
                       static_cast<ptrdiff_t>(source.raw.stride)};
      }
      return pixels;
    }
    case ImageSource::Kind::kEncoded: {
      const absl::Span<const uint8_t> file = decode::Contiguous(source.bytes, &scratch->file);
      const auto shape = decoder->Inspect(source.encoding, file, max_pixels);
      if (!shape.ok()) return shape.status();
      scratch->decoded.Resize(*shape);
      const auto to = decode::DestinationIn(&scratch->decoded);
      if (auto s = decoder->DecodeInto(source.encoding, file, to); !s.ok()) return s;
      return Pixels(scratch->decoded);
    }
  }
  return Pixels();
}

absl::Status AboutMask(const absl::Status& status) {
  absl::string_view text = status.message();
  if (!absl::ConsumePrefix(&text, "image.")) return status;
  return absl::Status(status.code(), absl::StrCat("mask.", text));
}

}  // namespace glint
