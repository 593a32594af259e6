#include "client/view/message.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "bench/json.h"
#include "features/limits.h"

namespace glint::view {
namespace {

using bench::JsonWriter;

constexpr float kSubpixels = 4;
constexpr int kAngleSteps = 255;
constexpr size_t kMaxTrail = 255;

void AppendU8(uint8_t value, std::string* out) { out->push_back(static_cast<char>(value)); }

void AppendU16(uint16_t value, std::string* out) {
  AppendU8(static_cast<uint8_t>(value & 0xff), out);
  AppendU8(static_cast<uint8_t>(value >> 8), out);
}

void AppendU32(uint32_t value, std::string* out) {
  AppendU16(static_cast<uint16_t>(value & 0xffff), out);
  AppendU16(static_cast<uint16_t>(value >> 16), out);
}

void AppendFloat32(float value, std::string* out) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  AppendU32(bits, out);
}

// What is not a number, or lies outside of the picture, comes to its border.
void AppendPixels(float value, std::string* out) {
  const float scaled = std::isfinite(value) ? std::round(value * kSubpixels) : 0;
  AppendU16(static_cast<uint16_t>(std::clamp(scaled, 0.0f, 65535.0f)), out);
}

uint8_t AngleByte(float degrees) {
  if (!(degrees >= 0)) return kAngleSteps;
  const int step = static_cast<int>(std::lround(std::fmod(degrees, 360.0f) / 360 * kAngleSteps));
  return static_cast<uint8_t>(step % kAngleSteps);
}

void AppendMarks(const std::vector<Mark>& marks, std::string* out) {
  for (const Mark& mark : marks) {
    AppendPixels(mark.at.x, out);
    AppendPixels(mark.at.y, out);
    AppendPixels(mark.size, out);
    AppendU8(mark.color, out);
    AppendU8(AngleByte(mark.angle), out);
  }
}

void AppendTrails(const std::vector<Trail>& trails, std::string* out) {
  for (const Trail& trail : trails) {
    const size_t count = std::min(trail.points.size(), kMaxTrail);
    AppendU8(trail.color, out);
    AppendU8(static_cast<uint8_t>(count), out);
    for (size_t i = trail.points.size() - count; i < trail.points.size(); ++i) {
      AppendPixels(trail.points[i].x, out);
      AppendPixels(trail.points[i].y, out);
    }
  }
}

void AppendPath(const std::vector<Step>& path, std::string* out) {
  for (const Step& step : path) {
    AppendFloat32(step.x, out);
    AppendFloat32(step.z, out);
    AppendU8(step.state, out);
    AppendU8(step.keyframe ? 1 : 0, out);
    AppendU16(0, out);
  }
}

std::string Header(const Scene& scene, const EncodedPicture& picture) {
  JsonWriter json(JsonWriter::Layout::kOneLine);
  json.BeginObject();
  json.Key("name").String(scene.name).Key("text").String(scene.text);
  json.Key("palette").String(scene.palette == Palette::kRamp ? "ramp" : "octaves");
  json.Key("marks").Int(static_cast<int64_t>(scene.marks.size()));
  json.Key("trails").Int(static_cast<int64_t>(scene.trails.size()));
  json.Key("path").Int(static_cast<int64_t>(scene.path.size()));
  json.Key("scale").BeginArray();
  if (!scene.scale_low.empty()) json.String(scene.scale_low).String(scene.scale_high);
  json.EndArray();
  json.Key("strips").BeginArray();
  for (const Strip& strip : scene.strips) {
    json.BeginArray().String(strip.name);
    for (const double value : strip.values) json.Number(value);
    json.EndArray();
  }
  json.EndArray();
  json.Key("stages").BeginArray();
  for (const auto& [name, ns] : scene.stages) json.BeginArray().String(name).Int(ns).EndArray();
  json.EndArray();
  json.Key("width").Int(picture.width).Key("height").Int(picture.height);
  json.EndObject();
  std::string text = json.text();
  text.append((4 - text.size() % 4) % 4, ' ');
  return text;
}

void WriteSlider(absl::string_view name, const std::optional<int>& value, JsonWriter* json) {
  if (value.has_value()) json->Key(name).Int(*value);
}

}  // namespace

std::string EncodeScene(const Scene& scene, const EncodedPicture& picture) {
  const std::string header = Header(scene, picture);
  std::string out;
  out.reserve(4 + header.size() + 8 * scene.marks.size() + 12 * scene.path.size() + picture.file.size());
  AppendU32(static_cast<uint32_t>(header.size()), &out);
  out += header;
  AppendMarks(scene.marks, &out);
  AppendTrails(scene.trails, &out);
  AppendPath(scene.path, &out);
  out += picture.file;
  return out;
}

std::string EncodeState(const State& state) {
  JsonWriter json(JsonWriter::Layout::kOneLine);
  json.BeginObject();
  json.Key("title").String(state.title).Key("notice").String(state.notice).Key("paused").Bool(state.paused);
  WriteSlider("threshold", state.threshold, &json);
  WriteSlider("features", state.max_features, &json);
  json.EndObject();
  return json.text();
}

std::optional<Request> ParseRequest(const std::string& text) {
  if (text == "ready") return Request{Request::kReady};
  if (text == "pause") return Request{Request::kPause};
  if (text == "resume") return Request{Request::kResume};
  absl::string_view rest = text;
  int value = 0;
  if (absl::ConsumePrefix(&rest, "threshold ")) {
    if (!absl::SimpleAtoi(rest, &value) || value < kMinFastThreshold || value > kMaxFastThreshold) return std::nullopt;
    return Request{Request::kThreshold, value};
  }
  if (absl::ConsumePrefix(&rest, "features ")) {
    if (!absl::SimpleAtoi(rest, &value) || value < kMinFeatures || value > kMaxFeatures) return std::nullopt;
    return Request{Request::kFeatures, value};
  }
  return std::nullopt;
}

}  // namespace glint::view
