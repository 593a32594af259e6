// Writes messages by their fields; for ros/cdr.h.
#ifndef GLINT_ROS_CDR_WRITER_H_
#define GLINT_ROS_CDR_WRITER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ros/little_endian.h"

namespace glint::ros {

class CdrWriter {
 public:
  explicit CdrWriter(std::vector<uint8_t>* bytes) : bytes_(*bytes) { bytes_.assign({0, 1, 0, 0}); }

  template <class T>
  void Write(const T& message) {
    T::Visit(message, *this);
    if (bytes_.size() == kHeaderBytes) bytes_.push_back(0);  // a struct has to have a member
  }

  // Of messages' fields.
  template <class T>
  void operator()(absl::string_view /*name*/, const T& field, size_t /*most*/ = 0) {
    Put(field);
  }

 private:
  static constexpr size_t kHeaderBytes = 4;

  template <class T>
  void Put(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::byte>) {
      PutNumber(value);
    } else {
      T::Visit(value, *this);
    }
  }
  void Put(const std::string& text) {
    PutNumber(static_cast<uint32_t>(text.size() + 1));
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    bytes_.push_back(0);
  }
  void Put(const absl::Span<const uint8_t>& bytes) {
    PutNumber(static_cast<uint32_t>(bytes.size()));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  template <class T, size_t kCount>
  void Put(const std::array<T, kCount>& values) {
    for (const T& value : values) Put(value);
  }
  template <class T>
  void Put(const std::vector<T>& values) {
    PutNumber(static_cast<uint32_t>(values.size()));
    for (const T& value : values) Put(value);
  }
  // At a multiple of its size from the body's beginning.
  template <class T>
  void PutNumber(T value) {
    const size_t at = (bytes_.size() - kHeaderBytes + sizeof(T) - 1) / sizeof(T) * sizeof(T) + kHeaderBytes;
    bytes_.resize(at + sizeof(T));
    PutLittleEndian(value, bytes_.data() + at);
  }

  std::vector<uint8_t>& bytes_;
};

}  // namespace glint::ros

#endif  // GLINT_ROS_CDR_WRITER_H_
