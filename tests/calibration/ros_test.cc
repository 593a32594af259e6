// ROS's CameraInfo, in files and as printed messages.
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

const char kK[] = "458.654, 0, 367.215, 0, 457.296, 248.375, 0, 0, 1";
const char kRadtan[] = "-0.28, 0.07, 0.0002, 1.7e-05, 0";

std::string CameraInfo(const std::string& name, const Eigen::Matrix3d& rotation, double p3,
                       const std::string& model = "distortion_model: plumb_bob\n", const std::string& d = kRadtan) {
  return absl::StrCat(
      "image_width: 752\nimage_height: 480\ncamera_name: ", name, "\ncamera_matrix:\n  rows: 3\n  cols: 3\n  data: [",
      kK, "]\n", model, "distortion_coefficients:\n  rows: 1\n  cols: 5\n  data: [", d,
      "]\nrectification_matrix:\n  rows: 3\n  cols: 3\n  data: [", Numbers(ByRows(rotation)),
      "]\nprojection_matrix:\n  rows: 3\n  cols: 4\n  data: [435, 0, 367, ", p3, ", 0, 435, 252, 0, 0, 0, 1, 0]\n");
}

absl::StatusOr<calibration::Calibration> ReadPair(const std::string& left, const std::string& right) {
  std::vector<std::string> paths;
  for (const auto& [name, text] : {std::pair("left.yaml", left), std::pair("right.yaml", right)}) {
    paths.push_back((std::filesystem::path(::testing::TempDir()) / absl::StrCat("glint_ros_", name)).string());
    std::ofstream(paths.back()) << text;
  }
  const auto read = calibration::ReadCalibration(paths);
  for (const std::string& path : paths) std::filesystem::remove(path);
  return read;
}

TEST(Ros, APairByItsRectification) {
  const Eigen::Matrix3d left = Turned(0.01, 0.02, 0.03, {}).rotation, right = Turned(-0.02, 0.01, 0, {}).rotation;
  const auto read = ReadPair(CameraInfo("stereo/left", left, 0), CameraInfo("stereo/right", right, -52.2));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->format, "ros");
  EXPECT_THAT(read->warnings, IsEmpty());
  EXPECT_FALSE(read->rectified);
  ASSERT_THAT(read->rig.cameras, SizeIs(2));
  EXPECT_EQ(read->rig.cameras[1].name, "stereo/right");
  ExpectSame(read->rig.cameras[0].camera, RaggedCamera(CameraModel::kRadialTangential, {-0.28, 0.07, 0.0002, 1.7e-05}));
  ExpectSame(SecondInFirst(read->rig), {left.transpose() * right, left.transpose() * Eigen::Vector3d(0.12, 0, 0)});
  EXPECT_EQ(*read->rig.cameras[0].rectified_from_camera, left);
  EXPECT_EQ((*read->rig.cameras[1].projection)(0, 3), -52.2);
}

TEST(Ros, PrintedMessages) {
  const std::string upper = absl::StrCat(
      "header: \n  seq: 7\n  frame_id: \"left_optical\"\nheight: 480\nwidth: 752\ndistortion_model: \"plumb_bob\"\n"
      "D: [",
      kRadtan, "]\nK: [", kK,
      "]\nR: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]\n"
      "P: [435, 0, 367, 0, 0, 435, 252, 0, 0, 0, 1, 0]\nbinning_x: 0\n---\n");
  std::string lower = "---\n";
  for (char c : upper) lower += c == 'D' || c == 'K' || c == 'R' || c == 'P' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const std::string& text : {upper, lower}) {
    const auto read = Read(text);
    ASSERT_THAT(read.rig.cameras, SizeIs(1));
    EXPECT_EQ(read.rig.cameras[0].name, "left_optical");
    ExpectSame(read.rig.cameras[0].camera,
               RaggedCamera(CameraModel::kRadialTangential, {-0.28, 0.07, 0.0002, 1.7e-05}));
    EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("is all 0: no rotation was taken")));
  }
}

TEST(Ros, TakesTheSlipsOfPublishedFiles) {
  const Camera want = RaggedCamera(CameraModel::kRadialTangential, {-0.28, 0.07, 0.0002, 1.7e-05});
  const std::string good = CameraInfo("left", Eigen::Matrix3d::Identity(), 0);
  const auto elsewhere = Read(Without(good, "distortion_model", "camera_model"));
  ExpectSame(elsewhere.rig.cameras[0].camera, want);
  EXPECT_THAT(elsewhere.warnings, ElementsAre("file: distortion_model: is missing: plumb_bob was taken"));
  EXPECT_THAT(Read(Without(good, "distortion_model: plumb_bob\n")).warnings, SizeIs(1));
  ExpectSame(Read(Without(good, "plumb_bob", "rational_polynomial")).rig.cameras[0].camera, want);
  ExpectSame(Read(Without(good, "coefficients", "coefficents")).rig.cameras[0].camera, want);
  const auto comma = Read(Without(good, "435, 0,", "435 0,"));
  EXPECT_EQ((*comma.rig.cameras[0].projection)(0, 0), 435);
  EXPECT_THAT(comma.warnings, ElementsAre(HasSubstr("a comma is missing between numbers")));
  const auto columns = Read(Without(good, "cols: 5", "cols: 8"));
  EXPECT_THAT(columns.warnings,
              ElementsAre("file: distortion_coefficients: 1 x 8 by rows and cols, but has 5 numbers"));
  const auto fisheye = Read(
      CameraInfo("left", Eigen::Matrix3d::Identity(), 0, "distortion_model: equidistant\n", "0.1, 0.2, 0.3, 0.4, 0"));
  ExpectSame(fisheye.rig.cameras[0].camera, RaggedCamera(CameraModel::kKannalaBrandt, {0.1, 0.2, 0.3, 0.4}));
  const auto zero = Read(Without(good, kK, "0, 0, 0, 0, 0, 0, 0, 0, 0"));
  EXPECT_EQ(zero.rig.cameras[0].camera.fx, 435);
  EXPECT_THAT(zero.warnings, ElementsAre(HasSubstr("camera_matrix: is all 0: the images are taken for rectified")));
}

TEST(Ros, RectifiedImages) {
  const auto eye = [](double p3) {
    return Without(CameraInfo("eye", Eigen::Matrix3d::Identity(), p3, "distortion_model: plumb_bob\n", "0, 0, 0, 0, 0"),
                   kK, "435, 0, 367, 0, 435, 252, 0, 0, 1");
  };
  const auto read = ReadPair(eye(0), eye(-52.2));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->rectified);
  EXPECT_EQ(SecondInFirst(read->rig).translation.x(), 52.2 / 435);
  EXPECT_EQ(read->rig.cameras[0].camera.model, CameraModel::kPinhole);
}

// As the calibrator prints it; `sections`: [width] and [height] in place of names below [image].
std::string OstCamera(const std::string& name, const Eigen::Matrix3d& rotation, double p3, bool sections = false) {
  const auto rows = [](const std::vector<double>& values, size_t columns) {
    std::string text;
    for (size_t i = 0; i < values.size(); i += columns) {
      const auto row = values.begin() + static_cast<ptrdiff_t>(i);
      absl::StrAppend(&text, Numbers({row, row + static_cast<ptrdiff_t>(columns)}, " "), "\n");
    }
    return text;
  };
  return absl::StrCat("# oST version 5.0 parameters\n\n\n",
                      sections ? "[width]\n752\n\n[height]\n480\n" : "[image]\n\nwidth\n752\n\nheight\n480\n", "\n[",
                      name, "]\n\ncamera matrix\n", rows({458.654, 0, 367.215, 0, 457.296, 248.375, 0, 0, 1}, 3),
                      "\ndistortion\n-0.28 0.07 0.0002 1.7e-05 0.000000\n\nrectification\n", rows(ByRows(rotation), 3),
                      "\nprojection\n", rows({435, 0, 367, p3, 0, 435, 252, 0, 0, 0, 1, 0}, 4), "\n");
}

TEST(Ros, DumpsOfTheCalibrator) {
  const Eigen::Matrix3d left = Turned(0.01, 0.02, 0.03, {}).rotation, right = Turned(-0.02, 0.01, 0, {}).rotation;
  const RigidTransform pose = {left.transpose() * right, left.transpose() * Eigen::Vector3d(0.12, 0, 0)};
  for (const bool sections : {false, true}) {
    const std::string of_left = OstCamera("narrow_stereo/left", left, 0, sections);
    const std::string of_right = OstCamera("narrow_stereo/right", right, -52.2, sections);
    const auto two_files = ReadPair(of_left, of_right);
    ASSERT_TRUE(two_files.ok()) << two_files.status();
    for (const auto& read : {*two_files, Read(of_left + of_right)}) {
      EXPECT_EQ(read.format, "ros");
      EXPECT_THAT(read.warnings, IsEmpty());
      ASSERT_THAT(read.rig.cameras, SizeIs(2));
      EXPECT_EQ(read.rig.cameras[1].name, "narrow_stereo/right");
      for (const RigCamera& camera : read.rig.cameras) {
        ExpectSame(camera.camera, RaggedCamera(CameraModel::kRadialTangential, {-0.28, 0.07, 0.0002, 1.7e-05}));
      }
      ExpectSame(SecondInFirst(read.rig), pose);
      EXPECT_EQ((*read.rig.cameras[1].projection)(0, 3), -52.2);
    }
  }
}

// What the calibrator prints is often kept twice, and called the same for both cameras.
TEST(Ros, CamerasOfOneName) {
  const Eigen::Matrix3d turn = Eigen::Matrix3d::Identity();
  const std::string left = OstCamera("left", turn, 0), right = OstCamera("right", turn, -52.2);
  const auto twice = Read(left + right + left + right);
  EXPECT_THAT(twice.rig.cameras, SizeIs(2));
  EXPECT_THAT(twice.warnings, IsEmpty());
  const auto differs = Read(left + right + Without(left, "458.654", "459.654"));
  EXPECT_EQ(differs.rig.cameras.at(0).camera.fx, 458.654);
  EXPECT_THAT(differs.warnings,
              ElementsAre("file: left: is in the file twice, with other numbers; the first is taken"));
  const auto files = ReadPair(OstCamera("narrow_stereo", turn, 0), OstCamera("narrow_stereo", turn, -52.2));
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_THAT(files->rig.cameras, SizeIs(2));
  EXPECT_NE(files->rig.cameras[0].name, files->rig.cameras[1].name);
}

TEST(Ros, ErrorsInDumpsNameTheField) {
  const std::string good = OstCamera("left", Eigen::Matrix3d::Identity(), 0);
  EXPECT_EQ(ErrorOf(Without(good, "458.654 ")), "file: camera_matrix: 8 numbers, not 9");
  EXPECT_THAT(ErrorOf(Without(good, "458.654", "many")), HasSubstr("file: camera_matrix: "));
  EXPECT_THAT(ErrorOf(good + "[right]\n"), HasSubstr("file: camera_matrix: of right is missing"));
  EXPECT_THAT(ErrorOf(Without(good, "752", "0.5")), HasSubstr("0.5 x 480 is no image size"));
  const auto four = Read(Without(good, "1.7e-05 0.000000", "1.7e-05"));  // of either model
  EXPECT_THAT(four.warnings, ElementsAre("file: distortion_model: is missing: plumb_bob was taken"));
}

TEST(Ros, ThinPrismAmongTheRationalCoefficients) {
  const std::string d = "-0.28, 0.07, 0.0002, 0, 0, 0.1, 0.02, 0.003, 0.004, 0.005, 0.006, 0.007, 0.05, 0.02";
  const auto read =
      Read(CameraInfo("left", Eigen::Matrix3d::Identity(), 0, "distortion_model: rational_polynomial\n", d));
  EXPECT_EQ(read.rig.cameras[0].camera.model, CameraModel::kThinPrism);
  EXPECT_EQ(read.rig.cameras[0].camera.lens[12], 0.05);
}

// What has no place for the lens says so, by its name.
TEST(Formats, WriteThinPrismsOrRefuseThem) {
  const auto rig = TurnedRig(CameraModel::kThinPrism, {-0.28, 0.07, 0, 0, 0, 0, 0, 0, 0.004, 0, -0.003});
  std::vector<std::string> written;
  for (const calibration::Format& format : calibration::Formats()) {
    if (format.write == nullptr) continue;
    const auto files = format.write(rig);
    if (files.ok()) {
      written.emplace_back(format.name);
    } else if (std::string(format.name) != "kitti" && std::string(format.name) != "orbslam2") {
      EXPECT_THAT(std::string(files.status().message()), HasSubstr("thin-prism")) << format.name;
    }
  }
  EXPECT_THAT(written, ElementsAre("opencv"));
}

TEST(Ros, ErrorsNameTheField) {
  const std::string good = CameraInfo("left", Eigen::Matrix3d::Identity(), 0);
  EXPECT_EQ(ErrorOf(Without(good, "458.654, ")), "file: camera_matrix: 8 numbers, not 9");
  EXPECT_THAT(ErrorOf(Without(good, "458.654", "-1")), HasSubstr("file: camera_matrix: the focal length -1"));
  EXPECT_THAT(ErrorOf(Without(good, "plumb_bob", "cube")), HasSubstr("distortion_model: \"cube\" is not one of"));
  EXPECT_THAT(ErrorOf(Without(good, "image_width: 752", "image_width: many")), HasSubstr("\"many\" in line 1"));
  const auto twice = ReadPair(good, good);
  EXPECT_THAT(std::string(twice.status().message()), HasSubstr("no baseline"));
  const auto alone = ReadPair(Without(good, "projection_matrix", "projection"), good);
  EXPECT_THAT(std::string(alone.status().message()),
              HasSubstr("left.yaml: projection_matrix: is missing: nothing says where the cameras are"));
}

TEST(Ros, WritesWhatItReads) {
  for (const auto& [model, lens] : std::vector<std::pair<CameraModel, std::vector<double>>>{
           {CameraModel::kPinhole, {}},
           {CameraModel::kRadialTangential, {-0.28, 0.07, 0.0002, 1.7e-05, 0.01}},
           {CameraModel::kRational, {-0.28, 0.07, 0.0002, 1.7e-05, 0.01, 0.02, 0.003, 0.001}},
           {CameraModel::kKannalaBrandt, {-0.01, 0.02, -0.003, 0.0004}}}) {
    const auto rig = TurnedRig(model, lens);
    const auto files = FormatOf("ros").write(rig);
    ASSERT_TRUE(files.ok()) << files.status();
    ASSERT_THAT(*files, SizeIs(2));
    const auto read = ReadPair((*files)[0].text, (*files)[1].text);
    ASSERT_TRUE(read.ok()) << read.status();
    ExpectSame(SecondInFirst(read->rig), SecondInFirst(rig.rig), 1e-9);
    ExpectSame(read->rig.cameras[1].camera, rig.rig.cameras[1].camera);
  }
  EXPECT_EQ(FormatOf("ros").write(TurnedRig(CameraModel::kFov, {0.9})).status().message().substr(0, 17),
            "model: ROS has no");
}

}  // namespace
}  // namespace glint::testing
