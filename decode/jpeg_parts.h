// Splits a JPEG file so that several threads decode it: a decoder restarts after each restart marker, so the rows
// between two markers are an image of their own. Internal to JpegDecoder.
#ifndef GLINT_DECODE_JPEG_PARTS_H_
#define GLINT_DECODE_JPEG_PARTS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "features/types.h"

namespace glint::decode {

// Header of a file that can be split: one scan with all components, sequential Huffman, luma at full resolution.
struct JpegScan {
  Shape shape;
  Shape unit;             // MCU, pixels
  int restart_units = 0;  // MCUs per restart interval
  size_t begin = 0;       // offset of the scan's data in the file
};

struct JpegParts {
  static constexpr int kMax = 16;
  struct Part {
    size_t begin = 0, end = 0;  // offsets of its data in the file
    int first_row = 0, rows = 0;
  };
  size_t height_at = 0;  // offset of the height in the header, two bytes
  int count = 0;
  std::array<Part, kMax> part;
};

// Splits the scan into at most `wanted` and kMax parts of whole rows of MCUs. Each becomes a file with the file's
// header, its own height, and an end marker: restart markers are numbered from 0 to 7, and a part begins where the next
// one is 0. A count below 2: decode the file as a whole; its markers are not exactly those of the header's restart
// interval, or anything but the end marker follows the scan.
JpegParts FindJpegParts(absl::Span<const uint8_t> file, const JpegScan& scan, int wanted);

}  // namespace glint::decode

#endif  // GLINT_DECODE_JPEG_PARTS_H_
