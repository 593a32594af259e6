// Encodes JPEG files, as remote cameras send them. Thread-safe.
#ifndef GLINT_DECODE_JPEG_WRITER_H_
#define GLINT_DECODE_JPEG_WRITER_H_

#include <string>

#include "absl/status/statusor.h"
#include "features/types.h"

namespace glint::decode {

inline constexpr int kMinJpegQuality = 1, kMaxJpegQuality = 100;
inline constexpr int kMaxJpegRestartRows = 65535;

// Chroma subsampling.
enum class JpegSampling { kGrey, k444, k422, k440, k420 };

struct JpegWriterOptions {
  int quality = 90;  // libjpeg's, kMinJpegQuality..kMaxJpegQuality
  JpegSampling sampling = JpegSampling::kGrey;
  int restart_rows = 1;  // rows of units in a restart interval, 0..kMaxJpegRestartRows; 0: no restart markers
};

// Planes of one shape; no chroma if sampling is kGrey.
struct JpegPlanes {
  ImageView luma, cb, cr;
};

// Encodes a baseline file with libjpeg's accurate integer DCT and its standard Huffman tables. INVALID_ARGUMENT: no
// pixels, a side that is too long for libjpeg, planes of different shapes, or options out of range. RESOURCE_EXHAUSTED:
// no memory.
absl::StatusOr<std::string> WriteJpeg(const JpegPlanes& picture, const JpegWriterOptions& options);

// Encodes grey pixels. Each row of blocks is a restart interval, which costs under 1 % and lets decoders work on
// several at once.
absl::StatusOr<std::string> WriteJpeg(const ImageView& gray, int quality);

}  // namespace glint::decode

#endif  // GLINT_DECODE_JPEG_WRITER_H_
