// JPEG to grey by libjpeg(-turbo). Part of Decoder; see decode.h for the contract.
#ifndef GLINT_SERVER_DECODE_JPEG_H_
#define GLINT_SERVER_DECODE_JPEG_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "features/types.h"
#include "server/decode/decode.h"

namespace glint::decode {

class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();

  absl::StatusOr<Shape> Inspect(absl::Span<const uint8_t> file, int64_t max_pixels);
  absl::Status DecodeInto(absl::Span<const uint8_t> file, const Destination& to);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace glint::decode

#endif  // GLINT_SERVER_DECODE_JPEG_H_
