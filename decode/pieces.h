// Bytes in several pieces: a message as gRPC received it from the network. Borrowed; the owner of the bytes also owns
// the array of spans.
#ifndef GLINT_DECODE_PIECES_H_
#define GLINT_DECODE_PIECES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace glint::decode {

// Pieces in order; empty ones are allowed.
using Pieces = absl::Span<const absl::Span<const uint8_t>>;

size_t TotalBytes(Pieces pieces);

// The bytes, contiguous: in place if one piece has them all, otherwise copied to `*scratch`.
absl::Span<const uint8_t> Contiguous(Pieces pieces, std::vector<uint8_t>* scratch);

// Forward reader of pieces. Thread-compatible.
class PieceReader {
 public:
  explicit PieceReader(Pieces pieces) : pieces_(pieces) {}

  // The rest of the current piece; empty at the end of all.
  absl::Span<const uint8_t> Rest();

  // `count` must be at most the number of bytes left.
  void Skip(size_t count);
  void Read(size_t count, uint8_t* to);

  // The next `count` bytes, at most those left: in place if one piece has them, otherwise copied to `scratch`, which
  // must hold as many.
  const uint8_t* Next(size_t count, uint8_t* scratch);

 private:
  Pieces pieces_;     // from the current one on
  size_t begin_ = 0;  // within it
};

}  // namespace glint::decode

#endif  // GLINT_DECODE_PIECES_H_
