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

absl::Status ValidCamera(absl::string_view field, const Camera& camera) {
  const absl::Status valid = ValidateCamera(camera);
  return valid.ok() ? valid : WithField(field, valid);
}

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

absl::StatusOr<Named<StereoRig>> RigByName(const v1::StereoRig& proto, const CalibrationDirectory& calibrations) {
  if (proto.has_left() || proto.has_right() || proto.has_right_from_left()) {
    return ContradictionError("name", "is in place of left, right and right_from_left: give either");
  }
  GLINT_ASSIGN_OR_RETURN(Named<StereoRig> named, calibrations.ReadRig(proto.name()));
  const StereoRig& rig = named.cameras;
  absl::Status status = ValidCamera("left", rig.left);
  status.Update(ValidCamera("right", rig.right));
  status.Update(CheckPair(rig));
  if (!status.ok()) return UnusableCalibration(proto.name(), status.message());
  return named;
}

absl::StatusOr<Named<StereoRig>> CamerasOf(const v1::StereoRig& proto, const CalibrationDirectory& calibrations) {
  Named<StereoRig> named;
  StereoRig& rig = named.cameras;
  if (proto.name().empty()) {
    GLINT_ASSIGN_OR_RETURN(rig, RigByValue(proto));
  } else {
    GLINT_ASSIGN_OR_RETURN(named, RigByName(proto, calibrations));
  }
  GLINT_ASSIGN_OR_RETURN(rig.rectify, FromProto("rectify", proto.rectify(), rig.left.image.width));
  return named;
}

absl::StatusOr<RgbdCamera> RgbdByValue(const v1::RgbdCamera& proto) {
  RgbdCamera rgbd;
  GLINT_ASSIGN_OR_RETURN(rgbd.camera, FromProto("camera", proto.camera()));
  if (proto.has_depth_camera()) {
    GLINT_ASSIGN_OR_RETURN(rgbd.depth_camera, FromProto("depth_camera", proto.depth_camera()));
  } else if (proto.has_camera_from_depth()) {
    return ContradictionError("camera_from_depth", "is given, but depths without `depth_camera` are registered");
  }
  GLINT_ASSIGN_OR_RETURN(rgbd.camera_from_depth, FromProto("camera_from_depth", proto.camera_from_depth()));
  return rgbd;
}

absl::StatusOr<Named<RgbdCamera>> RgbdByName(const v1::RgbdCamera& proto, const CalibrationDirectory& calibrations) {
  if (proto.has_camera() || proto.has_depth_camera() || proto.has_camera_from_depth()) {
    return ContradictionError("name", "is in place of camera, depth_camera and camera_from_depth: give either");
  }
  GLINT_ASSIGN_OR_RETURN(Named<RgbdCamera> named, calibrations.ReadRgbd(proto.name()));
  const RgbdCamera& rgbd = named.cameras;
  absl::Status status = ValidCamera("camera", rgbd.camera);
  if (rgbd.depth_camera.has_value()) status.Update(ValidCamera("depth_camera", *rgbd.depth_camera));
  if (const double apart = rgbd.camera_from_depth.translation.norm(); !(apart <= kMostBaseline)) {
    status.Update(ContradictionError("camera_from_depth", absl::StrCat("a distance of ", apart, " m is not in 0..",
                                                                       kMostBaseline, ": are x, y and z metres?")));
  }
  if (!status.ok()) return UnusableCalibration(proto.name(), status.message());
  return named;
}

absl::StatusOr<Named<RgbdCamera>> CamerasOf(const v1::RgbdCamera& proto, const CalibrationDirectory& calibrations) {
  Named<RgbdCamera> named;
  RgbdCamera& rgbd = named.cameras;
  if (proto.name().empty()) {
    GLINT_ASSIGN_OR_RETURN(rgbd, RgbdByValue(proto));
  } else {
    GLINT_ASSIGN_OR_RETURN(named, RgbdByName(proto, calibrations));
  }
  rgbd.baseline = proto.baseline();
  GLINT_ASSIGN_OR_RETURN(rgbd.rectify, FromProto("rectify", proto.rectify(), rgbd.camera.image.width));
  return named;
}

// The bytes of all numbers that tables and the answers' camera depend on.
class Key {
 public:
  explicit Key(char kind) : bytes_(1, kind) {}

  template <typename... Values>
  Key& Add(const Values&... values) {
    (bytes_.append(reinterpret_cast<const char*>(&values), sizeof(values)), ...);
    return *this;
  }
  Key& Add(const Camera& c) {
    Add(c.model, c.image.width, c.image.height, c.fx, c.fy, c.cx, c.cy);
    for (const double coefficient : c.lens) Add(coefficient);
    return *this;
  }
  Key& Add(const RigidTransform& t) {
    for (const double element : t.rotation.reshaped()) Add(element);
    for (const double element : t.translation) Add(element);
    return *this;
  }
  Key& Add(const RectifyOptions& rectify) {
    return Add(rectify.image.width, rectify.image.height, rectify.focal_length, rectify.max_field);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

std::string KeyOf(const StereoRig& rig) {
  return Key('s').Add(rig.left).Add(rig.right).Add(rig.right_from_left).Add(rig.rectify).bytes();
}

std::string KeyOf(const RgbdCamera& rgbd) {
  Key key(rgbd.depth_camera.has_value() ? 'd' : 'r');
  if (rgbd.depth_camera.has_value()) key.Add(*rgbd.depth_camera).Add(rgbd.camera_from_depth);
  return key.Add(rgbd.camera).Add(rgbd.baseline).Add(rgbd.rectify).bytes();
}

absl::Status CheckPixelsOf(const StereoRig& rig, int64_t max_pixels) {
  GLINT_RETURN_IF_ERROR(CheckPixels("left", 2 * rig.left.image.pixels(), max_pixels));
  return CheckPixels("rectify", 2 * rig.rectify.image.pixels(), max_pixels);
}

absl::Status CheckPixelsOf(const RgbdCamera& rgbd, int64_t max_pixels) {
  const Shape image = rgbd.camera.image, depth = rgbd.depth_camera.value_or(rgbd.camera).image;
  GLINT_RETURN_IF_ERROR(CheckPixels("camera", image.pixels() + depth.pixels(), max_pixels));
  return CheckPixels("rectify", 2 * rgbd.rectify.image.pixels(), max_pixels);
}

absl::StatusOr<RectifiedPair> Rectify(const StereoRig& rig) {
  return RectifyPair(rig.left, rig.right, rig.right_from_left, rig.rectify);
}

absl::StatusOr<RectifiedPair> Rectify(const RgbdCamera& rgbd) { return UndistortRgbd(rgbd); }

// An error of RectifyPair() or UndistortRgbd() with the names that its fields have on the wire.
absl::Status OnTheWire(absl::Status status) {
  constexpr std::pair<const char*, const char*> kNames[] = {{"right_from_left.translation", "right_from_left"},
                                                            {"focal_length", "rectify.focal_length"},
                                                            {"rectified", "rectify: rectified"}};
  for (const auto& [from, to] : kNames) status = WithFieldRenamed(from, to, status);
  return status;
}

// Whether such an error is not of what the stream wants.
bool IsOfCameras(absl::string_view message) {
  return absl::StartsWith(message, "right_from_left") || absl::StartsWith(message, "camera") ||
         absl::StartsWith(message, "depth_camera");
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
  return GetOf("rig", proto, max_pixels);
}

absl::StatusOr<std::shared_ptr<const Rectification>> Rectifications::Get(const v1::RgbdCamera& proto,
                                                                         int64_t max_pixels) {
  return GetOf("raw_camera", proto, max_pixels);
}

template <typename Proto>
absl::StatusOr<Rectifications::Shared> Rectifications::GetOf(const char* field, const Proto& proto,
                                                             int64_t max_pixels) {
  const auto valid = CamerasOf(proto, calibrations_);
  if (!valid.ok()) return WithField(field, valid.status());
  const auto& cameras = valid->cameras;
  const std::string key = KeyOf(cameras);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (Shared found = Find(key); found != nullptr) return found;
  }
  if (const absl::Status s = CheckPixelsOf(cameras, max_pixels); !s.ok()) return WithField(field, s);
  const auto rectified = Rectify(cameras);
  if (!rectified.ok()) {
    const absl::Status status = OnTheWire(rectified.status());
    const bool is_of_files = !proto.name().empty() && IsOfCameras(status.message());
    return WithField(field, is_of_files ? UnusableCalibration(proto.name(), status.message()) : status);
  }
  if (warn_ != nullptr) {
    for (const std::string& warning : valid->warnings) warn_(proto.name(), warning);
  }
  return Add(key, std::make_shared<const Rectification>(cameras, *rectified));
}

Rectifications::Shared Rectifications::Find(const std::string& key) const {
  const auto at = of_cameras_.find(key);
  return at == of_cameras_.end() ? nullptr : at->second.lock();
}

absl::StatusOr<Rectifications::Shared> Rectifications::Add(const std::string& key, Shared made) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (Shared found = Find(key); found != nullptr) return found;  // another stream's, meanwhile
  int64_t bytes = made->bytes();
  for (auto at = of_cameras_.begin(); at != of_cameras_.end();) {
    const Shared other = at->second.lock();
    if (other == nullptr) {
      at = of_cameras_.erase(at);
      continue;
    }
    bytes += other->bytes();
    ++at;
  }
  if (bytes > max_bytes_) {
    return LimitError(made->rgbd().has_value() ? "raw_camera" : "rig", bytes, "bytes of tables of all streams",
                      max_bytes_, "--max-rectification-bytes");
  }
  of_cameras_[key] = made;
  return made;
}

}  // namespace glint
