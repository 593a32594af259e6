// glint info: what the server is and what it allows.
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/base/command.h"
#include "client/cli/base/connection.h"
#include "client/cli/output/output.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "info";

std::string Table(const client::ServerInfo& info) {
  std::string out;
  const auto line = [&out](absl::string_view name, const auto& value) {
    absl::StrAppendFormat(&out, "%-22s%s\n", name, absl::StrCat(value));
  };
  line("version", info.version);
  line("backend", info.backend);
  line("device", info.device);
  line("simd", info.simd);
  line("lanes", info.lanes);
  line("queue capacity", absl::StrCat(info.queue_capacity_frames, " frames"));
  line("image, at most", absl::StrCat(info.max_image_pixels, " pixels"));
  line("features, at most", info.max_features);
  line("message, at most", absl::StrCat(info.max_message_bytes, " bytes"));
  line("sessions, at most", info.max_sessions);
  line("detectors", absl::StrJoin(info.presets, ", "));
  return out;
}

std::string Json(const client::ServerInfo& info) {
  std::string out = "{\"version\":";
  AppendJsonString(info.version, &out);
  for (const auto& [name, value] : {std::pair<const char*, const std::string*>{"backend", &info.backend},
                                    {"device", &info.device},
                                    {"simd", &info.simd}}) {
    absl::StrAppend(&out, ",\"", name, "\":");
    AppendJsonString(*value, &out);
  }
  absl::StrAppend(&out, ",\"lanes\":", info.lanes, ",\"queue_capacity_frames\":", info.queue_capacity_frames);
  absl::StrAppend(&out, ",\"limits\":{\"max_image_pixels\":", info.max_image_pixels,
                  ",\"max_features\":", info.max_features, ",\"max_message_bytes\":", info.max_message_bytes,
                  ",\"max_sessions\":", info.max_sessions, "},\"presets\":[");
  for (size_t i = 0; i < info.presets.size(); ++i) {
    if (i > 0) out.push_back(',');
    AppendJsonString(info.presets[i], &out);
  }
  out += "]}\n";
  return out;
}

}  // namespace

int RunInfo(const std::vector<std::string>& arguments) {
  ConnectionFlags connection_flags;
  Format format = Format::kTable;
  Flags flags;
  connection_flags.AddTo(&flags);
  flags.Section("Output");
  flags.Choice("format", {{"table", Format::kTable}, {"json", Format::kJson}}, "Default: table.", &format);

  const auto operands = flags.Parse(arguments);
  if (!operands.ok()) return UsageError(kName, operands.status().message());
  if (flags.help_wanted()) {
    return Print(kName, "Usage: glint info [OPTION]...\n\nPrints what the server is and what it allows.\n" +
                            flags.Help() + "\nExit status\n  0 answered; 2 wrong command line; 69 no server\n");
  }
  if (!operands->empty()) return UsageError(kName, "takes no operand: '" + operands->front() + "'");
  if (absl::Status status = connection_flags.Validate(); !status.ok()) return UsageError(kName, status.message());

  const auto connection = Connection::Open(connection_flags);
  if (!connection.ok()) return CallError(kName, connection.status());
  const auto info = connection->client().GetServerInfo(connection_flags.timeout_or(absl::Seconds(5)));
  if (!info.ok()) return CallError(kName, info.status());
  return Print(kName, format == Format::kJson ? Json(*info) : Table(*info));
}

}  // namespace glint::cli
