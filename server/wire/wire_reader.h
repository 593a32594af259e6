// Reader of a serialized protobuf message in place, in pieces, without copies. Accepts and refuses exactly what
// protobuf's own parser (3.21) does; tests/fuzz compares the two.
#ifndef GLINT_SERVER_WIRE_WIRE_READER_H_
#define GLINT_SERVER_WIRE_WIRE_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "decode/pieces.h"

namespace glint {

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kStartGroup = 3, kEndGroup = 4, kFixed32 = 5 };

constexpr uint32_t WireTag(uint32_t field, WireType type) { return field << 3 | static_cast<uint32_t>(type); }
constexpr uint32_t VarintTag(uint32_t field) { return WireTag(field, WireType::kVarint); }
constexpr uint32_t BytesTag(uint32_t field) { return WireTag(field, WireType::kBytes); }

// Position of a bytes field in the message's pieces.
struct WireBytes {
  size_t piece = 0;
  size_t begin = 0;  // within the piece
  size_t size = 0;
};

// Appends the pieces of `bytes` to `*out`.
void AppendPieces(decode::Pieces message, const WireBytes& bytes, std::vector<absl::Span<const uint8_t>>* out);
// Appends `bytes` to `*out`, but no more than make it `most` long.
void AppendText(decode::Pieces message, const WireBytes& bytes, size_t most, std::string* out);

// After a fault every method returns 0 or empty, and ok() is false. Each length is checked against the end of the
// message around it before anything behind it is looked at. Allocates nothing. Thread-compatible.
//
//   while (const uint32_t tag = in.NextField()) {
//     switch (tag) {
//       case WireTag(1, WireType::kVarint): width = static_cast<uint32_t>(in.Varint()); break;
//       case WireTag(2, WireType::kBytes): in.Message([&](uint32_t inner) { ... }); break;
//       default: in.Unknown(tag);
//     }
//   }
class WireReader {
 public:
  explicit WireReader(decode::Pieces message);

  bool ok() const { return ok_; }

  // The tag of the next field; 0 at the end of the message.
  uint32_t NextField();

  // Values after a tag, by type.
  uint64_t Varint();
  uint32_t Fixed32();
  uint64_t Fixed64();
  WireBytes Bytes();
  // Bytes that must be UTF-8, as proto3's strings must.
  WireBytes String();
  // Calls field(tag) for each field of a message inside the message; it must consume what follows the tag.
  template <typename Field>
  void Message(Field field) {
    const size_t outer = Enter();
    while (const uint32_t tag = NextField()) field(tag);
    Leave(outer);
  }
  // Calls value() as long as bytes of a packed field are left; it must consume some.
  template <typename Value>
  void Packed(Value value) {
    const size_t outer = Enter();
    while (left_ > 0) value();
    Leave(outer);
  }
  // Reads a repeated field of numbers, packed or not: value() reads each.
  template <typename Value>
  void Repeated(uint32_t tag, Value value) {
    (tag & 7) == static_cast<uint32_t>(WireType::kBytes) ? Packed(value) : value();
  }
  // Marks the message as malformed.
  void Fail();
  // Skips a field of whatever type.
  void Unknown(uint32_t tag);

 private:
  uint32_t Tag();
  size_t Size();
  size_t Enter();
  void Leave(size_t outer);
  void SkipGroup(uint32_t field);
  void Skip(size_t count);
  uint8_t Byte();

  const decode::Pieces pieces_;
  size_t piece_ = 0;
  size_t begin_ = 0;  // within the piece
  size_t left_ = 0;   // bytes to the end of the message being read
  int depth_;         // how many more messages and groups may nest
  bool ok_ = true;
};

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_WIRE_READER_H_
