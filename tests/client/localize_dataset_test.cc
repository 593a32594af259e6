// glint localize FOLDER: tiny data sets of rendered pairs in the layouts of the public ones give what the command with
// all its parts gives, and errors beside a truth that is of the body.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/client/dataset_drive.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(LocalizeDataSet, EurocsTruthIsOfTheBody) {
  const Pictures& pictures = Turned();  // raw pairs, whose left camera is turned by rectification
  WriteMav(pictures, 8, "state_groundtruth_estimate0", ",0,0,0,0,0,0,0,0,0");
  for (const auto& [camera, pose] :
       {std::pair("cam0", ToEigen(kBodyFromCamera)), {"cam1", BodyFromRight(pictures.head)}}) {
    Write(absl::StrCat("mav0/", camera, "/sensor.yaml"),
          absl::StrCat(
              "%YAML:1.0\nsensor_type: camera\nT_BS:\n  cols: 4\n  rows: 4\n  data: [", Numbers(pose),
              ", 0, 0, 0, 1]\nrate_hz: 10\nresolution: [320, 240]\ncamera_model: pinhole\nintrinsics: [195, "
              "195, 159.5, 119.5]\ndistortion_model: radial-tangential\ndistortion_coefficients: [0, 0, 0, 0]\n"));
  }
  Write("mav0/imu0/sensor.yaml",
        "sensor_type: imu\nT_BS:\n  cols: 4\n  rows: 4\n  data: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]\n"
        "rate_hz: 200\ngyroscope_noise_density: 1.7e-4\ngyroscope_random_walk: 2e-5\naccelerometer_noise_density: "
        "2e-3\naccelerometer_random_walk: 3e-3\n");
  const Outcome of_folder = Run({Path()});
  ExpectNearTruth(of_folder, kPairs);
  // By two degrees, which would be 2 cm in 0.6 m if the truth were not turned along.
  EXPECT_LT(Number(of_folder, "end: "), 0.01) << of_folder.out;
  EXPECT_THAT(of_folder.said, HasSubstr("EuRoC: 12 pairs of cam0 and cam1, calibration of sensor.yaml, 200 Hz IMU of "
                                        "imu0, truth of state_groundtruth_estimate0\n"));
  EXPECT_THAT(of_folder.said, HasSubstr("the images are raw"));
  const std::vector<std::string> parts = {"--calibration", Path("mav0"), Path("mav0/cam0/data"),
                                          Path("mav0/cam1/data")};
  std::vector<std::string> explicitly = {"--imu", Path("mav0/imu0"), "--truth",
                                         Path("mav0/state_groundtruth_estimate0/data.csv")};
  explicitly.insert(explicitly.end(), parts.begin(), parts.end());
  ExpectTheSame(of_folder, Run(explicitly));
  EXPECT_EQ(Run({Path("mav0")}).out, of_folder.out);
  // Poses of a body that is 0.6 m from the camera are no truth of the camera, which turns by 27 degrees: the same file
  // without its header shows it.
  const Outcome of_body = Run({"--truth", Path("body.txt"), Path()});
  EXPECT_GT(Number(of_body, "ATE: "), 4 * Number(of_folder, "ATE: ")) << of_body.out << of_folder.out;
  EXPECT_GT(Number(of_body, "end: "), 0.3) << of_body.out;
  EXPECT_THAT(of_body.said, Not(HasSubstr("truth of ")));

  // Options win.
  const Outcome bare = Run({"--imu=", "--truth=", "--max-frames=4", Path()});
  EXPECT_EQ(bare.status, 0) << bare.said;
  EXPECT_EQ(bare.out, "");
  EXPECT_THAT(bare.said, AllOf(HasSubstr("EuRoC: 12 pairs of cam0 and cam1, calibration of sensor.yaml\n"),
                               Not(HasSubstr("imu"))));
  Write("pinhole.txt", "P0: 195 0 159.5 0 0 195 119.5 0 0 0 1 0\nP1: 195 0 159.5 -21 0 195 119.5 0 0 0 1 0\n");
  const Outcome other = Run({"--calibration", Path("pinhole.txt"), "--imu=", Path()});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.said, HasSubstr("an inertial sensor's, and the calibration does not say where that is"));
  const Outcome depth = Run({"--depth", Path()});
  EXPECT_EQ(depth.status, 2);
  EXPECT_THAT(depth.said, HasSubstr("is EuRoC, of pairs"));
  fs::remove(Path("mav0/cam1/sensor.yaml"));
  const Outcome missing = Run({Path()});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.said,
              HasSubstr("option '--calibration': missing; " + Path("mav0") + ": has no cam1/sensor.yaml"));
  fs::remove_all(Path("mav0/cam1"));
  EXPECT_EQ(Run({Path()}).status, 1);
}

TEST_F(LocalizeDataSet, TumViHas16BitsAndAFisheye) {
  const Pictures& pictures = Turned();
  WriteMav(pictures, 16, "mocap0", "");
  std::string chain;
  for (const auto& [camera, pose] :
       {std::pair("cam0", ToEigen(kBodyFromCamera)), {"cam1", BodyFromRight(pictures.head)}}) {
    const Eigen::Isometry3d camera_from_imu = pose.inverse();
    absl::StrAppend(&chain, camera, ":\n  camera_model: pinhole\n  distortion_model: equidistant\n");
    // Those of the tangent, which make the equidistant lens a pinhole.
    absl::StrAppend(&chain, "  distortion_coeffs: [", 1.0 / 3, ", ", 2.0 / 15, ", ", 17.0 / 315, ", ", 62.0 / 2835,
                    "]\n  intrinsics: [195, 195, 159.5, 119.5]\n  resolution: [320, 240]\n  T_cam_imu:\n");
    for (int r = 0; r < 3; ++r) {
      absl::StrAppendFormat(&chain, "  - [%.12f, %.12f, %.12f, %.12f]\n", camera_from_imu(r, 0), camera_from_imu(r, 1),
                            camera_from_imu(r, 2), camera_from_imu(r, 3));
    }
    chain += "  - [0.0, 0.0, 0.0, 1.0]\n";
  }
  Write("dso/camchain.yaml", chain);
  Write("dso/imu_config.yaml",
        "accelerometer_noise_density: 0.0028\naccelerometer_random_walk: 0.00086\ngyroscope_noise_density: 0.00016\n"
        "gyroscope_random_walk: 0.000022\nrostopic: /imu0\nupdate_rate: 200.0\n");
  const Outcome of_folder = Run({Path()});
  ExpectNearTruth(of_folder, kPairs);
  EXPECT_THAT(of_folder.said, HasSubstr("TUM-VI: 12 pairs of cam0 and cam1, calibration of dso/camchain.yaml, 200 Hz "
                                        "IMU of imu0, truth of mocap0\n"));
  ExpectTheSame(of_folder, Run({"--calibration", Path("dso/camchain.yaml") + "," + Path("dso/imu_config.yaml"), "--imu",
                                Path("mav0/imu0"), "--truth", Path("mav0/mocap0/data.csv"), Path("mav0/cam0/data"),
                                Path("mav0/cam1/data")}));
}

TEST_F(LocalizeDataSet, TumRgbdIsOfTheCamera) {
  const Pictures& pictures = Straight();
  std::string rgb = "# color images\n# timestamp filename\n", depth = rgb, truth = "# ground truth trajectory\n";
  for (int i = 0; i < kPairs; ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t us = 1'305'031'102'175'304 + 100'000 * i;
    const auto seconds = [](int64_t n) { return absl::StrFormat("%d.%06d", n / 1'000'000, n % 1'000'000); };
    const std::string image = absl::StrCat("rgb/", seconds(us), ".png"),
                      depths = absl::StrCat("depth/", seconds(us + 7000), ".png");
    WritePicture(image, pictures.left[at]);
    fs::create_directories(Path("depth"));
    ASSERT_TRUE(scene::WriteDepthPng(Path(depths), pictures.depth[at]).ok());
    absl::StrAppend(&rgb, seconds(us), " ", image, "\n");
    if (i != 7) absl::StrAppend(&depth, seconds(us + 7000), " ", depths, "\n");
    const Eigen::Quaterniond q(pictures.truth[at].linear());
    const Eigen::Vector3d p = pictures.truth[at].translation();
    absl::StrAppendFormat(&truth, "%s %.6f %.6f %.6f %.8f %.8f %.8f %.8f\n", seconds(us + 2000), p.x(), p.y(), p.z(),
                          q.x(), q.y(), q.z(), q.w());
  }
  Write("rgb.txt", rgb);
  Write("depth.txt", depth);
  Write("groundtruth.txt", truth);
  const Outcome missing = Run({Path()});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.said,
              HasSubstr("option '--calibration': missing; " + Path() + ": has no calibration, as TUM RGB-D"));
  const std::string camera = "Camera.fx: 195\nCamera.fy: 195\nCamera.cx: 159.5\nCamera.cy: 119.5\n";
  Write("elsewhere/camera.yaml", "%YAML:1.0\n" + camera);
  Write("TUM.yaml", "%YAML:1.0\n" + camera);
  const Outcome of_folder = Run({Path()});
  ExpectNearTruth(of_folder, kPairs - 1);
  EXPECT_THAT(of_folder.said,
              HasSubstr("TUM RGB-D: 11 images of rgb with depths of depth, calibration of TUM.yaml, truth of "
                        "groundtruth.txt; 1 of rgb has no partner and is left out: "));
  fs::remove(Path("depth/1305031102.882304.png"));  // which the list leaves out
  const Outcome of_parts = Run({"--calibration", Path("TUM.yaml"), "--depth", "--depth-unit", absl::StrCat(kDepthUnit),
                                "--truth", Path("groundtruth.txt"), Path("rgb"), Path("depth")});
  ExpectTheSame(of_folder, of_parts);
  EXPECT_EQ(Run({"--calibration", Path("elsewhere/camera.yaml"), Path()}).trajectory, of_folder.trajectory);
  EXPECT_NE(Run({"--depth-unit=0.0004", Path()}).trajectory, of_folder.trajectory);
}

// The frames of a KITTI drive, of which the right one of frame 5 is missing.
TEST_F(LocalizeDataSet, KittisTwoLayoutsAreTheSameDrive) {
  const Pictures& pictures = Straight();
  const std::string odometry = "sequences/06/", raw = "2011_09_26/2011_09_26_drive_0001_sync/";
  std::string times, stamps, nanoseconds, poses;
  for (int i = 0; i < kPairs; ++i) {
    const auto at = static_cast<size_t>(i);
    WritePicture(absl::StrFormat("%simage_0/%06d.png", odometry, i), pictures.left[at]);
    WritePicture(absl::StrFormat("%simage_00/data/%010d.png", raw, i), pictures.left[at]);
    if (i != 5) {
      WritePicture(absl::StrFormat("%simage_1/%06d.png", odometry, i), pictures.right[at]);
      WritePicture(absl::StrFormat("%simage_01/data/%010d.png", raw, i), pictures.right[at]);
    }
    absl::StrAppendFormat(&times, "%.6e\n", 0.1 * i);
    absl::StrAppendFormat(&stamps, "2011-09-26 13:02:%02d.%09d\n", 25 + i / 10, i % 10 * 100'000'000);
    absl::StrAppend(&nanoseconds, 1'317'042'145'000'000'000 + kStep * i, "\n");
    for (int r = 0; r < 3; ++r) {
      const Eigen::Isometry3d from_first = pictures.truth[0].inverse() * pictures.truth[at];
      for (int c = 0; c < 4; ++c) absl::StrAppendFormat(&poses, "%.9e ", from_first(r, c));
    }
    poses += "\n";
  }
  const std::string left = "195 0 159.5 0 0 195 119.5 0 0 0 1 0\n",
                    right = "195 0 159.5 -21.45 0 195 119.5 0 0 0 1 0\n";
  Write(odometry + "calib.txt", "P0: " + left + "P1: " + right + "P2: " + left + "P3: " + right);
  Write(odometry + "times.txt", times);
  Write("poses/06.txt", poses);
  const Outcome of_sequence = Run({Path(odometry)});
  ExpectNearTruth(of_sequence, kPairs - 1);
  EXPECT_THAT(of_sequence.said, HasSubstr("KITTI odometry: 11 pairs of image_0 and image_1, calibration of calib.txt, "
                                          "truth of poses/06.txt; 1 of image_0 has no partner"));
  ExpectTheSame(of_sequence,
                Run({"--calibration", Path(odometry + "calib.txt"), "--times", Path(odometry + "times.txt"), "--truth",
                     Path("poses/06.txt"), Path(odometry + "image_0"), Path(odometry + "image_1")}));

  Write("2011_09_26/calib_cam_to_cam.txt", "S_00: 400 300\nS_rect_00: 320 240\nP_rect_00: " + left +
                                               "S_01: 400 300\nS_rect_01: 320 240\nP_rect_01: " + right);
  Write(raw + "image_00/timestamps.txt", stamps);
  Write(raw + "oxts/dataformat.txt", "");
  Write("ns.txt", nanoseconds);
  const Outcome of_drive = Run({Path(raw)});
  EXPECT_THAT(of_drive.said,
              AllOf(HasSubstr("KITTI raw: 11 pairs of image_00 and image_01, calibration of calib_cam_to_cam.txt"),
                    HasSubstr("oxts (GPS and inertial sensor) is not used")));
  ExpectTheSame(of_drive, Run({"--calibration", Path("2011_09_26/calib_cam_to_cam.txt"), "--times", Path("ns.txt"),
                               Path(raw + "image_00/data"), Path(raw + "image_01/data")}));
  EXPECT_THAT(of_drive.trajectory, StartsWith("1317042145.000000000 "));
}

TEST_F(LocalizeDataSet, OtherFoldersAreAsBefore) {
  WritePicture("both/1.png", Straight().left[0]);
  const Outcome none = Run({Path("both")});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.said, HasSubstr("option '--calibration': missing\n"));
  Write("empty/readme.txt", "");
  Write("calib.txt", "P0: 195 0 159.5 0 0 195 119.5 0 0 0 1 0\nP1: 195 0 159.5 -21 0 195 119.5 0 0 0 1 0\n");
  const Outcome empty = Run({"--calibration", Path("calib.txt"), Path("empty")});
  EXPECT_EQ(empty.status, 1);
  EXPECT_THAT(empty.said, HasSubstr(": no images in this folder"));
}

}  // namespace
}  // namespace glint::cli
