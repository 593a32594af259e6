// Cameras of each model, with lenses as real ones have them.
#ifndef GLINT_TESTS_CAMERA_TEST_CAMERAS_H_
#define GLINT_TESTS_CAMERA_TEST_CAMERAS_H_

#include <Eigen/Geometry>
#include <array>
#include <string>
#include <vector>

#include "features/camera/rig.h"

namespace glint {

// By angles about x, y and then z, radians.
inline RigidTransform Turned(double x, double y, double z, const Eigen::Vector3d& translation) {
  RigidTransform transform;
  transform.rotation = (Eigen::AngleAxisd(x, Eigen::Vector3d::UnitX()) *
                        Eigen::AngleAxisd(y, Eigen::Vector3d::UnitY()) * Eigen::AngleAxisd(z, Eigen::Vector3d::UnitZ()))
                           .toRotationMatrix();
  transform.translation = translation;
  return transform;
}

struct TestCamera {
  std::string name;
  CameraModel model;
  std::array<double, kMaxLensCoefficients> lens;
  double focal_length;  // pixels, of 752x480
  double half_field;    // degrees from the axis that lie inside the lens's domain

  Camera camera() const { return {model, {752, 480}, focal_length, 0.98 * focal_length, 372.4, 243.7, lens}; }
};

inline const std::vector<TestCamera>& TestCameras() {
  static const auto* const cameras = new std::vector<TestCamera>{
      {"Pinhole", CameraModel::kPinhole, {}, 450, 85},
      {"Barrel", CameraModel::kRadialTangential, {-0.2834, 0.0740, 1.9e-4, 1.8e-5}, 458, 75},
      {"Folding", CameraModel::kRadialTangential, {-0.3, 0.02, 1e-3, -2e-3, 0.001}, 458, 43},
      {"Pincushion", CameraModel::kRadialTangential, {0.12, -0.01, -1e-3, 2e-3, 0.004}, 500, 60},
      {"Rational", CameraModel::kRational, {22.1, 12.5, 1e-4, -2e-4, 0.6, 22.5, 20.1, 3.6}, 450, 60},
      {"Fisheye", CameraModel::kKannalaBrandt, {0.0034, 7.6e-4, -2.0e-4, 1.1e-5}, 190, 100},
      {"FoldingFisheye", CameraModel::kKannalaBrandt, {-0.05, -0.01}, 190, 75},
      {"DoubleSphere", CameraModel::kDoubleSphere, {-0.24, 0.57}, 157, 100},
      {"Eucm", CameraModel::kEucm, {0.63, 1.04}, 190, 100},
      {"NarrowEucm", CameraModel::kEucm, {0.3, 1.2}, 300, 70},
      {"Fov", CameraModel::kFov, {0.92}, 220, 80},
      {"FovOfNoLens", CameraModel::kFov, {0.0}, 450, 80},
      {"Omni", CameraModel::kOmni, {0.9, -0.2, 0.05, 1e-3, -5e-4}, 500, 85},
      {"ThinPrism",
       CameraModel::kThinPrism,
       {-0.28, 0.07, 2e-4, -1e-4, 0.01, 0.1, 0.02, 0.003, 0.004, -0.001, -0.003, 0.0015},
       450,
       60},
      {"Tilted",
       CameraModel::kThinPrism,
       {-0.05, 0.02, 2e-4, -1e-4, 0, 0, 0, 0, 0.002, 0.001, -0.003, 0.0005, 0.08, -0.05},
       450,
       60},
      {"FoldingPrism", CameraModel::kThinPrism, {0, 0, 0, 0, 0, 0, 0, 0, -0.2, -0.05}, 450, 45},
      {"Mirror", CameraModel::kOmni, {1.6, -0.05, 0.01, 1e-3, -5e-4}, 700, 100},
  };
  return *cameras;
}

// Calibration of EuRoC's cameras (V1_01), as published.
inline Camera EurocLeft() {
  return {CameraModel::kRadialTangential,
          {752, 480},
          458.654,
          457.296,
          367.215,
          248.375,
          {-0.28340811, 0.07395907, 0.00019359, 1.76187114e-05}};
}
inline Camera EurocRight() {
  return {CameraModel::kRadialTangential,
          {752, 480},
          457.587,
          456.134,
          379.999,
          255.238,
          {-0.28368365, 0.07451284, -0.00010473, -3.55590700e-05}};
}
inline RigidTransform EurocRightFromLeft() {
  RigidTransform body_from_left, body_from_right;
  body_from_left.rotation << 0.0148655429818, -0.999880929698, 0.00414029679422,  //
      0.999557249008, 0.0149672133247, 0.025715529948,                            //
      -0.0257744366974, 0.00375618835797, 0.999660727178;
  body_from_left.translation << -0.0216401454975, -0.064676986768, 0.00981073058949;
  body_from_right.rotation << 0.0125552670891, -0.999755099723, 0.0182237714554,  //
      0.999598781151, 0.0130119051815, 0.0251588363115,                           //
      -0.0253898008918, 0.0179005838253, 0.999517347078;
  body_from_right.translation << -0.0198435579556, 0.0453689425024, 0.00786212447038;
  return body_from_right.Inverse() * body_from_left;
}

}  // namespace glint

#endif  // GLINT_TESTS_CAMERA_TEST_CAMERAS_H_
