// KITTI's two files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/calibration/turned_rig.h"

namespace glint::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kLeft[] = "700 0 600 0 0 700 180 0 0 0 1 0";
constexpr char kRight[] = "700 0 600 -3.5e+02 0 700 180 0 0 0 1 0";

double Baseline(const calibration::Calibration& read) { return SecondInFirst(read.rig).translation.x(); }

TEST(KittiOdometry, LinesHaveNamesOrNone) {
  const std::string left = kLeft, right = kRight;
  for (const std::string& text :
       {"P0: " + left + "\nP1: " + right + "\nTr: 1 2 3\n", left + "\n\n" + right + "\n",
        "\xEF\xBB\xBFP0: " + left + "\r\nP1: " + right + "\r\n", left + "\r" + right,
        "P1: " + right + "\nP0: " + left + "\nR0_rect: 1 0 0 0 1 0 0 0 1\nTr_velo_to_cam: 1\n"}) {
    const auto read = Read(text, OfImage(1226, 370));
    ASSERT_THAT(read.rig.cameras, SizeIs(2)) << text;
    EXPECT_EQ(read.format, "kitti");
    EXPECT_TRUE(read.rectified);
    EXPECT_THAT(read.warnings, IsEmpty());
    EXPECT_EQ(Baseline(read), 0.5);
    ExpectSame(read.rig.cameras[0].camera, Camera{CameraModel::kPinhole, {1226, 370}, 700, 700, 600, 180});
    EXPECT_EQ((*read.rig.cameras[1].projection)(0, 3), -350);
  }
}

// As <(command) of a shell.
TEST(KittiOdometry, ComesByAPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string text = absl::StrCat("P0: ", kLeft, "\nP1: ", kRight, "\n");
  ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[1]);
  const auto read = calibration::ReadCalibration({absl::StrCat("/dev/fd/", ends[0])}, OfImage(1226, 370));
  close(ends[0]);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Baseline(*read), 0.5);
}

TEST(KittiOdometry, NamesChooseCameras) {
  // As in KITTI, the colour cameras are not quite side by side.
  const std::string text =
      absl::StrCat("P0: ", kLeft, "\nP1: ", kRight, "\nP2: 700 0 600 42 0 700 180 0.2 0 0 1 0.003\n",
                   "P3: 700 0 600 -308 0 700 180 2.2 0 0 1 0.0031\n");
  calibration::ReadOptions options;
  options.cameras = "P2,P3";
  const auto colour = Read(text, options);
  ASSERT_THAT(colour.rig.cameras, SizeIs(2));
  EXPECT_EQ(colour.rig.cameras[0].name, "P2");
  EXPECT_TRUE(colour.rectified);
  EXPECT_NEAR(Baseline(colour), 0.5, 1e-3);
  ExpectSame(colour.rig.cameras[0].rig_from_camera,
             {Eigen::Matrix3d::Identity(), {-(42 - 600 * 0.003) / 700, -(0.2 - 180 * 0.003) / 700, -0.003}});
  options.cameras = "P3";
  EXPECT_THAT(Read(text, options).rig.cameras, SizeIs(1));
  options.cameras = "P2,P7";
  EXPECT_THAT(ErrorOf(text, options), HasSubstr("has no 3x4 projection P7, but P0, P1, P2, P3"));
  const auto grey = Read(text);
  EXPECT_EQ(grey.rig.cameras[0].name, "P0");
  EXPECT_THAT(grey.notes, ElementsAre("file: P0, P1 are taken; the file also has P2, P3: --cameras chooses, as in "
                                      "--cameras P2,P3"));
  EXPECT_THAT(colour.notes, IsEmpty());
}

TEST(KittiOdometry, OneCameraIsTakenAlone) {
  for (const std::string& text : {absl::StrCat("P2: ", kLeft, "\n"), absl::StrCat(kLeft, "\n")}) {
    EXPECT_THAT(Read(text).rig.cameras, SizeIs(1)) << text;
  }
  const auto grey = Read(absl::StrCat("P0: ", kLeft, "\nP2: ", kRight, "\n"));  // not a pair
  ASSERT_THAT(grey.rig.cameras, SizeIs(1));
  EXPECT_EQ(grey.rig.cameras[0].name, "P0");
}

TEST(KittiOdometry, SaysWhatIsNoPair) {
  const auto read = Read(absl::StrCat(kLeft, "\n710 0 600 -355 0 710 180 0 0 0 1 0\n"));
  EXPECT_FALSE(read.rectified);
  EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("P1: focal length and centre (710 710 600 180) differ from P0's")));
}

TEST(KittiOdometry, ErrorsNameFileAndLine) {
  EXPECT_THAT(ErrorOf("P0: 1 2 3\n"), HasSubstr("file:1: not the 12 numbers of a projection"));
  EXPECT_THAT(ErrorOf(absl::StrCat("P0: ", kLeft, "\n\nP1: 7x 0\n")), HasSubstr("file:3: not the 12 numbers"));
  EXPECT_THAT(ErrorOf(absl::StrCat(kLeft, "\n1 2 3\n")), HasSubstr("file:2: not the 12 numbers"));
  EXPECT_THAT(ErrorOf("P0: 1 2 3 4 5 6 7 8 9 10 11 12\n"), HasSubstr("file:1: not a projection fx 0 cx tx"));
  EXPECT_THAT(ErrorOf("P0: 700 0 nan 0 0 700 180 0 0 0 1 0\n"), HasSubstr("file:1: not the 12 numbers"));
  EXPECT_THAT(ErrorOf("Ports: 7400 + 250 domain\n"), HasSubstr("no calibration"));
  // A path is no calibration.
  EXPECT_THAT(ErrorOf("1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 0 0 0 0 1 1\n"), HasSubstr("no calibration"));
}

TEST(KittiOdometry, WritesWhatItReads) {
  const auto read =
      Read(absl::StrCat("P0: ", kLeft, "\nP1: 700.123456789 0 600 -350.7 0 700.123456789 180 0 0 0 1 0\n"));
  EXPECT_FALSE(FormatOf("kitti").write(read).ok());  // not rectified
  calibration::Calibration rig = TurnedRig(CameraModel::kPinhole, {});
  rig.rig.cameras[1].camera = rig.rig.cameras[0].camera;
  rig.rig.cameras[1].rig_from_camera =
      rig.rig.cameras[0].rig_from_camera * RigidTransform{Eigen::Matrix3d::Identity(), {0.12, 0, 0}};
  rig.rectified = true;
  const auto written = FormatOf("kitti").write(rig);
  ASSERT_TRUE(written.ok()) << written.status();
  const auto again = Read((*written)[0].text, OfImage(752, 480));
  ExpectSame(again.rig.cameras[1].camera, rig.rig.cameras[1].camera);
  ExpectSame(SecondInFirst(again.rig), SecondInFirst(rig.rig));
}

// A raw file of cameras 00 to 03: images of 1392x512 with a lens, and rectified ones of 1242x375.
std::string RawFile() {
  std::string text = "calib_time: 09-Jan-2012 13:57:47\ncorner_dist: 9.950000e-02\n";
  for (int i = 0; i < 4; ++i) {
    const RigidTransform pose = i == 0 ? RigidTransform() : LeftFromRight().Inverse();
    absl::StrAppend(&text, "S_0", i, ": 1.392000e+03 5.120000e+02\nK_0", i, ": 984 0 690 0 981 233 0 0 1\nD_0", i,
                    ": -0.37 0.2 0.001 0.002 -0.07\nR_0", i, ": ", Numbers(ByRows(pose.rotation), " "), "\nT_0", i,
                    ": ", Numbers(Of(pose.translation), " "), "\nS_rect_0", i, ": 1242 375\nR_rect_0", i,
                    ": 1 0 0 0 1 0 0 0 1\nP_rect_0", i, ": 721 0 609 ", 10 - 360 * i, " 0 721 172 0 0 0 1 0\n");
  }
  return text;
}

TEST(KittiRaw, RectifiedImagesAreTheUsualOnes) {
  const auto read = Read(RawFile());
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  EXPECT_EQ(read.format, "kitti-raw");
  EXPECT_TRUE(read.rectified);
  EXPECT_EQ(read.rig.cameras[0].name, "00");
  EXPECT_EQ(read.rig.cameras[0].camera.image, (Shape{1242, 375}));
  EXPECT_NEAR(Baseline(read), 360.0 / 721, 1e-12);
  calibration::ReadOptions options;
  for (const char* cameras : {"02,03", "P2,P3"}) {
    options.cameras = cameras;
    const auto colour = Read(RawFile(), options);
    EXPECT_EQ((*colour.rig.cameras[0].projection)(0, 3), 10 - 720);
  }
  EXPECT_THAT(Read("P_rect_02: 721 0 609 44 0 721 172 0 0 0 1 0\n").rig.cameras, SizeIs(1));
}

TEST(KittiRaw, RawImagesAreThoseOfTheirSize) {
  const auto read = Read(RawFile(), OfImage(1392, 512));
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  EXPECT_FALSE(read.rectified);
  EXPECT_EQ(read.rig.cameras[1].camera.model, CameraModel::kRadialTangential);
  EXPECT_EQ(read.rig.cameras[1].camera.lens[4], -0.07);
  EXPECT_TRUE(read.rig.cameras[1].rectified_from_camera && read.rig.cameras[1].projection);
  ExpectSame(SecondInFirst(read.rig), LeftFromRight());
}

TEST(KittiRaw, ErrorsNameTheField) {
  EXPECT_THAT(ErrorOf(Without(RawFile(), "P_rect_01: 721", "P_rect_01: x")), HasSubstr("not the 12 numbers"));
  EXPECT_THAT(ErrorOf(Without(RawFile(), "P_rect_01:", "Q_01:")), HasSubstr("P_rect_01: is missing"));
  EXPECT_THAT(ErrorOf(Without(RawFile(), "S_rect_00: 1242", "S_rect_00: -1")), HasSubstr("S_rect_00: -1 x 375"));
  EXPECT_THAT(ErrorOf(Without(RawFile(), "K_00: 984", "K_00:"), OfImage(1392, 512)), HasSubstr("K_00: line 4"));
}

}  // namespace
}  // namespace glint::testing
