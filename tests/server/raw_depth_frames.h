// What raw cameras with depth see on their way along a wall, as messages.
#ifndef GLINT_TESTS_SERVER_RAW_DEPTH_FRAMES_H_
#define GLINT_TESTS_SERVER_RAW_DEPTH_FRAMES_H_

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "features/camera/rgbd_camera.h"
#include "features/depth.h"
#include "glint/v1/localization.pb.h"
#include "tests/server/harness.h"
#include "tests/server/localize_pairs.h"
#include "tests/server/raw_wall.h"

namespace glint::testing {

inline constexpr int kFeatures = 300, kSteps = 6;
inline constexpr double kStepMetres = 0.16, kBaselineMetres = 0.1;
inline constexpr DepthSensor kSensor = {0.0002, 0.5, 9};

enum class Kind { kIdeal, kRegistered, kWithDepthCamera };

inline RgbdCamera CameraOf(Kind kind) {
  RgbdCamera rgbd;
  rgbd.camera = {CameraModel::kRadialTangential, {320, 200}, 200, 208, 157, 103, {-0.2, 0.05, 2e-4, -3e-4, 0}};
  if (kind == Kind::kIdeal) rgbd.camera = {CameraModel::kPinhole, {320, 200}, 200, 200, 159.5, 99.5, {}};
  rgbd.baseline = kBaselineMetres;
  if (kind != Kind::kWithDepthCamera) return rgbd;
  rgbd.depth_camera = {CameraModel::kRadialTangential, {340, 230}, 190, 187, 166, 118, {0.05, -0.03, -1e-4, 2e-4, 0}};
  rgbd.camera_from_depth.rotation =
      (Eigen::AngleAxisd(0.02, Eigen::Vector3d::UnitX()) * Eigen::AngleAxisd(-0.03, Eigen::Vector3d::UnitZ()))
          .toRotationMatrix();
  rgbd.camera_from_depth.translation = {0.05, -0.004, 0.006};
  return rgbd;
}

inline v1::RgbdCamera ProtoOf(const RgbdCamera& rgbd) {
  v1::RgbdCamera proto;
  SetCamera(rgbd.camera, proto.mutable_camera());
  proto.set_baseline(rgbd.baseline);
  if (!rgbd.depth_camera.has_value()) return proto;
  SetCamera(*rgbd.depth_camera, proto.mutable_depth_camera());
  SetTransform(rgbd.camera_from_depth, proto.mutable_camera_from_depth());
  return proto;
}

inline v1::LocalizeStreamOptions OptionsOf(const RgbdCamera& rgbd) {
  v1::LocalizeStreamOptions options;
  options.mutable_detector()->set_preset("orb");
  options.mutable_detector()->set_max_features(kFeatures);
  options.mutable_depth()->set_unit(kSensor.unit);
  options.mutable_depth()->set_nearest(kSensor.nearest);
  options.mutable_depth()->set_farthest(kSensor.farthest);
  *options.mutable_raw_camera() = ProtoOf(rgbd);
  return options;
}

// A camera that looks at the wall askance and moves to its right.
inline RigidTransform PoseAt(int step) {
  RigidTransform world_from_camera;
  world_from_camera.rotation = Eigen::AngleAxisd(0.25, Eigen::Vector3d::UnitY()).toRotationMatrix();
  world_from_camera.translation = world_from_camera.rotation * Eigen::Vector3d(step * kStepMetres, 0, 0);
  return world_from_camera;
}

struct Frame {
  Image image;
  Shape depth_shape;
  std::vector<uint8_t> depths;  // little-endian

  DepthView depth() const {
    return {depths.data(), depth_shape.width, depth_shape.height, 2 * depth_shape.width, kSensor};
  }
};

inline Frame FrameOf(const RgbdCamera& rgbd, int step) {
  Frame frame;
  const RigidTransform world_from_camera = PoseAt(step);
  frame.image = Seen(rgbd.camera, world_from_camera);
  const Camera sensor = rgbd.depth_camera.value_or(rgbd.camera);
  const RigidTransform world_from_sensor = world_from_camera * rgbd.camera_from_depth;
  frame.depth_shape = sensor.image;
  for (int y = 0; y < sensor.image.height; ++y) {
    for (int x = 0; x < sensor.image.width; ++x) {
      Eigen::Vector3d ray;
      EXPECT_TRUE(Unproject(sensor, Eigen::Vector2d(x, y), &ray));
      const double z = ray.z();
      const auto sample = static_cast<uint16_t>(std::lround(ToWall(world_from_sensor, &ray) * z / kSensor.unit));
      frame.depths.push_back(static_cast<uint8_t>(sample & 255));
      frame.depths.push_back(static_cast<uint8_t>(sample >> 8));
    }
  }
  return frame;
}

inline v1::LocalizeStreamRequest Message(const Frame& frame, int step) {
  v1::LocalizeStreamRequest request;
  v1::LocalizePair* const pair = request.mutable_pair();
  pair->set_time_ns((step + 1) * kFrameNs);
  SetGray(frame.image.width(), frame.image.height(), 0, pair->mutable_left());
  std::string* const data = pair->mutable_left()->mutable_raw()->mutable_data();
  data->clear();
  for (int y = 0; y < frame.image.height(); ++y) {
    data->append(reinterpret_cast<const char*>(frame.image.row(y)), static_cast<size_t>(frame.image.width()));
  }
  v1::RawImage* const depth = pair->mutable_depth()->mutable_raw();
  depth->set_format(v1::PIXEL_FORMAT_GRAY16);
  depth->set_width(static_cast<uint32_t>(frame.depth_shape.width));
  depth->set_height(static_cast<uint32_t>(frame.depth_shape.height));
  depth->mutable_data()->assign(frame.depths.begin(), frame.depths.end());
  return request;
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_SERVER_RAW_DEPTH_FRAMES_H_
