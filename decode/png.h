// PNG to grey by libspng. Part of Decoder; see decode.h for the contract.
#ifndef GLINT_DECODE_PNG_H_
#define GLINT_DECODE_PNG_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "decode/decode.h"
#include "features/types.h"

namespace glint::decode {

class PngDecoder {
 public:
  absl::StatusOr<Shape> Inspect(absl::Span<const uint8_t> file, int64_t max_pixels);
  absl::Status DecodeInto(absl::Span<const uint8_t> file, const Destination& to);

  // Implementation of Decoder's functions of these names.
  static absl::StatusOr<Shape> InspectDepth(absl::Span<const uint8_t> file, int64_t max_pixels);
  static absl::Status DecodeDepthInto(absl::Span<const uint8_t> file, const Destination& to);

 private:
  std::vector<uint8_t> rgb_;  // a row of a plain file, all rows of an interlaced one; kept from file to file
};

}  // namespace glint::decode

#endif  // GLINT_DECODE_PNG_H_
