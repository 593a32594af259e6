// Where a JPEG file can be taken apart so that several threads decode it: a decoder starts afresh after each restart
// marker, so the rows between two of them are a picture of their own. Internal to JpegDecoder.
#ifndef GLINT_DECODE_JPEG_PARTS_H_
#define GLINT_DECODE_JPEG_PARTS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "features/types.h"

namespace glint::decode {

// Of a file's header: one scan with all components, sequential Huffman, luma as fine as any.
struct JpegScan {
  Shape shape;
  Shape unit;             // pixels that are coded together (MCU)
  int restart_units = 0;  // from restart marker to restart marker
  size_t begin = 0;       // of the scan's data in the file
};

struct JpegParts {
  static constexpr int kMax = 16;
  struct Part {
    size_t begin = 0, end = 0;  // of its data in the file
    int first_row = 0, rows = 0;
  };
  size_t height_at = 0;  // of the two bytes in the file's header that say the height
  int count = 0;
  std::array<Part, kMax> part;
};

// At most `wanted` and kMax parts of whole rows of units, each a file if it gets the file's header with its own height
// and an end marker: restart markers are numbered from 0 to 7, and a part begins where the next one is 0. A count of
// less than 2: the file is to be decoded as it is. That is so whenever its markers are not exactly those of the
// header's restart interval, or anything but the end marker follows the scan.
JpegParts FindJpegParts(absl::Span<const uint8_t> file, const JpegScan& scan, int wanted);

}  // namespace glint::decode

#endif  // GLINT_DECODE_JPEG_PARTS_H_
