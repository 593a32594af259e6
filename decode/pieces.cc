#include "decode/pieces.h"

#include <algorithm>
#include <cstring>

namespace glint::decode {

size_t TotalBytes(Pieces pieces) {
  size_t bytes = 0;
  for (const absl::Span<const uint8_t> piece : pieces) bytes += piece.size();
  return bytes;
}

absl::Span<const uint8_t> Contiguous(Pieces pieces, std::vector<uint8_t>* scratch) {
  PieceReader reader(pieces);
  const absl::Span<const uint8_t> first = reader.Rest();
  const size_t bytes = TotalBytes(pieces);
  if (first.size() == bytes) return first;
  scratch->resize(bytes);
  reader.Read(bytes, scratch->data());
  return *scratch;
}

absl::Span<const uint8_t> PieceReader::Rest() {
  while (!pieces_.empty() && begin_ == pieces_.front().size()) {
    pieces_.remove_prefix(1);
    begin_ = 0;
  }
  return pieces_.empty() ? absl::Span<const uint8_t>() : pieces_.front().subspan(begin_);
}

void PieceReader::Skip(size_t count) {
  while (count > 0) {
    const size_t step = std::min(count, Rest().size());
    begin_ += step;
    count -= step;
  }
}

void PieceReader::Read(size_t count, uint8_t* to) {
  while (count > 0) {
    const absl::Span<const uint8_t> rest = Rest();
    const size_t step = std::min(count, rest.size());
    std::memcpy(to, rest.data(), step);
    begin_ += step;
    to += step;
    count -= step;
  }
}

const uint8_t* PieceReader::Next(size_t count, uint8_t* scratch) {
  const absl::Span<const uint8_t> rest = Rest();
  if (rest.size() >= count) {
    begin_ += count;
    return rest.data();
  }
  Read(count, scratch);
  return scratch;
}

}  // namespace glint::decode
