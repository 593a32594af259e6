// Protobuf's wire format (protobuf.dev/programming-guides/encoding), read without its library: what messages are, bit
// by bit, whatever descriptors say.
#ifndef GLINT_TESTS_VIEW_WIRE_FIELDS_H_
#define GLINT_TESTS_VIEW_WIRE_FIELDS_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace glint::view {

inline uint64_t LittleEndian(const std::string& bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes.at(at + i));
  return value;
}

// The fields of one message, by their numbers. Reading what is not there gives zeros, as in proto3.
class WireFields {
 public:
  explicit WireFields(const std::string& bytes) { Read(bytes); }

  std::vector<std::string> Texts(int number) const {
    const auto found = texts_.find(number);
    return found == texts_.end() ? std::vector<std::string>() : found->second;
  }
  std::string Text(int number) const {
    const std::vector<std::string> all = Texts(number);
    return all.empty() ? "" : all[0];
  }
  WireFields Message(int number) const { return WireFields(Text(number)); }
  uint64_t Number(int number) const {
    const auto found = numbers_.find(number);
    return found == numbers_.end() ? 0 : found->second[0];
  }
  double Double(int number) const {
    const uint64_t bits = Number(number);
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }

 private:
  void Read(const std::string& bytes) {
    for (size_t at = 0; at < bytes.size();) {
      const uint64_t tag = Varint(bytes, &at);
      const auto number = static_cast<int>(tag >> 3);
      size_t count = 0;
      switch (tag & 7) {
        case 0:
          numbers_[number].push_back(Varint(bytes, &at));
          continue;
        case 1:
          count = 8;
          break;
        case 2:
          count = Varint(bytes, &at);
          ASSERT_LE(count, bytes.size() - at);
          texts_[number].push_back(bytes.substr(at, count));
          at += count;
          continue;
        case 5:
          count = 4;
          break;
        default:
          FAIL() << "wire type " << (tag & 7);
      }
      numbers_[number].push_back(LittleEndian(bytes, at, count));
      at += count;
    }
  }

  static uint64_t Varint(const std::string& bytes, size_t* at) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes.at((*at)++));
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return value;
  }

  std::map<int, std::vector<uint64_t>> numbers_;
  std::map<int, std::vector<std::string>> texts_;
};

}  // namespace glint::view

#endif  // GLINT_TESTS_VIEW_WIRE_FIELDS_H_
