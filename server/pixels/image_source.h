// Images and regions of images as clients name them: located, not yet looked at.
#ifndef GLINT_SERVER_PIXELS_IMAGE_SOURCE_H_
#define GLINT_SERVER_PIXELS_IMAGE_SOURCE_H_

#include <algorithm>
#include <cstdint>

#include "decode/decode.h"
#include "decode/pieces.h"
#include "features/types.h"

namespace glint {

// Pixels as a client sent them, borrowed like the array of their pieces. A raw source was inspected; an encoded one has
// yet to be.
struct ImageSource {
  enum class Kind { kNone, kRaw, kEncoded };
  Kind kind = Kind::kNone;
  decode::RawPlan raw;
  decode::Encoding encoding = decode::Encoding::kDetect;
  decode::Pieces bytes;
};

// The part of an image to work on, as a client asked for it: nothing in it is trusted.
struct Region {
  bool wanted = false;  // else the whole image
  uint32_t x = 0, y = 0, width = 0, height = 0;
};

// Pixels that a frame's stream is charged with before its picture has been decoded: files have about a bit per pixel.
inline int64_t ExpectedPixels(const ImageSource& image, const Region& region, int64_t message_bytes) {
  if (image.kind == ImageSource::Kind::kRaw && region.wanted) {
    const Shape& whole = image.raw.shape;
    return std::max<int64_t>(
        1, std::min<int64_t>(region.width, whole.width) * std::min<int64_t>(region.height, whole.height));
  }
  return image.kind == ImageSource::Kind::kRaw ? image.raw.shape.pixels() : 8 * message_bytes;
}

// What matching costs, in pixels: about 1 ns a pixel for a detector, and 1/32 of that for a pair of descriptors.
inline int64_t MatchPixels(int64_t queries, int64_t trains) { return queries * trains / 32; }

}  // namespace glint

#endif  // GLINT_SERVER_PIXELS_IMAGE_SOURCE_H_
