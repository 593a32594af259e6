// rosidl_generator_type_description/__init__.py of https://github.com/ros2/rosidl has the JSON.
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ros/basic_messages.h"
#include "ros/definition.h"

namespace glint::ros {
namespace {

// service_msgs', which only hashes have.
struct ServiceEventInfo {
  static constexpr char kName[] = "service_msgs/msg/ServiceEventInfo";
  uint8_t event_type = 0;
  Time stamp;
  std::array<uint8_t, 16> client_gid = {};
  int64_t sequence_number = 0;

  template <class Self, class V>
  static void Visit(Self& self, V&& v) {
    v("event_type", self.event_type);
    v("stamp", self.stamp);
    v("client_gid", self.client_gid);
    v("sequence_number", self.sequence_number);
  }
};

std::string FieldJson(const FieldDefinition& field) {
  return absl::StrCat("{\"name\": \"", field.name,
                      "\", \"type\": {\"type_id\": ", static_cast<int>(field.base) + static_cast<int>(field.form),
                      ", \"capacity\": ", field.count, ", \"string_capacity\": ", field.most_bytes,
                      ", \"nested_type_name\": \"", field.message, "\"}}");
}

std::string DefinitionJson(const Definition& definition) {
  std::vector<FieldDefinition> fields = definition.fields;
  if (fields.empty()) {  // IDL has no empty struct
    fields.emplace_back();
    fields.back().name = "structure_needs_at_least_one_member";
    fields.back().base = FieldBase::kUint8;
  }
  std::string text;
  for (const FieldDefinition& field : fields) absl::StrAppend(&text, text.empty() ? "" : ", ", FieldJson(field));
  return absl::StrCat("{\"type_name\": \"", definition.name, "\", \"fields\": [", text, "]}");
}

FieldDefinition MessageField(absl::string_view name, std::string type) {
  FieldDefinition field;
  field.name = std::string(name);
  field.message = std::move(type);
  return field;
}
FieldDefinition AtMostOne(absl::string_view name, std::string type) {
  FieldDefinition field = MessageField(name, std::move(type));
  field.form = FieldForm::kBoundedSequence;
  field.count = 1;
  return field;
}

}  // namespace

std::string TypeHash(const Definitions& definitions) {
  std::vector<std::string> others;  // their JSON begins with their names
  for (size_t i = 1; i < definitions.size(); ++i) others.push_back(DefinitionJson(definitions[i]));
  std::sort(others.begin(), others.end());
  const std::string text = absl::StrCat("{\"type_description\": ", DefinitionJson(definitions[0]),
                                        ", \"referenced_type_descriptions\": [", absl::StrJoin(others, ", "), "]}");
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return absl::StrCat("RIHS01_", absl::BytesToHexString(
                                     absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size())));
}

namespace internal {

void DescribeService(const std::string& name, Definitions* all) {
  const std::string request = name + "_Request", response = name + "_Response", event = name + "_Event";
  all->push_back({name,
                  {},
                  {MessageField("request_message", request), MessageField("response_message", response),
                   MessageField("event_message", event)}});
  all->push_back({event,
                  {},
                  {MessageField("info", ServiceEventInfo::kName), AtMostOne("request", request),
                   AtMostOne("response", response)}});
  Describe<ServiceEventInfo>(all);
}

}  // namespace internal
}  // namespace glint::ros
