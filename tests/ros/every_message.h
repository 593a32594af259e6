// Every message of ros/messages.h, filled, printed, and written in all forms without ros/cdr.h.
#ifndef GLINT_TESTS_ROS_EVERY_MESSAGE_H_
#define GLINT_TESTS_ROS_EVERY_MESSAGE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ros/messages.h"

namespace glint::ros {

// `visit(message)` with a default message of each type.
template <class F>
void ForEveryMessage(F visit) {
  const auto all = [&visit](const auto&... messages) { (visit(messages), ...); };
  all(Time(), Duration(), Header(), String(), Clock(), KeyValue(), DiagnosticStatus(), DiagnosticArray(),
      EmptyRequest(), EmptyResponse(), TriggerRequest(), TriggerResponse(), SetBoolRequest(), SetBoolResponse());
  all(Point(), Vector3(), Quaternion(), Pose(), PoseStamped(), PoseWithCovariance(), PoseWithCovarianceStamped(),
      Twist(), TwistWithCovariance(), Transform(), TransformStamped(), TFMessage(), Odometry(), Path());
  all(Image(), CompressedImage(), RegionOfInterest(), CameraInfo(), Imu(), PointField(), PointCloud2(),
      DisparityImage(), Gid(), NodeEntitiesInfo(), ParticipantEntitiesInfo());
}

template <class T>
inline constexpr bool kIsNumber = std::is_arithmetic_v<T> || std::is_same_v<T, std::byte>;

// The n-th value of a message, from 1 on, is n, n + 1/2 (float), n + 1/4 (double), whether n is odd, or "s" and n;
// sequences have two elements, those of bytes the three from n on.
class Filler {
 public:
  template <class T>
  static T Filled() {
    T message;
    Filler filler;
    T::Visit(message, filler);
    return message;
  }

  template <class T>
  void operator()(absl::string_view, T& field, size_t = 0) {
    Fill(field);
  }

 private:
  template <class T>
  void Fill(T& value) {
    if constexpr (kIsNumber<T>) {
      ++n_;
      if constexpr (std::is_same_v<T, bool>) {
        value = n_ % 2 == 1;
      } else if constexpr (std::is_floating_point_v<T>) {
        value = static_cast<T>(n_ + (sizeof(T) == 4 ? 0.5 : 0.25));
      } else {
        value = static_cast<T>(n_);
      }
    } else {
      T::Visit(value, *this);
    }
  }
  void Fill(std::string& text) { text = absl::StrCat("s", ++n_); }
  void Fill(absl::Span<const uint8_t>& bytes) {
    static const std::vector<uint8_t> all = [] {
      std::vector<uint8_t> numbers(512);
      for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint8_t>(i);
      return numbers;
    }();
    bytes = absl::MakeConstSpan(all).subspan(static_cast<size_t>(++n_), 3);
  }
  template <class T, size_t kCount>
  void Fill(std::array<T, kCount>& values) {
    for (T& value : values) Fill(value);
  }
  template <class T>
  void Fill(std::vector<T>& values) {
    values.resize(2);
    for (T& value : values) Fill(value);
  }

  int n_ = 0;
};

// Names and values, for comparisons.
class Printer {
 public:
  template <class T>
  static std::string Text(const T& message) {
    Printer printer;
    T::Visit(message, printer);
    return printer.text_;
  }

  template <class T>
  void operator()(absl::string_view name, const T& field, size_t = 0) {
    absl::StrAppend(&text_, name, "=");
    Print(field);
  }

 private:
  template <class T>
  void Print(const T& value) {
    if constexpr (std::is_same_v<T, std::byte>) {
      absl::StrAppend(&text_, std::to_integer<int>(value), ";");
    } else if constexpr (std::is_arithmetic_v<T>) {
      absl::StrAppend(&text_, value, ";");
    } else {
      absl::StrAppend(&text_, "{");
      T::Visit(value, *this);
      absl::StrAppend(&text_, "}");
    }
  }
  void Print(const std::string& text) { absl::StrAppend(&text_, "\"", text, "\""); }
  void Print(const absl::Span<const uint8_t>& bytes) { PrintAll(bytes); }
  template <class T, size_t kCount>
  void Print(const std::array<T, kCount>& values) {
    PrintAll(values);
  }
  template <class T>
  void Print(const std::vector<T>& values) {
    PrintAll(values);
  }
  template <class Values>
  void PrintAll(const Values& values) {
    absl::StrAppend(&text_, "[");
    for (const auto& value : values) Print(value);
    absl::StrAppend(&text_, "]");
  }

  std::string text_;
};

enum class Form { kLittleCdr, kBigCdr, kRos1 };

// The bytes of a message, byte after byte. A header of ROS 1 has seq 7.
class ReferenceWriter {
 public:
  template <class T>
  static std::string Bytes(const T& message, Form form) {
    ReferenceWriter writer;
    writer.form_ = form;
    writer.Write(message);
    if (form == Form::kRos1) return writer.body_;
    if (writer.body_.empty()) writer.body_.push_back('\0');
    return std::string(form == Form::kBigCdr ? "\0\0\0\0" : "\0\1\0\0", 4) + writer.body_;
  }
  // Lengths of texts and sequences that a message has.
  template <class T>
  static int Lengths(const T& message) {
    ReferenceWriter writer;
    T::Visit(message, writer);
    return writer.lengths_;
  }

  template <class T>
  void operator()(absl::string_view, const T& field, size_t = 0) {
    Write(field);
  }

 private:
  template <class T>
  void Write(const T& value) {
    if constexpr (kIsNumber<T>) {
      char bytes[sizeof(T)];
      std::memcpy(bytes, &value, sizeof(T));
      while (form_ != Form::kRos1 && body_.size() % sizeof(T) != 0) body_.push_back('\0');
      if (form_ == Form::kBigCdr) std::reverse(bytes, bytes + sizeof(T));
      body_.append(bytes, sizeof(T));
    } else {
      if (std::is_same_v<T, Header> && form_ == Form::kRos1) Write(uint32_t{7});
      T::Visit(value, *this);
    }
  }
  void WriteLength(size_t length) {
    ++lengths_;
    Write(static_cast<uint32_t>(length));
  }
  void Write(const std::string& text) {
    WriteLength(text.size() + (form_ == Form::kRos1 ? 0 : 1));
    body_ += text;
    if (form_ != Form::kRos1) body_.push_back('\0');
  }
  void Write(const absl::Span<const uint8_t>& bytes) {
    WriteLength(bytes.size());
    body_.append(bytes.begin(), bytes.end());
  }
  template <class T, size_t kCount>
  void Write(const std::array<T, kCount>& values) {
    for (const T& value : values) Write(value);
  }
  template <class T>
  void Write(const std::vector<T>& values) {
    WriteLength(values.size());
    for (const T& value : values) Write(value);
  }

  std::string body_;
  Form form_ = Form::kLittleCdr;
  int lengths_ = 0;
};

// Of what can be kept no longer than `text`.
inline absl::Span<const uint8_t> BytesOf(absl::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace glint::ros

#endif  // GLINT_TESTS_ROS_EVERY_MESSAGE_H_
