// Small protobuf messages written field by field, where there is no generated class or not all fields are wanted.
#ifndef GLINT_SERVER_WIRE_WIRE_WRITER_H_
#define GLINT_SERVER_WIRE_WIRE_WRITER_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "server/wire/wire_reader.h"

namespace glint {

inline void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

inline void AppendFixed32(uint32_t bits, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(bits >> shift));
}

// A field of an integer or enum.
inline void AppendVarintField(uint32_t field, uint64_t value, std::string* out) {
  AppendVarint(WireTag(field, WireType::kVarint), out);
  AppendVarint(value, out);
}

// A field of bytes, a string or a message.
inline void AppendBytesField(uint32_t field, absl::string_view bytes, std::string* out) {
  AppendVarint(WireTag(field, WireType::kBytes), out);
  AppendVarint(bytes.size(), out);
  out->append(bytes.data(), bytes.size());
}

}  // namespace glint

#endif  // GLINT_SERVER_WIRE_WIRE_WRITER_H_
