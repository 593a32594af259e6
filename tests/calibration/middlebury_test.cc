// Middlebury's calib.txt and Open3D's JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/calibration/turned_rig.h"

namespace glint::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kMiddleburyFile[] =
    "cam0=[3997.684 0 1176.728; 0 3997.684 1011.728; 0 0 1]\ncam1=[3997.684 0 1307.839; 0 3997.684 1011.728; 0 0 1]\n"
    "doffs=131.111\nbaseline=193.001\nwidth=2964\nheight=1988\nndisp=280\nisint=0\nvmin=31\nvmax=257\ndyavg=0."
    "918\ndymax=1.516\n";

TEST(Middlebury, MillimetresAndCentresThatDiffer) {
  const auto read = Read(kMiddleburyFile);
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  EXPECT_EQ(read.format, "middlebury");
  EXPECT_THAT(read.warnings, IsEmpty());
  EXPECT_FALSE(read.rectified);
  EXPECT_NEAR(SecondInFirst(read.rig).translation.x(), 0.193001, 1e-15);
  ExpectSame(read.rig.cameras[1].camera,
             Camera{CameraModel::kPinhole, {2964, 1988}, 3997.684, 3997.684, 1307.839, 1011.728});
  EXPECT_TRUE(Read(Without(Without(kMiddleburyFile, "1307.839", "1176.728"), "131.111", "0")).rectified);
}

TEST(Middlebury, SaysWhatIsWrong) {
  EXPECT_THAT(Read(Without(kMiddleburyFile, "doffs=131.111", "doffs=0")).warnings,
              ElementsAre(HasSubstr("doffs: 0 is not cam1's centre less cam0's, 131.111")));
  EXPECT_THAT(ErrorOf(Without(kMiddleburyFile, "baseline=193.001\n")), HasSubstr("baseline: is missing"));
  EXPECT_THAT(ErrorOf(Without(kMiddleburyFile, "cam1=[3997.684", "cam1=[")), HasSubstr("is not 9 numbers"));
  EXPECT_THAT(ErrorOf(Without(kMiddleburyFile, "width=2964", "width=99999")),
              HasSubstr("99999 x 1988 is no image size"));
}

constexpr char kOpen3dFile[] =
    R"({"width": 640, "height": 480, "intrinsic_matrix": [525.5, 0, 0, 0, 526.25, 0, 319.5, 239.75, 1]})";

TEST(Open3d, MatricesAreByColumns) {
  const Camera camera{CameraModel::kPinhole, {640, 480}, 525.5, 526.25, 319.5, 239.75};
  for (const std::string& text :
       {std::string(kOpen3dFile),
        std::string(R"({"class_name": "PinholeCameraParameters", "extrinsic": [1], "intrinsic": )") + kOpen3dFile +
            "}"}) {
    const auto read = Read(text);
    ASSERT_THAT(read.rig.cameras, SizeIs(1));
    EXPECT_EQ(read.format, "open3d");
    EXPECT_THAT(read.warnings, IsEmpty());
    ExpectSame(read.rig.cameras[0].camera, camera);
  }
  const auto by_rows =
      Read(R"({"width": 640, "height": 480, "intrinsic_matrix": [525.5, 0, 319.5, 0, 526.25, 239.75, 0, 0, 1]})");
  ExpectSame(by_rows.rig.cameras[0].camera, camera);
  EXPECT_THAT(by_rows.warnings, ElementsAre(HasSubstr("intrinsic_matrix: row by row")));
}

TEST(Open3d, ErrorsNameTheField) {
  EXPECT_THAT(ErrorOf(Without(kOpen3dFile, "525.5, 0", "525.5, 3")), HasSubstr("intrinsic_matrix: not fx 0 0, 0 fy 0"));
  EXPECT_THAT(ErrorOf(Without(kOpen3dFile, "525.5, ")), HasSubstr("intrinsic_matrix: 8 numbers, not 9"));
  EXPECT_THAT(ErrorOf(Without(kOpen3dFile, R"("width": 640, )")), HasSubstr("width: is missing"));
}

}  // namespace
}  // namespace glint::testing
