// The pictures that benchmarks run on. Thread-safe.
#ifndef GLINT_BENCH_PICTURE_H_
#define GLINT_BENCH_PICTURE_H_

#include <string>

#include "absl/status/statusor.h"
#include "features/types.h"

namespace glint::bench {

// Twice as wide and high: left half `image`, right half flipped left to right, lower half flipped top to bottom.
Image Mirrored2x2(const ImageView& image);

// `source` is a PGM, PPM, PNG or JPEG file, or "mirror4:FILE" for Mirrored2x2 of it. Errors as ReadImageFile.
absl::StatusOr<Image> LoadPicture(const std::string& source);

// Parses "WIDTHxHEIGHT", pixels. INVALID_ARGUMENT: malformed, or out of range.
absl::StatusOr<Shape> ParseSize(const std::string& size);

}  // namespace glint::bench

#endif  // GLINT_BENCH_PICTURE_H_
