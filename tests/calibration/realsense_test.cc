// librealsense's structures by their names, and what rs-enumerate-devices prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/calibration/turned_rig.h"

namespace glint::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Stream(const std::string& model, const std::string& coeffs) {
  return absl::StrCat(R"({"width": 752, "height": 480, "ppx": 367.215, "ppy": 248.375, "fx": 458.654, "fy": 457.296, )",
                      R"("model": ")", model, R"(", "coeffs": [)", coeffs, "]}");
}

// p_to = R p_from + t, R column by column.
std::string Extrinsics(const std::string& ends, const RigidTransform& to_from_from) {
  return absl::StrCat("{", ends, R"("rotation": [)", Numbers(ByRows(to_from_from.rotation.transpose())),
                      R"(], "translation": [)", Numbers(Of(to_from_from.translation)), "]}");
}

std::string Pair(const std::string& name, const std::string& ends) {
  const std::string stream = Stream("Brown Conrady", "-0.28, 0.07, 0.0002, 0.0001, 0.01");
  return absl::StrCat(R"({"color": )", Stream("Inverse Brown Conrady", "0, 0, 0, 0, 0"),
                      R"(, "infrared1": {"intrinsics": )", stream, R"(}, "infrared2": {"intrinsics": )", stream,
                      R"(}, ")", name, R"(": )", Extrinsics(ends, LeftFromRight().Inverse()), "}");
}

TEST(RealSense, RotationsAreByColumns) {
  for (const std::string& text : {Pair("extrinsics", R"("from": "Infrared 1", "to": "infrared2", )"),
                                  Pair("infrared1_to_infrared2", ""), Pair("extrinsics_infrared1_to_infrared2", "")}) {
    const auto read = Read(text);
    ASSERT_THAT(read.rig.cameras, SizeIs(2)) << text;
    EXPECT_EQ(read.format, "realsense");
    EXPECT_EQ(read.rig.cameras[0].name, "infrared1");
    ExpectSame(SecondInFirst(read.rig), LeftFromRight(), 1e-9);
    ExpectSame(read.rig.cameras[1].camera,
               RaggedCamera(CameraModel::kRadialTangential, {-0.28, 0.07, 0.0002, 0.0001, 0.01}));
    EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("color: is left out: no extrinsics lead to it")));
  }
}

TEST(RealSense, ModelsByAllTheirNames) {
  const struct {
    const char* model;
    const char* coeffs;
    Camera camera;
  } cases[] = {
      {"None", "0, 0, 0, 0, 0", RaggedCamera(CameraModel::kPinhole, {})},
      {"distortion.brown_conrady", "0, 0, 0, 0, 0", RaggedCamera(CameraModel::kPinhole, {})},
      {"RS2_DISTORTION_INVERSE_BROWN_CONRADY", "-0.05, 0.06, 0.0004, 0.0001, -0.02",
       RaggedCamera(CameraModel::kRadialTangential, {-0.05, 0.06, 0.0004, 0.0001, -0.02})},
      {"Kannala Brandt4", "0.1, 0.02, 0.003, 0.0004, 0",
       RaggedCamera(CameraModel::kKannalaBrandt, {0.1, 0.02, 0.003, 0.0004})},
      {"Ftheta", "0.92, 0, 0, 0, 0", RaggedCamera(CameraModel::kFov, {0.92})},
  };
  for (const auto& [model, coeffs, camera] : cases) {
    const auto read = Read(Stream(model, coeffs));
    ASSERT_THAT(read.rig.cameras, SizeIs(1)) << model;
    ExpectSame(read.rig.cameras[0].camera, camera);
    EXPECT_THAT(read.warnings, IsEmpty());
  }
}

TEST(RealSense, SaysWhatIsMissing) {
  const std::string bare = R"({"ppx": 367.215, "ppy": 248.375, "fx": 458.654, "fy": 457.296})";
  const auto read = Read(bare, OfImage(752, 480));
  ExpectSame(read.rig.cameras[0].camera, RaggedCamera(CameraModel::kPinhole, {}));
  EXPECT_THAT(read.warnings, ElementsAre(HasSubstr("camera/coeffs: is missing")));
  const std::string model = R"("model": "None", )";
  EXPECT_THAT(Read(Without(Stream("None", "0, 0, 0, 0, 0"), model)).warnings, IsEmpty());
  EXPECT_THAT(Read(Without(Stream("None", "0.1, 0, 0, 0, 0"), model)).warnings,
              ElementsAre(HasSubstr("camera/model: is missing; taken as Brown Conrady")));
}

TEST(RealSense, ErrorsNameTheField) {
  EXPECT_THAT(ErrorOf(Stream("Fisheye", "0, 0, 0, 0, 0")), HasSubstr("camera/model: 'Fisheye' is none of"));
  EXPECT_THAT(ErrorOf(Stream("None", "0, 0")), HasSubstr("coeffs: 2 numbers, not 5"));
  EXPECT_THAT(ErrorOf(Without(Stream("None", "0, 0, 0, 0, 0"), "752", "0")), HasSubstr("0 x 480 is no image size"));
  EXPECT_THAT(ErrorOf(Without(Pair("extrinsics", R"("from": "infrared1", "to": "infrared2", )"), R"("rotation": [)",
                              R"("rotation": [5, )")),
              HasSubstr("rotation"));
  EXPECT_THAT(ErrorOf(R"({"param-autoexposure-setpoint": 1536, "controls-depth-gain": 16})"),
              HasSubstr("no calibration"));
}

// rs-enumerate-devices -c: rotations by rows, several sizes.
TEST(RealSense, ReadsWhatTheToolPrints) {
  std::string text = "Device info:\n    Name                          :     Intel RealSense D435I\n\n";
  for (const char* stream : {"Depth", "Color", "Infrared 1", "Infrared 2"}) {
    for (const int width : {640, 1280}) {
      absl::StrAppendFormat(
          &text,
          " Intrinsic of \"%s\" / %dx%d / {Z16}\n  Width:      \t%d\n  Height:     \t%d\n  PPX:        \t%g\n"
          "  PPY:        \t%g\n  Fx:         \t%g\n  Fy:         \t%g\n  Distortion: \tBrown Conrady\n"
          "  Coeffs:     \t0  \t0  \t0  \t0  \t0  \n  FOV (deg):  \t79.6 x 50.2\n\n",
          stream, width, width / 2, width, width / 2, width * 0.51, width * 0.26, width * 0.6, width * 0.6);
    }
  }
  const RigidTransform pose = LeftFromRight().Inverse();
  const std::vector<double> r = ByRows(pose.rotation);
  absl::StrAppendFormat(
      &text,
      " Extrinsic from \"Infrared 1\"\t  To\t  \"Infrared 2\" :\n Rotation Matrix:\n   %.9f  %.9f  %.9f\n"
      "   %.9f  %.9f  %.9f\n   %.9f  %.9f  %.9f\n\n Translation Vector: %.9f  %.9f  %.9f\n\n",
      r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], pose.translation[0], pose.translation[1],
      pose.translation[2]);
  const auto read = Read(text, OfImage(1280, 640));
  ASSERT_THAT(read.rig.cameras, SizeIs(2));
  EXPECT_EQ(read.rig.cameras[1].name, "Infrared 2");
  EXPECT_NEAR(read.rig.cameras[1].camera.fx, 768, 1e-9);
  ExpectSame(SecondInFirst(read.rig), LeftFromRight(), 1e-8);
  EXPECT_NEAR(Read(text).rig.cameras[0].camera.fx, 384, 1e-9);
}

}  // namespace
}  // namespace glint::testing
