#include "bench/energy_report.h"

#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace glint::bench {
namespace {

std::optional<double> JoulesOf(const std::vector<EnergyReading>& readings, const std::string& source) {
  for (const EnergyReading& reading : readings) {
    if (reading.source == source) return reading.joules;
  }
  return std::nullopt;
}

}  // namespace

void EnergyAccount::Open() {
  opened_ = meter_->Read();
  opened_at_ = absl::Now();
}

EnergyAccount::Interval EnergyAccount::Close() const {
  Interval interval;
  interval.seconds = absl::ToDoubleSeconds(absl::Now() - opened_at_);
  for (const EnergyReading& now : meter_->Read()) {
    const auto before = JoulesOf(opened_, now.source);
    if (before.has_value()) interval.joules.push_back({now.source, now.joules - *before});
  }
  return interval;
}

void EnergyAccount::MeasureIdle(absl::Duration duration) {
  Open();
  absl::SleepFor(duration);
  idle_ = Close();
}

void EnergyAccount::Begin() { Open(); }

void EnergyAccount::End(int64_t frames) {
  busy_.push_back(Close());
  frames_ += frames;
}

EnergyReport EnergyAccount::Report() const {
  EnergyReport report;
  report.idle_seconds = idle_.seconds;
  for (const Interval& interval : busy_) report.seconds += interval.seconds;
  report.frames = frames_;
  report.gaps = meter_->gaps();
  for (const EnergyReading& idle : idle_.joules) {
    double joules = 0;
    bool complete = frames_ > 0;
    for (const Interval& interval : busy_) {
      const auto of_source = JoulesOf(interval.joules, idle.source);
      complete = complete && of_source.has_value();
      joules += of_source.value_or(0);
    }
    if (!complete) {
      report.gaps.push_back({idle.source, frames_ > 0 ? "could not be read all the time" : "no frame was answered"});
      continue;
    }
    EnergyRow row;
    row.source = idle.source;
    row.idle_watts = idle.joules / idle_.seconds;
    row.watts = joules / report.seconds;
    row.joules_per_frame = joules / static_cast<double>(frames_);
    row.joules_per_frame_above_idle = (joules - row.idle_watts * report.seconds) / static_cast<double>(frames_);
    report.rows.push_back(std::move(row));
  }
  return report;
}

std::string EnergyTable(const EnergyReport& report) {
  std::string text = absl::StrFormat(
      "energy of %d frames in %.2f s, idle for %.2f s before\n%-26s %10s %10s %12s %20s\n", report.frames,
      report.seconds, report.idle_seconds, "source", "idle W", "W", "mJ a frame", "mJ a frame above idle");
  for (const EnergyRow& row : report.rows) {
    absl::StrAppendFormat(&text, "%-26s %10.1f %10.1f %12.3f %20.3f\n", row.source, row.idle_watts, row.watts,
                          1e3 * row.joules_per_frame, 1e3 * row.joules_per_frame_above_idle);
  }
  for (const EnergyGap& gap : report.gaps) {
    absl::StrAppendFormat(&text, "%-26s not measured: %s\n", gap.source, gap.reason);
  }
  return text;
}

void WriteEnergy(const EnergyReport& report, JsonWriter* json) {
  json->BeginObject();
  json->Key("frames").Int(report.frames).Key("seconds").Number(report.seconds);
  json->Key("idle_seconds").Number(report.idle_seconds);
  json->Key("sources").BeginArray();
  for (const EnergyRow& row : report.rows) {
    json->BeginObject().Key("source").String(row.source);
    json->Key("idle_watts").Number(row.idle_watts).Key("watts").Number(row.watts);
    json->Key("joules_per_frame").Number(row.joules_per_frame);
    json->Key("joules_per_frame_above_idle").Number(row.joules_per_frame_above_idle).EndObject();
  }
  json->EndArray().Key("not_measured").BeginArray();
  for (const EnergyGap& gap : report.gaps) {
    json->BeginObject().Key("source").String(gap.source).Key("reason").String(gap.reason).EndObject();
  }
  json->EndArray().EndObject();
}

}  // namespace glint::bench
