// What a message (ros/messages.h) is, for programs that do not know it: its name, its definition as text, and its hash.
// Pure functions.
#ifndef GLINT_ROS_DEFINITION_H_
#define GLINT_ROS_DEFINITION_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace glint::ros {

// Numbers of type_description_interfaces/msg/FieldType, as in hashes.
enum class FieldBase {
  kMessage = 1,
  kInt8 = 2,
  kUint8 = 3,
  kInt16 = 4,
  kUint16 = 5,
  kInt32 = 6,
  kUint32 = 7,
  kInt64 = 8,
  kUint64 = 9,
  kFloat32 = 10,
  kFloat64 = 11,
  kBool = 15,
  kByte = 16,
  kString = 17,
  kBoundedString = 21,
};
// What is added to them.
enum class FieldForm { kOne = 0, kArray = 48, kBoundedSequence = 96, kSequence = 144 };

struct FieldDefinition {
  std::string name;
  FieldBase base = FieldBase::kMessage;
  std::string message;  // its type, for kMessage
  FieldForm form = FieldForm::kOne;
  size_t count = 0;       // of an array; the most of a bounded sequence
  size_t most_bytes = 0;  // of a bounded string
};

struct ConstantDefinition {
  std::string name;
  FieldBase base = FieldBase::kUint8;
  int value = 0;
};

struct Definition {
  std::string name;  // "sensor_msgs/msg/Image"
  std::vector<ConstantDefinition> constants;
  std::vector<FieldDefinition> fields;
};

// A type and all that it has, itself first.
using Definitions = std::vector<Definition>;

// As files of MCAP and Foxglove have it with encoding "ros2msg": the first one's text, then each other's after a line
// of 80 '=' and "MSG: std_msgs/Header". Fields and constants alone.
std::string DefinitionText(const Definitions& definitions);

// "RIHS01_" and 64 hexadecimal digits: SHA-256 of the description as JSON. https://ros.org/reps/rep-2016.html and
// rosidl_generator_type_description, whose JSON is Python's.
std::string TypeHash(const Definitions& definitions);

namespace internal {

// The number of an arithmetic type or text.
template <class T>
constexpr FieldBase BaseOf() {
  if constexpr (std::is_same_v<T, bool>) {
    return FieldBase::kBool;
  } else if constexpr (std::is_same_v<T, std::byte>) {
    return FieldBase::kByte;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return FieldBase::kString;
  } else if constexpr (std::is_floating_point_v<T>) {
    return sizeof(T) == 4 ? FieldBase::kFloat32 : FieldBase::kFloat64;
  } else {
    static_assert(std::is_integral_v<T>);
    constexpr int kPower = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<FieldBase>(2 + 2 * kPower + (std::is_unsigned_v<T> ? 1 : 0));
  }
}

template <class T>
void Describe(Definitions* all);

// Visits fields of one message.
class FieldLister {
 public:
  FieldLister(Definitions* all, size_t index) : all_(*all), index_(index) {}

  template <class T>
  void operator()(absl::string_view name, const T& field, size_t most = 0) {
    FieldDefinition definition;
    definition.name = std::string(name);
    Set(field, &definition);
    if (most != 0) {
      definition.base = FieldBase::kBoundedString;
      definition.most_bytes = most;
    }
    all_[index_].fields.push_back(std::move(definition));
  }

 private:
  template <class T>
  void Set(const T&, FieldDefinition* field) {
    if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {
      field->message = T::kName;
      Describe<T>(&all_);
    } else {
      field->base = BaseOf<T>();
    }
  }
  template <class T, size_t kCount>
  void Set(const std::array<T, kCount>&, FieldDefinition* field) {
    Set(T(), field);
    field->form = FieldForm::kArray;
    field->count = kCount;
  }
  template <class T>
  void Set(const std::vector<T>&, FieldDefinition* field) {
    Set(T(), field);
    field->form = FieldForm::kSequence;
  }
  void Set(const absl::Span<const uint8_t>&, FieldDefinition* field) { Set(std::vector<uint8_t>(), field); }

  Definitions& all_;
  const size_t index_;
};

class ConstantLister {
 public:
  explicit ConstantLister(Definition* definition) : definition_(*definition) {}

  template <class T>
  void operator()(absl::string_view name, T value) {
    definition_.constants.push_back({std::string(name), BaseOf<T>(), static_cast<int>(value)});
  }

 private:
  Definition& definition_;
};

template <class T, class = void>
struct HasConstants : std::false_type {};
template <class T>
struct HasConstants<T, std::void_t<decltype(T::VisitConstants(std::declval<ConstantLister>()))>> : std::true_type {};

// Adds T and what it has, unless they are there.
template <class T>
void Describe(Definitions* all) {
  if (std::any_of(all->begin(), all->end(), [](const Definition& other) { return other.name == T::kName; })) return;
  const size_t index = all->size();
  all->push_back({T::kName, {}, {}});
  if constexpr (HasConstants<T>::value) T::VisitConstants(ConstantLister(&all->back()));
  const T message;
  T::Visit(message, FieldLister(all, index));
}

// Adds the type of a service and of the events that introspection has of it, for its hash.
void DescribeService(const std::string& name, Definitions* all);

}  // namespace internal

template <class T>
Definitions DefinitionsOf() {
  Definitions all;
  internal::Describe<T>(&all);
  return all;
}

// Of a message.
template <class T>
std::string DefinitionText() {
  return DefinitionText(DefinitionsOf<T>());
}
template <class T>
std::string TypeHash() {
  return TypeHash(DefinitionsOf<T>());
}
// Of a service, such as Trigger.
template <class Service>
std::string ServiceTypeHash() {
  Definitions all;
  internal::DescribeService(Service::kName, &all);
  internal::Describe<typename Service::Request>(&all);
  internal::Describe<typename Service::Response>(&all);
  return TypeHash(all);
}

}  // namespace glint::ros

#endif  // GLINT_ROS_DEFINITION_H_
