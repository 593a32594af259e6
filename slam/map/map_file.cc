#include "slam/map/map_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/atomic_file.h"
#include "features/error.h"
#include "features/match_limits.h"
#include "features/status_macros.h"
#include "slam/map/place_index.h"

namespace glint::slam {
namespace {

constexpr char kMagic[8] = {'G', 'L', 'I', 'N', 'T', 'M', 'A', 'P'};
constexpr uint32_t kVersion = 4;
constexpr uint32_t kOldestVersion = 3;  // does not say whether its world is level: it is not
// Why maps of earlier versions, from 1 on, are not enough.
constexpr const char* kMissing[kOldestVersion - 1] = {"it does not say which detector made it",
                                                      "it does not say which frames its keyframes were"};
// Two calibrations of one camera may differ by how their numbers were printed.
constexpr double kSame = 1e-4;
// Beyond these a map cannot go on: ids count up, and squares of distances must not overflow.
constexpr int64_t kMostId = int64_t{1} << 53;
constexpr double kMaxCoordinateM = 1e12;  // metres

// FNV-1a of 64 bits.
class Checksum {
 public:
  void Add(const char* data, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) value_ = (value_ ^ static_cast<uint8_t>(data[i])) * 1099511628211U;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 14695981039346656037U;
};

class Writer {
 public:
  explicit Writer(AtomicFile* file) : file_(file) {}

  template <typename T>
  void Put(const T& value) {
    static_assert(std::is_arithmetic_v<T>);
    PutBytes(&value, sizeof(T));
  }
  template <typename T>
  void PutAll(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    Put(static_cast<uint64_t>(values.size()));
    PutBytes(values.data(), values.size() * sizeof(T));
  }
  void PutBytes(const void* data, size_t bytes) {
    checksum_.Add(static_cast<const char*>(data), bytes);
    file_->Append(data, bytes);
  }
  void PutVector(const Eigen::Vector3d& v) { PutBytes(v.data(), 3 * sizeof(double)); }
  void PutPose(const Pose& pose) {
    PutBytes(pose.rotation.coeffs().data(), 4 * sizeof(double));
    PutVector(pose.translation);
  }
  void PutChecksum() { Put(checksum_.value()); }

 private:
  AtomicFile* file_;
  Checksum checksum_;
};

// After a failure everything reads as zero, and ok() is false.
class Reader {
 public:
  Reader(std::ifstream* file, uint64_t bytes) : file_(file), left_(bytes) {}

  template <typename T>
  T Get() {
    static_assert(std::is_arithmetic_v<T>);
    T value{};
    GetBytes(&value, sizeof(T));
    return value;
  }
  // A number of things of at least `bytes` each, which the rest of the file can hold.
  size_t GetCount(size_t bytes) {
    const auto count = Get<uint64_t>();
    if (count > left_ / bytes) ok_ = false;
    return ok_ ? static_cast<size_t>(count) : 0;
  }
  template <typename T>
  std::vector<T> GetAll() {
    std::vector<T> values(GetCount(sizeof(T)));
    GetBytes(values.data(), values.size() * sizeof(T));
    return values;
  }
  void GetBytes(void* data, size_t bytes) {
    auto* to = static_cast<char*>(data);
    ok_ = ok_ && bytes <= left_ && file_->read(to, static_cast<std::streamsize>(bytes));
    if (!ok_) {
      if (bytes > 0) std::memset(to, 0, bytes);
      return;
    }
    left_ -= bytes;
    checksum_.Add(to, bytes);
  }
  Eigen::Vector3d GetVector() {
    Eigen::Vector3d v;
    GetBytes(v.data(), 3 * sizeof(double));
    ok_ = ok_ && v.allFinite() && v.cwiseAbs().maxCoeff() <= kMaxCoordinateM;
    return v;
  }
  Pose GetPose() {
    Pose pose;
    GetBytes(pose.rotation.coeffs().data(), 4 * sizeof(double));
    pose.translation = GetVector();
    ok_ = ok_ && std::abs(pose.rotation.norm() - 1) < 1e-6;
    return pose;
  }
  void Require(bool condition) { ok_ = ok_ && condition; }
  bool ok() const { return ok_; }
  // The checksum of all that was read is the number that follows, and nothing comes after it.
  bool IsComplete() {
    const uint64_t expected = checksum_.value();
    return Get<uint64_t>() == expected && ok_ && left_ == 0;
  }

 private:
  std::ifstream* file_;
  uint64_t left_;
  bool ok_ = true;
  Checksum checksum_;
};

void PutCamera(const StereoCamera& camera, const LevelScales& scales, Writer* out) {
  out->Put(camera.image.width);
  out->Put(camera.image.height);
  for (const double v : {camera.focal_length, camera.centre_x, camera.centre_y, camera.baseline}) out->Put(v);
  out->PutVector(camera.rig_rotation);
  out->Put(scales.levels);
  out->PutBytes(scales.scale.data(), sizeof(scales.scale));
}

void GetCamera(Reader* in, StereoCamera* camera, LevelScales* scales) {
  camera->image.width = in->Get<int>();
  camera->image.height = in->Get<int>();
  for (double* v : {&camera->focal_length, &camera->centre_x, &camera->centre_y, &camera->baseline}) {
    *v = in->Get<double>();
  }
  camera->rig_rotation = in->GetVector();
  scales->levels = in->Get<int>();
  in->GetBytes(scales->scale.data(), sizeof(scales->scale));
  in->Require(scales->levels >= 1 && scales->levels <= kMaxLevels && ValidateStereoCamera(*camera).ok());
  for (int o = 0; in->ok() && o < scales->levels; ++o) {
    const float scale = scales->scale[static_cast<size_t>(o)];
    in->Require(scale >= 1 && scale <= 1e4f && (o == 0 || scale > scales->scale[static_cast<size_t>(o - 1)]));
  }
}

void PutFeatures(const FeatureKind& features, Writer* out) {
  out->Put(features.descriptor_bytes);
  out->Put(static_cast<uint32_t>(features.detector.size()));
  out->PutBytes(features.detector.data(), features.detector.size());
}

FeatureKind GetFeatures(Reader* in) {
  FeatureKind features;
  features.descriptor_bytes = in->Get<int>();
  const auto length = in->Get<uint32_t>();
  in->Require(features.descriptor_bytes >= kDescriptorUnit && features.descriptor_bytes <= kMaxDescriptorBytes &&
              features.descriptor_bytes % kDescriptorUnit == 0 && length <= kMaxFeatureKindBytes);
  if (!in->ok()) return features;
  features.detector.resize(length);
  in->GetBytes(features.detector.data(), length);
  in->Require(IsDetectorText(features.detector));
  return features;
}

// `number` has the place of each landmark in the file.
void PutKeyframe(const MapKeyframe& k, const std::vector<int32_t>& number, Writer* out) {
  out->Put(k.id);
  out->Put(k.stamp.frame_id);
  out->Put(k.stamp.time_ns);
  out->PutPose(k.camera_from_world);
  out->Put(k.parent);
  out->PutPose(k.from_parent);
  out->Put(static_cast<uint64_t>(k.neighbours.size()));
  for (const MapKeyframe::Neighbour& n : k.neighbours) {
    out->Put(n.id);
    out->Put(n.shared);
  }
  std::vector<int32_t> points = k.points;
  for (int32_t& p : points) p = p < 0 ? p : number[static_cast<size_t>(p)];
  out->PutAll(points);
  out->PutAll(k.features->keypoints);
  out->Put(k.features->descriptor_bytes);
  out->PutAll(k.features->descriptors);
  out->PutAll(k.features->strongest);
}

// Whether all values from 0 on are distinct.
bool AreDistinct(std::vector<int32_t> values) {
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end(), [](int32_t a, int32_t b) { return a == b && a >= 0; }) ==
         values.end();
}

// Everything that later code relies upon, but references to keyframes and points.
void CheckKeyframeFeatures(const KeyframeFeatures& features, const StereoCamera& camera, const LevelScales& scales,
                           Reader* in) {
  const size_t count = features.keypoints.size();
  in->Require(features.descriptor_bytes >= kDescriptorUnit && features.descriptor_bytes <= kMaxDescriptorBytes &&
              features.descriptor_bytes % kDescriptorUnit == 0 && count <= kMaxMatchDescriptors);
  in->Require(in->ok() && features.descriptors.size() == count * static_cast<size_t>(features.descriptor_bytes));
  for (const KeyframeKeypoint& k : features.keypoints) {
    in->Require(k.x >= -1 && k.x <= static_cast<float>(camera.image.width) && k.y >= -1 &&
                k.y <= static_cast<float>(camera.image.height) && std::isfinite(k.disparity) &&
                std::isfinite(k.vertical_disparity) && k.position_sigma > 0 && k.position_sigma < 1e6f &&
                k.octave < scales.levels && k.is_stereo <= 1);
  }
  for (const int32_t s : features.strongest) in->Require(s >= 0 && static_cast<size_t>(s) < count);
  in->Require(features.strongest.size() <= PlaceIndex::kStrongest && AreDistinct(features.strongest));
}

MapKeyframe GetKeyframe(const StereoCamera& camera, const LevelScales& scales, Reader* in) {
  MapKeyframe k;
  k.id = in->Get<int64_t>();
  k.stamp.frame_id = in->Get<uint64_t>();
  k.stamp.time_ns = in->Get<int64_t>();
  k.camera_from_world = in->GetPose();
  k.parent = in->Get<int64_t>();
  k.from_parent = in->GetPose();
  k.neighbours.resize(in->GetCount(sizeof(int64_t) + sizeof(int)));
  for (MapKeyframe::Neighbour& n : k.neighbours) {
    n.id = in->Get<int64_t>();
    n.shared = in->Get<int>();
  }
  k.points = in->GetAll<int32_t>();
  auto features = std::make_shared<KeyframeFeatures>();
  features->keypoints = in->GetAll<KeyframeKeypoint>();
  features->descriptor_bytes = in->Get<int>();
  features->descriptors = in->GetAll<uint8_t>();
  features->strongest = in->GetAll<int32_t>();
  in->Require(k.points.size() == features->keypoints.size() && k.parent < k.id);
  CheckKeyframeFeatures(*features, camera, scales, in);
  k.features = std::move(features);
  return k;
}

// All numbers of a WorldLevel, with what their errors name them and the most that they may be; the least: of a standard
// deviation kLeastSigma, of a bias the same with the other sign.
struct LevelField {
  const char* name;
  double* value;
  double most;
  bool is_sigma;
};
constexpr double kLeastSigma = 1e-6;
std::array<LevelField, 9> FieldsOf(WorldLevel* level) {
  Eigen::Vector3d &w = level->biases.bias.gyroscope, &a = level->biases.bias.accelerometer;
  return {{{"gravity_sigma", &level->gravity_sigma, 0.1, true},
           {"gyroscope_bias.x", &w.x(), 0.5, false},
           {"gyroscope_bias.y", &w.y(), 0.5, false},
           {"gyroscope_bias.z", &w.z(), 0.5, false},
           {"accelerometer_bias.x", &a.x(), 1.5, false},
           {"accelerometer_bias.y", &a.y(), 1.5, false},
           {"accelerometer_bias.z", &a.z(), 1.5, false},
           {"gyroscope_bias_sigma", &level->biases.gyroscope_sigma, 0.1, true},
           {"accelerometer_bias_sigma", &level->biases.accelerometer_sigma, 0.1, true}}};
}

void PutLevel(std::optional<WorldLevel> level, Writer* out) {
  out->Put(static_cast<uint8_t>(level.has_value() ? 1 : 0));
  if (!level.has_value()) return;
  for (const LevelField& field : FieldsOf(&*level)) out->Put(*field.value);
}

std::optional<WorldLevel> GetLevel(Reader* in) {
  const auto is_level = in->Get<uint8_t>();
  in->Require(is_level <= 1);
  if (is_level != 1) return std::nullopt;
  WorldLevel level;
  for (const LevelField& field : FieldsOf(&level)) *field.value = in->Get<double>();
  return level;
}

absl::Status ValidateLevel(const std::string& path, WorldLevel level) {
  for (const LevelField& field : FieldsOf(&level)) {
    GLINT_RETURN_IF_ERROR(CheckRange(absl::StrCat(Echo(path), ": ", field.name), *field.value,
                                     field.is_sigma ? kLeastSigma : -field.most, field.most));
  }
  return absl::OkStatus();
}

bool IsThere(const std::vector<MapKeyframe>& keyframes, int64_t id) {
  const auto found = std::lower_bound(keyframes.begin(), keyframes.end(), id,
                                      [](const MapKeyframe& k, int64_t wanted) { return k.id < wanted; });
  return found != keyframes.end() && found->id == id;
}

void CheckReferences(const std::vector<MapKeyframe>& keyframes, int descriptor_bytes, size_t points,
                     const std::vector<LoopEdge>& loops, Reader* in) {
  for (size_t i = 0; in->ok() && i < keyframes.size(); ++i) {
    const MapKeyframe& k = keyframes[i];
    in->Require(k.id >= 0 && k.id <= kMostId && (i == 0 || k.id > keyframes[i - 1].id));
    in->Require(k.features->descriptor_bytes == descriptor_bytes);
    for (const int32_t p : k.points) in->Require(p >= -1 && p < static_cast<int64_t>(points));
    in->Require(AreDistinct(k.points));
  }
  if (!in->ok()) return;
  for (const MapKeyframe& k : keyframes) {
    for (const MapKeyframe::Neighbour& n : k.neighbours) in->Require(n.id != k.id && IsThere(keyframes, n.id));
    const auto unordered = std::adjacent_find(k.neighbours.begin(), k.neighbours.end(),
                                              [](const auto& a, const auto& b) { return a.id >= b.id; });
    in->Require(unordered == k.neighbours.end());
  }
  for (const LoopEdge& l : loops) {
    in->Require(l.from != l.to && IsThere(keyframes, l.from) && IsThere(keyframes, l.to));
  }
}

bool IsSame(double a, double b) { return std::abs(a - b) <= kSame * std::max(std::abs(a), std::abs(b)); }

bool IsSameCamera(const StereoCamera& a, const StereoCamera& b) {
  return a.image == b.image && IsSame(a.focal_length, b.focal_length) && IsSame(a.centre_x, b.centre_x) &&
         IsSame(a.centre_y, b.centre_y) && IsSame(a.baseline, b.baseline);
}

}  // namespace

absl::Status WriteMapFile(const std::string& path, const StereoCamera& camera, const LevelScales& scales,
                          const FeatureKind& features, const GlobalMap& map) {
  GLINT_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  Writer out(&file);
  out.PutBytes(kMagic, sizeof(kMagic));
  out.Put(kVersion);
  PutCamera(camera, scales, &out);
  PutFeatures(features, &out);
  out.Put(static_cast<uint64_t>(map.keyframes().size()));
  const LandmarkTable& landmarks = map.points();
  std::vector<int32_t> number(landmarks.size());
  int32_t count = 0;
  for (size_t id = 0; id < landmarks.size(); ++id) number[id] = landmarks[id].observations > 0 ? count++ : -1;
  for (const MapKeyframe& k : map.keyframes()) PutKeyframe(k, number, &out);
  out.Put(static_cast<uint64_t>(count));
  for (size_t id = 0; id < landmarks.size(); ++id) {
    const MapLandmark& p = landmarks[id];
    if (p.observations == 0) continue;
    out.PutVector(p.position);
    out.Put(p.keyframe);
  }
  out.Put(static_cast<uint64_t>(map.loops().size()));
  for (const LoopEdge& l : map.loops()) {
    out.Put(l.from);
    out.Put(l.to);
    out.PutPose(l.to_from);
    out.Put(l.rotation_sigma);
    out.Put(l.translation_sigma);
  }
  PutLevel(map.keyframes().empty() ? std::nullopt : map.LevelOf(map.keyframes().front().map_id), &out);
  out.PutChecksum();
  return file.Commit();
}

absl::StatusOr<LoadedMap> ReadMapFile(const std::string& path, const StereoCamera& camera, const FeatureKind& features,
                                      const MapFileLimits& limits) {
  // The length is that of the open file: another one may have replaced it by now.
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff bytes = file.tellg();
  file.seekg(0);
  if (!file || bytes < 0) return absl::NotFoundError(absl::StrCat(Echo(path), ": cannot be read"));
  const auto refuse = [&path](const char* problem) { return ContradictionError(Echo(path), problem); };
  Reader in(&file, static_cast<uint64_t>(bytes));
  char magic[sizeof(kMagic)];
  in.GetBytes(magic, sizeof(magic));
  if (std::memcmp(magic, kMagic, sizeof(magic)) != 0) return refuse("is not a map");
  const auto version = in.Get<uint32_t>();
  if (in.ok() && (version < kOldestVersion || version > kVersion)) {
    const bool is_older = version >= 1 && version < kOldestVersion;
    return ContradictionError(Echo(path), absl::StrCat("is a map of version ", version, ", not ", kVersion,
                                                       is_older ? ": " : "", is_older ? kMissing[version - 1] : ""));
  }
  constexpr char kDamaged[] = "the map is cut short or damaged";
  LoadedMap loaded;
  GetCamera(&in, &loaded.camera, &loaded.scales);
  if (!in.ok()) return refuse(kDamaged);
  if (!IsSameCamera(loaded.camera, camera)) {
    return ContradictionError(
        Echo(path),
        absl::StrCat("is a map of another camera: ", loaded.camera.image.width, "x", loaded.camera.image.height,
                     ", focal length ", loaded.camera.focal_length, ", centre ", loaded.camera.centre_x, " ",
                     loaded.camera.centre_y, ", baseline ", loaded.camera.baseline, ", not ", camera.image.width, "x",
                     camera.image.height, ", ", camera.focal_length, ", ", camera.centre_x, " ", camera.centre_y, ", ",
                     camera.baseline));
  }
  loaded.features = GetFeatures(&in);
  if (!in.ok()) return refuse(kDamaged);
  GLINT_RETURN_IF_ERROR(ValidateFeatureKind(path, loaded.features, features));
  const auto over = [&path](const char* what, uint64_t count, int64_t limit) {
    ErrorInfo info;
    info.reason = "OVER_LIMIT";
    info.field = Echo(path);
    info.value = absl::StrCat(count);
    info.highest = absl::StrCat(limit);
    return WithErrorInfo(absl::ResourceExhaustedError(absl::StrCat(info.field, ": the map has ", count, " ", what,
                                                                   ", over the limit of ", limit)),
                         info);
  };
  const size_t keyframe_count = in.GetCount(200);
  if (keyframe_count > static_cast<uint64_t>(limits.keyframes)) {
    return over("keyframes", keyframe_count, limits.keyframes);
  }
  std::vector<MapKeyframe> keyframes;
  for (size_t i = 0; in.ok() && i < keyframe_count; ++i) {
    keyframes.push_back(GetKeyframe(loaded.camera, loaded.scales, &in));
  }
  std::vector<MapLandmark> points(in.GetCount(4 * sizeof(double)));
  for (MapLandmark& p : points) {
    p.position = in.GetVector();
    p.keyframe = in.Get<int64_t>();
  }
  std::vector<LoopEdge> loops(in.GetCount(11 * sizeof(double)));
  for (LoopEdge& l : loops) {
    l.from = in.Get<int64_t>();
    l.to = in.Get<int64_t>();
    l.to_from = in.GetPose();
    l.rotation_sigma = in.Get<double>();
    l.translation_sigma = in.Get<double>();
    in.Require(l.rotation_sigma > 0 && l.rotation_sigma < 10 && l.translation_sigma > 0 && l.translation_sigma < 1e6);
  }
  CheckReferences(keyframes, loaded.features.descriptor_bytes, points.size(), loops, &in);
  const std::optional<WorldLevel> level = version > kOldestVersion ? GetLevel(&in) : std::nullopt;
  if (keyframes.empty() || !in.IsComplete()) return refuse(kDamaged);
  if (level.has_value()) GLINT_RETURN_IF_ERROR(ValidateLevel(path, *level));
  loaded.map.Restore(std::move(keyframes), points, std::move(loops));
  if (level.has_value()) loaded.map.SetLevel(0, *level);
  if (loaded.map.live_points() > limits.points) {
    return over("points", static_cast<uint64_t>(loaded.map.live_points()), limits.points);
  }
  return loaded;
}

}  // namespace glint::slam
