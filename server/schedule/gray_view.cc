#include "server/schedule/gray_view.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace glint {

absl::StatusOr<ImageView> GrayView(const ImageSource& source, decode::Decoder* decoder, int64_t max_pixels,
                                   PixelScratch* scratch) {
  switch (source.kind) {
    case ImageSource::Kind::kNone:
      break;
    case ImageSource::Kind::kRaw:
      if (source.raw.format == decode::PixelFormat::kGray8 && source.bytes.size() == 1) {
        return ImageView{source.bytes[0].data(), source.raw.shape.width, source.raw.shape.height,
                         static_cast<ptrdiff_t>(source.raw.stride)};
      }
      scratch->pixels.Resize(source.raw.shape);
      decode::RawToGray(source.raw, source.bytes, decode::DestinationIn(&scratch->pixels), &scratch->bytes);
      return scratch->pixels.view();
    case ImageSource::Kind::kEncoded: {
      const absl::Span<const uint8_t> file = decode::Contiguous(source.bytes, &scratch->bytes);
      const auto shape = decoder->Inspect(source.encoding, file, max_pixels);
      if (!shape.ok()) return shape.status();
      scratch->pixels.Resize(*shape);
      const auto to = decode::DestinationIn(&scratch->pixels);
      if (auto s = decoder->DecodeInto(source.encoding, file, to); !s.ok()) return s;
      return scratch->pixels.view();
    }
  }
  return ImageView();
}

absl::Status AboutMask(const absl::Status& status) {
  absl::string_view text = status.message();
  if (!absl::ConsumePrefix(&text, "image.")) return status;
  return absl::Status(status.code(), absl::StrCat("mask.", text));
}

}  // namespace glint
