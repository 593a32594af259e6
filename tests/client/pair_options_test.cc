// Where pairs are looked at, cameras with depth as they are, and calibrations that the server has: by the C++ client
// and by the commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/base/command.h"
#include "client/client.h"
#include "tests/server/harness.h"
#include "tests/server/raw_wall.h"
#include "tests/support/images.h"

namespace glint::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr Shape kShape = {320, 240};
constexpr float kEdge = 4;  // pixels of the first level that one of the last level covers

std::string Path(const std::string& name) { return ::testing::TempDir() + "pair-options-" + name; }

std::string Write(const std::string& name, const std::string& text) {
  std::ofstream(Path(name), std::ios::binary) << text;
  return Path(name);
}

std::string WriteImage(const std::string& name, const ImageView& image) {
  const cv::Mat pixels(image.height, image.width, CV_8U, const_cast<uint8_t*>(image.data),
                       static_cast<size_t>(image.stride));
  EXPECT_TRUE(cv::imwrite(Path(name), pixels));
  return Path(name);
}

// White in columns `from` and later.
Image MaskFrom(int from, Shape shape = kShape) {
  Image mask(shape.width, shape.height);
  for (int y = 0; y < shape.height; ++y) {
    for (int x = 0; x < shape.width; ++x) mask.row(y)[x] = x >= from ? 255 : 0;
  }
  return mask;
}

ServerOptions Options() {
  ServerOptions options = glint::testing::TestOptions();
  options.calibration_directory = Path("calibrations");
  std::filesystem::create_directories(options.calibration_directory);
  return options;
}

struct Outcome {
  int status;
  std::vector<std::vector<std::string>> rows;  // of the CSV, without its header
  std::string said;
};

// Two views of one scene, 8 pixels apart.
class PairOptions : public ::testing::Test {
 protected:
  Outcome Run(int (*command)(const std::vector<std::string>&), std::vector<std::string> arguments) {
    const std::string csv = Path("rows.csv");
    std::filesystem::remove(csv);
    arguments.insert(arguments.end(), {"--server", server_->addresses().at(0), "--csv", "--output", csv});
    ::testing::internal::CaptureStderr();
    Outcome outcome = {command(arguments), {}, ""};
    outcome.said = ::testing::internal::GetCapturedStderr();
    std::ifstream lines(csv);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) outcome.rows.push_back(absl::StrSplit(line, ','));
    return outcome;
  }

  glint::testing::TestServer server_{Options()};
  const client::Client client_ = client::Client::Connect(server_->addresses().at(0)).value();
  const Image scene_ = glint::testing::Texture({kShape.width + 8, kShape.height}, 7);
  const ImageView left_{scene_.row(0), kShape.width, kShape.height, scene_.stride()};
  const ImageView right_{scene_.row(0) + 8, kShape.width, kShape.height, scene_.stride()};
};

TEST_F(PairOptions, StereoLooksWhereMasksAndRegionAllow) {
  std::vector<client::StereoAnswer> answers;
  const Image right_half = MaskFrom(160), last_quarter = MaskFrom(240);
  client::StereoStreamOptions options;
  options.mask = right_half;
  options.region = {0, 40, 320, 120};
  const auto stream = client_.OpenStereoStream(options, [&](const client::StereoAnswer& a) { answers.push_back(a); });
  ASSERT_TRUE(stream.ok()) << stream.status();
  ASSERT_TRUE((*stream)->Write(1, left_, right_).ok());
  ASSERT_TRUE((*stream)->Write(2, left_, right_, 0, 0, last_quarter).ok());
  ASSERT_TRUE((*stream)->Write(3, left_, right_, 0, 0, {}, last_quarter).ok());
  ASSERT_TRUE((*stream)->Write(4, left_, right_).ok());
  ASSERT_TRUE((*stream)->Finish().ok());
  ASSERT_THAT(answers, SizeIs(4));
  const float first_x[] = {160, 240, 160, 160};
  for (size_t i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    ASSERT_TRUE(answers[i].status.ok()) << answers[i].status;
    const Features& left = answers[i].left;
    ASSERT_GT(left.count(), 20);
    EXPECT_GE(*std::min_element(left.x.begin(), left.x.end()), first_x[i] - kEdge);
    EXPECT_LT(*std::min_element(left.x.begin(), left.x.end()), first_x[i] + 40);
    EXPECT_GE(*std::min_element(left.y.begin(), left.y.end()), 40 - kEdge);
    EXPECT_LE(*std::max_element(left.y.begin(), left.y.end()), 160 + kEdge);
    for (const float x : answers[i].right_x) EXPECT_GE(x, i == 2 ? 240 - kEdge - 1 : 0);
  }
  EXPECT_LT(answers[2].right_keypoints, answers[0].right_keypoints);
  EXPECT_EQ(answers[3].left.x, answers[0].left.x) << "a pair's mask stayed";
}

TEST_F(PairOptions, CommandsTakeMasksAndRegion) {
  const std::string left = WriteImage("left.png", left_), right = WriteImage("right.png", right_);
  const std::string mask = WriteImage("mask.png", MaskFrom(160)),
                    small = WriteImage("small.png", MaskFrom(0, {100, 80}));
  const Outcome masked = Run(RunStereo, {"--mask", mask, "--region", "300x120+0+40", left, right});
  ASSERT_EQ(masked.status, kOk) << masked.said;
  ASSERT_GT(masked.rows.size(), 20u);
  for (const auto& row : masked.rows) {
    EXPECT_GE(std::stof(row[2]), 160 - kEdge);
    EXPECT_LE(std::stof(row[2]), 300 + kEdge);
    EXPECT_GE(std::stof(row[3]), 40 - kEdge);
    EXPECT_LE(std::stof(row[3]), 160 + kEdge);
  }
  const Outcome right_masked = Run(RunStereo, {"--right-mask", mask, left, right});
  ASSERT_GT(right_masked.rows.size(), 20u) << right_masked.said;
  for (const auto& row : right_masked.rows) EXPECT_GE(std::stof(row[4]), 160 - kEdge - 1);

  const std::string cameras =
      Write("eyes.txt", "P0: 300 0 160 0 0 300 120 0 0 0 1 0\nP1: 300 0 160 -30 0 300 120 0 0 0 1 0\n");
  const std::vector<std::string> pair = {"--calibration", cameras, left, right};
  const auto with = [&pair](std::vector<std::string> more) {
    more.insert(more.end(), pair.begin(), pair.end());
    return more;
  };
  const Outcome all = Run(RunLocalize, pair), half = Run(RunLocalize, with({"--mask", mask, "--features", "5000"})),
                whole = Run(RunLocalize, with({"--features", "5000"}));
  ASSERT_TRUE(all.rows.size() == 1 && half.rows.size() == 1 && whole.rows.size() == 1) << all.said << half.said;
  EXPECT_GT(std::stoi(half.rows[0][10]), 100);
  EXPECT_LT(std::stoi(half.rows[0][10]), std::stoi(whole.rows[0][10]));

  for (const auto& [command, arguments] :
       {std::pair(RunStereo, std::vector<std::string>{left, right}), std::pair(RunLocalize, pair)}) {
    for (const char* flag : {"--mask", "--right-mask"}) {
      std::vector<std::string> bad = {flag, small};
      bad.insert(bad.end(), arguments.begin(), arguments.end());
      const Outcome outcome = Run(command, bad);
      EXPECT_NE(outcome.status, kOk);
      EXPECT_THAT(outcome.said, AllOf(HasSubstr("100x80"), HasSubstr("320x240")));
    }
    std::vector<std::string> bad = {"--region", "100x100+300+0"};
    bad.insert(bad.end(), arguments.begin(), arguments.end());
    const Outcome outcome = Run(command, bad);
    EXPECT_NE(outcome.status, kOk);
    EXPECT_THAT(outcome.said, HasSubstr("region"));
    bad = {"--mask", "/nowhere.png"};
    bad.insert(bad.end(), arguments.begin(), arguments.end());
    EXPECT_EQ(Run(command, bad).status, kUsage);
  }
}

// A Kinect by its settings for ORB-SLAM, of half the size, moves along a wall by 10 cm a frame.
TEST_F(PairOptions, DepthsTakeALensAndTwoFocalLengths) {
  const Camera camera = {CameraModel::kRadialTangential,     kShape, 258.65, 258.25, 159.3, 119.8,
                         {0.26, -0.95, -0.005, 0.0026, 1.16}};
  const std::string settings = Write("kinect.yaml",
                                     "%YAML:1.0\n---\nCamera.fx: 258.65\nCamera.fy: 258.25\nCamera.cx: 159.3\n"
                                     "Camera.cy: 119.8\nCamera.k1: 0.26\nCamera.k2: -0.95\nCamera.p1: -0.005\n"
                                     "Camera.p2: 0.0026\nCamera.k3: 1.16\nCamera.width: 320\nCamera.height: 240\n"
                                     "Camera.bf: 20.0\nDepthMapFactor: 5000.0\n");
  std::filesystem::create_directories(Path("rgb"));
  std::filesystem::create_directories(Path("depth"));
  const cv::Mat depth(kShape.height, kShape.width, CV_16U, cv::Scalar(glint::testing::kWallMetres * 5000));
  for (int i = 0; i < 5; ++i) {
    RigidTransform world_from_camera;
    world_from_camera.translation.x() = 0.1 * i;
    WriteImage(absl::StrCat("rgb/", i, ".png"), glint::testing::Seen(camera, world_from_camera));
    ASSERT_TRUE(cv::imwrite(Path(absl::StrCat("depth/", i, ".png")), depth));
  }
  const Outcome path = Run(RunLocalize, {"--calibration", settings, "--depth", Path("rgb/"), Path("depth/")});
  ASSERT_EQ(path.status, kOk) << path.said;
  EXPECT_THAT(path.said, AllOf(HasSubstr("camera: orbslam2, radial-tangential, 320x240; images and depths are raw"),
                               HasSubstr("depths: 0.0002 m in a sample of 1")));
  ASSERT_THAT(path.rows, SizeIs(5));
  for (size_t i = 0; i < 5; ++i) {
    SCOPED_TRACE(i);
    EXPECT_NEAR(std::stod(path.rows[i][3]), 0.1 * static_cast<double>(i), 0.01);
    EXPECT_NEAR(std::stod(path.rows[i][4]), 0, 0.01);
    EXPECT_NEAR(std::stod(path.rows[i][5]), 0, 0.02);
    EXPECT_GT(std::stoi(path.rows[i][17]), 100) << "points";
  }
  // Half the unit is half the path.
  const Outcome half =
      Run(RunLocalize, {"--calibration", settings, "--depth", "--depth-unit", "0.0001", Path("rgb/"), Path("depth/")});
  ASSERT_THAT(half.rows, SizeIs(5)) << half.said;
  EXPECT_NEAR(std::stod(half.rows[4][3]), 0.2, 0.01);
}

TEST_F(PairOptions, CalibrationsOfTheServerAreNamed) {
  std::string chain;
  for (const int eye : {0, 1}) {
    absl::StrAppend(
        &chain, "cam", eye, ":\n",
        eye == 0 ? "" : "  T_cn_cnm1:\n  - [1, 0, 0, -0.1]\n  - [0, 1, 0, 0]\n  - [0, 0, 1, 0]\n  - [0, 0, 0, 1]\n",
        "  camera_model: pinhole\n  distortion_model: radtan\n  distortion_coeffs: [-0.05, 0.01, 0, 0]\n"
        "  intrinsics: [300, 301, 159, 121]\n  resolution: [320, 240]\n");
  }
  const std::string file = Write("calibrations/front.yaml", chain);
  const std::string left = WriteImage("left.png", left_), right = WriteImage("right.png", right_);
  for (const auto command : {RunStereo, RunLocalize}) {
    const Outcome named = Run(command, {"--calibration-name", "front", left, right});
    ASSERT_EQ(named.status, kOk) << named.said;
    const Outcome given = Run(command, {"--calibration", file, left, right});
    ASSERT_EQ(named.rows.size(), given.rows.size());
    ASSERT_FALSE(named.rows.empty());
    for (size_t i = 0; i < given.rows.size(); ++i) {
      // Without glint localize's time.
      const auto upto = [](const std::vector<std::string>& row) {
        return std::vector<std::string>(row.begin(),
                                        row.begin() + std::min<ptrdiff_t>(18, std::distance(row.begin(), row.end())));
      };
      EXPECT_EQ(upto(named.rows[i]), upto(given.rows[i]));
    }
    const Outcome unknown = Run(command, {"--calibration-name", "rear", left, right});
    EXPECT_NE(unknown.status, kOk);
    EXPECT_THAT(unknown.said, HasSubstr("rear"));
    const Outcome both = Run(command, {"--calibration-name", "front", "--calibration", file, left, right});
    EXPECT_EQ(both.status, kUsage);
    EXPECT_THAT(both.said, HasSubstr("option '--calibration-name': not with --calibration"));
  }
}

// A camera and, 2 cm to its left, one of depths see a wall, along which they move by 10 cm a frame.
TEST_F(PairOptions, CamerasWithDepthOfTheServerAreNamed) {
  const Camera camera = {CameraModel::kRadialTangential, kShape, 258.5, 258.25, 159.5, 119.5, {-0.05, 0.01}};
  const auto eye = [](int number, const char* pose, const char* lens, const char* intrinsics) {
    return absl::StrCat("cam", number, ":\n", pose, "  camera_model: pinhole\n", lens, "  intrinsics: ", intrinsics,
                        "\n  resolution: [320, 240]\n");
  };
  const std::string file =
      Write("calibrations/d435.yaml",
            eye(0, "", "  distortion_model: radtan\n  distortion_coeffs: [-0.05, 0.01, 0, 0]\n",
                "[258.5, 258.25, 159.5, 119.5]") +
                eye(1, "  T_cn_cnm1:\n  - [1, 0, 0, 0.02]\n  - [0, 1, 0, 0]\n  - [0, 0, 1, 0]\n  - [0, 0, 0, 1]\n",
                    "  distortion_model: none\n  distortion_coeffs: []\n", "[220, 220, 160, 120]"));
  std::filesystem::create_directories(Path("color"));
  std::filesystem::create_directories(Path("samples"));
  const cv::Mat depth(kShape.height, kShape.width, CV_16U, cv::Scalar(glint::testing::kWallMetres * 1000));
  for (int i = 0; i < 4; ++i) {
    RigidTransform world_from_camera;
    world_from_camera.translation.x() = 0.1 * i;
    WriteImage(absl::StrCat("color/", i, ".png"), glint::testing::Seen(camera, world_from_camera));
    ASSERT_TRUE(cv::imwrite(Path(absl::StrCat("samples/", i, ".png")), depth));
  }
  const auto run = [this](std::vector<std::string> options) {
    options.insert(options.end(), {"--depth", Path("color/"), Path("samples/")});
    return Run(RunLocalize, options);
  };
  const Outcome named = run({"--calibration-name", "d435"});
  ASSERT_EQ(named.status, kOk) << named.said;
  const Outcome given = run({"--calibration", file, "--cameras", "cam0", "--depth-camera", "cam1"});
  ASSERT_EQ(given.status, kOk) << given.said;
  ASSERT_THAT(named.rows, SizeIs(4));
  ASSERT_THAT(given.rows, SizeIs(4));
  for (size_t i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    EXPECT_NEAR(std::stod(named.rows[i][3]), 0.1 * static_cast<double>(i), 0.01);
    for (size_t column = 1; column < 18; ++column) EXPECT_EQ(named.rows[i][column], given.rows[i][column]) << column;
  }
  // Unit and baseline are the command's.
  const Outcome half = run({"--calibration-name", "d435", "--depth-unit", "0.0005", "--baseline", "0.05"});
  ASSERT_THAT(half.rows, SizeIs(4)) << half.said;
  EXPECT_NEAR(std::stod(half.rows[3][3]), 0.15, 0.01);
  for (const auto& [options, error] :
       {std::pair(std::vector<std::string>{"--calibration-name", "d455"}, "raw_camera.name: there is no calibration"),
        std::pair(std::vector<std::string>{"--calibration-name", "d435", "--cameras", "cam0"},
                  "option '--calibration-name': not with --cameras"),
        std::pair(std::vector<std::string>{"--calibration-name", "d435", "--depth-camera", "cam1"},
                  "option '--depth-camera': not with --calibration-name")}) {
    const Outcome refused = run(options);
    EXPECT_NE(refused.status, kOk);
    EXPECT_THAT(refused.said, HasSubstr(error));
  }
}

// A name beside cameras is the server's to refuse.
TEST_F(PairOptions, ANameIsSentWithTheCamerasBesideIt) {
  client::LocalizeStreamOptions options;
  options.depth = client::DepthCamera{0.001, 0, 0};
  options.raw_camera.emplace().name = "d435";
  options.raw_camera->camera = {CameraModel::kPinhole, kShape, 300, 300, 160, 120, {}};
  const auto stream = client_.OpenLocalizeStream(options, [](const client::LocalizeAnswer&) {});
  // The answer may be here before the options are written.
  const absl::Status refused = stream.ok() ? (*stream)->Finish() : stream.status();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("raw_camera.name: is in place of camera"));
}

}  // namespace
}  // namespace glint::cli
