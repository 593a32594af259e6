#include "client/rig_wire.h"

#include "absl/status/status.h"

namespace glint::client {
namespace {

using Numbers = google::protobuf::RepeatedField<double>;
using RowMajor = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;

// The lens's coefficients by their names on the wire.
void SetLens(const Camera& camera, v1::Camera* wire) {
  const auto& c = camera.lens;
  switch (camera.model) {
    case CameraModel::kPinhole:
      return;
    case CameraModel::kRadialTangential: {
      auto* const lens = wire->mutable_radial_tangential();
      lens->set_k1(c[0]), lens->set_k2(c[1]), lens->set_p1(c[2]), lens->set_p2(c[3]), lens->set_k3(c[4]);
      return;
    }
    case CameraModel::kRational: {
      auto* const lens = wire->mutable_rational();
      lens->set_k1(c[0]), lens->set_k2(c[1]), lens->set_p1(c[2]), lens->set_p2(c[3]);
      lens->set_k3(c[4]), lens->set_k4(c[5]), lens->set_k5(c[6]), lens->set_k6(c[7]);
      return;
    }
    case CameraModel::kKannalaBrandt: {
      auto* const lens = wire->mutable_kannala_brandt();
      lens->set_k1(c[0]), lens->set_k2(c[1]), lens->set_k3(c[2]), lens->set_k4(c[3]);
      return;
    }
    case CameraModel::kDoubleSphere:
      wire->mutable_double_sphere()->set_xi(c[0]);
      wire->mutable_double_sphere()->set_alpha(c[1]);
      return;
    case CameraModel::kEucm:
      wire->mutable_eucm()->set_alpha(c[0]);
      wire->mutable_eucm()->set_beta(c[1]);
      return;
    case CameraModel::kFov:
      wire->mutable_fov()->set_w(c[0]);
      return;
    case CameraModel::kOmni: {
      auto* const lens = wire->mutable_omni();
      lens->set_xi(c[0]), lens->set_k1(c[1]), lens->set_k2(c[2]), lens->set_p1(c[3]), lens->set_p2(c[4]);
      return;
    }
    case CameraModel::kThinPrism: {
      auto* const lens = wire->mutable_thin_prism();
      lens->set_k1(c[0]), lens->set_k2(c[1]), lens->set_p1(c[2]), lens->set_p2(c[3]);
      lens->set_k3(c[4]), lens->set_k4(c[5]), lens->set_k5(c[6]), lens->set_k6(c[7]);
      lens->set_s1(c[8]), lens->set_s2(c[9]), lens->set_s3(c[10]), lens->set_s4(c[11]);
      lens->set_tau_x(c[12]), lens->set_tau_y(c[13]);
      return;
    }
  }
}

void ToWire(const RectifyOptions& options, v1::RectifyOptions* wire) {
  const RectifyOptions defaults;
  wire->set_width(static_cast<uint32_t>(options.image.width));
  wire->set_height(static_cast<uint32_t>(options.image.height));
  wire->set_focal_length(options.focal_length);
  if (options.max_field != defaults.max_field) wire->set_max_field(options.max_field);
}

absl::Status ReadRotation(const Numbers& wire, Eigen::Matrix3d* rotation) {
  if (wire.size() != 9) return absl::InternalError("rectified: the server's rotation is not 9 numbers");
  *rotation = Eigen::Map<const RowMajor>(wire.data());
  return absl::OkStatus();
}

}  // namespace

void ToWire(const Camera& camera, v1::Camera* wire) {
  wire->set_width(static_cast<uint32_t>(camera.image.width));
  wire->set_height(static_cast<uint32_t>(camera.image.height));
  wire->set_fx(camera.fx);
  wire->set_fy(camera.fy);
  wire->set_cx(camera.cx);
  wire->set_cy(camera.cy);
  SetLens(camera, wire);
}

void ToWire(const RigidTransform& transform, v1::RigidTransform* wire) {
  const RowMajor rotation = transform.rotation;
  wire->mutable_rotation()->Assign(rotation.data(), rotation.data() + rotation.size());
  wire->set_x(transform.translation.x());
  wire->set_y(transform.translation.y());
  wire->set_z(transform.translation.z());
}

void ToWire(const StereoRig& rig, v1::StereoRig* wire) {
  wire->set_name(rig.name);
  const bool has_cameras = rig.left.fx != 0 || rig.right.fx != 0;
  if (rig.name.empty() || has_cameras) {  // the server refuses both
    ToWire(rig.left, wire->mutable_left());
    ToWire(rig.right, wire->mutable_right());
    ToWire(rig.right_from_left, wire->mutable_right_from_left());
  }
  ToWire(rig.rectify, wire->mutable_rectify());
}

void ToWire(const RgbdCamera& camera, v1::RgbdCamera* wire) {
  wire->set_name(camera.name);
  if (camera.name.empty() || camera.camera.fx != 0) ToWire(camera.camera, wire->mutable_camera());
  if (camera.depth_camera.has_value()) {
    ToWire(*camera.depth_camera, wire->mutable_depth_camera());
    ToWire(camera.camera_from_depth, wire->mutable_camera_from_depth());
  }
  wire->set_baseline(camera.baseline);
  ToWire(camera.rectify, wire->mutable_rectify());
}

absl::StatusOr<RectifiedPair> FromWire(const v1::RectifiedCamera& wire) {
  RectifiedPair rectified;
  Camera& camera = rectified.camera;
  camera.image = {static_cast<int>(wire.width()), static_cast<int>(wire.height())};
  camera.fx = camera.fy = wire.focal_length();
  camera.cx = wire.centre_x();
  camera.cy = wire.centre_y();
  rectified.baseline = wire.baseline();
  rectified.uncovered = wire.uncovered();
  absl::Status status = ReadRotation(wire.rectified_from_left(), &rectified.rectified_from_left);
  status.Update(ReadRotation(wire.rectified_from_right(), &rectified.rectified_from_right));
  if (!status.ok()) return status;
  return rectified;
}

}  // namespace glint::client
