#include "bench/energy_bench.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "bench/machine.h"
#include "bench/picture.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bench {
namespace {

constexpr double kWarmUpShare = 0.2;  // of the measured time

absl::Status Validate(const EnergyBenchOptions& options) {
  if (!(options.rate >= 0 && options.rate <= kMaxEnergyRate)) {
    return OutOfRangeError("rate", options.rate, 0.0, kMaxEnergyRate);
  }
  if (!(options.seconds >= kMinEnergySeconds && options.seconds <= kMaxEnergySeconds)) {
    return OutOfRangeError("seconds", options.seconds, kMinEnergySeconds, kMaxEnergySeconds);
  }
  if (options.subject.clock == Clock::kProcessor) return ContradictionError("clock", "energy is of wall time");
  GLINT_RETURN_IF_ERROR(ValidateSubject(options.subject));
  return ValidateOptions(options.detector);
}

// Runs frames until `seconds` are over, each when it is due.
absl::Status RunFrames(const Contestant& contestant, double rate, double seconds, std::vector<double>* us) {
  const absl::Time start = absl::Now();
  const absl::Time end = start + absl::Seconds(seconds);
  for (int64_t frame = 0;; ++frame) {
    if (rate > 0) absl::SleepFor(start + absl::Seconds(static_cast<double>(frame) / rate) - absl::Now());
    if (absl::Now() >= end) return absl::OkStatus();
    GLINT_RETURN_IF_ERROR(contestant.run(us));
  }
}

}  // namespace

absl::StatusOr<EnergyBenchReport> BenchEnergy(const EnergyBenchOptions& options) {
  GLINT_RETURN_IF_ERROR(Validate(options));
  GLINT_ASSIGN_OR_RETURN(const Image picture, LoadPicture(options.picture));
  GLINT_ASSIGN_OR_RETURN(auto subject, MakeSubject(options.subject, options.detector, picture));

  EnergyMeter meter(options.meter);
  EnergyAccount account(&meter);
  account.MeasureIdle(options.idle);
  const Contestant contestant = subject->contestant();
  std::vector<double> us;
  GLINT_RETURN_IF_ERROR(RunFrames(contestant, options.rate, kWarmUpShare * options.seconds, &us));
  us.clear();
  account.Begin();
  GLINT_RETURN_IF_ERROR(RunFrames(contestant, options.rate, options.seconds, &us));
  account.End(static_cast<int64_t>(us.size()));

  EnergyBenchReport report;
  report.options = options;
  report.shape = picture.shape();
  report.device = subject->device();
  report.us = Summarize(us);
  report.energy = account.Report();
  report.frames_per_second = static_cast<double>(us.size()) / report.energy.seconds;
  return report;
}

std::string ToJson(const EnergyBenchReport& report, const std::string& command) {
  const EnergyBenchOptions& options = report.options;
  JsonWriter json;
  BeginReport(command, &json);
  json.Key("processor").String(Processor());
  json.Key("device").String(report.device);
  json.Key("threads").Int(options.subject.threads);
  json.Key("sm_limit").Int(options.subject.sm_limit);
  json.Key("image").BeginObject().Key("source").String(options.picture);
  json.Key("width").Int(report.shape.width).Key("height").Int(report.shape.height).EndObject();
  json.Key("preset").String(options.preset);
  json.Key("features").Int(options.detector.max_features);
  json.Key("rate").Number(options.rate);
  json.Key("frames_per_second").Number(report.frames_per_second);
  json.Key("time_us");
  WriteSummary(report.us, &json);
  json.Key("energy");
  WriteEnergy(report.energy, &json);
  json.EndObject();
  return json.text() + "\n";
}

std::string ToTable(const EnergyBenchReport& report) {
  const EnergyBenchOptions& options = report.options;
  const std::string pace = options.rate > 0 ? absl::StrFormat("%g frames/s wanted", options.rate) : "flat out";
  return absl::StrFormat("%s  %dx%d  %s, %d features\n%s, %s: %.1f frames/s, median of a frame %.1f us\n\n",
                         options.picture, report.shape.width, report.shape.height, options.preset,
                         options.detector.max_features, report.device, pace, report.frames_per_second,
                         report.us.median) +
         EnergyTable(report.energy);
}

}  // namespace glint::bench
