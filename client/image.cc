#include "client/image.h"

namespace glint::client {

int BytesPerPixel(PixelFormat format) {
  switch (format) {
    case PixelFormat::kGray8:
      return 1;
    case PixelFormat::kBgr8:
    case PixelFormat::kRgb8:
      return 3;
    case PixelFormat::kBgra8:
    case PixelFormat::kRgba8:
      return 4;
  }
  return 0;
}

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

ImageInput ImageInput::Encoded(absl::string_view jpeg_or_png_file) {
  ImageInput image;
  image.kind = Kind::kEncoded;
  image.file = jpeg_or_png_file;
  return image;
}

}  // namespace glint::client
