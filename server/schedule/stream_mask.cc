#include "server/schedule/stream_mask.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace glint {

StreamMask::StreamMask(const ImageSource& source)
    : bytes_(source.bytes.begin(), source.bytes.end()), source_(source), view_(ImageView()) {
  source_.bytes = bytes_;
}

absl::StatusOr<ImageView> StreamMask::View(decode::Decoder* decoder, int64_t max_pixels) {
  std::call_once(decoded_, [&] { view_ = GrayView(source_, decoder, max_pixels, &pixels_); });
  return view_;
}

absl::StatusOr<ImageView> GrayView(const ImageSource& source, decode::Decoder* decoder, int64_t max_pixels,
                                   Image* pixels) {
  switch (source.kind) {
    case ImageSource::Kind::kNone:
      break;
    case ImageSource::Kind::kRaw:
      if (source.raw.format == decode::PixelFormat::kGray8) {
        return ImageView{source.bytes.data(), source.raw.shape.width, source.raw.shape.height,
                         static_cast<ptrdiff_t>(source.raw.stride)};
      }
      pixels->Resize(source.raw.shape);
      decode::RawToGray(source.raw, source.bytes.data(), decode::DestinationIn(pixels));
      return pixels->view();
    case ImageSource::Kind::kEncoded: {
      const auto shape = decoder->Inspect(source.encoding, source.bytes, max_pixels);
      if (!shape.ok()) return shape.status();
      pixels->Resize(*shape);
      if (auto s = decoder->DecodeInto(source.encoding, source.bytes, decode::DestinationIn(pixels)); !s.ok()) return s;
      return pixels->view();
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
