// glint info: what the server is and what it allows.
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/base/command.h"
#include "client/cli/base/connection.h"
#include "client/cli/output/output.h"

namespace glint::cli {
namespace {

constexpr char kName[] = "info";

// Every limit by its name on the wire; times in nanoseconds.
std::vector<std::pair<const char*, int64_t>> LimitsOf(const client::ServerInfo& info) {
  const client::ServerLimits& l = info.limits;
  return {{"max_image_pixels", l.max_image_pixels},
          {"max_features", l.max_features},
          {"max_message_bytes", l.max_message_bytes},
          {"max_sessions", l.max_sessions},
          {"max_sessions_per_client", l.max_sessions_per_client},
          {"max_in_flight", l.max_in_flight},
          {"max_detect_calls", l.max_detect_calls},
          {"max_track_streams", l.max_track_streams},
          {"max_track_cameras", l.max_track_cameras},
          {"max_tracks", l.max_tracks},
          {"max_track_pixels", l.max_track_pixels},
          {"max_localize_streams", l.max_localize_streams},
          {"max_localize_pixels", l.max_localize_pixels},
          {"max_map_keyframes", l.max_map_keyframes},
          {"max_map_points", l.max_map_points},
          {"max_map_bytes", l.max_map_bytes},
          {"stream_first_message_timeout_ns", absl::ToInt64Nanoseconds(l.stream_first_message_timeout)},
          {"stream_idle_timeout_ns", absl::ToInt64Nanoseconds(l.stream_idle_timeout)},
          {"max_shared_memory_bytes", l.max_shared_memory_bytes},
          {"max_shared_memory_regions", l.max_shared_memory_regions},
          {"max_match_pairs", l.max_match_pairs},
          {"max_rectification_bytes", l.max_rectification_bytes}};
}

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
  line("image, at most", absl::StrCat(info.limits.max_image_pixels, " pixels"));
  line("features, at most", info.limits.max_features);
  line("match, at most", absl::StrCat(info.limits.max_match_pairs, " pairs"));
  line("message, at most", absl::StrCat(info.limits.max_message_bytes, " bytes"));
  line("sessions, at most", info.limits.max_sessions);
  const auto usable = [&line](absl::string_view name, const auto& value, absl::string_view source) {
    if (!source.empty()) line(name, absl::StrCat(value, " by ", source));  // else the server is an older one
  };
  usable("processors", info.usable_processors, info.processors_source);
  usable("memory", absl::StrCat(info.usable_memory_bytes >> 20, " MiB"), info.memory_source);
  usable("threads, at most", info.max_threads, info.threads_source);
  line("detectors", absl::StrJoin(info.presets, ", "));
  return out;
}

void AppendJsonStrings(const char* name, const std::vector<std::string>& values, std::string* out) {
  absl::StrAppend(out, ",\"", name, "\":[");
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out->push_back(',');
    AppendJsonString(values[i], out);
  }
  out->push_back(']');
}

std::string Json(const client::ServerInfo& info) {
  std::string out = "{\"version\":";
  AppendJsonString(info.version, &out);
  for (const auto& [name, value] : {std::pair<const char*, const std::string*>{"backend", &info.backend},
                                    {"device", &info.device},
                                    {"simd", &info.simd},
                                    {"shared_memory_socket", &info.shared_memory_socket},
                                    {"processors_source", &info.processors_source},
                                    {"memory_source", &info.memory_source},
                                    {"threads_source", &info.threads_source}}) {
    absl::StrAppend(&out, ",\"", name, "\":");
    AppendJsonString(*value, &out);
  }
  absl::StrAppend(&out, ",\"lanes\":", info.lanes, ",\"queue_capacity_frames\":", info.queue_capacity_frames,
                  ",\"memory_bound_bytes\":", info.memory_bound_bytes,
                  ",\"usable_processors\":", info.usable_processors,
                  ",\"usable_memory_bytes\":", info.usable_memory_bytes, ",\"max_threads\":", info.max_threads);
  for (const auto& [name, value] : {std::pair<const char*, bool>{"has_cuda", info.has_cuda},
                                    {"has_map_directory", info.has_map_directory},
                                    {"has_calibration_directory", info.has_calibration_directory}}) {
    absl::StrAppend(&out, ",\"", name, "\":", value ? "true" : "false");
  }
  char separator = '{';
  out += ",\"limits\":";
  for (const auto& [name, value] : LimitsOf(info)) {
    out += std::exchange(separator, ',');
    absl::StrAppend(&out, "\"", name, "\":", value);
  }
  out += '}';
  AppendJsonStrings("devices", info.devices, &out);
  AppendJsonStrings("methods", info.methods, &out);
  AppendJsonStrings("presets", info.presets, &out);
  return out + "}\n";
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
