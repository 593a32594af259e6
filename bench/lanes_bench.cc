#include "bench/lanes_bench.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/synchronization/barrier.h"
#include "bench/json.h"
#include "bench/machine.h"
#include "bench/picture.h"
#include "bench/rounds.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::bench {
namespace {

constexpr int kMaxLanes = 256;

// Every subject runs `frames` frames in a thread of its own; all start together, after a frame to warm up.
absl::StatusOr<double> FramesPerSecond(const std::vector<std::unique_ptr<Subject>>& subjects, int frames) {
  std::vector<absl::Status> statuses(subjects.size());
  std::vector<std::thread> threads;
  auto* ready = new absl::Barrier(static_cast<int>(subjects.size()) + 1);
  for (size_t i = 0; i < subjects.size(); ++i) {
    threads.emplace_back([&, i, ready] {
      const Contestant contestant = subjects[i]->contestant();
      std::vector<double> us;
      us.reserve(static_cast<size_t>(frames) + 1);
      statuses[i] = contestant.run(&us);
      if (ready->Block()) delete ready;
      for (int frame = 0; frame < frames && statuses[i].ok(); ++frame) statuses[i] = contestant.run(&us);
    });
  }
  if (ready->Block()) delete ready;
  const Stopwatch stopwatch;
  for (std::thread& thread : threads) thread.join();
  const double us = stopwatch.us();
  for (const absl::Status& status : statuses) {
    GLINT_RETURN_IF_ERROR(status);
  }
  return 1e6 * frames * static_cast<double>(subjects.size()) / us;
}

}  // namespace

absl::StatusOr<LanesReport> BenchLanes(const LanesBenchOptions& options) {
  GLINT_RETURN_IF_ERROR(ValidateSubject(options.subject));
  if (options.subject.device_resident) return ContradictionError("device-resident", "lanes run host to host");
  if (options.repeat < 1 || options.repeat > kMaxRepeat)
    return OutOfRangeError("repeat", options.repeat, 1, kMaxRepeat);
  if (options.lane_counts.empty()) return ContradictionError("lane-counts", "is empty");
  for (const int lanes : options.lane_counts) {
    if (lanes < 1 || lanes > kMaxLanes) return OutOfRangeError("lane-counts", lanes, 1, kMaxLanes);
  }
  GLINT_RETURN_IF_ERROR(ValidateOptions(options.detector));
  GLINT_ASSIGN_OR_RETURN(const Image picture, LoadPicture(options.picture));

  LanesReport report;
  report.options = options;
  report.shape = picture.shape();
  std::vector<std::unique_ptr<Subject>> subjects;
  for (const int lanes : options.lane_counts) {
    subjects.resize(std::min(subjects.size(), static_cast<size_t>(lanes)));
    while (subjects.size() < static_cast<size_t>(lanes)) {
      GLINT_ASSIGN_OR_RETURN(auto subject, MakeSubject(options.subject, options.detector, picture));
      subjects.push_back(std::move(subject));
    }
    GLINT_ASSIGN_OR_RETURN(const double rate, FramesPerSecond(subjects, options.repeat));
    report.rows.push_back({lanes, rate});
  }
  report.device = subjects[0]->device();
  GLINT_ASSIGN_OR_RETURN(const auto floors, subjects[0]->Floors(options.repeat));
  for (const NamedTime& floor : floors) {
    if (floor.name != "pinned_upload" && floor.name != "read_pass") continue;
    report.floor = floor.name;
    report.floor_frames_per_second = floor.us > 0 ? 1e6 / floor.us : 0;
  }
  return report;
}

std::string ToJson(const LanesReport& report, const std::string& command) {
  JsonWriter json;
  BeginReport(command, &json);
  json.Key("processor").String(Processor());
  json.Key("device").String(report.device);
  json.Key("image").BeginObject();
  json.Key("source").String(report.options.picture);
  json.Key("width").Int(report.shape.width).Key("height").Int(report.shape.height);
  json.EndObject();
  json.Key("preset").String(report.options.preset);
  json.Key("features").Int(report.options.detector.max_features);
  json.Key("frames_per_lane").Int(report.options.repeat);
  json.Key("floor").String(report.floor);
  json.Key("floor_per_second").Number(report.floor_frames_per_second);
  json.Key("lanes").BeginArray();
  for (const LanesRow& row : report.rows) {
    json.BeginObject().Key("lanes").Int(row.lanes).Key("frames_per_second").Number(row.frames_per_second).EndObject();
  }
  json.EndArray().EndObject();
  return json.text() + "\n";
}

std::string ToTable(const LanesReport& report) {
  std::string text =
      absl::StrFormat("%s  %dx%d  %s, %d features\n%s, %d frames a lane\n\n%-20s %12s\n", report.options.picture,
                      report.shape.width, report.shape.height, report.options.preset,
                      report.options.detector.max_features, report.device, report.options.repeat, "lanes", "frames/s");
  for (const LanesRow& row : report.rows) {
    absl::StrAppendFormat(&text, "%-20d %12.1f\n", row.lanes, row.frames_per_second);
  }
  absl::StrAppendFormat(&text, "floor: %-13s %12.1f\n", report.floor, report.floor_frames_per_second);
  return text;
}

}  // namespace glint::bench
