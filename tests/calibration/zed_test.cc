// ZED's factory calibration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "features/camera/lens_math.h"
#include "tests/calibration/turned_rig.h"

namespace glint::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Eigen::Vector3d kTurn(0.0021, -0.0135, 0.0007);  // RX, CV, RZ: Rodrigues' vector

std::string ZedFile(const std::string& suffix = "_HD") {
  std::string text = "\n";
  for (const char* side : {"LEFT", "RIGHT"}) {
    for (const auto& [size, f] : {std::pair{"2K", 1400.0}, {"FHD", 1399.0}, {"HD", 700.25}, {"VGA", 350.125}}) {
      absl::StrAppend(&text, "[", side, "_CAM_", size, "]\nfx=", f, "\nfy=", f, "\ncx=640.5\ncy=", 370,
                      "\nk1=-0.17\nk2=0.026\nk3=0.001\np1=0.0002\np2=-0.0003\n\n");
    }
  }
  absl::StrAppend(&text, "[STEREO]\nBaseline=119.9\nTY", suffix, "=0.15\nTZ", suffix, "=-0.32\nCV", suffix,
                  "=-0.0135\nRX", suffix, "=0.0021\nRZ", suffix, "=0.0007\n\n[MISC]\nSensor_ID=0\n");
  return text;
}

RigidTransform ZedPose() {
  return RigidTransform{Eigen::AngleAxisd(kTurn.norm(), kTurn.normalized()).toRotationMatrix(),
                        {-0.1199, 0.00015, -0.00032}}
      .Inverse();
}

TEST(Zed, MillimetresFromLeftToRight) {
  for (const std::string& text : {ZedFile(), ZedFile(""), ZedFile("_2K"), Without(ZedFile(), "[STEREO]\n")}) {
    const auto read = Read(text, OfImage(1280, 720));
    ASSERT_THAT(read.rig.cameras, SizeIs(2));
    EXPECT_EQ(read.format, "zed");
    EXPECT_THAT(read.warnings, IsEmpty());
    ExpectSame(SecondInFirst(read.rig), ZedPose());
    ExpectSame(read.rig.cameras[0].camera, Camera{CameraModel::kRadialTangential,
                                                  {1280, 720},
                                                  700.25,
                                                  700.25,
                                                  640.5,
                                                  370,
                                                  {-0.17, 0.026, 0.0002, -0.0003, 0.001}});
  }
}

TEST(Zed, TheImageChoosesTheSection) {
  EXPECT_EQ(Read(ZedFile(), OfImage(672, 376)).rig.cameras[0].camera.fx, 350.125);
  EXPECT_EQ(Read(ZedFile(), OfImage(2208, 1242)).rig.cameras[0].camera.fx, 1400);
  EXPECT_THAT(Read(ZedFile(), OfImage(672, 376)).notes, IsEmpty());
  const auto any = Read(ZedFile());
  EXPECT_EQ(any.rig.cameras[0].camera.image, (Shape{1280, 720}));
  EXPECT_THAT(any.notes,
              ElementsAre("file: LEFT_CAM_HD: is taken, of images of 1280x720 (HD); the file is also of 1920x1080 "
                          "(FHD), 2208x1242 (2K), 672x376 (VGA): the images' size chooses, or --size"));
  EXPECT_THAT(
      ErrorOf(ZedFile(), OfImage(640, 480)),
      HasSubstr("has no section for images of 640x480, but for 1280x720 (HD), 1920x1080 (FHD), 2208x1242 (2K)"));
}

TEST(Zed, NewerFilesHaveEightCoefficientsApart) {
  const std::string text = ZedFile() + "[LEFT_DISTO]\nk1=1\nk2=2\nk3=3\nk4=4\nk5=5\nk6=6\np1=0.1\np2=0.2\n";
  const auto read = Read(text);
  EXPECT_EQ(read.rig.cameras[0].camera.model, CameraModel::kRational);
  EXPECT_EQ(read.rig.cameras[0].camera.lens, (LensCoefficients{1, 2, 0.1, 0.2, 3, 4, 5, 6}));
  EXPECT_EQ(read.rig.cameras[1].camera.model, CameraModel::kRadialTangential);
  const auto prism = Read(text + "s1=0.01\ns2=0.02\ns3=0.03\ns4=0.04\n");
  EXPECT_EQ(prism.rig.cameras[0].camera.model, CameraModel::kThinPrism);
  EXPECT_EQ(prism.rig.cameras[0].camera.lens, (LensCoefficients{1, 2, 0.1, 0.2, 3, 4, 5, 6, 0.01, 0.02, 0.03, 0.04}));
}

TEST(Zed, FisheyeLensesHaveFourCoefficients) {
  const std::string text = ZedFile() + "[LEFT_DISTO]\nk1=0.03\nk2=-0.012\nk3=0.004\nk4=-0.0009\np1=0\np2=0\n";
  const auto read = Read(text);
  EXPECT_EQ(read.rig.cameras[0].camera.model, CameraModel::kKannalaBrandt);
  EXPECT_EQ(read.rig.cameras[0].camera.lens, (LensCoefficients{0.03, -0.012, 0.004, -0.0009}));
}

TEST(Zed, ErrorsNameTheField) {
  EXPECT_THAT(ErrorOf(Without(ZedFile(), "Baseline=119.9\n")), HasSubstr("STEREO/Baseline_HD: is missing"));
  EXPECT_THAT(ErrorOf(Without(ZedFile(), "Baseline=119.9", "Baseline=x")),
              HasSubstr("STEREO/Baseline: 'x' is no number"));
  EXPECT_THAT(ErrorOf(Without(ZedFile(), "RX_HD=0.0021\n")), HasSubstr("STEREO/RX_HD: is missing"));
  EXPECT_THAT(ErrorOf(Without(ZedFile(), "[RIGHT_CAM_HD]", "[RIGHT_CAM_XX]")),
              HasSubstr("RIGHT_CAM_HD/fx: is missing"));
}

}  // namespace
}  // namespace glint::testing
