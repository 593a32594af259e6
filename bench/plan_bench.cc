#include "bench/plan_bench.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/json.h"
#include "bench/machine.h"
#include "bench/picture.h"
#include "features/error.h"
#include "features/limits.h"
#include "features/status_macros.h"

namespace glint::bench {
namespace {

void WriteLaunches(const std::vector<cuda::PlannedLaunch>& launches, JsonWriter* json) {
  json->BeginArray();
  for (const cuda::PlannedLaunch& launch : launches) {
    json->BeginObject();
    json->Key("stage").String(launch.stage).Key("kernel").String(launch.kernel).Key("variant").String(launch.variant);
    json->Key("grid").BeginArray();
    for (int n : launch.grid) json->Int(n);
    json->EndArray().Key("block").BeginArray();
    for (int n : launch.block) json->Int(n);
    json->EndArray().Key("shared_bytes").Int(launch.shared_bytes);
    json->Key("overlaps_predecessor").Bool(launch.overlaps_predecessor);
    json->EndObject();
  }
  json->EndArray();
}

std::string Dimensions(const int (&n)[3]) {
  std::string text = absl::StrCat(n[0]);
  if (n[1] > 1 || n[2] > 1) absl::StrAppend(&text, " x ", n[1]);
  if (n[2] > 1) absl::StrAppend(&text, " x ", n[2]);
  return text;
}

void AppendLaunches(const std::string& title, const std::vector<cuda::PlannedLaunch>& launches, std::string* text) {
  absl::StrAppendFormat(text, "\n%s: %d launches\n%-9s %-18s %-14s %-8s %12s  %s\n", title, launches.size(), "stage",
                        "kernel", "grid", "block", "shared bytes", "variant");
  for (const cuda::PlannedLaunch& launch : launches) {
    const std::string early = launch.overlaps_predecessor ? "begins early" : "";
    const std::string words = absl::StrCat(launch.variant, launch.variant.empty() || early.empty() ? "" : "; ", early);
    absl::StrAppendFormat(text, "%-9s %-18s %-14s %-8s %12d%s\n", launch.stage, launch.kernel, Dimensions(launch.grid),
                          Dimensions(launch.block), launch.shared_bytes, words.empty() ? "" : "  " + words);
  }
}

}  // namespace

absl::StatusOr<PlanBenchReport> BenchPlan(const PlanBenchOptions& options) {
  GLINT_ASSIGN_OR_RETURN(const Shape shape, ParseSize(options.size));
  GLINT_RETURN_IF_ERROR(ValidateOptions(options.detector));
  if (options.multiprocessors < 0 || options.multiprocessors > kMaxMultiprocessors) {
    return OutOfRangeError("sm-limit", options.multiprocessors, 0, kMaxMultiprocessors);
  }
  const int multiprocessors = options.multiprocessors > 0 ? options.multiprocessors : kDefaultMultiprocessors;
  GLINT_ASSIGN_OR_RETURN(auto plan, cuda::ReportPlan(options.detector, shape, multiprocessors));
  return PlanBenchReport{options, shape, std::move(plan)};
}

std::string ToJson(const PlanBenchReport& report, const std::string& command) {
  const cuda::PlanReport& plan = report.plan;
  JsonWriter json;
  BeginReport(command, &json);
  json.Key("preset").String(report.options.preset);
  json.Key("width").Int(report.shape.width).Key("height").Int(report.shape.height);
  json.Key("multiprocessors").Int(plan.multiprocessors);
  json.Key("multiprocessors_given").Bool(report.options.multiprocessors > 0);
  json.Key("levels").BeginArray();
  for (const cuda::PlannedLevel& level : plan.levels) {
    json.BeginObject();
    json.Key("width").Int(level.width).Key("height").Int(level.height).Key("pitch_bytes").Int(level.pitch);
    json.Key("keypoints").Int(level.keypoints);
    json.EndObject();
  }
  json.EndArray();
  json.Key("launches");
  WriteLaunches(plan.launches, &json);
  json.Key("parts").BeginArray();
  for (const auto& launches : plan.part_launches) WriteLaunches(launches, &json);
  json.EndArray();
  json.Key("bytes").BeginObject();
  json.Key("scratch").Int(plan.scratch_bytes).Key("tables").Int(plan.table_bytes);
  json.Key("state").Int(plan.state_bytes).Key("result").Int(plan.result_bytes);
  json.EndObject().EndObject();
  return json.text() + "\n";
}

std::string ToTable(const PlanBenchReport& report) {
  const cuda::PlanReport& plan = report.plan;
  std::string text = absl::StrFormat("%s  %dx%d, %d multiprocessors%s\n\n%-6s %-12s %12s %10s\n", report.options.preset,
                                     report.shape.width, report.shape.height, plan.multiprocessors,
                                     report.options.multiprocessors > 0 ? "" : " (default; --sm-limit for others)",
                                     "level", "pixels", "pitch bytes", "keypoints");
  for (size_t l = 0; l < plan.levels.size(); ++l) {
    const cuda::PlannedLevel& level = plan.levels[l];
    if (level.width == 0) {
      absl::StrAppendFormat(&text, "%-6d vanishes\n", l);
      continue;
    }
    absl::StrAppendFormat(&text, "%-6d %-12s %12d %10s\n", l, absl::StrCat(level.width, " x ", level.height),
                          level.pitch, level.keypoints > 0 ? absl::StrCat(level.keypoints) : "-");
  }
  AppendLaunches("image whole", plan.launches, &text);
  for (size_t part = 0; part < plan.part_launches.size(); ++part) {
    AppendLaunches(absl::StrCat("image in parts, part ", part + 1, " of ", plan.part_launches.size()),
                   plan.part_launches[part], &text);
  }
  absl::StrAppendFormat(&text, "\nbytes: scratch %d, tables %d, state %d, result %d\n", plan.scratch_bytes,
                        plan.table_bytes, plan.state_bytes, plan.result_bytes);
  return text;
}

}  // namespace glint::bench
