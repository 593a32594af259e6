// The calibration of cameras with depth: what glint localize --depth makes of files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/source/calibration.h"

namespace glint::cli {
namespace {

using ::testing::HasSubstr;

std::string Write(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "depth-calibration-" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

absl::StatusOr<PairCameras> ReadWithDepth(std::vector<std::string> arguments, const std::string& depth_camera = "") {
  Flags flags;
  CalibrationFlags calibration;
  calibration.AddTo(&flags, true);
  EXPECT_TRUE(flags.Parse(arguments).ok());
  return calibration.ReadWithDepth({640, 480}, depth_camera);
}

// TUM RGB-D's cameras as ORB-SLAM2 and ORB-SLAM3 have them: the first has a lens, the third two focal lengths alone.
TEST(DepthCalibration, OfOrbSlamHasTheDepthsOfACamera) {
  const auto tum1 = ReadWithDepth(
      {"--calibration", Write("tum1.yaml",
                              "%YAML:1.0\n---\nCamera.fx: 517.306408\nCamera.fy: 516.469215\nCamera.cx: 318.643040\n"
                              "Camera.cy: 255.313989\nCamera.k1: 0.262383\nCamera.k2: -0.953104\n"
                              "Camera.p1: -0.005358\nCamera.p2: 0.002628\nCamera.k3: 1.163314\nCamera.width: 640\n"
                              "Camera.height: 480\nCamera.bf: 40.0\nDepthMapFactor: 5000.0\n")});
  ASSERT_TRUE(tum1.ok()) << tum1.status();
  ASSERT_TRUE(tum1->raw_camera.has_value());
  EXPECT_EQ(tum1->raw_camera->camera.model, CameraModel::kRadialTangential);
  EXPECT_EQ(tum1->raw_camera->camera.fy, 516.469215);
  EXPECT_EQ(tum1->raw_camera->camera.lens[4], 1.163314);
  EXPECT_EQ(tum1->depth_unit, 0.0002);
  EXPECT_EQ(tum1->nominal_baseline, 40 / 517.306408);

  const std::string pinhole = Write("tum3.yaml",
                                    "%YAML:1.0\n---\nCamera.type: \"PinHole\"\nCamera1.fx: 535.4\n"
                                    "Camera1.fy: 539.2\nCamera1.cx: 320.1\nCamera1.cy: 247.6\nStereo.b: 0.07\n"
                                    "RGBD.DepthMapFactor: 1000.0\n");
  const auto tum3 = ReadWithDepth({"--calibration", pinhole});
  ASSERT_TRUE(tum3.ok()) << tum3.status();
  ASSERT_TRUE(tum3->raw_camera.has_value());
  EXPECT_EQ(tum3->raw_camera->camera.model, CameraModel::kPinhole);
  EXPECT_EQ(tum3->raw_camera->camera.image, (Shape{640, 480}));
  EXPECT_EQ(tum3->depth_unit, 0.001);
  EXPECT_EQ(tum3->nominal_baseline, 0.07);

  const auto ideal =
      ReadWithDepth({"--calibration", Write("ideal.yaml",
                                            "%YAML:1.0\n---\nCamera.fx: 525.0\nCamera.fy: 525.0\nCamera.cx: 319.5\n"
                                            "Camera.cy: 239.5\nDepthMapFactor: 5000.0\n")});
  ASSERT_TRUE(ideal.ok()) << ideal.status();
  EXPECT_FALSE(ideal->raw_camera.has_value());
  EXPECT_EQ(ideal->focal_length(), 525);
  EXPECT_EQ(ideal->depth_unit, 0.0002);
  EXPECT_FALSE(ideal->nominal_baseline.has_value());

  const std::string bad = Write("bad-factor.yaml",
                                "%YAML:1.0\n---\nCamera.fx: 525.0\nCamera.fy: 525.0\nCamera.cx: 319.5\n"
                                "Camera.cy: 239.5\nDepthMapFactor: -1\n");
  EXPECT_THAT(ReadWithDepth({"--calibration", bad}).status().message(),
              HasSubstr("bad-factor.yaml: DepthMapFactor: -1 is not above 0"));
}

TEST(DepthCalibration, DepthsMayHaveACameraOfTheirOwn) {
  const auto stream = [](const char* name, int width, double f) {
    return absl::StrCat("\"", name, R"(": {"width": )", width, R"(, "height": 480, "fx": )", f, R"(, "fy": )", f + 1,
                        R"(, "ppx": )", width / 2, R"(, "ppy": 240, "model": "Brown Conrady", "coeffs": [0,0,0,0,0]})");
  };
  const std::string file =
      Write("realsense.json", absl::StrCat("{", stream("color", 640, 600), ", ", stream("depth", 848, 420),
                                           R"(, "depth_to_color": {"rotation": [1,0,0,0,1,0,0,0,1],)",
                                           R"( "translation": [0.015, 0, 0]}})"));
  const auto both = ReadWithDepth({"--calibration", file, "--cameras", "color"}, "depth");
  ASSERT_TRUE(both.ok()) << both.status();
  ASSERT_TRUE(both->raw_camera.has_value() && both->raw_camera->depth_camera.has_value());
  EXPECT_EQ(both->raw_camera->camera.fx, 600);
  EXPECT_EQ(both->raw_camera->depth_camera->fx, 420);
  EXPECT_EQ(both->raw_camera->depth_camera->image, (Shape{848, 480}));
  EXPECT_NEAR(both->raw_camera->camera_from_depth.translation.x(), 0.015, 1e-12);
  EXPECT_THAT(ReadWithDepth({"--calibration", file}, "depth").status().message(),
              HasSubstr("option '--depth-camera': needs --cameras NAME"));
  EXPECT_THAT(ReadWithDepth({"--calibration", file, "--cameras", "color", "--rectified"}, "depth").status().message(),
              HasSubstr("option '--depth-camera': not with --rectified"));
  EXPECT_THAT(ReadWithDepth({"--calibration", file, "--cameras", "color"}, "fisheye").status().message(),
              HasSubstr("fisheye"));
}

}  // namespace
}  // namespace glint::cli
