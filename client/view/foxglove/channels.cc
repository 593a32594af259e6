#include "client/view/foxglove/channels.h"

#include <google/protobuf/descriptor.pb.h>

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

// With what its file imports.
Offer InProtobuf(const char* topic, const Descriptor& type) {
  google::protobuf::FileDescriptorSet files;
  for (int i = 0; i < type.file()->dependency_count(); ++i) type.file()->dependency(i)->CopyTo(files.add_file());
  type.file()->CopyTo(files.add_file());
  return {topic, "protobuf", type.full_name(), "protobuf", files.SerializeAsString()};
}

}  // namespace

std::array<Offer, kChannelCount> Offers() {
  return {{InProtobuf("/image", *foxglove::CompressedImage::descriptor()),
           InProtobuf("/annotations", *foxglove::ImageAnnotations::descriptor()),
           InProtobuf("/pose", *foxglove::PoseInFrame::descriptor()),
           InProtobuf("/tf", *foxglove::FrameTransform::descriptor()),
           InProtobuf("/path", *foxglove::PosesInFrame::descriptor()),
           InProtobuf("/map", *foxglove::PointCloud::descriptor()),
           {"/stages", "json", "glint.Stages", "jsonschema", kStagesSchema},
           InProtobuf("/log", *foxglove::Log::descriptor())}};
}

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
  int64_t id = 0;
  for (const Offer& offer : Offers()) {
    json.BeginObject().Key("id").Int(++id).Key("topic").String(offer.topic).Key("encoding").String(offer.encoding);
    json.Key("schemaName").String(offer.schema_name).Key("schemaEncoding").String(offer.schema_encoding);
    json.Key("schema").String(offer.encoding == "json" ? offer.schema : absl::Base64Escape(offer.schema)).EndObject();
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
