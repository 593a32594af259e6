// A rig that shows which way each pose and axis is read.
#ifndef GLINT_TESTS_CALIBRATION_TURNED_RIG_H_
#define GLINT_TESTS_CALIBRATION_TURNED_RIG_H_

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "calibration/calibration.h"
#include "calibration/formats/format.h"

namespace glint::testing {

// Turned about all axes and shifted along all, by different amounts.
inline RigidTransform Turned(double x, double y, double z, const Eigen::Vector3d& t) {
  return {(Eigen::AngleAxisd(x, Eigen::Vector3d::UnitX()) * Eigen::AngleAxisd(y, Eigen::Vector3d::UnitY()) *
           Eigen::AngleAxisd(z, Eigen::Vector3d::UnitZ()))
              .toRotationMatrix(),
          t};
}
inline RigidTransform LeftFromRight() { return Turned(0.01, -0.02, 0.03, {0.12, -0.003, 0.017}); }
inline RigidTransform BodyFromLeft() { return Turned(0.4, -1.3, 0.7, {-0.02, -0.06, 0.01}); }

inline Camera RaggedCamera(CameraModel model, const std::vector<double>& lens) {
  Camera camera{model, {752, 480}, 458.654, 457.296, 367.215, 248.375};
  std::copy(lens.begin(), lens.end(), camera.lens.begin());
  return camera;
}

// Both cameras in the frame of a body that has an inertial sensor.
inline calibration::Calibration TurnedRig(CameraModel model, const std::vector<double>& lens) {
  calibration::Calibration rig;
  const Camera camera = RaggedCamera(model, lens);
  for (const auto& [name, pose] : {std::pair{"left", BodyFromLeft()}, {"right", BodyFromLeft() * LeftFromRight()}}) {
    RigCamera& one = rig.rig.cameras.emplace_back();
    one.name = name, one.camera = camera, one.rig_from_camera = pose;
  }
  rig.rig.cameras[1].camera.fx = 457.587;
  rig.rig.imu = RigImu{Turned(-0.5, 0.2, 0.9, {0.03, 0.02, -0.01}), 200, 1.7e-4, 1.9e-5, 2.0e-3, 3.0e-3, -0.0125};
  return rig;
}

inline void ExpectSame(const RigidTransform& a, const RigidTransform& b, double within = 1e-12) {
  EXPECT_LE((a.rotation - b.rotation).cwiseAbs().maxCoeff(), within) << a.rotation << "\n\n" << b.rotation;
  EXPECT_LE((a.translation - b.translation).cwiseAbs().maxCoeff(), within)
      << a.translation.transpose() << "; " << b.translation.transpose();
}

inline void ExpectSame(const Camera& a, const Camera& b) {
  EXPECT_EQ(a.model, b.model);
  EXPECT_EQ(a.image, b.image);
  EXPECT_EQ(a.lens, b.lens);
  EXPECT_EQ((std::vector<double>{a.fx, a.fy, a.cx, a.cy}), (std::vector<double>{b.fx, b.fy, b.cx, b.cy}));
}

// The second camera's pose in the first one's frame.
inline RigidTransform SecondInFirst(const Rig& rig) {
  return rig.cameras[0].rig_from_camera.Inverse() * rig.cameras[1].rig_from_camera;
}

inline std::string Numbers(const std::vector<double>& values, const char* between = ", ") {
  return absl::StrJoin(values, between, [](std::string* text, double v) { absl::StrAppendFormat(text, "%.17g", v); });
}
inline std::vector<double> ByRows(const Eigen::Matrix3d& r) {
  const Eigen::Matrix<double, 3, 3, Eigen::RowMajor> rows = r;
  return {rows.data(), rows.data() + 9};
}
inline std::vector<double> Of(const Eigen::Vector3d& t) { return {t[0], t[1], t[2]}; }

inline calibration::ReadOptions OfImage(int width, int height) {
  calibration::ReadOptions options;
  options.image = {width, height};
  return options;
}

// What `text` says, as a file of any name.
inline calibration::Calibration Read(const std::string& text, const calibration::ReadOptions& options = {}) {
  const auto read = calibration::ParseCalibration("file", text, options);
  EXPECT_TRUE(read.ok()) << read.status() << "\n" << text;
  return read.value_or(calibration::Calibration());
}
inline std::string ErrorOf(const std::string& text, const calibration::ReadOptions& options = {}) {
  return std::string(calibration::ParseCalibration("file", text, options).status().message());
}

inline const calibration::Format& FormatOf(const std::string& name) {
  for (const calibration::Format& format : calibration::Formats()) {
    if (format.name == name) return format;
  }
  ADD_FAILURE() << name;
  return calibration::Formats()[0];
}

// `text` without the first `part`, or with `by` in its place.
inline std::string Without(std::string text, const std::string& part, const std::string& by = "") {
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return at == std::string::npos ? text : text.replace(at, part.size(), by);
}

}  // namespace glint::testing

#endif  // GLINT_TESTS_CALIBRATION_TURNED_RIG_H_
