#include "server/wire/wire_reader.h"

#include <algorithm>
#include <climits>

namespace glint {
namespace {

// protobuf's limits.
constexpr int kMaxDepth = 100;
constexpr int kMaxVarintBytes = 10;
constexpr int kMaxTagBytes = 5;
constexpr int kMaxSizeBytes = 5;
constexpr uint64_t kMaxSize = INT_MAX - 16;  // protobuf's buffers may be read 16 bytes further

// Incremental UTF-8 validator. The range of the second byte excludes overlong forms, surrogates and code points beyond
// U+10FFFF.
class Utf8Checker {
 public:
  void Take(uint8_t byte) {
    if (left_ > 0) {
      good_ = good_ && byte >= low_ && byte <= high_;
      --left_;
      low_ = 0x80;
      high_ = 0xbf;
    } else if (byte >= 0x80) {
      good_ = good_ && byte >= 0xc2 && byte <= 0xf4;
      left_ = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      low_ = byte == 0xe0 ? 0xa0 : byte == 0xf0 ? 0x90 : 0x80;
      high_ = byte == 0xed ? 0x9f : byte == 0xf4 ? 0x8f : 0xbf;
    }
  }
  bool good() const { return good_ && left_ == 0; }

 private:
  bool good_ = true;
  int left_ = 0;  // bytes that the code point lacks
  uint8_t low_ = 0;
  uint8_t high_ = 0;
};

}  // namespace

void AppendPieces(decode::Pieces message, const WireBytes& bytes, std::vector<absl::Span<const uint8_t>>* out) {
  size_t left = bytes.size;
  size_t begin = bytes.begin;
  for (size_t i = bytes.piece; left > 0; ++i) {
    const absl::Span<const uint8_t> part = message[i].subspan(begin, left);
    if (!part.empty()) out->push_back(part);
    left -= part.size();
    begin = 0;
  }
}

void AppendText(decode::Pieces message, const WireBytes& bytes, size_t most, std::string* out) {
  const size_t taken = std::min(bytes.size, most - std::min(most, out->size()));
  if (taken == 0) return;
  decode::PieceReader reader(message.subspan(bytes.piece));
  reader.Skip(bytes.begin);
  out->resize(out->size() + taken);
  reader.Read(taken, reinterpret_cast<uint8_t*>(out->data() + out->size() - taken));
}

WireReader::WireReader(decode::Pieces message)
    : pieces_(message), left_(decode::TotalBytes(message)), depth_(kMaxDepth) {}

void WireReader::Fail() {
  ok_ = false;
  left_ = 0;
}

uint8_t WireReader::Byte() {
  if (left_ == 0) {
    Fail();
    return 0;
  }
  while (begin_ == pieces_[piece_].size()) {
    ++piece_;
    begin_ = 0;
  }
  --left_;
  return pieces_[piece_][begin_++];
}

void WireReader::Skip(size_t count) {
  if (count > left_) return Fail();
  left_ -= count;
  while (count > 0) {
    const size_t step = std::min(count, pieces_[piece_].size() - begin_);
    begin_ += step;
    count -= step;
    if (count > 0) {
      ++piece_;
      begin_ = 0;
    }
  }
}

uint64_t WireReader::Varint() {
  uint64_t value = 0;
  for (int i = 0; i < kMaxVarintBytes; ++i) {
    const uint8_t byte = Byte();
    value |= uint64_t{byte & 0x7fu} << (7 * i);  // excess bits are dropped
    if (byte < 0x80) return value;
  }
  Fail();
  return 0;
}

uint32_t WireReader::Fixed32() {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= uint32_t{Byte()} << (8 * i);
  return value;
}

uint64_t WireReader::Fixed64() {
  if (left_ >= sizeof(uint64_t) && pieces_[piece_].size() - begin_ >= sizeof(uint64_t)) {  // not cut
    uint64_t value = 0;
    for (size_t i = 0; i < sizeof(value); ++i) value |= uint64_t{pieces_[piece_][begin_ + i]} << (8 * i);
    begin_ += sizeof(value);
    left_ -= sizeof(value);
    return value;
  }
  const uint64_t low = Fixed32();
  return low | uint64_t{Fixed32()} << 32;
}

uint32_t WireReader::Tag() {
  uint32_t tag = 0;
  for (int i = 0; i < kMaxTagBytes; ++i) {
    const uint8_t byte = Byte();
    tag |= (byte & 0x7fu) << (7 * i);
    if (byte >= 0x80) continue;
    if (tag >> 3 == 0 || (tag & 7) > static_cast<uint32_t>(WireType::kFixed32)) break;
    return tag;
  }
  Fail();
  return 0;
}

size_t WireReader::Size() {
  uint64_t size = 0;
  for (int i = 0; i < kMaxSizeBytes; ++i) {
    const uint8_t byte = Byte();
    size |= uint64_t{byte & 0x7fu} << (7 * i);
    if (byte >= 0x80) continue;
    if (size > kMaxSize || size > left_) break;
    return static_cast<size_t>(size);
  }
  Fail();
  return 0;
}

uint32_t WireReader::NextField() {
  if (left_ == 0) return 0;
  const uint32_t tag = Tag();
  if ((tag & 7) != static_cast<uint32_t>(WireType::kEndGroup)) return tag;
  Fail();
  return 0;
}

WireBytes WireReader::Bytes() {
  WireBytes bytes;
  bytes.size = Size();
  bytes.piece = piece_;
  bytes.begin = begin_;
  Skip(bytes.size);
  return bytes;
}

WireBytes WireReader::String() {
  const WireBytes bytes = Bytes();
  Utf8Checker checker;
  size_t begin = bytes.begin;
  size_t left = bytes.size;
  for (size_t i = bytes.piece; left > 0; ++i) {
    const absl::Span<const uint8_t> part = pieces_[i].subspan(begin, left);
    for (const uint8_t byte : part) checker.Take(byte);
    left -= part.size();
    begin = 0;
  }
  if (!checker.good()) Fail();
  return bytes;
}

size_t WireReader::Enter() {
  const size_t size = Size();
  const size_t outer = left_ - size;
  if (--depth_ < 0) Fail();
  left_ = ok_ ? size : 0;
  return outer;
}

void WireReader::Leave(size_t outer) {
  ++depth_;
  left_ = ok_ ? outer : 0;
}

void WireReader::Unknown(uint32_t tag) {
  switch (static_cast<WireType>(tag & 7)) {
    case WireType::kVarint:
      Varint();
      break;
    case WireType::kFixed64:
      Skip(8);
      break;
    case WireType::kBytes:
      Skip(Size());
      break;
    case WireType::kStartGroup:
      SkipGroup(tag >> 3);
      break;
    case WireType::kFixed32:
      Skip(4);
      break;
    case WireType::kEndGroup:
      Fail();
      break;
  }
}

void WireReader::SkipGroup(uint32_t field) {
  if (--depth_ < 0) return Fail();
  for (;;) {
    const uint32_t tag = Tag();  // a fault where the message ends
    if (!ok_) return;
    if ((tag & 7) == static_cast<uint32_t>(WireType::kEndGroup)) {
      if (tag >> 3 != field) Fail();
      break;
    }
    Unknown(tag);
  }
  ++depth_;
}

}  // namespace glint
