#include "server/wire/stereo_rig.h"

#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/camera/depth_registration.h"
#include "features/error.h"
#include "features/server_error.h"
#include "features/status_macros.h"
#include "server/pixels/image_pair.h"
#include "server/wire/camera.h"

namespace glint {
namespace {

constexpr double kLeastBaseline = 0.001, kMostBaseline = 100;  // metres, as of a rectified camera

// What the cameras of a rig have to have in common.
absl::Status CheckPair(const StereoRig& rig) {
  if (const Shape left = rig.left.image, right = rig.right.image; left != right) {
    return ContradictionError("right", absl::StrCat(right.width, "x", right.height, " pixels, but the left camera has ",
                                                    left.width, "x", left.height));
  }
  const double baseline = rig.right_from_left.translation.norm();
  if (baseline >= kLeastBaseline && baseline <= kMostBaseline) return absl::OkStatus();
  return ContradictionError("right_from_left", absl::StrCat("a baseline of ", baseline, " m is not in ", kLeastBaseline,
                                                            "..", kMostBaseline, ": are x, y and z metres?"));
}

absl::StatusOr<StereoRig> RigByValue(const v1::StereoRig& proto) {
  StereoRig rig;
  GLINT_ASSIGN_OR_RETURN(rig.left, FromProto("left", proto.left()));
  GLINT_ASSIGN_OR_RETURN(rig.right, FromProto("right", proto.right()));
  GLINT_ASSIGN_OR_RETURN(rig.right_from_left, FromProto("right_from_left", proto.right_from_left()));
  GLINT_RETURN_IF_ERROR(CheckPair(rig));
  return rig;
}

absl::StatusOr<NamedRig> RigByName(const v1::StereoRig& proto, const CalibrationDirectory& calibrations) {
  if (proto.has_left() || proto.has_right() || proto.has_right_from_left()) {
    return ContradictionError("name", "is in place of left, right and right_from_left: give either");
  }
  GLINT_ASSIGN_OR_RETURN(NamedRig named, calibrations.Read(proto.name()));
  absl::Status status;
  for (const auto& [field, camera] : {std::pair("left", &named.rig.left), std::pair("right", &named.rig.right)}) {
    if (absl::Status valid = ValidateCamera(*camera); !valid.ok()) status.Update(WithField(field, valid));
  }
  status.Update(CheckPair(named.rig));
  if (!status.ok()) return UnusableRig(proto.name(), status.message());
  return named;
}

absl::StatusOr<NamedRig> RigFromProto(const v1::StereoRig& proto, const CalibrationDirectory& calibrations) {
  NamedRig named;
  if (proto.name().empty()) {
    GLINT_ASSIGN_OR_RETURN(named.rig, RigByValue(proto));
  } else {
    GLINT_ASSIGN_OR_RETURN(named, RigByName(proto, calibrations));
  }
  GLINT_ASSIGN_OR_RETURN(named.rig.rectify, FromProto("rectify", proto.rectify(), named.rig.left.image.width));
  return named;
}

// The bytes of all numbers of a rig, after a 0, which no serialized message begins with.
std::string KeyOf(const StereoRig& rig) {
  std::string key(1, '\0');
  const auto add = [&key](const auto&... values) {
    (key.append(reinterpret_cast<const char*>(&values), sizeof(values)), ...);
  };
  for (const Camera* c : {&rig.left, &rig.right}) {
    add(c->model, c->image.width, c->image.height, c->fx, c->fy, c->cx, c->cy);
    for (const double coefficient : c->lens) add(coefficient);
  }
  for (const double element : rig.right_from_left.rotation.reshaped()) add(element);
  for (const double element : rig.right_from_left.translation) add(element);
  const RectifyOptions& rectify = rig.rectify;
  add(rectify.image.width, rectify.image.height, rectify.focal_length, rectify.max_field);
  return key;
}

absl::StatusOr<RgbdCamera> RgbdFromProto(const v1::RgbdCamera& proto) {
  RgbdCamera rgbd;
  GLINT_ASSIGN_OR_RETURN(rgbd.camera, FromProto("camera", proto.camera()));
  if (proto.has_depth_camera()) {
    GLINT_ASSIGN_OR_RETURN(rgbd.depth_camera, FromProto("depth_camera", proto.depth_camera()));
  } else if (proto.has_camera_from_depth()) {
    return ContradictionError("camera_from_depth", "is given, but depths without `depth_camera` are registered");
  }
  GLINT_ASSIGN_OR_RETURN(rgbd.camera_from_depth, FromProto("camera_from_depth", proto.camera_from_depth()));
  rgbd.baseline = proto.baseline();
  GLINT_ASSIGN_OR_RETURN(rgbd.rectify, FromProto("rectify", proto.rectify(), rgbd.camera.image.width));
  return rgbd;
}

// An error of RectifyPair() or UndistortRgbd() with the names that its fields have on the wire.
absl::Status OnTheWire(absl::Status status) {
  constexpr std::pair<const char*, const char*> kNames[] = {{"right_from_left.translation", "right_from_left"},
                                                            {"focal_length", "rectify.focal_length"},
                                                            {"rectified", "rectify: rectified"}};
  for (const auto& [from, to] : kNames) status = WithFieldRenamed(from, to, status);
  return status;
}

void AddMatrix(const Eigen::Matrix3d& matrix, google::protobuf::RepeatedField<double>* values) {
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) values->Add(matrix(row, column));
  }
}

}  // namespace

void ToProto(const RectifiedPair& rectified, v1::RectifiedCamera* proto) {
  const Camera& camera = rectified.camera;
  proto->set_width(static_cast<uint32_t>(camera.image.width));
  proto->set_height(static_cast<uint32_t>(camera.image.height));
  proto->set_focal_length(camera.fx);
  proto->set_centre_x(camera.cx);
  proto->set_centre_y(camera.cy);
  proto->set_baseline(rectified.baseline);
  AddMatrix(rectified.rectified_from_left, proto->mutable_rectified_from_left());
  AddMatrix(rectified.rectified_from_right, proto->mutable_rectified_from_right());
  proto->set_uncovered(rectified.uncovered);
}

absl::StatusOr<std::shared_ptr<const Rectification>> Rectifications::Get(const v1::StereoRig& proto,
                                                                         int64_t max_pixels) {
  auto valid = RigFromProto(proto, calibrations_);
  if (!valid.ok()) return WithField("rig", valid.status());
  const StereoRig& rig = valid->rig;
  const std::string key = KeyOf(rig);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (Shared found = Find(key); found != nullptr) return found;
  }
  GLINT_RETURN_IF_ERROR(CheckPixels("rig.left", 2 * rig.left.image.pixels(), max_pixels));
  GLINT_RETURN_IF_ERROR(CheckPixels("rig.rectify", 2 * rig.rectify.image.pixels(), max_pixels));
  auto rectified = RectifyPair(rig.left, rig.right, rig.right_from_left, rig.rectify);
  if (!rectified.ok()) {
    const absl::Status status = OnTheWire(rectified.status());
    const bool is_of_files = !proto.name().empty() && absl::StartsWith(status.message(), "right_from_left");
    return WithField("rig", is_of_files ? UnusableRig(proto.name(), status.message()) : status);
  }
  if (warn_ != nullptr) {
    for (const std::string& warning : valid->warnings) warn_(proto.name(), warning);
  }
  return Add(key, std::make_shared<const Rectification>(rig, *rectified));
}

absl::StatusOr<std::shared_ptr<const Rectification>> Rectifications::Get(const v1::RgbdCamera& proto,
                                                                         int64_t max_pixels) {
  const std::string key = proto.SerializeAsString();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (Shared found = Find(key); found != nullptr) return found;
  }
  auto valid = RgbdFromProto(proto);
  if (!valid.ok()) return WithField("raw_camera", valid.status());
  const Shape image = valid->camera.image, depth = valid->depth_camera.value_or(valid->camera).image;
  GLINT_RETURN_IF_ERROR(CheckPixels("raw_camera.camera", image.pixels() + depth.pixels(), max_pixels));
  GLINT_RETURN_IF_ERROR(CheckPixels("raw_camera.rectify", 2 * valid->rectify.image.pixels(), max_pixels));
  auto rectified = UndistortRgbd(*valid);
  if (!rectified.ok()) return WithField("raw_camera", OnTheWire(rectified.status()));
  return Add(key, std::make_shared<const Rectification>(*valid, *rectified));
}

Rectifications::Shared Rectifications::Find(const std::string& key) const {
  const auto at = of_rig_.find(key);
  return at == of_rig_.end() ? nullptr : at->second.lock();
}

absl::StatusOr<Rectifications::Shared> Rectifications::Add(const std::string& key, Shared made) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (Shared found = Find(key); found != nullptr) return found;  // another stream's, meanwhile
  int64_t bytes = made->bytes();
  for (auto at = of_rig_.begin(); at != of_rig_.end();) {
    const Shared other = at->second.lock();
    if (other == nullptr) {
      at = of_rig_.erase(at);
      continue;
    }
    bytes += other->bytes();
    ++at;
  }
  if (bytes > max_bytes_) {
    return LimitError(made->rgbd().has_value() ? "raw_camera" : "rig", bytes, "bytes of tables of all streams",
                      max_bytes_, "--max-rectification-bytes");
  }
  of_rig_[key] = made;
  return made;
}

}  // namespace glint
