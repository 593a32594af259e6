#include "client/load/report.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/load/report_parts.h"

namespace glint::load {
namespace {

// Late by so much, this process is to blame for what it measured.
constexpr double kLateOfMedian = 0.1;
constexpr int64_t kLateNs = 1'000'000;
constexpr double kRateReached = 0.99;

double Us(int64_t ns) { return static_cast<double>(ns) * 1e-3; }

void AppendRow(const char* name, const Latencies& latencies, std::string* out) {
  absl::StrAppendFormat(out, "%-26s", name);
  for (const Share& s : kShares) {
    if (Known(latencies, s.share)) {
      absl::StrAppendFormat(out, " %10.1f", Us(latencies.Percentile(s.share)));
    } else {
      absl::StrAppendFormat(out, " %10s", "-");
    }
  }
  absl::StrAppendFormat(out, " %10.1f\n", Us(latencies.max()));
}

void AppendSide(const char* name, const BenchReport& report, const Side& side, std::string* out) {
  const Measurement& m = side.measured;
  const char* const unit = UnitOf(report.task);
  absl::StrAppendFormat(out, "\n%s, %s: %d %ss answered, %.1f %ss/s, %.0f bytes a reply", name, side.address,
                        m.answered(), unit, side.frames_per_s(), unit, PerFrame(m.reply_bytes, m.answered()));
  for (const auto& [code, count] : m.failed) absl::StrAppendFormat(out, ", %d %s", count, CodeName(code));
  for (const auto& [reason, count] : m.dropped)
    absl::StrAppendFormat(out, ", %d dropped (%s)", count, ReasonName(reason));
  if (m.unanswered > 0) absl::StrAppendFormat(out, ", %d never answered", m.unanswered);
  if (m.keypoints > 0) absl::StrAppendFormat(out, ", %.1f keypoints a %s", PerFrame(m.keypoints, m.ok), unit);
  if (m.matches > 0) absl::StrAppendFormat(out, ", %.1f matches", PerFrame(m.matches, m.ok));
  absl::StrAppendFormat(out, "\n%-26s", "us");
  for (const Share& s : kShares) absl::StrAppendFormat(out, " %10s", s.column);
  absl::StrAppendFormat(out, " %10s\n", "max");
  AppendRow("latency", m.latency, out);
  if (m.server.count() > 0) {
    AppendRow("  outside the server", m.outside, out);
    AppendRow("  in the server", m.server, out);
    for (size_t i = 0; i < m.stages.size(); ++i) {
      if (!HasStage(report.task, kStages[i])) continue;
      AppendRow(absl::StrCat("    ", kStages[i].name).c_str(), m.stages[i], out);
    }
  }
  if (report.run.rate > 0) AppendRow("sent late by this process", m.late, out);
}

// What the lane does, in the ratio's name.
const char* WorkOf(Task task) {
  switch (task) {
    case Task::kStereo:
    case Task::kMatch:
      return "detector and matcher";
    case Task::kMatchDescriptors:
      return "matcher";
    case Task::kDetect:
      break;
  }
  return "detector";
}

std::string LoopText(const BenchReport& report) {
  return report.run.rate > 0 ? absl::StrFormat("open loop at %g %ss/s", report.run.rate, UnitOf(report.task))
                             : absl::StrFormat("closed loop, %d in flight each", report.run.in_flight);
}

}  // namespace

void Side::Add(const RunResult& result) {
  measured.Merge(result.measured);
  seconds += result.seconds;
  cpu_seconds += result.cpu_seconds;
  round_p50_ns.push_back(result.measured.latency.Percentile(0.5));
  round_lane_ns.push_back(result.measured.lane.Percentile(0.5));
}

double Ratio(const BenchReport& report, double share) {
  if (!report.has_echo()) return 0;
  const int64_t floor = report.echo.measured.latency.Percentile(share) + report.server.measured.lane.Percentile(share);
  return floor > 0 ? static_cast<double>(report.server.measured.latency.Percentile(share)) / static_cast<double>(floor)
                   : 0;
}

std::vector<double> RoundRatios(const BenchReport& report) {
  std::vector<double> ratios;
  const size_t rounds = std::min(report.server.round_p50_ns.size(), report.echo.round_p50_ns.size());
  for (size_t i = 0; i < rounds; ++i) {
    const int64_t floor = report.echo.round_p50_ns[i] + report.server.round_lane_ns[i];
    if (floor > 0) ratios.push_back(static_cast<double>(report.server.round_p50_ns[i]) / static_cast<double>(floor));
  }
  return ratios;
}

std::vector<std::string> Warnings(const BenchReport& report) {
  std::vector<std::string> warnings;
  const char* const unit = UnitOf(report.task);
  const auto about = [&](const char* name, const Side& side) {
    const Measurement& m = side.measured;
    if (m.frames() == 0) {
      warnings.push_back(absl::StrCat(name, ": nothing was measured"));
      return;
    }
    if (m.unanswered > 0) {
      warnings.push_back(absl::StrFormat("%s: %d %ss were never answered; their latencies are at least what is shown",
                                         name, m.unanswered, unit));
    }
    if (report.run.rate <= 0) return;
    if (side.frames_per_s() < kRateReached * report.run.rate) {
      warnings.push_back(absl::StrFormat(
          "%s: answered %.1f of the %g %ss/s that were due; they queued up, and a longer run would show longer "
          "latencies",
          name, side.frames_per_s(), report.run.rate, unit));
    }
    const int64_t late = m.late.Percentile(0.99);
    if (late > kLateNs || static_cast<double>(late) > kLateOfMedian * static_cast<double>(m.latency.Percentile(0.5))) {
      warnings.push_back(absl::StrFormat(
          "%s: this process itself sent late, by %.1f us at p99: it needs more processors, or a lower rate", name,
          Us(late)));
    }
  };
  about("server", report.server);
  if (report.has_echo()) about("echo", report.echo);
  return warnings;
}

std::string ReportText(const BenchReport& report) {
  const char* const unit = UnitOf(report.task);
  std::string out = absl::StrFormat("glint bench: %s%s%s, %.0f bytes a %s (%.0f of them copied here)\n", report.picture,
                                    report.format.empty() ? "" : ", sent as ", report.format, report.frame_bytes, unit,
                                    PerFrame(report.server.measured.copied_bytes, report.server.measured.frames()));
  absl::StrAppendFormat(&out, "%d %s, %s; %d %s of %g s, each after %g s to warm up\n", report.streams,
                        report.streams == 1 ? "stream" : "streams", LoopText(report), report.server.round_p50_ns.size(),
                        report.server.round_p50_ns.size() == 1 ? "round" : "rounds",
                        absl::ToDoubleSeconds(report.run.duration), absl::ToDoubleSeconds(report.run.warm_up));
  const client::ServerInfo& info = report.server_info;
  absl::StrAppendFormat(&out, "glint-server %s, %s on %s, %d lanes, %s\n", info.version, info.backend, info.device,
                        info.lanes, info.simd);
  AppendSide("server", report, report.server, &out);
  if (report.has_echo()) {
    AppendSide("echo", report, report.echo, &out);
    const std::vector<double> ratios = RoundRatios(report);
    absl::StrAppendFormat(&out, "\nserver / (echo + %s): p50 %.3f, p99 %.3f", WorkOf(report.task), Ratio(report, 0.5),
                          Ratio(report, 0.99));
    if (ratios.size() > 1) {
      absl::StrAppendFormat(&out, "; p50 of the rounds %.3f to %.3f", *std::min_element(ratios.begin(), ratios.end()),
                            *std::max_element(ratios.begin(), ratios.end()));
    }
    absl::StrAppendFormat(
        &out, "\nserver / echo: %.3f of the %ss/s\n",
        report.echo.frames_per_s() > 0 ? report.server.frames_per_s() / report.echo.frames_per_s() : 0, unit);
  }
  if (report.energy.has_value()) absl::StrAppend(&out, "\n", bench::EnergyTable(*report.energy));
  for (const std::string& warning : Warnings(report)) absl::StrAppend(&out, "warning: ", warning, "\n");
  return out;
}

}  // namespace glint::load
