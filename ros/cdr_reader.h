// Reads messages by their fields; for ros/cdr.h.
#ifndef GLINT_ROS_CDR_READER_H_
#define GLINT_ROS_CDR_READER_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ros/basic_messages.h"

namespace glint::ros {

// After an error nothing more is read.
class CdrReader {
 public:
  explicit CdrReader(absl::string_view type) : root_{nullptr, type} {}
  CdrReader(const CdrReader&) = delete;
  CdrReader& operator=(const CdrReader&) = delete;

  void BeginCdr(absl::Span<const uint8_t> bytes);
  void BeginRos1(absl::Span<const uint8_t> bytes);

  template <class T>
  absl::Status Read(T* message) {
    if (status_.ok()) Get(*message);
    return status_;
  }

  // Of messages' fields.
  template <class T>
  void operator()(absl::string_view name, T& field, size_t most = 0) {
    if (!status_.ok()) return;
    const Place here = {place_, name};
    place_ = &here;
    if constexpr (std::is_same_v<T, std::string>) {
      GetText(field, most);
    } else {
      Get(field);
    }
    place_ = here.outer;
  }

 private:
  // Where in the message, for errors: a field, or an element of a sequence.
  struct Place {
    const Place* outer = nullptr;
    absl::string_view name;
    size_t index = 0;  // if it has no name
  };

  // Bytes that a T has at least, whatever is in it.
  template <class T>
  static size_t LeastBytes(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::byte>) {
      return sizeof(T);
    } else {
      size_t sum = 0;
      T::Visit(value, [&sum](absl::string_view, const auto& field, size_t = 0) { sum += LeastBytes(field); });
      return sum;
    }
  }
  static size_t LeastBytes(const std::string&) { return sizeof(uint32_t); }
  static size_t LeastBytes(const absl::Span<const uint8_t>&) { return sizeof(uint32_t); }
  template <class T>
  static size_t LeastBytes(const std::vector<T>&) {
    return sizeof(uint32_t);
  }
  template <class T, size_t kCount>
  static size_t LeastBytes(const std::array<T, kCount>& values) {
    return kCount * LeastBytes(values[0]);
  }

  template <class T>
  void Get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = GetNumber<uint8_t>() != 0;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::byte>) {
      value = GetNumber<T>();
    } else if constexpr (std::is_same_v<T, Time>) {
      GetTime(value);
    } else {
      if (std::is_same_v<T, Header> && ros1_) GetNumber<uint32_t>();  // seq
      T::Visit(value, *this);
    }
  }
  void Get(std::string& text) { GetText(text, 0); }
  void Get(absl::Span<const uint8_t>& bytes) {
    const size_t count = GetCount(1, "bytes");
    bytes = bytes_.subspan(position_, count);
    position_ += count;
  }
  template <class T, size_t kCount>
  void Get(std::array<T, kCount>& values) {
    for (T& value : values) Get(value);
  }
  template <class T>
  void Get(std::vector<T>& values) {
    static const size_t least = std::max<size_t>(1, LeastBytes(T()));
    values.resize(GetCount(least, "elements"));
    Place here = {place_, ""};
    place_ = &here;
    for (size_t i = 0; i < values.size() && status_.ok(); ++i) {
      here.index = i;
      Get(values[i]);
    }
    place_ = here.outer;
  }

  // At a multiple of its size from the body's beginning. 0 after an error.
  template <class T>
  T GetNumber() {
    if (!Reach(sizeof(T))) return T();
    std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t> bits = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      const size_t at = position_ + (big_endian_ ? sizeof(T) - 1 - i : i);
      bits |= static_cast<decltype(bits)>(bytes_[at]) << (8 * i);
    }
    position_ += sizeof(T);
    if constexpr (std::is_floating_point_v<T>) {
      T value;
      static_assert(sizeof(value) == sizeof(bits));
      std::memcpy(&value, &bits, sizeof(T));
      return value;
    } else {
      return static_cast<T>(bits);
    }
  }
  // Goes to where a number of so many bytes begins; false, with an error, if it is not there.
  bool Reach(size_t size);
  // How many elements of at least so many bytes a sequence has; what does not fit into the rest is an error, and 0.
  size_t GetCount(size_t least_bytes, absl::string_view what);
  // `most`: bytes; 0: as many as there are.
  void GetText(std::string& text, size_t most);
  void GetTime(Time& time);
  // Of the field that is being read.
  void Fail(absl::string_view problem);

  absl::Span<const uint8_t> bytes_;  // of the body
  size_t position_ = 0;              // <= bytes_.size()
  bool ros1_ = false;
  bool big_endian_ = false;
  absl::Status status_;
  Place root_;
  const Place* place_ = &root_;
};

}  // namespace glint::ros

#endif  // GLINT_ROS_CDR_READER_H_
