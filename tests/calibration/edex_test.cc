// cuVSLAM's EDEX.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/calibration/turned_rig.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// x right, y up, z backward.
std::string EdexMatrix(const RigidTransform& pose, bool turn_sensor, bool four_rows) {
  Eigen::Matrix4d m = Eigen::Matrix4d::Identity();
  m.topLeftCorner<3, 3>() = pose.rotation, m.topRightCorner<3, 1>() = pose.translation;
  const Eigen::Matrix4d axes = Eigen::Vector4d(1, -1, -1, 1).asDiagonal();
  m = axes * m;
  if (turn_sensor) m = m * axes;
  std::string text;
  for (int row = 0; row < (four_rows ? 4 : 3); ++row) {
    absl::StrAppend(&text, row ? ", [" : "[", Numbers({m(row, 0), m(row, 1), m(row, 2), m(row, 3)}), "]");
  }
  return "[" + text + "]";
}

std::string EdexFile(const std::string& model, const std::string& params) {
  const std::string intrinsics =
      absl::StrCat(R"("intrinsics": {"distortion_model": ")", model, R"(", "distortion_params": [)", params,
                   R"(], "focal": [458.654, 457.296], "principal": [367.215, 248.375], "size": [752, 480]})");
  return absl::StrCat(R"([{"version": "0.9", "frame_start": 0, "frame_end": 50, "cameras": [{"transform": )",
                      EdexMatrix(BodyFromLeft(), true, false), ", ", intrinsics, R"(}, {"transform": )",
                      EdexMatrix(BodyFromLeft() * LeftFromRight(), true, true), ", ", intrinsics,
                      R"(}], "imu": {"g": [0, -9.81, 0], "measurements": "imu.jsonl", "frequency": 200, )",
                      R"("gyroscope_noise_density": 0.00017, "transform": )",
                      EdexMatrix(Turned(-0.5, 0.2, 0.9, {0.03, 0.02, -0.01}), false, false),
                      R"(}}, {"fps": 10, "sequence": [["l.png"], ["r.png"]]}])");
}

TEST(Edex, AxesAreTurned) {
  const auto read = Read(EdexFile("pinhole", ""));
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  EXPECT_EQ(read.format, "edex");
  ExpectSame(read.rig.cameras[0].rig_from_camera, BodyFromLeft());
  ExpectSame(SecondInFirst(read.rig), LeftFromRight());
  ASSERT_TRUE(read.rig.imu);
  ExpectSame(read.rig.imu->rig_from_imu, Turned(-0.5, 0.2, 0.9, {0.03, 0.02, -0.01}));
  EXPECT_EQ(read.rig.imu->rate_hz, 200);
  EXPECT_EQ(read.rig.imu->gyroscope_noise_density, 0.00017);
}

TEST(Edex, ModelsAndTheirOrder) {
  const struct {
    const char* model;
    const char* params;
    Camera camera;
  } cases[] = {
      {"pinhole", "0, 0, 0, 0, 0", RaggedCamera(CameraModel::kPinhole, {})},
      {"fisheye", "0.1, 0.02, 0.003, 0.0004", RaggedCamera(CameraModel::kKannalaBrandt, {0.1, 0.02, 0.003, 0.0004})},
      {"fisheye4", "0.1, 0.02, 0.003, 0.0004", RaggedCamera(CameraModel::kKannalaBrandt, {0.1, 0.02, 0.003, 0.0004})},
      {"brown5k", "-0.28, 0.07, 0.01, 0.0002, 0.0001",  // k1 k2 k3 p1 p2
       RaggedCamera(CameraModel::kRadialTangential, {-0.28, 0.07, 0.0002, 0.0001, 0.01})},
      {"polynomial", "1, 2, 3, 4, 5, 6, 7, 8", RaggedCamera(CameraModel::kRational, {1, 2, 3, 4, 5, 6, 7, 8})},
  };
  for (const auto& [model, params, camera] : cases) {
    ExpectSame(Read(EdexFile(model, params)).rig.cameras[1].camera, camera);
  }
}

TEST(Edex, ErrorsNameTheField) {
  EXPECT_THAT(ErrorOf(EdexFile("mei", "")),
              HasSubstr("cameras[0]/intrinsics/distortion_model: 'mei' is none of pinhole"));
  EXPECT_THAT(ErrorOf(EdexFile("brown5k", "1, 2")), HasSubstr("distortion_params: 2 numbers; brown5k has 5"));
  EXPECT_THAT(ErrorOf(EdexFile("pinhole", "0.1, 0")), HasSubstr("distortion_params: 2 numbers; pinhole has 0"));
  EXPECT_THAT(ErrorOf(Without(EdexFile("pinhole", ""), "\"intrinsics\"", "\"other\"")),
              HasSubstr("cameras[0]/intrinsics: is missing"));
  EXPECT_THAT(ErrorOf(Without(EdexFile("pinhole", ""), "[752, 480]", "[752]")), HasSubstr("size: 1 numbers, not 2"));
}

TEST(Edex, WritesWhatItReads) {
  const std::pair<CameraModel, std::vector<double>> models[] = {
      {CameraModel::kPinhole, {}},
      {CameraModel::kRadialTangential, {-0.28, 0.07, 2e-4, 1e-5, 0.01}},
      {CameraModel::kRational, {-0.28, 0.07, 2e-4, 1e-5, 0.3, 0.1, 0.01, 0.001}},
      {CameraModel::kKannalaBrandt, {0.01, -0.02, 0.003, 0.0004}}};
  for (const auto& [model, lens] : models) {
    const auto rig = TurnedRig(model, lens);
    const auto written = FormatOf("edex").write(rig);
    ASSERT_TRUE(written.ok()) << written.status();
    const auto again = Read((*written)[0].text);
    for (size_t i = 0; i < 2; ++i) {
      ExpectSame(again.rig.cameras[i].camera, rig.rig.cameras[i].camera);
      ExpectSame(again.rig.cameras[i].rig_from_camera, rig.rig.cameras[i].rig_from_camera);
    }
    ExpectSame(again.rig.imu->rig_from_imu, rig.rig.imu->rig_from_imu);
    EXPECT_EQ(again.rig.imu->accelerometer_random_walk, rig.rig.imu->accelerometer_random_walk);
  }
  EXPECT_THAT(FormatOf("edex").write(TurnedRig(CameraModel::kEucm, {0.6, 1.1})).status().message(),
              HasSubstr("EDEX has no camera model"));
}

}  // namespace
}  // namespace glint::testing
