// EuRoC's sensor.yaml, and calibrations of several files and folders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/calibration/turned_rig.h"

namespace glint::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string EurocPose(const RigidTransform& t) {
  Eigen::Matrix4d m = Eigen::Matrix4d::Identity();
  m.topRows<3>() << t.rotation, t.translation;
  const Eigen::Matrix4d by_columns = m.transpose();
  return absl::StrCat("T_BS:\n  cols: 4\n  rows: 4\n  data: [",
                      Numbers(std::vector<double>(by_columns.data(), by_columns.data() + 16), ",\n         "), "]\n");
}

std::string EurocCamera(const RigidTransform& pose) {
  return absl::StrCat("# General sensor definitions.\nsensor_type: camera\ncomment: VI-Sensor cam0 (MT9M034)\n",
                      EurocPose(pose),
                      "rate_hz: 20\nresolution: [752, 480]\ncamera_model: pinhole\n"
                      "intrinsics: [458.654, 457.296, 367.215, 248.375] #fu, fv, cu, cv\n"
                      "distortion_model: radial-tangential\n"
                      "distortion_coefficients: [-0.28340811, 0.07395907, 0.00019359, 1.76187114e-05]\n");
}

std::string EurocImu() {
  return "sensor_type: imu\ncomment: VI-Sensor IMU (ADIS16448)\n" + EurocPose({}) +
         "rate_hz: 200\ngyroscope_noise_density: 1.6968e-04\ngyroscope_random_walk: 1.9393e-05\n"
         "accelerometer_noise_density: 2.0000e-3\naccelerometer_random_walk: 3.0000e-3\n";
}

// A folder of its own for each test.
class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              absl::StrCat("glint_calibration_", ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Put(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  static std::string ErrorAt(const std::vector<std::string>& paths) {
    return std::string(calibration::ReadCalibration(paths).status().message());
  }

  fs::path folder_;
};

using Euroc = Folder;

void ExpectEuroc(const absl::StatusOr<calibration::Calibration>& read) {
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->format, "euroc");
  ASSERT_THAT(read->rig.cameras, SizeIs(2));
  EXPECT_EQ(read->rig.cameras[0].name, "cam0");
  ExpectSame(read->rig.cameras[0].rig_from_camera, BodyFromLeft());
  ExpectSame(SecondInFirst(read->rig), LeftFromRight());
  ExpectSame(read->rig.cameras[0].camera,
             RaggedCamera(CameraModel::kRadialTangential, {-0.28340811, 0.07395907, 0.00019359, 1.76187114e-05}));
}

TEST_F(Euroc, FoldersOfSensors) {
  const std::string left = Put("mav0/cam0/sensor.yaml", EurocCamera(BodyFromLeft()));
  const std::string right = Put("mav0/cam1/sensor.yaml", EurocCamera(BodyFromLeft() * LeftFromRight()));
  Put("mav0/imu0/sensor.yaml", EurocImu());
  Put("mav0/leica0/sensor.yaml", "sensor_type: position\n" + EurocPose({}));
  Put("mav0/cam0/data.csv", "#timestamp [ns],filename\n1,1.png\n");
  Put("mav0/body.yaml", "comment: a drone\n");
  for (const fs::path& folder : {folder_, folder_ / "mav0"}) {
    const auto read = calibration::ReadCalibration({folder.string()});
    ExpectEuroc(read);
    ASSERT_TRUE(read.ok() && read->rig.imu.has_value());
    EXPECT_EQ(read->rig.imu->rate_hz, 200);
    EXPECT_EQ(read->rig.imu->gyroscope_noise_density, 1.6968e-04);
    ExpectSame(read->rig.imu->rig_from_imu, {});
  }
  ExpectEuroc(calibration::ReadCalibration({left, right}));
  ExpectEuroc(calibration::ReadCalibration({fs::path(left).parent_path().string(), right}));
}

// Kimera-VIO's: no sensor_type; others call the pose T_Cam0, or the camera a fisheye.
TEST_F(Euroc, FilesThatLookLikeIt) {
  const auto without = [](const std::string& text, const std::string& line) {
    return absl::StrReplaceAll(text, {{line, ""}});
  };
  const std::string left = Put("LeftCameraParams.yaml", without(EurocCamera(BodyFromLeft()), "sensor_type: camera\n"));
  const std::string right = Put(
      "RightCameraParams.yaml",
      absl::StrReplaceAll(
          EurocCamera(BodyFromLeft() * LeftFromRight()),
          {{"sensor_type: camera\n", ""}, {"T_BS:", "T_Cam1:"}, {"camera_model: pinhole", "camera_model: fisheye"}}));
  const std::string imu = Put("ImuParams.yaml", without(EurocImu(), "sensor_type: imu\n"));
  const auto read = calibration::ReadCalibration({left, right, imu});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->format, "euroc");
  ASSERT_THAT(read->rig.cameras, SizeIs(2));
  EXPECT_TRUE(read->rig.imu.has_value());
  ExpectSame(SecondInFirst(read->rig), LeftFromRight());
  EXPECT_EQ(read->rig.cameras[1].camera.model, CameraModel::kRadialTangential);
  EXPECT_THAT(read->warnings, ::testing::ElementsAre(HasSubstr("is fisheye; the lens is taken as radial-tangential")));
}

TEST_F(Euroc, ErrorsNameFileAndField) {
  const std::string path = Put("cam0/sensor.yaml", Without(EurocCamera({}), "458.654, "));
  EXPECT_EQ(ErrorAt({path}), path + ": intrinsics: 3 numbers, not 4");
  EXPECT_EQ(ErrorOf("sensor_type: position\n" + EurocPose({})),
            "file: sensor_type: \"position\" is not one of camera, imu");
  EXPECT_EQ(ErrorOf(EurocImu()), "file: sensor_type: an IMU alone is no camera's calibration");
  EXPECT_EQ(ErrorOf(Without(EurocCamera({}), "0,\n         0,\n         0,\n         1]", "1, 0, 0, 1]")),
            "file: T_BS: the last row is not 0 0 0 1");
}

TEST_F(Euroc, WritesWhatItReads) {
  const auto rig = TurnedRig(CameraModel::kKannalaBrandt, {0.1, 0.2, 0.3, 0.4});
  const auto files = FormatOf("euroc").write(rig);
  ASSERT_TRUE(files.ok()) << files.status();
  for (const calibration::NamedText& file : *files) Put(file.name, file.text);
  const auto read = calibration::ReadCalibration({folder_.string()});
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectSame(SecondInFirst(read->rig), SecondInFirst(rig.rig));
  ExpectSame(read->rig.cameras[1].camera, rig.rig.cameras[1].camera);
  ExpectSame(read->rig.cameras[0].rig_from_camera,
             rig.rig.imu->rig_from_imu.Inverse() * rig.rig.cameras[0].rig_from_camera);
}

using Files = Folder;

TEST_F(Files, WhatIsNoCalibrationIsRefused) {
  const std::string missing = (folder_ / "none.yaml").string();
  EXPECT_EQ(calibration::ReadCalibration({missing}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(ErrorAt({missing}), HasSubstr("none.yaml: cannot be read"));
  const std::string texts[] = {
      std::string("\x01\x02\0\0", 4),     "# Readme\n\nCameras: see below.\n", "time,x,y\n1,2,3\n", "", "{\"a\": 1}",
      "<html><body>cameras</body></html>"};
  for (const std::string& text : texts) {
    EXPECT_THAT(ErrorAt({Put("file", text)}),
                AllOf(HasSubstr("file: no calibration that Glint knows"), HasSubstr("Kalibr camchain, EuRoC")))
        << text;
  }
  EXPECT_THAT(ErrorAt({Put("file", std::string((16 << 20) + 1, 'a'))}), HasSubstr("are more than the 16777216"));
  fs::remove(folder_ / "file");
  EXPECT_THAT(ErrorAt({folder_.string()}), HasSubstr("no calibration that Glint knows among no files of text"));
  Put("readme.md", "# Readme\n");
  EXPECT_THAT(ErrorAt({folder_.string()}), HasSubstr("no calibration that Glint knows among readme.md: "));
}

// As large as files may be: lines of words, of numbers, one line, JSON and XML of something else.
TEST_F(Files, LargeFilesOfSomethingElseAreRefused) {
  for (const std::string part : {"some words of a text\n", "1403636579763555584,0.1,0.2,0.3\n",
                                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "key: value\n"}) {
    std::string text;
    while (text.size() + part.size() <= (16 << 20)) text += part;
    EXPECT_THAT(ErrorAt({Put("file", text)}), HasSubstr("no calibration that Glint knows"));
  }
  const std::string blank(15 << 20, ' ');
  EXPECT_THAT(ErrorAt({Put("file", "{\"a\": \"" + blank + "\"}")}), HasSubstr("no calibration that Glint knows"));
  EXPECT_THAT(ErrorAt({Put("file", "<a><b>" + blank + "</b></a>")}), HasSubstr("no calibration that Glint knows"));
}

TEST_F(Files, OfSeveralFormatsOneIsNamed) {
  const std::string euroc = Put("sensor.yaml", EurocCamera({}));
  const std::string kalibr =
      Put("camchain.yaml",
          "cam0:\n  camera_model: pinhole\n  intrinsics: [458, 457, 367, 248]\n  distortion_model: none\n");
  EXPECT_THAT(ErrorAt({folder_.string()}),
              HasSubstr("several calibrations: name one of camchain.yaml (Kalibr camchain), sensor.yaml (EuRoC"));
  EXPECT_EQ(ErrorAt({euroc, kalibr}), euroc + " is EuRoC sensor.yaml, but " + kalibr + " is Kalibr camchain");
  EXPECT_EQ(ErrorAt({}), "no path of a calibration");
}

// A chain and the noise of its IMU, as Kalibr takes them: two files of a folder, or given one after the other.
TEST_F(Files, KalibrsChainAndImu) {
  const std::string chain =
      Put("chain.yaml",
          "cam0:\n  T_cam_imu: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]\n  camera_model: pinhole\n"
          "  intrinsics: [458, 457, 367, 248]\n  distortion_model: none\n  resolution: [752, 480]\n");
  const std::string imu = Put("imu.yaml", "accelerometer_noise_density: 0.002\nupdate_rate: 200.0\n");
  for (const std::vector<std::string>& paths : {std::vector<std::string>{folder_.string()}, {chain, imu}}) {
    const auto read = calibration::ReadCalibration(paths);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->rig.imu->accelerometer_noise_density, 0.002);
  }
}

}  // namespace
}  // namespace glint::testing
