// Images and regions of images as clients describe them: located, not decoded.
#ifndef GLINT_SERVER_PIXELS_IMAGE_SOURCE_H_
#define GLINT_SERVER_PIXELS_IMAGE_SOURCE_H_

#include <algorithm>
#include <cstdint>

#include "decode/decode.h"
#include "decode/pieces.h"
#include "features/types.h"
#include "server/pixels/stream_range.h"

namespace glint {

// Pixels as a client sent them, borrowed like the array of their pieces. Raw sources have been inspected; encoded ones
// have not.
struct ImageSource {
  enum class Kind { kNone, kRaw, kEncoded };
  Kind kind = Kind::kNone;
  bool is_shared = false;  // kRaw: in memory that the client shares, a glint.v1.SharedImage
  decode::RawPlan raw;
  decode::Encoding encoding = decode::Encoding::kDetect;
  decode::Pieces bytes;
  StreamRange* range = nullptr;  // of samples of 16 bits, if one is wanted: then the image must have such
};

// Region of interest as a client sent it: untrusted.
struct Region {
  bool wanted = false;  // else the whole image
  uint32_t x = 0, y = 0, width = 0, height = 0;
};

// Masks of the images of a pair; of kind kNone where there is none.
struct PairMaskSources {
  ImageSource left, right;
};

// Nominal cost of an image: files have about one bit per pixel.
inline int64_t ExpectedPixels(const ImageSource& image, const Region& region, int64_t message_bytes) {
  if (image.kind == ImageSource::Kind::kRaw && region.wanted) {
    const Shape& whole = image.raw.shape;
    return std::max<int64_t>(
        1, std::min<int64_t>(region.width, whole.width) * std::min<int64_t>(region.height, whole.height));
  }
  return image.kind == ImageSource::Kind::kRaw ? image.raw.shape.pixels() : 8 * message_bytes;
}

// Nominal cost of matching, in pixels: where a detector takes 4 ns a pixel, a pair of descriptors takes 0.5 ns.
inline int64_t MatchPixels(int64_t queries, int64_t trains) { return queries * trains / 8; }

}  // namespace glint

#endif  // GLINT_SERVER_PIXELS_IMAGE_SOURCE_H_
