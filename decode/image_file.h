// Reads images from disk, for the tools: PGM and PPM (binary, 8 bit) as well as what Decoder takes. Thread-safe.
#ifndef GLINT_DECODE_IMAGE_FILE_H_
#define GLINT_DECODE_IMAGE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "features/limits.h"
#include "features/types.h"

namespace glint::decode {

// A binary PGM (P5) or PPM (P6, converted as PixelFormat::kRgb8) with 255 as its largest value. INVALID_ARGUMENT as in
// decode.h.
absl::StatusOr<Image> DecodePnm(absl::Span<const uint8_t> file, int64_t max_pixels = kMaxImagePixels);

// Grey image of a PGM, PPM, JPEG or PNG file. NOT_FOUND if it can't be opened, otherwise as in decode.h; the text
// starts with the path.
absl::StatusOr<Image> ReadImageFile(const std::string& path, int64_t max_pixels = kMaxImagePixels);

}  // namespace glint::decode

#endif  // GLINT_DECODE_IMAGE_FILE_H_
