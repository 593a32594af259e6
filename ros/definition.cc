#include "ros/definition.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace glint::ros {
namespace {

// "std_msgs/Header" of "std_msgs/msg/Header".
std::string ShortName(absl::string_view name) { return absl::StrReplaceAll(name, {{"/msg/", "/"}, {"/srv/", "/"}}); }

absl::string_view BaseName(FieldBase base) {
  switch (base) {
    case FieldBase::kMessage:
      return "";
    case FieldBase::kInt8:
      return "int8";
    case FieldBase::kUint8:
      return "uint8";
    case FieldBase::kInt16:
      return "int16";
    case FieldBase::kUint16:
      return "uint16";
    case FieldBase::kInt32:
      return "int32";
    case FieldBase::kUint32:
      return "uint32";
    case FieldBase::kInt64:
      return "int64";
    case FieldBase::kUint64:
      return "uint64";
    case FieldBase::kFloat32:
      return "float32";
    case FieldBase::kFloat64:
      return "float64";
    case FieldBase::kBool:
      return "bool";
    case FieldBase::kByte:
      return "byte";
    case FieldBase::kString:
    case FieldBase::kBoundedString:
      return "string";
  }
  return "";
}

std::string TypeText(const FieldDefinition& field) {
  std::string text(BaseName(field.base));
  if (field.base == FieldBase::kMessage) text = ShortName(field.message);
  if (field.base == FieldBase::kBoundedString) absl::StrAppend(&text, "<=", field.most_bytes);
  if (field.form == FieldForm::kArray) absl::StrAppend(&text, "[", field.count, "]");
  if (field.form == FieldForm::kBoundedSequence) absl::StrAppend(&text, "[<=", field.count, "]");
  if (field.form == FieldForm::kSequence) absl::StrAppend(&text, "[]");
  return text;
}

}  // namespace

std::string DefinitionText(const Definitions& definitions) {
  std::string text;
  for (const Definition& definition : definitions) {
    if (&definition != &definitions.front()) {
      absl::StrAppend(&text, std::string(80, '='), "\nMSG: ", ShortName(definition.name), "\n");
    }
    for (const ConstantDefinition& constant : definition.constants) {
      absl::StrAppend(&text, BaseName(constant.base), " ", constant.name, "=", constant.value, "\n");
    }
    for (const FieldDefinition& field : definition.fields) {
      absl::StrAppend(&text, TypeText(field), " ", field.name, "\n");
    }
  }
  return text;
}

}  // namespace glint::ros
