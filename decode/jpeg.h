// JPEG to grey by libjpeg(-turbo). Part of Decoder; see decode.h for the contract.
#ifndef GLINT_DECODE_JPEG_H_
#define GLINT_DECODE_JPEG_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "decode/decode.h"
#include "features/parallel.h"
#include "features/types.h"

namespace glint::decode {

class JpegDecoder {
 public:
  // `parallel`, which must outlive this, may be null; see Decoder.
  explicit JpegDecoder(Parallel* parallel);
  ~JpegDecoder();

  absl::StatusOr<Shape> Inspect(absl::Span<const uint8_t> file, int64_t max_pixels);
  absl::Status DecodeInto(absl::Span<const uint8_t> file, const Destination& to);
  int64_t shared() const { return shared_; }

 private:
  struct State;

  bool DecodeParts(absl::Span<const uint8_t> file, const Destination& to);

  Parallel* const parallel_;
  std::unique_ptr<State> state_;
  std::vector<std::unique_ptr<State>> part_states_;
  int64_t shared_ = 0;
};

}  // namespace glint::decode

#endif  // GLINT_DECODE_JPEG_H_
