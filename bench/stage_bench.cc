#include "bench/stage_bench.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/cpu_stages.h"
#include "bench/floors.h"
#include "bench/json.h"
#include "bench/machine.h"
#include "bench/opencv_peer.h"
#include "bench/picture.h"
#include "cpu/pipeline.h"
#include "features/error.h"
#include "features/limits.h"
#include "features/status_macros.h"

namespace glint::bench {
namespace {

Contestant TimedStage(const std::string& name, Clock clock, const std::function<void()>& run) {
  return Timed(name, clock, [run] {
    run();
    return absl::OkStatus();
  });
}

double PerItem(const Summary& us, size_t items) { return 1e3 * us.median / static_cast<double>(items); }

double Ratio(const StageReport& stage) { return stage.us.median > 0 ? stage.peer_us.median / stage.us.median : 0; }

}  // namespace

absl::StatusOr<StagesReport> BenchStages(const StageBenchOptions& options) {
  if (options.repeat < 1 || options.repeat > kMaxRepeat)
    return OutOfRangeError("repeat", options.repeat, 1, kMaxRepeat);
  if (options.fast_threshold < kMinFastThreshold || options.fast_threshold > kMaxFastThreshold) {
    return OutOfRangeError("fast_threshold", options.fast_threshold, kMinFastThreshold, kMaxFastThreshold);
  }
  GLINT_RETURN_IF_ERROR(cpu::ValidateSimdTarget());
  GLINT_ASSIGN_OR_RETURN(const Image picture, LoadPicture(options.picture));
  if (picture.width() < cpu::kWideImage) {
    return OutOfRangeError("image.width", picture.width(), cpu::kWideImage, kMaxImageSide);
  }

  CpuStages own(picture, options.fast_threshold);
  const std::vector<CpuStages::Stage> stages = own.List();
  std::vector<StagePeer> peers;
  if (options.opencv_peer) {
    GLINT_ASSIGN_OR_RETURN(peers, MakeOpenCvStagePeers(picture, options.fast_threshold, NextLevel(picture.shape()),
                                                       LensOfBench(picture.shape())));
  }
  std::vector<Contestant> contestants = {ReadPass(picture, options.clock)};
  for (const CpuStages::Stage& stage : stages) contestants.push_back(TimedStage(stage.name, options.clock, stage.run));
  for (const StagePeer& peer : peers) contestants.push_back(Timed(peer.name, options.clock, peer.run));
  GLINT_RETURN_IF_ERROR(RunRounds(options.repeat, &contestants));

  StagesReport report;
  report.options = options;
  report.shape = picture.shape();
  report.device = absl::StrCat(Processor(), ", ", cpu::SimdTarget());
  report.read_pass_us = Summarize(contestants[0].us).median;
  for (size_t i = 0; i < stages.size(); ++i) {
    StageReport stage;
    stage.stage = stages[i].name;
    stage.us = Summarize(contestants[1 + i].us);
    stage.items = stages[i].items();
    for (size_t p = 0; p < peers.size(); ++p) {
      if (peers[p].stage != stage.stage) continue;
      stage.peer = peers[p].name;
      stage.peer_us = Summarize(contestants[1 + stages.size() + p].us);
      stage.peer_items = peers[p].items();
    }
    report.stages.push_back(std::move(stage));
  }
  return report;
}

std::string ToJson(const StagesReport& report, const std::string& command) {
  JsonWriter json;
  BeginReport(command, &json);
  json.Key("device").String(report.device);
  json.Key("opencv").String(OpenCvVersion());
  json.Key("image").BeginObject();
  json.Key("source").String(report.options.picture);
  json.Key("width").Int(report.shape.width).Key("height").Int(report.shape.height);
  json.EndObject();
  json.Key("clock").String(ClockName(report.options.clock));
  json.Key("fast_threshold").Int(report.options.fast_threshold);
  json.Key("rounds").Int(report.options.repeat);
  json.Key("floors_us").BeginObject().Key("read_pass").Number(report.read_pass_us).EndObject();
  json.Key("stages").BeginArray();
  for (const StageReport& stage : report.stages) {
    json.BeginObject().Key("name").String(stage.stage).Key("time_us");
    WriteSummary(stage.us, &json);
    if (stage.items > 0) {
      json.Key("items").Int(static_cast<int64_t>(stage.items));
      json.Key("ns_per_item").Number(PerItem(stage.us, stage.items));
    }
    if (!stage.peer.empty()) {
      json.Key("peer").String(stage.peer).Key("peer_time_us");
      WriteSummary(stage.peer_us, &json);
      if (stage.peer_items > 0) json.Key("peer_items").Int(static_cast<int64_t>(stage.peer_items));
      json.Key("ratio").Number(Ratio(stage));
    }
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.text() + "\n";
}

std::string ToTable(const StagesReport& report) {
  std::string text = absl::StrFormat("%s  %dx%d\n%s, %s time, %d rounds\n\n%-18s %10s %10s %10s\n%-18s %10.1f\n",
                                     report.options.picture, report.shape.width, report.shape.height, report.device,
                                     ClockName(report.options.clock), report.options.repeat, "microseconds", "median",
                                     "p10", "p90", "floor: read_pass", report.read_pass_us);
  for (const StageReport& stage : report.stages) {
    absl::StrAppendFormat(&text, "%-18s %10.1f %10.1f %10.1f", stage.stage, stage.us.median, stage.us.p10,
                          stage.us.p90);
    if (stage.items > 0) {
      absl::StrAppendFormat(&text, "  %d items, %.1f ns each", stage.items, PerItem(stage.us, stage.items));
    }
    if (!stage.peer.empty()) {
      absl::StrAppendFormat(&text, "  %s: %.1f, glint is %.2f times as fast", stage.peer, stage.peer_us.median,
                            Ratio(stage));
      if (stage.peer_items != stage.items) absl::StrAppendFormat(&text, " (%d items)", stage.peer_items);
    }
    text += '\n';
  }
  return text;
}

}  // namespace glint::bench
