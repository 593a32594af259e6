// The image types of the client. Values; they own no pixels, but keep a slot of shared memory.
#ifndef GLINT_CLIENT_IMAGE_H_
#define GLINT_CLIENT_IMAGE_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "client/shared_memory.h"
#include "features/types.h"
#include "proto/terms.h"

namespace glint::client {

using glint::PixelFormat;

// Bytes of a pixel; for NV12, of its luma rows.
int BytesPerPixel(PixelFormat format);
// Rows in memory: NV12 has height / 2 of chroma after those of its luma, at the same stride.
int RowsOf(PixelFormat format, int height);

// A rectangle of an image, in its pixels: without one (no width), the whole image.
struct Region {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;

  bool wanted() const { return width != 0 || height != 0; }
};

// A borrowed picture, raw or encoded, whose bytes must live until the call that takes it returns; or one in shared
// memory. A default one stands for "none", which is how an absent mask is passed.
struct ImageInput {
  enum class Kind { kNone, kRaw, kEncoded, kShared };
  Kind kind = Kind::kNone;

  // kRaw. Row y of RowsOf() starts at data + y * stride; only its first width * BytesPerPixel(format) bytes are read
  // and sent.
  PixelFormat format = PixelFormat::kGray8;
  const uint8_t* data = nullptr;
  int width = 0;         // pixels
  int height = 0;        // pixels
  ptrdiff_t stride = 0;  // bytes; may be negative (rows stored bottom up)

  // kEncoded: a whole JPEG or PNG file, or a frame of an MJPEG video.
  absl::string_view file;

  // kShared: rows of `format` from the slot's beginning on, `stride` bytes apart, which must not be negative.
  SharedSlot slot;

  // Region of interest; overrides the stream's. Keypoints have coordinates of the whole image. Not for masks, which are
  // cropped with their image.
  Region region;

  ImageInput() = default;
  ImageInput(const ImageView& gray)  // NOLINT(google-explicit-constructor): a view is already a picture
      : kind(gray.empty() ? Kind::kNone : Kind::kRaw),
        data(gray.data),
        width(gray.width),
        height(gray.height),
        stride(gray.stride) {}
  ImageInput(const Image& gray) : ImageInput(gray.view()) {}  // NOLINT(google-explicit-constructor)

  static ImageInput Raw(PixelFormat format, const void* data, int width, int height, ptrdiff_t stride);
  static ImageInput Shared(SharedSlot slot, PixelFormat format, int width, int height, ptrdiff_t stride);
  static ImageInput Encoded(absl::string_view jpeg_or_png_file);
};

}  // namespace glint::client

#endif  // GLINT_CLIENT_IMAGE_H_
