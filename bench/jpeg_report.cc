#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/jpeg_bench.h"
#include "bench/json.h"
#include "bench/machine.h"

namespace glint::bench {
namespace {

double Ratio(const Summary& cpu, const Summary& gpu) { return gpu.median > 0 ? cpu.median / gpu.median : 0; }

void Write(const char* key, const Summary& us, JsonWriter* json) {
  json->Key(key);
  WriteSummary(us, json);
}

void Write(const JpegFileReport& file, JsonWriter* json) {
  json->BeginObject();
  json->Key("source").String(file.source);
  if (file.quality > 0) json->Key("quality").Int(file.quality);
  json->Key("width").Int(file.shape.width).Key("height").Int(file.shape.height);
  json->Key("bytes").Int(static_cast<int64_t>(file.bytes));
  json->Key("keypoints").Int(static_cast<int64_t>(file.keypoints));
  Write("header_us", file.header_us, json);
  if (file.gpu_refusal.empty()) {
    json->Key("sampling").String(file.sampling);
    json->Key("restart_intervals").Int(file.restart_intervals);
    Write("plan_us", file.plan_us, json);
  } else {
    json->Key("gpu_refusal").String(file.gpu_refusal);
  }
  json->Key("cpu").BeginObject();
  Write("decode_us", file.cpu_decode_us, json);
  Write("frame_us", file.cpu_frame_us, json);
  json->EndObject();
  if (file.on_gpu) {
    const GpuJpegReport& gpu = file.gpu;
    json->Key("gpu").BeginObject();
    Write("decode_us", gpu.file_us, json);
    Write("device_us", gpu.device_us, json);
    json->Key("stages_us").BeginObject();
    for (const NamedTime& stage : gpu.stages) json->Key(stage.name).Number(stage.us);
    json->EndObject();
    Write("frame_us", gpu.frame_us, json);
    json->Key("same_luma").Bool(gpu.same_luma).Key("same_features").Bool(gpu.same_features);
    json->EndObject();
    json->Key("decode_ratio").Number(Ratio(file.cpu_decode_us, gpu.file_us));
    json->Key("frame_ratio").Number(Ratio(file.cpu_frame_us, gpu.frame_us));
  }
  json->EndObject();
}

std::string Row(const std::string& name, const Summary& us, const std::string& note = "") {
  return absl::StrFormat("%-38s %10.1f %10.1f %10.1f%s%s\n", name, us.median, us.p10, us.p90, note.empty() ? "" : "  ",
                         note);
}

std::string Title(const JpegFileReport& file) {
  std::string text =
      absl::StrFormat("%s  %dx%d, %d bytes", file.source, file.shape.width, file.shape.height, file.bytes);
  if (file.quality > 0) absl::StrAppend(&text, ", quality ", file.quality);
  if (!file.gpu_refusal.empty()) return absl::StrCat(text, ", not decoded by GPUs: ", file.gpu_refusal, "\n");
  return absl::StrCat(text, ", ", file.sampling, ", ", file.restart_intervals, " restart intervals\n");
}

std::string Table(const JpegFileReport& file) {
  std::string text = absl::StrCat(
      Title(file), Row("libjpeg-turbo: header", file.header_us), Row("libjpeg-turbo: file to luma", file.cpu_decode_us),
      Row("libjpeg-turbo: file to features", file.cpu_frame_us, absl::StrCat(file.keypoints, " keypoints")));
  if (file.gpu_refusal.empty()) absl::StrAppend(&text, Row("GPU decoder: plan, on the host", file.plan_us));
  if (!file.on_gpu) return text;
  const GpuJpegReport& gpu = file.gpu;
  absl::StrAppend(&text,
                  Row("GPU decoder: file to luma there", gpu.file_us,
                      absl::StrFormat("%.1f times as fast%s", Ratio(file.cpu_decode_us, gpu.file_us),
                                      gpu.same_luma ? "; the same luma" : "; NOT THE SAME LUMA")),
                  Row("GPU decoder: file to features", gpu.frame_us,
                      absl::StrFormat("%.1f times as fast%s", Ratio(file.cpu_frame_us, gpu.frame_us),
                                      gpu.same_features ? "; the same features" : "; NOT THE SAME FEATURES")),
                  Row("GPU decoder: device alone", gpu.device_us));
  for (const NamedTime& stage : gpu.stages) absl::StrAppendFormat(&text, "  %-36s %10.1f\n", stage.name, stage.us);
  return text;
}

}  // namespace

std::string ToJson(const JpegReport& report, const std::string& command) {
  const JpegBenchOptions& o = report.options;
  const bool cuda = o.subject.device == Device::kCuda;
  JsonWriter json;
  BeginReport(command, &json);
  json.Key("processor").String(report.processor);
  json.Key("backend").String(cuda ? "cuda" : "cpu");
  json.Key("device").String(report.device);
  json.Key("clock").String(ClockName(o.subject.clock));
  if (cuda) {
    json.Key("sm_limit").Int(o.subject.sm_limit);
  } else {
    json.Key("threads").Int(o.subject.threads);
  }
  json.Key("preset").String(o.preset);
  json.Key("levels").Int(o.detector.levels);
  json.Key("features").Int(o.detector.max_features);
  json.Key("describe").Bool(o.detector.descriptor != Descriptor::kNone);
  json.Key("rounds").Int(o.repeat);
  json.Key("files").BeginArray();
  for (const JpegFileReport& file : report.files) Write(file, &json);
  json.EndArray().EndObject();
  return json.text() + "\n";
}

std::string ToTable(const JpegReport& report) {
  const JpegBenchOptions& o = report.options;
  std::string text = absl::StrFormat("%s, %d levels, %d features%s\n%s%s, %s time, %d rounds\n\n%-38s %10s %10s %10s\n",
                                     o.preset, o.detector.levels, o.detector.max_features,
                                     o.detector.descriptor != Descriptor::kNone ? ", described" : "", report.device,
                                     o.subject.device == Device::kCuda ? absl::StrCat("; ", report.processor) : "",
                                     ClockName(o.subject.clock), o.repeat, "microseconds", "median", "p10", "p90");
  for (const JpegFileReport& file : report.files) absl::StrAppend(&text, "\n", Table(file));
  return text;
}

}  // namespace glint::bench
