// Bytes that lie in several places: a message as gRPC left it, cut where the network cut it. Borrowed; whoever owns the
// bytes also owns the array of spans.
#ifndef GLINT_DECODE_PIECES_H_
#define GLINT_DECODE_PIECES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace glint::decode {

// In order; empty ones are allowed.
using Pieces = absl::Span<const absl::Span<const uint8_t>>;

size_t TotalBytes(Pieces pieces);

// All bytes side by side: in place if one piece has them all, otherwise copied to `*scratch`.
absl::Span<const uint8_t> Contiguous(Pieces pieces, std::vector<uint8_t>* scratch);

// Goes forward through pieces. Thread-compatible.
class PieceReader {
 public:
  explicit PieceReader(Pieces pieces) : pieces_(pieces) {}

  // Bytes from here to the end of the piece; empty at the end of all.
  absl::Span<const uint8_t> Rest();

  // No more than there are.
  void Skip(size_t count);
  void Read(size_t count, uint8_t* to);

  // The next `count` bytes, no more than there are: in place if one piece has them, otherwise copied to `scratch`,
  // which holds as many.
  const uint8_t* Next(size_t count, uint8_t* scratch);

 private:
  Pieces pieces_;     // from the current one on
  size_t begin_ = 0;  // within it
};

}  // namespace glint::decode

#endif  // GLINT_DECODE_PIECES_H_
