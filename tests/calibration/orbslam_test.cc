// Settings of ORB-SLAM2 and ORB-SLAM3 as they are published.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/calibration/turned_rig.h"

namespace glint::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string OrbMatrix(const std::string& name, int rows, const std::vector<double>& values) {
  return absl::StrCat(name, ": !!opencv-matrix\n  rows: ", rows, "\n  cols: ", values.size() / rows,
                      "\n  dt: f\n  data:[", Numbers(values), "]\n");
}
std::vector<double> Rows34(const RigidTransform& pose) {
  Eigen::Matrix<double, 3, 4, Eigen::RowMajor> m;
  m << pose.rotation, pose.translation;
  return {m.data(), m.data() + 12};
}
std::vector<double> Rows44(const RigidTransform& pose) {
  std::vector<double> m = Rows34(pose);
  m.insert(m.end(), {0, 0, 0, 1});
  return m;
}

constexpr char kOrbSlam2[] = R"(%YAML:1.0

# Camera calibration and distortion parameters (OpenCV)
Camera.fx: 435.2046959714599
Camera.fy: 435.2046959714599
Camera.cx: 367.4517211914062
Camera.cy: 252.2008514404297

Camera.k1: 0.0
Camera.k2: 0.0
Camera.p1: 0.0
Camera.p2: 0.0

Camera.width: 752
Camera.height: 480
Camera.fps: 20.0
Camera.bf: 47.90639384423901
Camera.RGB: 1
ThDepth: 35
Viewer.PointSize:2
)";
const RigidTransform kImuFromLeft = Turned(0.3, -0.8, 1.1, {-0.02, -0.06, 0.01});
constexpr char kImuValues[] =
    "IMU.NoiseGyro: 1.7e-04\nIMU.NoiseAcc: 2.0e-03\nIMU.GyroWalk: 1.9393e-05\nIMU.AccWalk: 3.e-03\n"
    "IMU.Frequency: 200\n";

void ExpectImu(const Rig& rig, const RigidTransform& left_from_imu) {
  ASSERT_TRUE(rig.imu.has_value());
  ExpectSame(rig.imu->rig_from_imu, left_from_imu);
  EXPECT_EQ(rig.imu->gyroscope_noise_density, 1.7e-4);
  EXPECT_EQ(rig.imu->accelerometer_noise_density, 2e-3);
  EXPECT_EQ(rig.imu->gyroscope_random_walk, 1.9393e-5);
  EXPECT_EQ(rig.imu->accelerometer_random_walk, 3e-3);
  EXPECT_EQ(rig.imu->rate_hz, 200);
}

TEST(OrbSlam2, RectifiedPair) {
  const auto read = Read(kOrbSlam2);
  EXPECT_EQ(read.format, "orbslam2");
  EXPECT_THAT(read.warnings, IsEmpty());
  EXPECT_TRUE(read.rectified);
  EXPECT_FALSE(read.unit_is_unknown);
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  EXPECT_EQ(read.rig.cameras[0].camera.image, (Shape{752, 480}));
  ExpectSame(SecondInFirst(read.rig), {Eigen::Matrix3d::Identity(), {47.90639384423901 / 435.2046959714599, 0, 0}});
}

TEST(OrbSlam2, DepthAndOneCamera) {
  const std::string depth = absl::StrCat(Without(kOrbSlam2, "k1: 0.0", "k1: 0.2624"), "DepthMapFactor: 5000.0\n");
  const auto read = Read(depth);
  ASSERT_THAT(read.rig.cameras, SizeIs(1));
  EXPECT_EQ(read.rig.cameras[0].camera.lens[0], 0.2624);
  EXPECT_THAT(read.warnings, IsEmpty());
  EXPECT_THAT(Read(Without(kOrbSlam2, "Camera.bf: 47.90639384423901\n")).rig.cameras, SizeIs(1));
  const auto pair = Read(Without(kOrbSlam2, "k1: 0.0", "k1: 0.2624"));
  EXPECT_THAT(pair.rig.cameras, SizeIs(2));
  EXPECT_THAT(pair.warnings, ElementsAre(HasSubstr("Camera.k1: the lens's coefficients are left out")));
}

// LEFT.* and RIGHT.*, of a rig whose right camera is turned.
std::string RawOrbSlam2() {
  const Eigen::Matrix3d left = Turned(0.003, -0.004, 0.005, {0, 0, 0}).rotation;
  const Eigen::Matrix3d right = Turned(-0.006, 0.02, 0.001, {0, 0, 0}).rotation;
  const auto side = [](const std::string& name, const Eigen::Matrix3d& r, double f, double shift) {
    return absl::StrCat(
        name, ".height: 480\n", name, ".width: 752\n",
        OrbMatrix(name + ".D", 1, {-0.283, 0.074, 0.00019, 1.76e-5, 0.0}),
        OrbMatrix(name + ".K", 3, {f, 0, 367.215, 0, 457.296, 248.375, 0, 0, 1}), OrbMatrix(name + ".R", 3, ByRows(r)),
        OrbMatrix(
            name + ".P", 3,
            {435.2046959714599, 0, 367.4517211914062, shift, 0, 435.2046959714599, 252.2008514404297, 0, 0, 0, 1, 0}));
  };
  return kOrbSlam2 + side("LEFT", left, 458.654, 0) + side("RIGHT", right, 457.587, -47.90639384423901);
}

TEST(OrbSlam2, DepthInAnExampleOfAPair) {
  const auto read = Read(RawOrbSlam2() + "DepthMapFactor: 1000.0\n");
  ASSERT_THAT(read.rig.cameras, SizeIs(1));
  EXPECT_EQ(read.rig.cameras[0].camera.fx, 435.2046959714599);
  EXPECT_EQ(read.depth_unit, 0.001);
  EXPECT_NEAR(read.depth_baseline.value(), 0.1100778, 1e-7);
  EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("LEFT.K: is left out, as is RIGHT.K: DepthMapFactor is of a")));
}

TEST(OrbSlam2, RawPair) {
  const auto read = Read(RawOrbSlam2());
  EXPECT_THAT(read.warnings, IsEmpty());
  EXPECT_FALSE(read.rectified);
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  EXPECT_EQ(read.rig.cameras[1].camera.fx, 457.587);
  EXPECT_EQ(read.rig.cameras[1].camera.model, CameraModel::kRadialTangential);
  // A point of the right camera, turned to both rectified images, lies a baseline apart.
  const Eigen::Vector3d p(0.3, -0.2, 2.5);
  const Eigen::Vector3d in_left = *read.rig.cameras[0].rectified_from_camera * (SecondInFirst(read.rig) * p);
  const Eigen::Vector3d in_right = *read.rig.cameras[1].rectified_from_camera * p;
  const Eigen::Vector3d apart = in_left - in_right;
  EXPECT_NEAR(apart.x(), 47.90639384423901 / 435.2046959714599, 1e-12);
  EXPECT_NEAR(apart.tail<2>().norm(), 0, 1e-12);
}

// Camera.bf beside the matrices that OpenCV wrote, T a baseline of 0.12 m.
std::string OrbSlam2BesideMatrices() {
  const RigidTransform right_from_left = LeftFromRight().Inverse();
  return absl::StrCat(
      Without(kOrbSlam2, "Camera.bf: 47.90639384423901",
              absl::StrCat("Camera.bf: ", Numbers({435.2046959714599 * right_from_left.translation.norm()}))),
      OrbMatrix("K1", 3, {458.654, 0, 367.215, 0, 457.296, 248.375, 0, 0, 1}),
      OrbMatrix("K2", 3, {457.587, 0, 379.999, 0, 456.134, 255.238, 0, 0, 1}),
      OrbMatrix("D1", 1, {-0.283, 0.074, 0.00019, 1.76e-5, 0.0}),
      OrbMatrix("D2", 1, {-0.284, 0.075, 0.00011, 1.77e-5, 0.0}), OrbMatrix("R", 3, ByRows(right_from_left.rotation)),
      OrbMatrix("T", 3, Of(right_from_left.translation)));
}

TEST(OrbSlam2, RawMatricesBesideTheRectifiedCamera) {
  const auto read = Read(OrbSlam2BesideMatrices());
  EXPECT_EQ(read.format, "orbslam2");
  EXPECT_THAT(read.warnings, IsEmpty());
  EXPECT_THAT(read.notes, ElementsAre("file: K1, K2: raw cameras beside the rectified one of Camera.fx and Camera.bf; "
                                      "the raw ones are taken"));
  EXPECT_FALSE(read.rectified);
  EXPECT_FALSE(read.unit_is_unknown);  // bf says metres
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  EXPECT_EQ(read.rig.cameras[1].camera.fx, 457.587);
  EXPECT_EQ(read.rig.cameras[1].camera.image, (Shape{752, 480}));
  ExpectSame(SecondInFirst(read.rig), LeftFromRight(), 1e-9);
  ASSERT_TRUE(read.rig.cameras[0].projection.has_value());  // for --rectified
  EXPECT_EQ((*read.rig.cameras[0].projection)(0, 0), 435.2046959714599);
  const std::string text = OrbSlam2BesideMatrices();
  const auto differs = Read(Without(text, text.substr(text.find("Camera.bf"), 17), "Camera.bf: 11111."));
  EXPECT_THAT(differs.warnings, ElementsAre(HasSubstr("Camera.bf / Camera.fx: ")));
  const auto incomplete = Read(text.substr(0, text.find("T: !!")));
  EXPECT_TRUE(incomplete.rectified);
  EXPECT_THAT(incomplete.warnings, ElementsAre(HasSubstr("K1, K2: raw cameras beside Camera.bf, left out: file: T: ")));
}

TEST(OrbSlam2, ValuesThatDiffer) {
  const auto bf = Read(Without(RawOrbSlam2(), "Camera.bf: 47.90639384423901", "Camera.bf: 40"));
  EXPECT_THAT(bf.warnings, ElementsAre(HasSubstr("Camera.bf: 40 differs from the 47.9064 of RIGHT.P")));
  const auto fx = Read(Without(RawOrbSlam2(), "Camera.fx: 435.2046959714599", "Camera.fx: 458.654"));
  EXPECT_THAT(fx.warnings, ElementsAre(HasSubstr("Camera.fx: 458.654 differs")));
  // Of another camera, as in files that began as EuRoC's.
  std::string other = Without(RawOrbSlam2(), "Camera.fx: 435.2046959714599", "Camera.fx: 385.518");
  other = Without(other, "Camera.cx: 367.4517211914062", "Camera.cx: 321.703");
  other = Without(other, "Camera.cy: 252.2008514404297", "Camera.cy: 241.789");
  EXPECT_THAT(ErrorOf(other),
              HasSubstr("file: LEFT.P: and RIGHT.P are of another camera (fx 435.205) than Camera.fx (385.518)"));
}

TEST(OrbSlam2, ImuOfTheRectifiedCamera) {
  const std::string imu = OrbMatrix("Tbc", 4, Rows44(kImuFromLeft)) + kImuValues;
  ExpectImu(Read(kOrbSlam2 + imu).rig, kImuFromLeft.Inverse());
  const auto raw = Read(RawOrbSlam2() + imu);
  const RigidTransform camera_from_rectified = {raw.rig.cameras[0].rectified_from_camera->transpose(), {0, 0, 0}};
  ExpectImu(raw.rig, camera_from_rectified * kImuFromLeft.Inverse());
}

TEST(OrbSlam2, FisheyePairOfOldOrbSlam3) {
  std::string text = absl::StrReplaceAll(
      kOrbSlam2, {{"Camera.p1", "Camera.k3"}, {"Camera.p2", "Camera.k4"}, {"k1: 0.0", "k1: 0.00348"}});
  for (const char* value :
       {"fx: 190.9", "fy: 190.8", "cx: 252.5", "cy: 255", "k1: 0.0034", "k2: 0.0017", "k3: -0.0026", "k4: 0.0005"}) {
    absl::StrAppend(&text, "Camera2.", value, "\n");
  }
  text = Without(text, "Camera.bf: 47.90639384423901",
                 absl::StrCat("Camera.bf: ", 435.2047 * LeftFromRight().translation.norm()));
  absl::StrAppend(&text, "Camera.type: \"KannalaBrandt8\"\n", OrbMatrix("Tlr", 3, Rows34(LeftFromRight())));
  const auto read = Read(text);
  EXPECT_THAT(read.warnings, IsEmpty());
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  EXPECT_EQ(read.rig.cameras[0].camera.model, CameraModel::kKannalaBrandt);
  EXPECT_EQ(read.rig.cameras[1].camera.lens[2], -0.0026);
  ExpectSame(SecondInFirst(read.rig), LeftFromRight());
  EXPECT_THAT(ErrorOf(Without(text, "Camera2.k3: -0.0026\n")), HasSubstr("file: Camera2.k3: is missing"));
  EXPECT_THAT(ErrorOf(text.substr(0, text.find("Camera2.")) + "Camera.type: KannalaBrandt8\n"),
              HasSubstr("file: Camera2.fx: is missing"));
}

std::string OrbSlam3(const std::string& type) {
  std::string text = absl::StrCat("%YAML:1.0\n\nFile.version: \"1.0\"\n\nCamera.type: \"", type, "\"\n");
  for (const int eye : {1, 2}) {
    for (const auto& [name, value] : {std::pair{"fx", 458.654},
                                      {"fy", 457.296},
                                      {"cx", 367.215},
                                      {"cy", 248.375},
                                      {"k1", -0.283},
                                      {"k2", 0.074},
                                      {"p1", 0.00019},
                                      {"p2", 1.76e-5}}) {
      absl::StrAppend(&text, "Camera", eye, ".", name, ": ", eye == 1 ? value : 0.99 * value, "\n");
    }
  }
  return absl::StrCat(text, "Camera.width: 752\nCamera.height: 480\nCamera.newWidth: 600\nCamera.newHeight: 350\n",
                      "Stereo.ThDepth: 60.0\n", OrbMatrix("Stereo.T_c1_c2", 4, Rows44(LeftFromRight())));
}

TEST(OrbSlam3, PoseOfTheSecondCameraInTheFirst) {
  const auto read = Read(OrbSlam3("PinHole") + OrbMatrix("IMU.T_b_c1", 4, Rows44(kImuFromLeft)) + kImuValues);
  EXPECT_EQ(read.format, "orbslam3");
  EXPECT_THAT(read.warnings, IsEmpty());
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  ExpectSame(SecondInFirst(read.rig), LeftFromRight());
  EXPECT_EQ(read.rig.cameras[1].camera.image, (Shape{752, 480}));
  EXPECT_EQ(read.rig.cameras[0].camera.lens[2], 0.00019);
  ExpectImu(read.rig, kImuFromLeft.Inverse());
}

constexpr char kOneCamera[] =
    "%YAML:1.0\n\nFile.version: \"1.0\"\nCamera1.fx: 382.6\nCamera1.fy: 382.6\nCamera1.cx: 320.5\nCamera1.cy: 236.6\n"
    "Camera.width: 640\nCamera.height: 480\nStereo.ThDepth: 40.0\nStereo.b: 0.0499585\n";

TEST(OrbSlam3, RectifiedAndDepth) {
  const auto pair = Read(kOneCamera + std::string("Camera.type: \"Rectified\"\n"));
  ASSERT_THAT(pair.rig.cameras, SizeIs(2));
  EXPECT_TRUE(pair.rectified);
  ExpectSame(SecondInFirst(pair.rig), {Eigen::Matrix3d::Identity(), {0.0499585, 0, 0}});
  const auto depth = Read(kOneCamera + std::string("Camera.type: \"PinHole\"\nRGBD.DepthMapFactor: 1000.0\n"));
  EXPECT_THAT(depth.rig.cameras, SizeIs(1));
}

TEST(OrbSlam3, ErrorsNameTheField) {
  const std::string good = OrbSlam3("PinHole");
  EXPECT_THAT(ErrorOf(Without(good, "Camera2.fy")), HasSubstr("file: Camera2.fy: is missing"));
  EXPECT_THAT(ErrorOf(Without(good, "\"PinHole\"", "\"Omni\"")), HasSubstr("file: Camera.type: 'Omni' is not one of"));
  EXPECT_THAT(ErrorOf(Without(good, "Stereo.T_c1_c2", "Stereo.T")), HasSubstr("file: Stereo.T_c1_c2: is missing"));
  EXPECT_THAT(ErrorOf(Without(good, "458.654", "wide")), HasSubstr("Camera1.fx"));
  EXPECT_THAT(ErrorOf(Without(good, "Camera.width: 752\n")), HasSubstr("file: Camera.width: is missing"));
  EXPECT_THAT(ErrorOf(OrbSlam3("KannalaBrandt8")), HasSubstr("file: Camera1.k3: is missing"));
  EXPECT_THAT(ErrorOf(Without(kOrbSlam2, "Camera.bf: 47.9", "Camera.bf: -47.9")), HasSubstr("file: Camera.bf: -47.9"));
}

TEST(OrbSlam3, WritesWhatItReads) {
  const std::pair<CameraModel, std::vector<double>> lenses[] = {
      {CameraModel::kPinhole, {}},
      {CameraModel::kRadialTangential, {-0.28, 0.07, 0.0002, 0.00002, 0.01}},
      {CameraModel::kKannalaBrandt, {0.0034, 0.0007, -0.002, 0.0002}}};
  for (const auto& [model, lens] : lenses) {
    auto rig = TurnedRig(model, lens);
    const auto files = FormatOf("orbslam3").write(rig);
    ASSERT_TRUE(files.ok()) << files.status();
    const auto read = Read(files->at(0).text);
    ASSERT_THAT(read.rig.cameras, SizeIs(2));
    for (int eye = 0; eye < 2; ++eye) ExpectSame(read.rig.cameras[eye].camera, rig.rig.cameras[eye].camera);
    ExpectSame(SecondInFirst(read.rig), LeftFromRight());
    ASSERT_TRUE(read.rig.imu.has_value());
    ExpectSame(read.rig.imu->rig_from_imu, BodyFromLeft().Inverse() * rig.rig.imu->rig_from_imu);
    EXPECT_EQ(read.rig.imu->accelerometer_random_walk, rig.rig.imu->accelerometer_random_walk);
  }
  EXPECT_FALSE(FormatOf("orbslam3").write(TurnedRig(CameraModel::kFov, {0.9})).ok());
}

TEST(OrbSlam2, WritesRectifiedPairs) {
  const auto rig = Read(kOrbSlam2);
  const auto files = FormatOf("orbslam2").write(rig);
  ASSERT_TRUE(files.ok()) << files.status();
  const auto read = Read(files->at(0).text);
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  ExpectSame(read.rig.cameras[1].camera, rig.rig.cameras[1].camera);
  ExpectSame(SecondInFirst(read.rig), SecondInFirst(rig.rig));
  EXPECT_THAT(std::string(FormatOf("orbslam2").write(TurnedRig(CameraModel::kPinhole, {})).status().message()),
              HasSubstr("rectified pairs"));
}

}  // namespace
}  // namespace glint::testing
