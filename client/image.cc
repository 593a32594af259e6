#include "client/image.h"

#include <utility>

namespace glint::client {

int BytesPerPixel(PixelFormat format) {
  switch (format) {
    case PixelFormat::kGray8:
    case PixelFormat::kNv12:
    case PixelFormat::kBayerRggb8:
      return 1;
    case PixelFormat::kYuyv:
    case PixelFormat::kGray16:
      return 2;
    case PixelFormat::kBgr8:
    case PixelFormat::kRgb8:
      return 3;
    case PixelFormat::kBgra8:
    case PixelFormat::kRgba8:
      return 4;
  }
  return 0;
}

int RowsOf(PixelFormat format, int height) { return format == PixelFormat::kNv12 ? height + height / 2 : height; }

ImageInput ImageInput::Raw(PixelFormat format, const void* data, int width, int height, ptrdiff_t stride) {
  ImageInput image;
  image.kind = Kind::kRaw;
  image.format = format;
  image.data = static_cast<const uint8_t*>(data);
  image.width = width;
  image.height = height;
  image.stride = stride;
  return image;
}

ImageInput ImageInput::Shared(SharedSlot slot, PixelFormat format, int width, int height, ptrdiff_t stride) {
  ImageInput image = Raw(format, slot.empty() ? nullptr : slot.data(), width, height, stride);
  image.kind = Kind::kShared;
  image.slot = std::move(slot);
  return image;
}

ImageInput ImageInput::Encoded(absl::string_view jpeg_or_png_file) {
  ImageInput image;
  image.kind = Kind::kEncoded;
  image.file = jpeg_or_png_file;
  return image;
}

}  // namespace glint::client
