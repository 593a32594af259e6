// rtabmap's files of the left camera, the right one and their pose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/calibration/turned_rig.h"
#include "tests/calibration/written_files.h"

namespace glint::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string RtabmapMatrix(const std::string& name, int rows, const std::vector<double>& values) {
  return absl::StrCat(name, ":\n   rows: ", rows, "\n   cols: ", values.size() / rows, "\n   data: [ ", Numbers(values),
                      " ]\n");
}
std::string RtabmapFile(const std::string& name, double shift, const std::string& model = "plumb_bob",
                        const std::vector<double>& d = {-0.28, 0.07, 0.0002, 0.00002, 0.01}) {
  return absl::StrCat("%YAML:1.0\n---\ncamera_name: ", name, "\nimage_width: 752\nimage_height: 480\n",
                      RtabmapMatrix("camera_matrix", 3, {458.5, 0, 367.2, 0, 457.2, 248.3, 0, 0, 1}),
                      RtabmapMatrix("distortion_coefficients", 1, d), "distortion_model: ", model, "\n",
                      RtabmapMatrix("rectification_matrix", 3, {1, 0, 0, 0, 1, 0, 0, 0, 1}),
                      RtabmapMatrix("projection_matrix", 3, {435, 0, 367, shift, 0, 435, 252, 0, 0, 0, 1, 0}),
                      RtabmapMatrix("local_transform", 3, {0, 0, 1, 0, -1, 0, 0, 0, 0, -1, 0, 0}));
}
std::string RtabmapPose() {
  const RigidTransform pose = LeftFromRight().Inverse();
  return absl::StrCat("%YAML:1.0\n---\ncamera_name: rig\n", RtabmapMatrix("rotation_matrix", 3, ByRows(pose.rotation)),
                      RtabmapMatrix("translation_matrix", 3, Of(pose.translation)));
}

TEST(Rtabmap, PoseFromLeftToRight) {
  const auto read =
      ReadTogether({{"l", RtabmapFile("rig_left", 0)}, {"p", RtabmapPose()}, {"r", RtabmapFile("rig_right", 0)}});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->format, "rtabmap");
  EXPECT_THAT(read->warnings, IsEmpty());
  EXPECT_FALSE(read->unit_is_unknown);
  ASSERT_THAT(read->rig.cameras, SizeIs(2));
  ExpectSame(SecondInFirst(read->rig), LeftFromRight());
  EXPECT_EQ(read->rig.cameras[1].camera.image, (Shape{752, 480}));
  EXPECT_EQ(read->rig.cameras[1].camera.lens[4], 0.01);
  EXPECT_EQ((*read->rig.cameras[0].projection)(0, 0), 435);
}

TEST(Rtabmap, WithoutPoseTheProjectionsTell) {
  const auto read = ReadTogether({{"l", RtabmapFile("rig_left", 0)}, {"r", RtabmapFile("rig_right", -52.2)}});
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectSame(SecondInFirst(read->rig), {Eigen::Matrix3d::Identity(), {0.12, 0, 0}});
  const auto none = ReadTogether({{"l", RtabmapFile("rig_left", 0)}, {"r", RtabmapFile("rig_right", 0)}});
  EXPECT_THAT(std::string(none.status().message()), HasSubstr("r: projection_matrix: has no translation"));
  const auto both =
      ReadTogether({{"l", RtabmapFile("rig_left", 0)}, {"r", RtabmapFile("rig_right", -52.2)}, {"p", RtabmapPose()}});
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_THAT(both->warnings, ElementsAre(HasSubstr("the rectification differs")));
}

TEST(Rtabmap, NamesTellTheSides) {
  const auto read = ReadTogether({{"r", RtabmapFile("rig_right", -52.2)}, {"l", RtabmapFile("rig_left", 0)}});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->warnings, ElementsAre(HasSubstr("camera_name: is the right camera")));
  EXPECT_NEAR(SecondInFirst(read->rig).translation.x(), 0.12, 1e-12);
}

TEST(Rtabmap, FisheyeAmongSixNumbers) {
  const auto read = Read(RtabmapFile("cam", 0, "equidistant", {0.0034, 0.0007, 0, 0, -0.002, 0.0002}));
  ASSERT_THAT(read.rig.cameras, SizeIs(1));
  const Camera& camera = read.rig.cameras[0].camera;
  EXPECT_EQ(camera.model, CameraModel::kKannalaBrandt);
  EXPECT_EQ(camera.lens[2], -0.002);
  EXPECT_EQ(camera.lens[3], 0.0002);
}

TEST(Rtabmap, ErrorsNameTheField) {
  const std::string good = RtabmapFile("cam", 0);
  EXPECT_THAT(ErrorOf(Without(good, "458.5", "0")), HasSubstr("file: camera_matrix: the focal length 0"));
  // A depth camera's file has no coefficients.
  EXPECT_EQ(ErrorOf(Without(good, "distortion_coefficients", "coefficients")), "");
  EXPECT_THAT(ErrorOf(Without(good, "image_width: 752", "image_width: 7.5")), HasSubstr("image_width"));
  EXPECT_THAT(ErrorOf(RtabmapPose()), HasSubstr("file: camera_matrix: is missing"));
}

}  // namespace
}  // namespace glint::testing
