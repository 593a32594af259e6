// A DetectorReport as JSON and as text.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/detector_bench.h"
#include "bench/json.h"
#include "bench/machine.h"
#include "bench/opencv_peer.h"

namespace glint::bench {
namespace {

const char* TimingName(const SubjectOptions& subject) {
  if (subject.device == Device::kCpu) return "call";
  if (subject.device_resident) return "device_resident";
  return subject.pageable ? "host_to_host_pageable" : "host_to_host_pinned";
}

const char* OrientationName(Orientation orientation) {
  return orientation == Orientation::kNone ? "none" : "intensity_centroid";
}

void Write(const std::vector<NamedTime>& times, JsonWriter* json) {
  json->BeginObject();
  for (const NamedTime& time : times) json->Key(time.name).Number(time.us);
  json->EndObject();
}

void Write(const DetectorOptions& detector, const std::string& preset, JsonWriter* json) {
  json->BeginObject();
  json->Key("preset").String(preset);
  json->Key("levels").Int(detector.levels);
  json->Key("scale_factor").Number(detector.scale_factor);
  json->Key("fast_threshold").Int(detector.fast_threshold);
  json->Key("features").Int(detector.max_features);
  json->Key("orientation").String(OrientationName(detector.orientation));
  json->Key("describe").Bool(detector.descriptor != Descriptor::kNone);
  json->EndObject();
}

void Write(const PeerReport& peer, JsonWriter* json) {
  json->BeginObject();
  json->Key("name").String(peer.name);
  json->Key("time_us");
  WriteSummary(peer.us, json);
  json->Key("keypoints").Int(static_cast<int64_t>(peer.keypoints));
  json->Key("ratio").Number(peer.ratio);
  json->Key("ratio_p10").Number(peer.ratio_p10);
  if (peer.same_keypoints.has_value()) json->Key("same_keypoints").Bool(*peer.same_keypoints);
  json->EndObject();
}

std::string Row(const std::string& name, const Summary& us, const std::string& rest) {
  return absl::StrFormat("%-40s %10.1f %10.1f %10.1f  %s\n", name, us.median, us.p10, us.p90, rest);
}

}  // namespace

std::string ToJson(const DetectorReport& report, const std::string& command) {
  const SubjectOptions& subject = report.options.subject;
  JsonWriter json;
  BeginReport(command, &json);
  json.Key("processor").String(Processor());
  json.Key("device").String(report.device);
  json.Key("opencv").String(OpenCvVersion());
  json.Key("backend").String(subject.device == Device::kCuda ? "cuda" : "cpu");
  json.Key("timing").String(TimingName(subject));
  json.Key("clock").String(ClockName(subject.clock));
  json.Key("threads").Int(subject.threads);
  json.Key("sm_limit").Int(subject.sm_limit);
  json.Key("image").BeginObject();
  json.Key("source").String(report.options.picture);
  json.Key("width").Int(report.shape.width);
  json.Key("height").Int(report.shape.height);
  json.EndObject();
  json.Key("options");
  Write(report.options.detector, report.options.preset, &json);
  json.Key("rounds").Int(report.options.repeat);
  json.Key("samples").Int(report.samples);
  json.Key("time_us");
  WriteSummary(report.us, &json);
  json.Key("keypoints").Int(static_cast<int64_t>(report.keypoints));
  if (report.launches > 0) json.Key("launches").Int(report.launches);
  json.Key("stages_us");
  Write(report.stages, &json);
  json.Key("floors_us");
  Write(report.floors, &json);
  json.Key("peers").BeginArray();
  for (const PeerReport& peer : report.peers) Write(peer, &json);
  json.EndArray();
  json.EndObject();
  return json.text() + "\n";
}

std::string ToTable(const DetectorReport& report) {
  const DetectorBenchOptions& options = report.options;
  std::string text = absl::StrFormat(
      "%s  %dx%d  %s, %d levels of %g, %d features%s\n%s, %s, %s time, %d rounds\n\n%-40s %10s %10s %10s\n",
      options.picture, report.shape.width, report.shape.height, options.preset, options.detector.levels,
      options.detector.scale_factor, options.detector.max_features,
      options.detector.descriptor != Descriptor::kNone ? ", described" : "", report.device, TimingName(options.subject),
      ClockName(options.subject.clock), options.repeat, "microseconds", "median", "p10", "p90");
  const std::string launches = report.launches > 0 ? absl::StrFormat(", %d launches", report.launches) : "";
  absl::StrAppend(&text, Row("glint", report.us, absl::StrFormat("%d keypoints%s", report.keypoints, launches)));
  for (const NamedTime& stage : report.stages) absl::StrAppendFormat(&text, "  %-38s %10.1f\n", stage.name, stage.us);
  for (const NamedTime& floor : report.floors) {
    absl::StrAppendFormat(&text, "floor: %-33s %10.1f\n", floor.name, floor.us);
  }
  for (const PeerReport& peer : report.peers) {
    const std::string same = !peer.same_keypoints.has_value() ? ""
                             : *peer.same_keypoints           ? ", the same"
                                                              : ", NOT the same";
    absl::StrAppend(&text, Row(peer.name, peer.us,
                               absl::StrFormat("%d keypoints%s; glint is %.2f times as fast (p10: %.2f)",
                                               peer.keypoints, same, peer.ratio, peer.ratio_p10)));
  }
  return text;
}

}  // namespace glint::bench
