// What files around OpenCV leave out or say in one number: empty matrices, a baseline, skew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "calibration/check.h"
#include "tests/calibration/turned_rig.h"

namespace glint::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kOne[] = "width: 960\nheight: 540\nK: [754.5, 0.0, 489.25, 0.0, 754.5, 265.125, 0.0, 0.0, 1.0]\n";
constexpr char kEmpty[] = ": !!opencv-matrix\n   rows: 0\n   cols: 0\n   dt: u\n   data: [ ]\n";

TEST(OpenCvHabits, EmptyDistortionIsNone) {
  for (const std::string& d : {absl::StrCat("D", kEmpty), Without(absl::StrCat("D", kEmpty), "[ ]")}) {
    const auto read = Read(absl::StrCat("%YAML:1.0\n---\n", kOne, d));
    ASSERT_THAT(read.rig.cameras, SizeIs(1));
    EXPECT_EQ(read.rig.cameras[0].camera.model, CameraModel::kPinhole);
    // cv::fisheye takes an empty D for four zeros.
    EXPECT_EQ(Read(absl::StrCat(kOne, "fisheye: 1\n", d)).rig.cameras[0].camera.model, CameraModel::kKannalaBrandt);
  }
  const auto xml = Read(
      "<?xml version=\"1.0\"?>\n<opencv_storage><K type_id=\"opencv-matrix\"><rows>3</rows><cols>3</cols><dt>d</dt>"
      "<data>754.5 0 489.25 0 754.5 265.125 0 0 1</data></K><D type_id=\"opencv-matrix\"><rows>0</rows><cols>0</cols>"
      "<dt>d</dt><data></data></D></opencv_storage>");
  EXPECT_EQ(xml.rig.cameras.at(0).camera.model, CameraModel::kPinhole);
}

TEST(OpenCvHabits, OneLensOfAPairIsMissing) {
  const std::string pair =
      absl::StrCat("K1: [754, 0, 489, 0, 754, 265, 0, 0, 1]\nK2: [755, 0, 489, 0, 755, 265, 0, 0, 1]\nD2", kEmpty,
                   "D1: [-0.28, 0.07, 0.0002, 0.0001, 0]\nR: [1, 0, 0, 0, 1, 0, 0, 0, 1]\nT: [-0.1, 0, 0]\n");
  const auto findings = calibration::Check(Read(pair));
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].text, HasSubstr("camera1, camera2: the right one has no distortion, and the other has rad"));
}

TEST(OpenCvHabits, OneCameraAndABaselineAreARectifiedPair) {
  const auto read = Read(absl::StrCat("baseline: 0.0625\n", kOne));
  EXPECT_TRUE(read.rectified);
  EXPECT_TRUE(read.unit_is_unknown);
  EXPECT_THAT(read.warnings, IsEmpty());
  EXPECT_THAT(read.notes, ElementsAre(HasSubstr("file: baseline: beside one camera: taken as two of it")));
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  EXPECT_EQ(read.rig.cameras[1].camera.image, (Shape{960, 540}));
  ExpectSame(SecondInFirst(read.rig), {Eigen::Matrix3d::Identity(), {0.0625, 0, 0}});
  for (const auto& [field, metres] : {std::pair{"baseline_mm: 62.5\n", 0.0625},
                                      {"baseline_cm: 6.25\n", 0.0625},
                                      {"stereo: {baseline_m: 0.5}\n", 0.5}}) {
    const auto unit = Read(absl::StrCat(field, kOne));
    EXPECT_FALSE(unit.unit_is_unknown) << field;
    EXPECT_NEAR(SecondInFirst(unit.rig).translation.x(), metres, 1e-15) << field;
  }
  // The same camera twice is one.
  const auto twice = Read(absl::StrCat("baseline: 0.0625\nK_left: [754, 0, 489, 0, 754, 265, 0, 0, 1]\n",
                                       "K_right: [754, 0, 489, 0, 754, 265, 0, 0, 1]\n"));
  EXPECT_TRUE(twice.rectified);
  EXPECT_THAT(ErrorOf(absl::StrCat("baseline: -0.0625\n", kOne)), HasSubstr("file: baseline: -0.0625 is not above 0"));
}

TEST(OpenCvHabits, ABaselineOfRawCamerasIsLeftOut) {
  const auto lens = Read(absl::StrCat("baseline: 0.0625\nD: [-0.28, 0.07, 0.0002, 0.0001, 0]\n", kOne));
  EXPECT_THAT(lens.rig.cameras, SizeIs(1));
  EXPECT_THAT(lens.warnings, ElementsAre(AllOf(HasSubstr("file: baseline: is left out"), HasSubstr("R and T"))));
  // Of a pair with its T it repeats what that says.
  const auto pair = Read(absl::StrCat("baseline: 7\nK1: [754, 0, 489, 0, 754, 265, 0, 0, 1]\nR: [1, 0, 0, 0, 1, 0, 0, ",
                                      "0, 1]\nK2: [754, 0, 489, 0, 754, 265, 0, 0, 1]\nT: [-0.1, 0, 0]\n"));
  EXPECT_NEAR(SecondInFirst(pair.rig).translation.x(), 0.1, 1e-15);
}

TEST(OpenCvHabits, FocalLengthsAndCentreInOneList) {
  const auto read = Read("intrinsics: [458.5, 457.5, 367.25, 248.5]\ndistortion: [-0.28, 0.07, 0.0002, 0.0001]\n");
  ASSERT_THAT(read.rig.cameras, SizeIs(1));
  EXPECT_EQ(read.rig.cameras[0].camera.fy, 457.5);
  EXPECT_EQ(read.rig.cameras[0].camera.cx, 367.25);
  EXPECT_EQ(read.rig.cameras[0].camera.model, CameraModel::kRadialTangential);
}

// Which way a pose of each camera goes nobody can tell: from the left one alone, which is the origin, it can be told.
TEST(OpenCvHabits, PosesOfBothCamerasAreRefused) {
  const std::string cameras =
      "K_left: [754, 0, 489, 0, 754, 265, 0, 0, 1]\nK_right: [755, 0, 489, 0, 755, 265, 0, 0, 1]\n";
  const std::string left = "extrinsics_left: [1, 0, 0, 0.3, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]\n";
  const std::string right = "extrinsics_right: [1, 0, 0, -0.1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]\n";
  EXPECT_THAT(ErrorOf(cameras + left + right),
              HasSubstr("file: extrinsics_left, extrinsics_right: each camera has a pose of its own"));
  const auto read = Read(cameras + Without(left, "0.3", "0") + right);
  EXPECT_NEAR(SecondInFirst(read.rig).translation.x(), 0.1, 1e-15);
}

// Without R1 and R2 the projections say the baseline alone.
TEST(OpenCvHabits, ProjectionsWithoutTheirRotations) {
  const std::string text =
      "K1: [754, 0, 489, 0, 754, 265, 0, 0, 1]\nK2: [755, 0, 489, 0, 755, 265, 0, 0, 1]\n"
      "R: [0.9998000066665778, 0, 0.01999866669333308, 0, 1, 0, -0.01999866669333308, 0, 0.9998000066665778]\n"
      "T: [-0.1, 0, 0]\nP1: [750, 0, 480, 0, 0, 750, 270, 0, 0, 0, 1, 0]\n";
  EXPECT_THAT(Read(text + "P2: [750, 0, 480, -75, 0, 750, 270, 0, 0, 0, 1, 0]\n").warnings, IsEmpty());
  EXPECT_THAT(Read(text + "P2: [750, 0, 480, -750, 0, 750, 270, 0, 0, 0, 1, 0]\n").warnings,
              ElementsAre(HasSubstr("P2: the rectification differs from R and T")));
}

TEST(OpenCvHabits, SkewIsRefusedByName) {
  const auto text = [](const char* skew) {
    return absl::StrCat("Kl: [1375, ", skew, ", 633, 0, 1373, 474, 0, 0, 1]\n",
                        "Dl: [-0.08, 0.37, -0.0008, -0.001]\nxil: 2.5\n");
  };
  EXPECT_THAT(ErrorOf(text("0.1565")), HasSubstr("file: Kl: a skew of 0.1565 is not 0, to 0.0001 of the focal length"));
  EXPECT_EQ(Read(text("0.")).rig.cameras.at(0).camera.model, CameraModel::kOmni);
  EXPECT_EQ(Read(text("0.1")).rig.cameras.at(0).camera.model, CameraModel::kOmni);
}

}  // namespace
}  // namespace glint::testing
