#include "client/view/foxglove/channels.h"

#include <google/protobuf/descriptor.pb.h>

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "bench/json.h"
#include "client/view/foxglove/schemas.pb.h"

namespace glint::view {
namespace {

using bench::JsonWriter;
using google::protobuf::Descriptor;

constexpr std::array<absl::string_view, 2> kProtocols = {"foxglove.sdk.v1", "foxglove.websocket.v1"};  // best first
constexpr char kStagesSchema[] =
    R"({"type": "object", "properties": {"frame": {"type": "string"}, "stages": {"type": "array", "items": )"
    R"({"type": "object", "properties": {"name": {"type": "string"}, "ms": {"type": "number"}}}}}})";

struct Offer {
  const char* topic;
  const Descriptor* schema;  // null: JSON
};

std::array<Offer, kChannelCount> Offers() {
  return {{{"/image", foxglove::CompressedImage::descriptor()},
           {"/annotations", foxglove::ImageAnnotations::descriptor()},
           {"/pose", foxglove::PoseInFrame::descriptor()},
           {"/tf", foxglove::FrameTransform::descriptor()},
           {"/path", foxglove::PosesInFrame::descriptor()},
           {"/map", foxglove::PointCloud::descriptor()},
           {"/stages", nullptr},
           {"/log", foxglove::Log::descriptor()}}};
}

// A FileDescriptorSet of the schemas and what they import, in base64.
std::string Schemas() {
  const google::protobuf::FileDescriptor* const file = foxglove::CompressedImage::descriptor()->file();
  google::protobuf::FileDescriptorSet files;
  for (int i = 0; i < file->dependency_count(); ++i) file->dependency(i)->CopyTo(files.add_file());
  file->CopyTo(files.add_file());
  return absl::Base64Escape(files.SerializeAsString());
}

}  // namespace

std::string ChooseFoxgloveProtocol(absl::string_view offered) {
  for (const absl::string_view known : kProtocols) {
    for (const absl::string_view one : absl::StrSplit(offered, ',')) {
      if (absl::StripAsciiWhitespace(one) == known) return std::string(known);
    }
  }
  return "";
}

std::string ServerInfo(const std::string& title) {
  // Another one after a restart, so that clients forget what they had.
  static const std::string session = absl::StrCat(absl::ToUnixMicros(absl::Now()));
  JsonWriter json(JsonWriter::Layout::kOneLine);
  json.BeginObject().Key("op").String("serverInfo").Key("name").String(absl::StrCat("glint: ", title));
  json.Key("capabilities").BeginArray().EndArray().Key("metadata").BeginObject().EndObject();
  json.Key("sessionId").String(session).EndObject();
  return json.text();
}

std::string Advertisement() {
  JsonWriter json(JsonWriter::Layout::kOneLine);
  json.BeginObject().Key("op").String("advertise").Key("channels").BeginArray();
  const std::string schemas = Schemas();
  int64_t id = 0;
  for (const Offer& offer : Offers()) {
    const bool is_json = offer.schema == nullptr;
    json.BeginObject().Key("id").Int(++id).Key("topic").String(offer.topic);
    json.Key("encoding").String(is_json ? "json" : "protobuf");
    json.Key("schemaName").String(is_json ? "glint.Stages" : offer.schema->full_name());
    json.Key("schemaEncoding").String(is_json ? "jsonschema" : "protobuf");
    json.Key("schema").String(is_json ? kStagesSchema : schemas).EndObject();
  }
  json.EndArray().EndObject();
  return json.text();
}

std::string StatusOp(const std::string& message, bool error) {
  JsonWriter json(JsonWriter::Layout::kOneLine);
  json.BeginObject().Key("op").String("status").Key("level").Int(error ? 2 : 1).Key("message").String(message);
  json.EndObject();
  return json.text();
}

}  // namespace glint::view
