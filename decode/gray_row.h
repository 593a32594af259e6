// The vectorised part of the colour conversion. Thread-safe.
#ifndef GLINT_DECODE_GRAY_ROW_H_
#define GLINT_DECODE_GRAY_ROW_H_

#include <cstdint>

namespace glint::decode {

// GrayFromRgb of `width` pixels of 3 or 4 interleaved bytes, red first or blue first. Reads and writes these pixels
// alone.
void GrayRow(const uint8_t* pixels, int channels, bool blue_first, int width, uint8_t* gray);

// Byte `which`, 0 or 1, of each of `width` pairs of bytes.
void ByteOfPairs(const uint8_t* pairs, int which, int width, uint8_t* bytes);

}  // namespace glint::decode

#endif  // GLINT_DECODE_GRAY_ROW_H_
