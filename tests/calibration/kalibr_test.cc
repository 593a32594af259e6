// Kalibr's camchain.yaml and imu.yaml.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/calibration/turned_rig.h"

namespace glint::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

RigidTransform CameraFromImu() { return Turned(-0.3, 1.2, 0.1, {0.05, 0.01, -0.02}); }

std::string KalibrRows(const std::string& name, const RigidTransform& t) {
  std::string text = absl::StrCat("  ", name, ":\n");
  for (int row = 0; row < 3; ++row) {
    const auto r = t.rotation.row(row);
    absl::StrAppend(&text, "  - [", Numbers({r(0), r(1), r(2), t.translation(row)}, ",\n    "), "]\n");  // wrapped
  }
  return absl::StrCat(text, "  - [0.0, 0.0, 0.0, 1.0]\n");
}

std::string KalibrCamera(int number, const std::string& poses) {
  return absl::StrCat("cam", number, ":\n", poses, "  cam_overlaps: [", 1 - number,
                      "]\n  camera_model: pinhole\n  distortion_coeffs: [-0.28, 0.07, 0.0002, 1.7e-05]\n"
                      "  distortion_model: radtan\n  intrinsics: [458.654, 457.296, 367.215, 248.375]\n"
                      "  resolution: [752, 480]\n  rostopic: /cam",
                      number, "/image_raw\n");
}

const char kKalibrImu[] =
    "accelerometer_noise_density: 2.0e-3\naccelerometer_random_walk: 3.0e-3\ngyroscope_noise_density: 1.7e-04\n"
    "gyroscope_random_walk: 1.9e-05\nrostopic: /imu0\nupdate_rate: 200.0\n";

TEST(Kalibr, ChainOfPoses) {
  const std::string step = KalibrRows("T_cn_cnm1", LeftFromRight().Inverse());
  const auto read = Read(KalibrCamera(0, "") + KalibrCamera(1, step) + KalibrCamera(2, step));
  EXPECT_EQ(read.format, "kalibr");
  EXPECT_THAT(read.warnings, IsEmpty());
  EXPECT_FALSE(read.rectified);
  EXPECT_FALSE(read.rig.imu.has_value());
  ASSERT_THAT(read.rig.cameras, SizeIs(3));
  EXPECT_EQ(read.rig.cameras[1].name, "cam1");
  ExpectSame(read.rig.cameras[0].camera, RaggedCamera(CameraModel::kRadialTangential, {-0.28, 0.07, 0.0002, 1.7e-05}));
  ExpectSame(SecondInFirst(read.rig), LeftFromRight());
  ExpectSame(read.rig.cameras[2].rig_from_camera, LeftFromRight() * LeftFromRight());
}

TEST(Kalibr, InertialSensorAndItsClock) {
  const std::string imu = KalibrRows("T_cam_imu", CameraFromImu()) + "  timeshift_cam_imu: -0.0125\n";
  const auto read = Read(KalibrCamera(0, imu) + KalibrCamera(1, KalibrRows("T_cn_cnm1", LeftFromRight().Inverse())) +
                         "imu0:\n  accelerometer_noise_density: 0.002\n  update_rate: 200\n");
  ASSERT_TRUE(read.rig.imu.has_value());
  ExpectSame(read.rig.imu->rig_from_imu, CameraFromImu());
  EXPECT_EQ(read.rig.imu->imu_time_minus_camera_time, -0.0125);
  EXPECT_EQ(read.rig.imu->accelerometer_noise_density, 0.002);
  EXPECT_EQ(read.rig.imu->rate_hz, 200);
}

// Without T_cn_cnm1 the second camera follows from the IMU's poses, also where OpenVINS has their inverses, in a file
// that begins as OpenCV's, with an empty time shift.
TEST(Kalibr, PosesByTheInertialSensor) {
  const RigidTransform second_from_imu = LeftFromRight().Inverse() * CameraFromImu();
  for (const bool inverse : {false, true}) {
    const auto pose = [&](const RigidTransform& camera_from_imu) {
      return inverse ? KalibrRows("T_imu_cam", camera_from_imu.Inverse()) : KalibrRows("T_cam_imu", camera_from_imu);
    };
    const auto read =
        Read("%YAML:1.0 # OpenVINS\n" + KalibrCamera(0, pose(CameraFromImu()) + "  timeshift_cam_imu:\n") +
             KalibrCamera(1, pose(second_from_imu)));
    ASSERT_THAT(read.rig.cameras, SizeIs(2));
    ExpectSame(SecondInFirst(read.rig), LeftFromRight());
    ExpectSame(read.rig.imu->rig_from_imu, CameraFromImu());
    EXPECT_THAT(read.warnings, IsEmpty());
  }
}

TEST(Kalibr, PoseAtTheRootAndPosesThatContradict) {
  const RigidTransform step = LeftFromRight().Inverse();
  const std::string root = Without(KalibrRows("T_cam1_cam0", step), "  T_cam1", "T_cam1");
  ExpectSame(SecondInFirst(Read(KalibrCamera(0, "") + KalibrCamera(1, "") + root).rig), LeftFromRight());

  const RigidTransform off = {Eigen::Matrix3d::Identity(), {0, 0.02, 0}};
  const auto read =
      Read(KalibrCamera(0, KalibrRows("T_cam_imu", CameraFromImu())) +
           KalibrCamera(1, KalibrRows("T_cn_cnm1", step) + KalibrRows("T_cam_imu", off * step * CameraFromImu())));
  ExpectSame(SecondInFirst(read.rig), LeftFromRight());
  EXPECT_THAT(read.warnings, ElementsAre("file: cam1/T_cn_cnm1: contradicts what the cameras' poses to the IMU say; "
                                         "T_cn_cnm1 was taken"));
}

TEST(Kalibr, TheLeftCameraComesFirstWhateverItsName) {
  const std::string text = KalibrCamera(0, "") + KalibrCamera(1, KalibrRows("T_cn_cnm1", LeftFromRight()));
  const auto read = Read(text);
  EXPECT_EQ(read.rig.cameras[0].name, "cam1");
  ExpectSame(SecondInFirst(read.rig), LeftFromRight());
  EXPECT_THAT(read.warnings, IsEmpty());  // nothing is contradicted
  EXPECT_THAT(read.reordered, HasSubstr("to the left of cam0 and is taken as the left camera (--cameras cam0,cam1"));
  calibration::ReadOptions options;
  options.cameras = "cam0,cam1";
  EXPECT_EQ(Read(text, options).rig.cameras[0].name, "cam0");
  options.cameras = "cam0,cam7";
  EXPECT_EQ(ErrorOf(text, options), "cameras: \"cam7\" is not one of cam0, cam1");
}

TEST(Kalibr, Lenses) {
  const auto camera = [](const std::string& model, const std::string& intrinsics, const std::string& lens,
                         const std::string& d) {
    const std::string text = absl::StrCat("cam0:\n  camera_model: ", model, "\n  intrinsics: [", intrinsics,
                                          "458.654, 457.296, 367.215, 248.375]\n  distortion_model: ", lens,
                                          "\n  distortion_coeffs: [", d, "]\n  resolution: [752, 480]\n");
    const auto read = Read(text);
    return read.rig.cameras.empty() ? Camera() : read.rig.cameras[0].camera;
  };
  const auto want = [](CameraModel model, const std::vector<double>& lens) { return RaggedCamera(model, lens); };
  ExpectSame(camera("pinhole", "", "equidistant", "0.1, 0.2, 0.3, 0.4"),
             want(CameraModel::kKannalaBrandt, {0.1, 0.2, 0.3, 0.4}));
  ExpectSame(camera("pinhole", "", "fov", "0.9"), want(CameraModel::kFov, {0.9}));
  ExpectSame(camera("pinhole", "", "none", ""), want(CameraModel::kPinhole, {}));
  ExpectSame(camera("pinhole-radtan", "", "", "0.1, 0.2, 0.3, 0.4"),
             want(CameraModel::kRadialTangential, {0.1, 0.2, 0.3, 0.4}));
  ExpectSame(camera("ds", "-0.2, 0.6, ", "none", ""), want(CameraModel::kDoubleSphere, {-0.2, 0.6}));
  ExpectSame(camera("eucm", "0.6, 1.1, ", "none", ""), want(CameraModel::kEucm, {0.6, 1.1}));
  ExpectSame(camera("omni", "1.2, ", "radtan", "0.1, 0.2, 0.3, 0.4"),
             want(CameraModel::kOmni, {1.2, 0.1, 0.2, 0.3, 0.4}));
}

TEST(Kalibr, ErrorsNameTheField) {
  const std::string good = KalibrCamera(0, "");
  EXPECT_EQ(ErrorOf(Without(good, "458.654, ")), "file: cam0/intrinsics: 3 numbers, not 4");
  EXPECT_EQ(ErrorOf(Without(good, "458.654", "fx")), "file: intrinsics: \"fx\" in line 6 is no number");
  EXPECT_EQ(ErrorOf(Without(good, "-0.28, 0.07, ")),
            "file: cam0/distortion_coeffs: 2 coefficients, not 0, 4, 5, 8, 12 or 14");
  EXPECT_THAT(ErrorOf(Without(good, "radtan", "gaussian")),
              HasSubstr("file: cam0/distortion_model: \"gaussian\" is not one of radtan, "));
  EXPECT_EQ(ErrorOf(Without(good, "pinhole", "cube")),
            "file: cam0/camera_model: \"cube\" is not one of pinhole, omni, ds, eucm");
  EXPECT_THAT(ErrorOf(Without(good, "752", "0")), HasSubstr("file: cam0/resolution: 0 x 480 is no image size"));
  EXPECT_EQ(ErrorOf(kKalibrImu), "file: cam0: is missing: an IMU alone is no camera's calibration");
  RigidTransform scaled = LeftFromRight();
  scaled.rotation *= 1.1;
  EXPECT_THAT(ErrorOf(good + KalibrCamera(1, KalibrRows("T_cn_cnm1", scaled))),
              HasSubstr("file: cam1/T_cn_cnm1: no rotation"));
  const auto alone = Read(good + KalibrCamera(1, ""));
  EXPECT_THAT(alone.rig.cameras, SizeIs(1));
  EXPECT_THAT(alone.warnings, ElementsAre(HasSubstr("file: cam1/T_cn_cnm1: is missing")));
}

TEST(Kalibr, WritesWhatItReads) {
  for (const auto& [model, lens] : std::vector<std::pair<CameraModel, std::vector<double>>>{
           {CameraModel::kPinhole, {}},
           {CameraModel::kRadialTangential, {-0.28, 0.07, 0.0002, 1.7e-05}},
           {CameraModel::kKannalaBrandt, {0.1, 0.2, 0.3, 0.4}},
           {CameraModel::kDoubleSphere, {-0.2, 0.6}},
           {CameraModel::kEucm, {0.6, 1.1}},
           {CameraModel::kFov, {0.9}},
           {CameraModel::kOmni, {1.2, 0.1, 0.2, 0.3, 0.4}}}) {
    const auto rig = TurnedRig(model, lens);
    const auto files = FormatOf("kalibr").write(rig);
    ASSERT_TRUE(files.ok()) << files.status();
    ASSERT_THAT(*files, SizeIs(2));
    const auto read = Read((*files)[0].text + "imu0:\n  accelerometer_noise_density: 0.002\n");
    ExpectSame(SecondInFirst(read.rig), SecondInFirst(rig.rig));
    ExpectSame(read.rig.cameras[0].camera, rig.rig.cameras[0].camera);
    ExpectSame(read.rig.imu->rig_from_imu, rig.rig.cameras[0].rig_from_camera.Inverse() * rig.rig.imu->rig_from_imu);
    EXPECT_EQ(read.rig.imu->imu_time_minus_camera_time, -0.0125);
    EXPECT_THAT((*files)[1].text, HasSubstr("gyroscope_noise_density: 0.00017"));
  }
  EXPECT_EQ(FormatOf("kalibr").write(TurnedRig(CameraModel::kRadialTangential, {1, 1, 1, 1, 1})).status().message(),
            "lens.k3: Kalibr has no k3");
  EXPECT_FALSE(FormatOf("kalibr").write(TurnedRig(CameraModel::kRational, {1})).ok());
}

}  // namespace
}  // namespace glint::testing
