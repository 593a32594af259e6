// Small pictures and files that libraries do not write: every kind of PNG, and JPEGs with more scans than needed.
#ifndef GLINT_TESTS_DECODE_FILES_H_
#define GLINT_TESTS_DECODE_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "decode/decode.h"

namespace glint::decode::testing {

using Bytes = std::vector<uint8_t>;

// `count` bytes from a fixed generator.
Bytes RandomBytes(size_t count, uint32_t seed);

// Smooth waves with some noise: `channels` interleaved samples a pixel, tight rows.
Bytes Picture(int width, int height, int channels, uint32_t seed);

struct PngSpec {
  int width = 0;
  int height = 0;
  int colour_type = 0;  // PNG's: 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGBA
  int depth = 8;        // bits a sample
  bool interlaced = false;
  int palette_entries = 0;
};

// A PNG with random samples (below palette_entries for a palette) and filter type 0..4 in turn.
Bytes WritePng(const PngSpec& spec, uint32_t seed);

// One chunk: length, type, data, CRC. `type` has four letters.
Bytes PngChunk(const std::string& type, const Bytes& data);
Bytes Deflate(const Bytes& data);

// A colour JPEG without progression whose components come in three scans, of which the last is there `repeats` times.
Bytes WriteJpegWithScans(int width, int height, int repeats);

// What the components of a JPEG are, other than grey or luma and chroma.
enum class JpegComponents { kRgb, kCmyk, kYcck };

struct JpegSpec {
  int width = 0;
  int height = 0;
  JpegComponents components = JpegComponents::kRgb;
  bool progressive = false;
  bool adobe_marker = true;
  int restart_rows = 0;  // of blocks; 0: no restarts
};

// A JPEG with Picture() in these components.
Bytes WriteJpegOf(const JpegSpec& spec);

// `bytes` in pieces of `size`, and an empty one in front.
std::vector<absl::Span<const uint8_t>> Cut(absl::Span<const uint8_t> bytes, size_t size);

// A destination with a guard of kGuard around and between its rows, in an allocation of exactly the size it needs.
class GuardedImage {
 public:
  GuardedImage(Shape shape, int gap);
  Destination destination();
  Bytes pixels() const;  // tight rows
  bool guards_intact() const;

 private:
  Shape shape_;
  size_t stride_;
  size_t size_;
  std::unique_ptr<uint8_t[]> memory_;
};

// Inspect, then DecodeInto from a copy of `file` of exactly its size, into a GuardedImage. The status of the step that
// failed, INTERNAL if a guard byte was overwritten.
struct Decoded {
  absl::Status status;
  Shape shape;
  Bytes pixels;
};
Decoded Decode(Decoder* decoder, Encoding encoding, const Bytes& file, int64_t max_pixels = kMaxImagePixels);

}  // namespace glint::decode::testing

#endif  // GLINT_TESTS_DECODE_FILES_H_
