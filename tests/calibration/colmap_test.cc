// COLMAP's cameras.txt, rigs.txt and images.txt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/calibration/turned_rig.h"

namespace glint::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace fs = std::filesystem;

constexpr char kCameras[] =
    "# Camera list with one line of data per camera:\n#   CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]\n"
    "# Number of cameras: 2\n"
    "1 OPENCV 752 480 458.654 457.296 367.215 248.375 -0.28 0.07 0.0002 0.0001\n"
    "2 PINHOLE 752 480 458.654 457.296 367.215 248.375\n";

std::string Pose(const RigidTransform& pose) {
  const Eigen::Quaterniond q(pose.rotation);
  return Numbers({q.w(), q.x(), q.y(), q.z(), pose.translation.x(), pose.translation.y(), pose.translation.z()}, " ");
}

// A folder of these files.
std::string Folder(const std::string& name, const std::vector<std::pair<std::string, std::string>>& files) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("colmap-" + name);
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const auto& [file, text] : files) std::ofstream(folder / file) << text;
  return folder.string();
}

TEST(Colmap, ModelsByName) {
  const struct {
    std::string line;
    Camera camera;
  } cases[] = {
      {"1 SIMPLE_PINHOLE 640 480 500 320 240", {CameraModel::kPinhole, {640, 480}, 500, 500, 320, 240}},
      {"1 PINHOLE 640 480 500 510 320 240", {CameraModel::kPinhole, {640, 480}, 500, 510, 320, 240}},
      {"1 SIMPLE_RADIAL 640 480 500 320 240 -0.1",
       {CameraModel::kRadialTangential, {640, 480}, 500, 500, 320, 240, {-0.1}}},
      {"1 RADIAL 640 480 500 320 240 -0.1 0.02",
       {CameraModel::kRadialTangential, {640, 480}, 500, 500, 320, 240, {-0.1, 0.02}}},
      {"1 OPENCV 640 480 500 510 320 240 1e-1 2e-2 3e-3 4e-3",
       {CameraModel::kRadialTangential, {640, 480}, 500, 510, 320, 240, {0.1, 0.02, 0.003, 0.004}}},
      {"1 OPENCV_FISHEYE 640 480 500 510 320 240 .1 .02 .003 .004",
       {CameraModel::kKannalaBrandt, {640, 480}, 500, 510, 320, 240, {0.1, 0.02, 0.003, 0.004}}},
      {"1 RADIAL_FISHEYE 640 480 500 320 240 .1 .02",
       {CameraModel::kKannalaBrandt, {640, 480}, 500, 500, 320, 240, {0.1, 0.02}}},
      {"1 FULL_OPENCV 640 480 500 510 320 240 1 2 3 4 5 6 7 8",
       {CameraModel::kRational, {640, 480}, 500, 510, 320, 240, {1, 2, 3, 4, 5, 6, 7, 8}}},
      {"1 FOV 640 480 500 510 320 240 0.9", {CameraModel::kFov, {640, 480}, 500, 510, 320, 240, {0.9}}},
      {"1 EUCM 640 480 500 510 320 240 0.6 1.1", {CameraModel::kEucm, {640, 480}, 500, 510, 320, 240, {0.6, 1.1}}},
  };
  for (const auto& [line, camera] : cases) {
    const auto read = Read(line + "\n");
    ASSERT_THAT(read.rig.cameras, SizeIs(1)) << line;
    EXPECT_EQ(read.format, "colmap");
    ExpectSame(read.rig.cameras[0].camera, camera);
    EXPECT_FALSE(read.unit_is_unknown);
  }
}

TEST(Colmap, RigsTakeTheRigToItsSensors) {
  const std::string rigs =
      "# RIG_ID, NUM_SENSORS, REF_SENSOR_TYPE, REF_SENSOR_ID, SENSORS[]\n1 3 CAMERA 1 IMU 7 0 CAMERA 2 1 " +
      Pose(LeftFromRight().Inverse()) + "\n";
  const auto read =
      calibration::ReadCalibration({Folder("rigs", {{"cameras.txt", kCameras},
                                                    {"rigs.txt", rigs},
                                                    {"frames.txt", "1 1 1 0 0 0 0 0 0 2 CAMERA 1 1 CAMERA 2 2\n"},
                                                    {"points3D.txt", "1 0.1 0.2 0.3 12 13 14 0.5 1 2 3 4\n"}})});
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_THAT(read->rig.cameras, SizeIs(2));
  EXPECT_TRUE(read->unit_is_unknown);
  EXPECT_THAT(read->warnings, IsEmpty());
  ExpectSame(SecondInFirst(read->rig), LeftFromRight());
  EXPECT_EQ(read->rig.cameras[0].camera.model, CameraModel::kRadialTangential);
}

TEST(Colmap, ImagesOfOneNameWereTakenTogether) {
  std::string images = "# IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME\n";
  for (int i = 0; i < 4; ++i) {
    const RigidTransform left = Turned(0.1 * i, 0.2, 0.3 * i, {1.0 * i, 2, 3});  // camera from world
    absl::StrAppend(&images, 2 * i + 1, " ", Pose(left), " 1 left/", i,
                    ".png\n100.5 200.5 -1 10 20 7 30 40 8 50 60 9\n", 2 * i + 2, " ",
                    Pose(LeftFromRight().Inverse() * left), " 2 right/", i, ".png\n\n");
  }
  const auto read =
      calibration::ReadCalibration({Folder("images", {{"cameras.txt", kCameras}, {"images.txt", images}})});
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_THAT(read->rig.cameras, SizeIs(2));
  ExpectSame(SecondInFirst(read->rig), LeftFromRight());
}

TEST(Colmap, SaysThatPosesAreUnknown) {
  const auto read = Read(kCameras);
  EXPECT_THAT(read.rig.cameras, SizeIs(1));
  EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("cameras: the first of 2 is taken")));
}

TEST(Colmap, ErrorsNameTheLine) {
  EXPECT_THAT(ErrorOf("1 THIN_PRISM_FISHEYE 640 480 500 510 320 240 0 0 0 0 0 0 0 0\n"),
              HasSubstr("file:1: \"THIN_PRISM_FISHEYE\": no camera's CAMERA_ID MODEL WIDTH HEIGHT PARAMS of one of the "
                        "models SIMPLE_PINHOLE"));
  EXPECT_THAT(ErrorOf("1 PINHOLE 640 480 500 500 320\n"),
              HasSubstr("file:1: PINHOLE has WIDTH HEIGHT and 4 parameters"));
  EXPECT_THAT(ErrorOf("1 PINHOLE 640.5 480 500 500 320 240\n"), HasSubstr("line 1: 640.5 x 480 is no image size"));
  EXPECT_THAT(ErrorOf("1 2 CAMERA 1 CAMERA 2 1 1 0 0 0 -1 0 0\n"), HasSubstr("cameras.txt is missing"));
  const auto bad = [](const std::string& rigs) {
    return std::string(calibration::ReadCalibration({Folder("bad", {{"cameras.txt", kCameras}, {"rigs.txt", rigs}})})
                           .status()
                           .message());
  };
  EXPECT_THAT(bad("1 2 CAMERA 1 CAMERA 2 1 0.5 0 0 0 -1 0 0\n"),
              HasSubstr("rigs.txt:1: QW QX QY QZ have the norm 0.5"));
  EXPECT_THAT(bad("1 2 CAMERA 1 CAMERA 2 1 1 0 0 0 -1\n"), HasSubstr("rigs.txt:1: a sensor without its HAS_POSE"));
  EXPECT_THAT(bad("1 2 CAMERA 1 CAMERA 9 1 1 0 0 0 -1 0 0\n"), HasSubstr("has no camera 9"));
}

TEST(Colmap, WritesWhatItReads) {
  const std::pair<CameraModel, std::vector<double>> models[] = {
      {CameraModel::kPinhole, {}},
      {CameraModel::kRadialTangential, {-0.28, 0.07, 2e-4, 1e-5}},
      {CameraModel::kRational, {-0.28, 0.07, 2e-4, 1e-5, 0.3, 0.1, 0.01, 0.001}},
      {CameraModel::kKannalaBrandt, {0.01, -0.02, 0.003, 0.0004}},
      {CameraModel::kFov, {0.92}},
      {CameraModel::kEucm, {0.6, 1.1}}};
  for (const auto& [model, lens] : models) {
    const auto rig = TurnedRig(model, lens);
    const auto written = FormatOf("colmap").write(rig);
    ASSERT_TRUE(written.ok()) << written.status();
    ASSERT_THAT(*written, SizeIs(2));
    const auto again = calibration::ReadCalibration(
        {Folder("again", {{(*written)[0].name, (*written)[0].text}, {(*written)[1].name, (*written)[1].text}})});
    ASSERT_TRUE(again.ok()) << again.status();
    ExpectSame(again->rig.cameras[1].camera, rig.rig.cameras[1].camera);
    ExpectSame(SecondInFirst(again->rig), SecondInFirst(rig.rig));
  }
  EXPECT_THAT(FormatOf("colmap").write(TurnedRig(CameraModel::kDoubleSphere, {-0.2, 0.6})).status().message(),
              HasSubstr("COLMAP has no camera model"));
}

}  // namespace
}  // namespace glint::testing
