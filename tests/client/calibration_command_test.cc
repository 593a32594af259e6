// glint calibration, and the cameras that glint localize and glint stereo make of --calibration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "calibration/calibration.h"
#include "calibration/formats/format.h"
#include "client/cli/base/command.h"
#include "client/cli/calibration/draw_rig.h"
#include "client/cli/source/calibration.h"
#include "features/camera/camera.h"
#include "tests/support/images.h"

namespace glint::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

namespace fs = std::filesystem;

std::string Write(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "calibration-" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// Kalibr's chain of two cameras, the right one at (`x`, 0, 0) of the left one.
std::string Chain(const std::string& name, double x) {
  std::string text;
  for (int eye = 0; eye < 2; ++eye) {
    absl::StrAppend(&text, "cam", eye, ":\n");
    if (eye == 1) {
      absl::StrAppend(&text, "  T_cn_cnm1:\n  - [1, 0, 0, ", -x, "]\n",
                      "  - [0, 0.9999500004, 0.009999833334, 0]\n  - [0, -0.009999833334, 0.9999500004, 0]\n",
                      "  - [0, 0, 0, 1]\n");
    }
    absl::StrAppend(&text,
                    "  camera_model: pinhole\n  distortion_model: radtan\n"
                    "  distortion_coeffs: [-0.28, 0.074, 0.0002, 0.00002]\n"
                    "  intrinsics: [458.5, 457.25, 367.5, 248.5]\n  resolution: [752, 480]\n");
  }
  return Write(name, text);
}

// ROS CameraInfo of a raw camera, with a projection whose last column begins with `p3`.
std::string CameraInfo(const std::string& name, double p3) {
  const std::string projection = absl::StrCat("[435.2, 0, 367.4, ", p3, ", 0, 435.2, 252.2, 0, 0, 0, 1, 0]");
  return Write(name,
               absl::StrCat("image_width: 752\nimage_height: 480\ncamera_name: ", name,
                            "\ncamera_matrix:\n  rows: 3\n  cols: 3\n  data: [458.5, 0, 367.5, 0, 457.25, 248.5, 0, "
                            "0, 1]\ndistortion_model: plumb_bob\ndistortion_coefficients:\n  rows: 1\n  cols: 5\n"
                            "  data: [-0.28, 0.074, 0.0002, 0.00002, 0]\nrectification_matrix:\n  rows: 3\n"
                            "  cols: 3\n  data: [1, 0, 0, 0, 1, 0, 0, 0, 1]\nprojection_matrix:\n  rows: 3\n"
                            "  cols: 4\n  data: ",
                            projection, "\n"));
}

struct Outcome {
  int status;
  std::string out, err;
};

Outcome Calibrate(const std::vector<std::string>& arguments) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Outcome outcome = {RunCalibration(arguments), "", ""};
  std::fflush(stdout);
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.err = ::testing::internal::GetCapturedStderr();
  return outcome;
}

TEST(CalibrationCommand, SaysWhatIsInAFile) {
  const Outcome said = Calibrate({Chain("chain.yaml", 0.11)});
  EXPECT_EQ(said.status, kOk) << said.out << said.err;
  EXPECT_THAT(said.out, AllOf(HasSubstr("2 cameras, raw images"),
                              HasSubstr("cam0: 752x480, radial-tangential k1 -0.28 k2 0.074 p1 0.0002"),
                              HasSubstr("fx 458.5 fy 457.25 cx 367.5 cy 248.5 pixels, field of view "),
                              HasSubstr("cam1: 0.11 m from cam0, at 0.11 right"), HasSubstr("turned by 0.57 degrees"),
                              HasSubstr("rectified: 752x480, focal length"), Not(HasSubstr("warning"))));
}

TEST(CalibrationCommand, SaysTheSameInJson) {
  const Outcome said = Calibrate({"--json", Chain("chain.yaml", 0.11)});
  EXPECT_EQ(said.status, kOk);
  EXPECT_THAT(said.out, AllOf(HasSubstr("{\"format\":\"kalibr\",\"rectified\":false,"),
                              HasSubstr("\"model\":\"radial-tangential\",\"width\":752,\"height\":480,\"fx\":458.5,"),
                              HasSubstr("\"lens\":{\"k1\":-0.28"), HasSubstr("\"findings\":[]}")));
  EXPECT_EQ(calibration::ParseDocument(said.out).status(), absl::OkStatus());
}

TEST(CalibrationCommand, NamesWhatIsWrong) {
  const Outcome millimetres = Calibrate({Chain("mm.yaml", 110)});
  EXPECT_EQ(millimetres.status, kFailed);
  EXPECT_THAT(millimetres.out,
              HasSubstr("warning: cam0, cam1: a baseline of 110 m is not 0.005 to 2 m: probably milli"));
  const Outcome exchanged = Calibrate({"--json", CameraInfo("left.yaml", 0), CameraInfo("right.yaml", 47.9)});
  EXPECT_EQ(exchanged.status, kFailed);
  EXPECT_THAT(exchanged.out, AllOf(HasSubstr("{\"severity\":\"error\""), HasSubstr("m to the left of ")));
  // With commas as --calibration of other commands takes them.
  const Outcome together = Calibrate({CameraInfo("left.yaml", 0) + "," + CameraInfo("right.yaml", -47.9)});
  EXPECT_EQ(together.status, kOk) << together.out << together.err;
  EXPECT_THAT(together.out, HasSubstr("2 cameras, raw images"));
  const Outcome reordered = Calibrate({Chain("left.yaml", -0.11)});
  EXPECT_EQ(reordered.status, kOk);
  EXPECT_THAT(reordered.out, HasSubstr("note: cam1 lies 0.11 m to the left of cam0"));
  EXPECT_THAT(Calibrate({"--size", "1504x960", Chain("chain.yaml", 0.11)}).out,
              HasSubstr("multiply fx, fy, cx and cy by 2"));
}

TEST(CalibrationCommand, RefusesWhatIsNoCalibration) {
  const Outcome text = Calibrate({Write("song.txt", "Of all that is gold\n")});
  EXPECT_EQ(text.status, kFailed);
  EXPECT_THAT(text.err, HasSubstr("calibration-song.txt"));
  EXPECT_EQ(Calibrate({"/nowhere.yaml"}).status, kFailed);
  const std::string chain = Chain("chain.yaml", 0.11);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{},
                                                {"--to", "kalibr", chain},
                                                {"--output", "x", chain},
                                                {"--size", "640", chain},
                                                {"--to", "sextant", "--output", "x", chain}}) {
    EXPECT_EQ(Calibrate(wrong).status, kUsage);
  }
  EXPECT_THAT(Calibrate({"--size", "0x480", chain}).err, HasSubstr("is not WIDTHxHEIGHT, each in 1..16384 pixels"));
  EXPECT_THAT(Calibrate({"--help"}).out, AllOf(HasSubstr("kalibr"), HasSubstr("Exit status")));
}

// Each format that is written gives the cameras back, without a finding.
TEST(CalibrationCommand, ConvertsThereAndBack) {
  const std::string chain = Chain("chain.yaml", 0.11);
  const auto original = calibration::ReadCalibration({chain});
  ASSERT_TRUE(original.ok()) << original.status();
  int written = 0;
  for (const calibration::Format& format : calibration::Formats()) {
    if (format.write == nullptr || !format.write(*original).ok()) continue;
    ++written;
    const std::string folder = ::testing::TempDir() + "calibration-" + format.name + "/";
    fs::remove_all(folder);
    const Outcome to = Calibrate({"--to", format.name, "--output", folder, chain});
    EXPECT_EQ(to.status, kOk) << format.name << to.err;
    const Outcome back = Calibrate({folder});
    EXPECT_EQ(back.status, kOk) << format.name << back.out << back.err;
    const auto read = calibration::ReadCalibration({folder});
    ASSERT_TRUE(read.ok()) << format.name << read.status();
    for (size_t i = 0; i < 2; ++i) {
      const RigCamera &a = original->rig.cameras[i], &b = read->rig.cameras[i];
      EXPECT_EQ(a.camera.fy, b.camera.fy) << format.name;
      EXPECT_EQ(a.camera.lens, b.camera.lens) << format.name;
      const Eigen::Vector3d way = a.rig_from_camera.translation - original->rig.cameras[0].rig_from_camera.translation;
      EXPECT_NEAR(way.norm(), (b.rig_from_camera.translation - read->rig.cameras[0].rig_from_camera.translation).norm(),
                  1e-9)
          << format.name;
    }
  }
  EXPECT_GE(written, 4);
}

// Of files that do not say the size of the images.
TEST(CalibrationCommand, FormatsThatSayTheSizeNeedIt) {
  const std::string matrix = Write("K.txt", "754.5 0.0 489.25 0.0 754.5 265.125 0.0 0.0 1.0\n0.0625\n");
  const std::string chain = ::testing::TempDir() + "calibration-sized.yaml";
  for (const char* format : {"kalibr", "euroc", "basalt", "edex", "colmap"}) {
    const Outcome to = Calibrate({"--to", format, "--output", chain, matrix});
    EXPECT_EQ(to.status, kFailed) << format;
    EXPECT_THAT(to.err, AllOf(HasSubstr("camera left: the size of its images is not known"), HasSubstr("--size")));
  }
  const Outcome sized = Calibrate({"--size", "960x540", "--to", "kalibr", "--output", chain, matrix});
  EXPECT_EQ(sized.status, kOk) << sized.out << sized.err;
  EXPECT_THAT(sized.out, HasSubstr("left: 960x540, pinhole"));
  const Outcome back = Calibrate({chain});
  EXPECT_EQ(back.status, kOk);
  EXPECT_THAT(back.out, AllOf(HasSubstr("cam0: 960x540, pinhole"), HasSubstr("2 cameras, rectified images"),
                              HasSubstr("cam1: 0.0625 m from cam0")));
}

// Each format that is written gives the inertial sensor back, or the command says that it has no place for it.
TEST(CalibrationCommand, ConvertsTheInertialSensorOrSaysThatItIsLeftOut) {
  std::string text;
  for (int eye = 0; eye < 2; ++eye) {
    absl::StrAppend(&text, "cam", eye, ":\n  T_cam_imu:\n  - [1, 0, 0, ", 0.02 - 0.11 * eye,
                    "]\n  - [0, 1, 0, 0.03]\n  - [0, 0, 1, -0.04]\n  - [0, 0, 0, 1]\n",
                    "  camera_model: pinhole\n  distortion_model: none\n  distortion_coeffs: []\n"
                    "  intrinsics: [458.5, 458.5, 367.5, 248.5]\n  resolution: [752, 480]\n");
  }
  const std::string chain = Write("imucam.yaml", text);
  std::vector<std::string> with, without;
  for (const calibration::Format& format : calibration::Formats()) {
    if (format.write == nullptr) continue;
    SCOPED_TRACE(format.name);
    const std::string folder = ::testing::TempDir() + "calibration-imu-" + format.name + "/";
    fs::remove_all(folder);
    const Outcome to = Calibrate({"--to", format.name, "--output", folder, chain});
    ASSERT_EQ(to.status, kOk) << to.out << to.err;
    const auto read = calibration::ReadCalibration({folder});
    ASSERT_TRUE(read.ok()) << read.status();
    (read->rig.imu.has_value() ? with : without).push_back(format.name);
    if (!read->rig.imu.has_value()) {
      EXPECT_THAT(to.err, HasSubstr(absl::StrCat("warning: --to ", format.name,
                                                 ": its files have no inertial sensor; the rig's is left out")));
      continue;
    }
    EXPECT_THAT(to.err, Not(HasSubstr("inertial")));
    const RigidTransform first_from_imu = read->rig.cameras[0].rig_from_camera.Inverse() * read->rig.imu->rig_from_imu;
    EXPECT_LT((first_from_imu.translation - Eigen::Vector3d(0.02, 0.03, -0.04)).norm(), 1e-9);
  }
  EXPECT_THAT(with, UnorderedElementsAre("kalibr", "euroc", "orbslam3", "basalt", "edex"));
  EXPECT_THAT(without, Not(IsEmpty()));
}

TEST(CalibrationCommand, DrawsTheRig) {
  const std::string picture = ::testing::TempDir() + "calibration-rig.png";
  EXPECT_EQ(Calibrate({"--draw", picture, Chain("chain.yaml", 0.11)}).status, kOk);
  const cv::Mat drawn = cv::imread(picture);
  EXPECT_EQ(drawn.size(), cv::Size(3 * 360, 360));
  // A pinhole moves nothing, and a lens does.
  Rig rig = calibration::ReadCalibration({Chain("chain.yaml", 0.11)})->rig;
  const cv::Mat bent = DrawRig(rig);
  rig.cameras[1].camera.model = CameraModel::kPinhole;
  const cv::Mat straight = DrawRig(rig);
  EXPECT_EQ(cv::norm(bent.colRange(0, 720), straight.colRange(0, 720), cv::NORM_INF), 0);
  EXPECT_GT(cv::norm(bent.colRange(720, 1080), straight.colRange(720, 1080), cv::NORM_INF), 100);
  EXPECT_EQ(Calibrate({"--draw", "/nowhere/rig.png", Chain("chain.yaml", 0.11)}).status, kCannotWrite);
}

// Two views of a texture 16 pixels apart, and the calibration of cameras that see it so.
struct Views {
  std::string left, right, calibration;
  Views() {
    const Image texture = testing::Texture({656, 480}, 3);
    left = Save("left.png", texture, 0);
    right = Save("right.png", texture, 16);
    calibration = Write("views.txt", "P0: 500 0 320 0 0 500 240 0 0 0 1 0\nP1: 500 0 320 -50 0 500 240 0 0 0 1 0\n");
  }
  static std::string Save(const std::string& name, const Image& texture, int from) {
    const std::string path = ::testing::TempDir() + "calibration-" + name;
    const cv::Mat all(480, 656, CV_8U, const_cast<uint8_t*>(texture.row(0)), static_cast<size_t>(texture.stride()));
    EXPECT_TRUE(cv::imwrite(path, all.colRange(from, from + 640)));
    return path;
  }
};

TEST(CalibrationCommand, ImagesTellWhichReadingIsRight) {
  const Views views;
  const std::vector<std::string> by = {"--server", "inproc", "--backend", "cpu", "--images"};
  const auto judge = [&](const std::string& images) {
    std::vector<std::string> arguments = by;
    arguments.insert(arguments.end(), {images, views.calibration});
    return Calibrate(arguments);
  };
  const Outcome right = judge(views.left + "," + views.right);
  EXPECT_EQ(right.status, kOk) << right.out << right.err;
  EXPECT_THAT(right.out, HasSubstr("px from the epipolar lines, 100 % in front: as it stands"));
  const Outcome exchanged = judge(views.right + "," + views.left);
  EXPECT_EQ(exchanged.status, kFailed);
  EXPECT_THAT(exchanged.out,
              HasSubstr("with the points behind the cameras, and 0.00 px with the pose of P1 to P0 inverted, "
                        "or the cameras exchanged"));
  EXPECT_EQ(judge("/nowhere.png," + views.right).status, kFailed);
}

TEST(CalibrationFlags, StereoAndLocalizeTakeRawPairs) {
  const Views views;
  const std::string rig = Chain("raw.yaml", 0.11);
  const std::string csv = ::testing::TempDir() + "calibration-raw.csv";
  const auto run = [&](int (*command)(const std::vector<std::string>&), std::vector<std::string> more) {
    std::vector<std::string> arguments = {"--server", "inproc",   "--backend", "cpu",
                                          "--csv",    "--output", csv,         "--calibration"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    ::testing::internal::CaptureStderr();
    const int status = command(arguments);
    return std::pair(status, ::testing::internal::GetCapturedStderr());
  };
  const auto [rectified, nothing] = run(RunStereo, {views.calibration, views.left, views.right});
  EXPECT_EQ(rectified, kOk) << nothing;
  EXPECT_EQ(nothing, "");
  std::ifstream rows(csv);
  std::string row;
  ASSERT_TRUE(std::getline(rows, row) && std::getline(rows, row));
  const std::vector<std::string> fields = absl::StrSplit(row, ',');
  ASSERT_EQ(fields.size(), 8u);
  EXPECT_NEAR(std::stod(fields[6]), 500 * 0.1 / 16, 0.01);

  const auto [wrong_size, why] = run(RunStereo, {rig, views.left, views.right});
  EXPECT_EQ(wrong_size, kUsage);
  EXPECT_THAT(why, HasSubstr("the calibration is of images of 752x480, and the images have 640x480"));
  const auto [both, why_both] = run(RunStereo, {rig, "--baseline", "0.1", views.left, views.right});
  EXPECT_EQ(both, kUsage);
  EXPECT_THAT(why_both, HasSubstr("option '--calibration': not with --focal-length or --baseline"));

  std::string text = "%YAML:1.0\n---\nimage_width: 640\nimage_height: 480\n";
  for (const std::string eye : {"1", "2"}) {
    absl::StrAppend(&text, "K", eye, ": !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n",
                    "   data: [ 500., 0., 320., 0., 500., 240., 0., 0., 1. ]\nD", eye,
                    ": !!opencv-matrix\n   rows: 1\n   cols: 5\n   dt: d\n   data: [ -0.1, 0., 0., 0., 0. ]\n");
  }
  absl::StrAppend(&text,
                  "R: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n   data: [ 1., 0., 0., 0., 1., 0., 0., ",
                  "0., 1. ]\nT: !!opencv-matrix\n   rows: 3\n   cols: 1\n   dt: d\n   data: [ -0.1, 0., 0. ]\n");
  const std::string raw = Write("raw.yml", text);
  for (const auto command : {RunStereo, RunLocalize}) {
    const auto [status, said] = run(command, {raw, views.left, views.right});
    EXPECT_EQ(status, kOk) << said;
    EXPECT_THAT(said, HasSubstr("camera: opencv, radial-tangential, 640x480, baseline 0.100 m; the images are raw"));
  }
}

absl::StatusOr<PairCameras> CamerasOf(std::vector<std::string> arguments, const Shape& image, bool of_one = false) {
  Flags flags;
  CalibrationFlags calibration;
  calibration.AddTo(&flags, false);
  EXPECT_TRUE(flags.Parse(arguments).ok());
  return of_one ? calibration.ReadWithDepth(image) : calibration.Read(image);
}

TEST(CalibrationFlags, RawCamerasAreARig) {
  const auto raw = CamerasOf({"--calibration", Chain("chain.yaml", 0.11)}, {752, 480});
  ASSERT_TRUE(raw.ok()) << raw.status();
  ASSERT_TRUE(raw->rig.has_value());
  EXPECT_EQ(raw->rig->left.fx, 458.5);
  EXPECT_EQ(raw->rig->right.lens[0], -0.28);
  EXPECT_EQ(raw->rig->right_from_left.translation.x(), -0.11);
  EXPECT_THAT(raw->notes,
              ElementsAre("camera: kalibr, radial-tangential, 752x480, baseline 0.110 m; the images are raw, "
                          "and the server rectifies them"));
}

TEST(CalibrationFlags, FilesThatSayBothAreRawUnlessToldOtherwise) {
  const std::string files = CameraInfo("left.yaml", 0) + "," + CameraInfo("right.yaml", -47.9);
  const auto raw = CamerasOf({"--calibration", files}, {752, 480});
  ASSERT_TRUE(raw.ok()) << raw.status();
  EXPECT_TRUE(raw->rig.has_value());
  ASSERT_THAT(raw->notes, SizeIs(1));
  EXPECT_THAT(raw->notes[0], HasSubstr("(--rectified, if that was done already)"));
  const auto rectified = CamerasOf({"--rectified", "--calibration", files}, {752, 480});
  ASSERT_TRUE(rectified.ok()) << rectified.status();
  EXPECT_FALSE(rectified->rig.has_value());
  EXPECT_THAT(rectified->notes, IsEmpty());
  EXPECT_EQ(rectified->camera.right_projection[3], -47.9);
  EXPECT_EQ(rectified->focal_length(), 435.2);
  EXPECT_NEAR(rectified->baseline(), 0.11, 1e-3);
  EXPECT_THAT(CamerasOf({"--rectified", "--calibration", Chain("chain.yaml", 0.11)}, {752, 480}).status().message(),
              HasSubstr("has no projections of rectified images"));
}

TEST(CalibrationFlags, WhatCannotBeRightIsRefused) {
  EXPECT_THAT(CamerasOf({"--calibration", Chain("chain.yaml", 0.11)}, {640, 480}).status().message(),
              HasSubstr("the images have 640x480"));
  const auto millimetres = CamerasOf({"--calibration", Chain("mm.yaml", 110)}, {752, 480});
  ASSERT_TRUE(millimetres.ok());
  EXPECT_THAT(millimetres->notes[0], HasSubstr("warning: cam0, cam1: a baseline of 110 m"));
  EXPECT_THAT(CamerasOf({"--calibration", Chain("chain.yaml", 0.11), "--cameras", "cam0"}, {}).status().message(),
              HasSubstr("'cam0' is not LEFT,RIGHT"));
}

TEST(CalibrationFlags, OneCameraIsEnoughWithDepth) {
  const auto one = CamerasOf({"--calibration", Chain("chain.yaml", 0.11)}, {752, 480}, /*of_one=*/true);
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_TRUE(one->raw_camera.has_value());
  EXPECT_EQ(one->raw_camera->camera.fy, 457.25);
  EXPECT_EQ(one->raw_camera->camera.lens[0], -0.28);
  EXPECT_FALSE(one->raw_camera->depth_camera.has_value());
  EXPECT_THAT(one->notes, ElementsAre(HasSubstr("images and depths are raw, and the server undoes the lens")));
  const auto rectified =
      CamerasOf({"--calibration", Chain("chain.yaml", 0.11), "--rectified"}, {752, 480}, /*of_one=*/true);
  ASSERT_TRUE(rectified.ok()) << rectified.status();
  EXPECT_FALSE(rectified->raw_camera.has_value());
  EXPECT_THAT(rectified->camera.left_projection, ElementsAre(458.5, 0, 367.5, 0, 0, 457.25, 248.5, 0, 0, 0, 1, 0));
  EXPECT_THAT(rectified->notes, ElementsAre(HasSubstr("the file's lens is not used")));
}

}  // namespace
}  // namespace glint::cli
