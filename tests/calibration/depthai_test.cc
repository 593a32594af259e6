// Calibrations of OAK cameras.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/calibration/turned_rig.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string OakStep(const RigidTransform& to_from_this, double unit) {
  const Eigen::Vector3d t = to_from_this.translation * unit;
  const std::vector<double> r = ByRows(to_from_this.rotation);
  return absl::StrCat(R"("rotationMatrix": [[)", Numbers({r[0], r[1], r[2]}), "], [", Numbers({r[3], r[4], r[5]}),
                      "], [", Numbers({r[6], r[7], r[8]}),
                      R"(]], "specTranslation": {"x": 9, "y": 9, "z": 9}, "translation": {"x": )", Numbers({t[0]}),
                      R"(, "y": )", Numbers({t[1]}), R"(, "z": )", Numbers({t[2]}), "}");
}

std::string OakCamera(int socket, const std::string& extrinsics, int to, const std::string& distortion, int type = 0) {
  return absl::StrCat(
      "[", socket, R"(, {"cameraType": )", type, R"(, "distortionCoeff": [)", distortion, R"(], "extrinsics": {)",
      extrinsics, R"(, "toCameraSocket": )", to,
      R"(}, "height": 480, "intrinsicMatrix": [[458.654, 0.0, 367.215], [0.0, 457.296, 248.375], [0, 0, 1]],)",
      R"( "lensPosition": 0, "specHfovDeg": 71.8, "width": 752}])");
}

constexpr char kRational14[] = "-0.28, 0.07, 0.0002, 0.0001, 0.01, 0.1, 0.02, 0.003, 0, 0, 0, 0, 0, 0";
constexpr char kRoot[] =
    R"("rotationMatrix": [], "specTranslation": {"x": 0, "y": 0, "z": 0}, "translation": {"x": 0, "y": 0, "z": 0})";

// Left (2) to right (1) to colour (0, the root), sockets out of order.
std::string Oak(double unit = 100, const std::string& more = "") {
  const RigidTransform colour_from_right = Turned(0.02, 0.01, -0.03, {-0.0375, 0.001, 0.002});
  return absl::StrCat(
      R"({"batchName": "", "boardName": "OAK-D", "cameraData": [)",
      OakCamera(2, OakStep(LeftFromRight().Inverse(), unit) + more, 1, kRational14), ", ",
      OakCamera(0, kRoot, -1, kRational14), ", ", OakCamera(1, OakStep(colour_from_right, unit) + more, 0, kRational14),
      R"(], "imuExtrinsics": {)", OakStep(Turned(0.3, 0.2, 0.1, {0.01, 0.02, 0.03}), unit) + more,
      R"(, "toCameraSocket": 0}, "stereoRectificationData": {"leftCameraSocket": 2, "rightCameraSocket": 1,)",
      R"( "rectifiedRotationLeft": [], "rectifiedRotationRight": []}, "version": 7})");
}

TEST(DepthAi, CentimetresAlongTheChainOfSockets) {
  const auto read = Read(Oak());
  ASSERT_THAT(read.rig.cameras, SizeIs(3));
  EXPECT_EQ(read.format, "depthai");
  EXPECT_EQ(read.rig.cameras[0].name, "CAM_C");
  EXPECT_EQ(read.rig.cameras[2].name, "CAM_A");
  EXPECT_THAT(read.warnings, IsEmpty());
  ExpectSame(SecondInFirst(read.rig), LeftFromRight());
  ExpectSame(read.rig.cameras[0].camera,
             RaggedCamera(CameraModel::kRational, {-0.28, 0.07, 0.0002, 0.0001, 0.01, 0.1, 0.02, 0.003}));
  ASSERT_TRUE(read.rig.imu);
  ExpectSame(read.rig.cameras[2].rig_from_camera.Inverse() * read.rig.imu->rig_from_imu,
             Turned(0.3, 0.2, 0.1, {0.01, 0.02, 0.03}));
}

TEST(DepthAi, UnitsBySevensLengthUnit) {
  ExpectSame(SecondInFirst(Read(Oak(100, R"(, "lengthUnit": 1)")).rig), LeftFromRight());
  ExpectSame(SecondInFirst(Read(Oak(1, R"(, "lengthUnit": 0)")).rig), LeftFromRight());
  ExpectSame(SecondInFirst(Read(Oak(1000, R"(, "lengthUnit": 2)")).rig), LeftFromRight());
  EXPECT_THAT(ErrorOf(Oak(1, R"(, "lengthUnit": 9)")), HasSubstr("extrinsics/lengthUnit: 9 is not 0 to 4"));
}

TEST(DepthAi, WithoutStereoDataSocketsOneAndTwoAreThePair) {
  calibration::ReadOptions options;
  options.cameras = "CAM_B,CAM_C";
  const auto read = Read(Without(Without(Oak(), R"("leftCameraSocket": 2)", R"("leftCameraSocket": -1)"),
                                 R"("rightCameraSocket": 1)", R"("rightCameraSocket": -1)"),
                         options);
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  ExpectSame(SecondInFirst(read.rig), LeftFromRight().Inverse());
}

TEST(DepthAi, FisheyeHasFourOfItsCoefficients) {
  const auto read =
      Read(absl::StrCat(R"({"cameraData": [)",
                        OakCamera(0, kRoot, -1, "0.1, 0.02, 0.003, 0.0004, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0", 1), "]}"));
  ExpectSame(read.rig.cameras[0].camera, RaggedCamera(CameraModel::kKannalaBrandt, {0.1, 0.02, 0.003, 0.0004}));
}

TEST(DepthAi, PrismAndTiltOfTheFourteen) {
  const std::string all = "-0.28, 0.07, 0.0002, 0.0001, 0.01, 0.1, 0.02, 0.003, 0.004, 0.005, 0.006, 0.007, 0.05, 0.02";
  const auto read = Read(absl::StrCat(R"({"cameraData": [)", OakCamera(0, kRoot, -1, all), "]}"));
  EXPECT_THAT(read.warnings, IsEmpty());
  ExpectSame(read.rig.cameras[0].camera,
             RaggedCamera(CameraModel::kThinPrism, {-0.28, 0.07, 0.0002, 0.0001, 0.01, 0.1, 0.02, 0.003, 0.004, 0.005,
                                                    0.006, 0.007, 0.05, 0.02}));
}

TEST(DepthAi, ErrorsNameTheSocket) {
  EXPECT_THAT(ErrorOf(Without(Oak(), R"("toCameraSocket": 0)", R"("toCameraSocket": 2)")),
              HasSubstr("leads back to itself"));
  EXPECT_THAT(ErrorOf(Without(Oak(), R"("toCameraSocket": 1)", R"("toCameraSocket": 5)")),
              HasSubstr("cameraData[5]/extrinsics: leads to a socket without a calibration"));
  EXPECT_THAT(ErrorOf(Without(Oak(), "458.654", R"("f")")), HasSubstr("f"));
  EXPECT_THAT(ErrorOf(R"({"cameraData": []})"), HasSubstr("has no calibrated camera"));
  EXPECT_THAT(ErrorOf(R"({"cameraData": [3]})"), HasSubstr("not a list of [socket, camera]"));
  EXPECT_THAT(ErrorOf(Without(Oak(), R"("cameraType": 0)", R"("cameraType": 2)")), HasSubstr("cameraType: 2 with 14"));
}

}  // namespace
}  // namespace glint::testing
