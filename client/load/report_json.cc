#include <cmath>

#include "bench/json.h"
#include "client/load/report.h"
#include "client/load/report_parts.h"

namespace glint::load {
namespace {

using bench::JsonWriter;

void WriteLatencies(const Latencies& latencies, bool buckets, JsonWriter* json) {
  json->BeginObject();
  json->Key("count").Int(latencies.count()).Key("min_ns").Int(latencies.min());
  json->Key("mean_ns").Int(std::llround(latencies.mean()));
  for (const Share& s : kShares) {
    if (Known(latencies, s.share)) {
      json->Key(s.key).Int(latencies.Percentile(s.share));
    } else {
      json->Key(s.key).Number(NAN);  // null
    }
  }
  json->Key("max_ns").Int(latencies.max());
  if (buckets) {
    json->Key("buckets").BeginArray();
    for (const auto& [from_ns, count] : latencies.Buckets()) {
      json->BeginArray().Int(from_ns).Int(count).EndArray();
    }
    json->EndArray();
  }
  json->EndObject();
}

void WriteSide(const BenchReport& report, const Side& side, JsonWriter* json) {
  const Measurement& m = side.measured;
  json->BeginObject();
  json->Key("address").String(side.address).Key("frames").Int(m.frames()).Key("ok").Int(m.ok);
  json->Key("failed").BeginObject();
  for (const auto& [code, count] : m.failed) json->Key(CodeName(code)).Int(count);
  json->EndObject();
  json->Key("dropped").BeginObject();
  for (const auto& [reason, count] : m.dropped) json->Key(ReasonName(reason)).Int(count);
  json->EndObject();
  json->Key("unanswered").Int(m.unanswered);
  json->Key("seconds").Number(side.seconds).Key("frames_per_s").Number(side.frames_per_s());
  json->Key("generator_cpu_seconds").Number(side.cpu_seconds);
  json->Key("generator_copied_bytes_per_frame").Number(PerFrame(m.copied_bytes, m.frames()));
  json->Key("reply_bytes_per_frame").Int(std::llround(PerFrame(m.reply_bytes, m.answered())));
  json->Key("latency");
  WriteLatencies(m.latency, true, json);
  json->Key("round_p50_ns").BeginArray();
  for (const int64_t ns : side.round_p50_ns) json->Int(ns);
  json->EndArray();
  if (report.run.rate > 0) {
    json->Key("sent_late");
    WriteLatencies(m.late, false, json);
  }
  if (m.server.count() > 0) {
    json->Key("keypoints_per_frame").Number(PerFrame(m.keypoints, m.ok));
    if (IsPair(report.task)) json->Key("matches_per_frame").Number(PerFrame(m.matches, m.ok));
    json->Key("outside_server");
    WriteLatencies(m.outside, false, json);
    json->Key("server_total");
    WriteLatencies(m.server, false, json);
    json->Key("server_lane");
    WriteLatencies(m.lane, false, json);
    json->Key("overhead");
    WriteLatencies(m.overhead, false, json);
    json->Key("server_stages").BeginObject();
    for (size_t i = 0; i < m.stages.size(); ++i) {
      if (!HasStage(report.task, kStages[i])) continue;
      json->Key(kStages[i].name);
      WriteLatencies(m.stages[i], false, json);
    }
    json->EndObject();
  }
  json->EndObject();
}

}  // namespace

std::string ReportJson(const BenchReport& report) {
  JsonWriter json(JsonWriter::Layout::kOneLine);
  json.BeginObject();
  json.Key("tool").String("glint bench").Key("schema").Int(1).Key("version").String(report.version);
  json.Key("command").String(report.command).Key("task").String(NameOf(report.task));
  const client::ServerInfo& info = report.server_info;
  json.Key("server_info").BeginObject();
  json.Key("version").String(info.version).Key("backend").String(info.backend).Key("device").String(info.device);
  json.Key("simd").String(info.simd).Key("lanes").Int(info.lanes);
  json.EndObject();
  json.Key("detector").BeginObject();
  json.Key("levels").Int(report.detector.levels).Key("scale_factor").Number(report.detector.scale_factor);
  json.Key("max_features").Int(report.detector.max_features);
  json.Key("descriptors").Bool(report.detector.descriptor != Descriptor::kNone);
  json.EndObject();
  json.Key("frames").BeginObject();
  json.Key("picture").String(report.picture).Key("pictures").Int(report.pictures).Key("format").String(report.format);
  json.Key("width").Int(report.width).Key("height").Int(report.height);
  json.Key("bytes_per_frame").Int(std::llround(report.frame_bytes));
  json.EndObject();
  json.Key("load").BeginObject();
  json.Key("loop").String(report.run.rate > 0 ? "open" : "closed").Key("streams").Int(report.streams);
  if (report.run.rate > 0) {
    json.Key("rate_per_s").Number(report.run.rate);
  } else {
    json.Key("in_flight").Int(report.run.in_flight);
  }
  json.Key("rounds").Int(static_cast<int64_t>(report.server.round_p50_ns.size()));
  json.Key("round_seconds").Number(absl::ToDoubleSeconds(report.run.duration));
  json.Key("warm_up_seconds").Number(absl::ToDoubleSeconds(report.run.warm_up));
  json.EndObject();
  json.Key("server");
  WriteSide(report, report.server, &json);
  if (report.has_echo()) {
    json.Key("echo");
    WriteSide(report, report.echo, &json);
    json.Key("ratio").BeginObject();
    json.Key("p50").Number(Ratio(report, 0.5)).Key("p99").Number(Ratio(report, 0.99));
    json.Key("round_p50").BeginArray();
    for (const double ratio : RoundRatios(report)) json.Number(ratio);
    json.EndArray();
    json.Key("frames_per_s")
        .Number(report.echo.frames_per_s() > 0 ? report.server.frames_per_s() / report.echo.frames_per_s() : 0);
    json.EndObject();
  }
  if (report.energy.has_value()) {
    json.Key("energy");
    bench::WriteEnergy(*report.energy, &json);
  }
  json.Key("warnings").BeginArray();
  for (const std::string& warning : Warnings(report)) json.String(warning);
  json.EndArray();
  json.EndObject();
  return json.text() + "\n";
}

}  // namespace glint::load
