// Which camera of a pair is the left one, in all formats: names and formats that say it bind, else the poses decide.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "calibration/check.h"
#include "calibration/stereo_rig.h"
#include "tests/calibration/turned_rig.h"
#include "tests/calibration/written_files.h"

namespace glint::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// In OpenCV's names with `first` and `second` for the cameras, of which the second lies at `x`; 458 pixels are the
// first's.
std::string Cameras(const std::string& first, const std::string& second, double x) {
  std::string text = "image_width: 752\nimage_height: 480\nR: [1, 0, 0, 0, 1, 0, 0, 0, 1]\n";
  absl::StrAppend(&text, "T: [", -x, ", 0, 0]\n");
  absl::StrAppend(&text, "K_", first, ": [458, 0, 367, 0, 458, 248, 0, 0, 1]\n");
  absl::StrAppend(&text, "K_", second, ": [457, 0, 379, 0, 457, 255, 0, 0, 1]\n");
  return text;
}

std::vector<std::string> ErrorsOf(const calibration::Calibration& calibration) {
  std::vector<std::string> errors;
  for (const calibration::Finding& finding : calibration::Check(calibration)) {
    if (finding.severity == calibration::Finding::Severity::kError) errors.push_back(finding.text);
  }
  return errors;
}

calibration::ReadOptions Named(const std::string& cameras) {
  calibration::ReadOptions options;
  options.cameras = cameras;
  return options;
}

TEST(PairOrder, WithoutNamesThePosesDecide) {
  const auto right = Read(Cameras("1", "2", 0.11));
  EXPECT_EQ(right.rig.cameras[0].name, "camera1");
  EXPECT_THAT(right.reordered, IsEmpty());
  const auto left = Read(Cameras("1", "2", -0.11));
  EXPECT_EQ(left.rig.cameras[0].name, "camera2");
  EXPECT_EQ(left.rig.cameras[0].camera.fx, 457);
  EXPECT_THAT(left.warnings, IsEmpty());
  EXPECT_EQ(left.reordered,
            "camera2 lies 0.11 m to the left of camera1 and is taken as the left camera (--cameras camera1,camera2: "
            "the other)");
  EXPECT_THAT(calibration::Check(left), IsEmpty());
  EXPECT_THAT(*calibration::WarningsOf(left, {}), ::testing::ElementsAre(left.reordered));
  EXPECT_EQ(Read(Cameras("0", "1", -0.11)).rig.cameras[0].name, "camera1");
}

TEST(PairOrder, NamesThatContradictThePosesAreRefused) {
  const std::string text = Cameras("left", "right", -0.11);
  const auto read = Read(text);
  EXPECT_EQ(read.rig.cameras[0].name, "left");
  EXPECT_THAT(ErrorsOf(read),
              ::testing::ElementsAre("left, right: right is 0.11 m to the left of left: they are exchanged (--cameras "
                                     "right,left, or the files in the other order), or the pose is the inverse of what "
                                     "this format wants"));
  EXPECT_FALSE(calibration::WarningsOf(read, {}).ok());
  // The user says which it is.
  const auto said = Read(text, Named("right,left"));
  EXPECT_EQ(said.rig.cameras[0].camera.fx, 457);
  EXPECT_THAT(calibration::Check(said), IsEmpty());
  EXPECT_THAT(said.reordered, IsEmpty());
}

TEST(PairOrder, OtherFormatsToo) {
  const std::string zed =
      "[LEFT_CAM_HD]\nfx=700\nfy=700\ncx=640\ncy=360\n[RIGHT_CAM_HD]\nfx=701\nfy=701\ncx=640\ncy=360\n"
      "[STEREO]\nBaseline=-120\nCV_HD=0\nRX_HD=0\nRZ_HD=0\n";
  EXPECT_THAT(ErrorsOf(Read(zed)), Contains(HasSubstr("right is 0.12 m to the left of left: they are exchanged")));
  // ORB-SLAM3 means its first camera to be the left one, whose T_c1_c2 may be written the other way.
  std::string orb = "Camera.type: PinHole\nStereo.T_c1_c2: [1, 0, 0, -0.11, 0, 1, 0, 0, 0, 0, 1, 0]\n";
  for (const char* camera : {"Camera1.", "Camera2."}) {
    for (const char* value : {"fx: 458", "fy: 458", "cx: 367", "cy: 248"}) absl::StrAppend(&orb, camera, value, "\n");
  }
  EXPECT_THAT(ErrorsOf(Read(orb)), Contains(HasSubstr("Camera2 is 0.11 m to the left of Camera1")));
  EXPECT_THAT(ErrorsOf(Read(orb, Named("Camera2,Camera1"))), IsEmpty());
  // OAK's sockets are called left and right; infrared 1 of a RealSense is the left one.
  const std::string stream = R"({"width": 752, "height": 480, "ppx": 367, "ppy": 248, "fx": 458, "fy": 458,)"
                             R"( "model": "None", "coeffs": [0, 0, 0, 0, 0]})";
  const std::string realsense = absl::StrCat(
      R"({"infrared1": )", stream, R"(, "infrared2": )", stream,
      R"(, "infrared1_to_infrared2": {"rotation": [1, 0, 0, 0, 1, 0, 0, 0, 1], )", R"("translation": [0.05, 0, 0]}})");
  EXPECT_THAT(ErrorsOf(Read(realsense)), Contains(HasSubstr("infrared2 is 0.05 m to the left of infrared1")));
}

// Images' and depths' are no pair.
TEST(PairOrder, CamerasOfNoPairStayInTheFilesOrder) {
  calibration::ReadOptions options;
  options.in_file_order = true;
  const auto read = Read(Cameras("1", "2", -0.11), options);
  EXPECT_EQ(read.rig.cameras[0].name, "camera1");
  EXPECT_THAT(read.reordered, IsEmpty());
  EXPECT_FALSE(calibration::WarningsOf(read, {}).ok());
  EXPECT_THAT(*calibration::RgbdWarningsOf(read, {}), IsEmpty());
  const RgbdCamera rgbd = calibration::RgbdCameraOf(read.rig, {});
  EXPECT_EQ(rgbd.camera.fx, 458);
  ASSERT_TRUE(rgbd.depth_camera.has_value());
  EXPECT_EQ(rgbd.depth_camera->fx, 457);
  EXPECT_NEAR(rgbd.camera_from_depth.translation.x(), -0.11, 1e-12);
}

// Files of one rig say no order.
TEST(PairOrder, FilesOfARig) {
  const std::string all = Cameras("1", "2", -0.11);
  const size_t k = all.find("K_1");
  const auto read = ReadTogether({{"intrinsics.yml", all.substr(k)}, {"extrinsics.yml", all.substr(0, k)}});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->rig.cameras[0].name, "camera2");
  EXPECT_THAT(read->reordered, HasSubstr("camera2 lies 0.11 m to the left of camera1"));
}

// ROS's files of a camera each, by whose names a folder is read and which are given in an order.
TEST(PairOrder, FilesOfOneCamera) {
  const auto file = [](const std::string& name, double p3) {
    return calibration::NamedText{
        name + ".yaml",
        absl::StrCat("image_width: 752\nimage_height: 480\ncamera_name: narrow_stereo/", name,
                     "\ncamera_matrix: {rows: 3, cols: 3, data: [458, 0, 367, 0, 458, 248, 0, 0, 1]}\n"
                     "distortion_model: plumb_bob\ndistortion_coefficients: {rows: 1, cols: 5, data: [0, 0, 0, 0, 0]}\n"
                     "rectification_matrix: {rows: 3, cols: 3, data: [1, 0, 0, 0, 1, 0, 0, 0, 1]}\n"
                     "projection_matrix: {rows: 3, cols: 4, data: [458, 0, 367, ",
                     p3, ", 0, 458, 248, 0, 0, 0, 1, 0]}\n")};
  };
  const auto exchanged = ReadTogether({file("left", 0), file("right", 50)});
  ASSERT_TRUE(exchanged.ok()) << exchanged.status();
  EXPECT_THAT(ErrorsOf(*exchanged), Contains(HasSubstr("narrow_stereo/right is 0.1092 m to the left of")));
  const auto other_order = ReadTogether({file("right", 50), file("left", 0)});
  ASSERT_TRUE(other_order.ok()) << other_order.status();
  EXPECT_THAT(ErrorsOf(*other_order), IsEmpty());
}

}  // namespace
}  // namespace glint::testing
