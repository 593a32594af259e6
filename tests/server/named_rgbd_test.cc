// Cameras with depth that streams name: they are what the files say, the same as by value, and no stereo pair.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <Eigen/Geometry>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/rig_wire.h"
#include "features/camera/rgbd_camera.h"
#include "features/error.h"
#include "server/wire/stereo_rig.h"
#include "tests/server/localize_client.h"
#include "tests/server/raw_depth_frames.h"

namespace glint::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kPixels = 1 << 20;
constexpr char kWanted[] = ": give one camera, whose pixels depths are of, or that of images and then that of depths";

std::string Eye(int number, const Camera& camera, const std::string& pose = "") {
  const auto& k = camera.lens;
  return absl::StrFormat(
      "cam%d:\n%s  camera_model: pinhole\n  distortion_coeffs: [%.17g, %.17g, %.17g, %.17g]\n"
      "  distortion_model: radtan\n  intrinsics: [%.17g, %.17g, %.17g, %.17g]\n  resolution: [%d, %d]\n",
      number, pose, k[0], k[1], k[2], k[3], camera.fx, camera.fy, camera.cx, camera.cy, camera.image.width,
      camera.image.height);
}

// Kalibr's camchain.yaml: T_cn_cnm1 is depth camera from camera.
std::string Kalibr(const RgbdCamera& rgbd) {
  if (!rgbd.depth_camera.has_value()) return Eye(0, rgbd.camera);
  const RigidTransform pose = rgbd.camera_from_depth.Inverse();
  std::string rows = "  T_cn_cnm1:\n";
  for (int i = 0; i < 3; ++i) {
    const auto r = pose.rotation.row(i);
    absl::StrAppendFormat(&rows, "  - [%.17g, %.17g, %.17g, %.17g]\n", r(0), r(1), r(2), pose.translation(i));
  }
  return Eye(0, rgbd.camera) + Eye(1, *rgbd.depth_camera, rows + "  - [0.0, 0.0, 0.0, 1.0]\n");
}

// A stream of a RealSense.
std::string Stream(const std::string& name, double f, int width = 320) {
  return absl::StrCat("\"", name, "\": {\"width\": ", width, ", \"height\": 200, \"fx\": ", f, ", \"fy\": ", f,
                      ", \"ppx\": ", width / 2, ", \"ppy\": 100, \"model\": \"Brown Conrady\", ",
                      "\"coeffs\": [0,0,0,0,0]}");
}

// JSON of streams, each but the first 15 mm to the left of the one before.
std::string RealSense(const std::vector<std::pair<std::string, double>>& streams) {
  std::string text = "{";
  for (size_t i = 0; i < streams.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", Stream(streams[i].first, streams[i].second));
    if (i == 0) continue;
    absl::StrAppend(&text, ", \"", streams[i - 1].first, "_to_", streams[i].first,
                    "\": {\"rotation\": [1,0,0,0,1,0,0,0,1], \"translation\": [0.015, 0, 0]}");
  }
  return text + "}";
}

class NamedRgbdTest : public ::testing::Test {
 protected:
  NamedRgbdTest() { fs::create_directories(folder_); }
  ~NamedRgbdTest() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) const { std::ofstream(folder_ + "/" + name) << text; }
  static v1::RgbdCamera NamedCamera(const std::string& name) {
    v1::RgbdCamera camera;
    camera.set_name(name);
    camera.set_baseline(kBaselineMetres);
    return camera;
  }
  std::shared_ptr<const Rectification> Got(const v1::RgbdCamera& camera) {
    auto got = rectifications_.Get(camera, kPixels);
    EXPECT_TRUE(got.ok()) << got.status();
    return got.ok() ? *got : nullptr;
  }
  std::shared_ptr<const Rectification> Got(const std::string& name) { return Got(NamedCamera(name)); }
  // The text of an error of "raw_camera.name", which has no path of the server.
  std::string Refusal(const std::string& name, absl::StatusCode code = absl::StatusCode::kFailedPrecondition) {
    const absl::Status status = rectifications_.Get(NamedCamera(name), kPixels).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr(folder_)));
    const auto info = ErrorInfoOf(status);
    EXPECT_EQ(info.has_value() ? info->field : "", "raw_camera.name");
    return std::string(status.message());
  }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "glint-rgbd-", getpid());
  std::vector<std::string> warnings_;
  Rectifications rectifications_{int64_t{1} << 30, folder_, [this](absl::string_view name, const std::string& warning) {
                                   warnings_.push_back(absl::StrCat(name, " ", warning));
                                 }};
};

// The depth camera of this one sits to the right of the camera; of its inverse to the left, where no pair has it.
TEST_F(NamedRgbdTest, TwoCamerasAreThoseOfImagesAndDepths) {
  RgbdCamera expected = CameraOf(Kind::kWithDepthCamera);
  for (const char* side : {"right", "left"}) {
    SCOPED_TRACE(side);
    Write(absl::StrCat(side, ".yaml"), Kalibr(expected));
    const auto got = Got(side);
    ASSERT_TRUE(got != nullptr && got->rgbd().has_value());
    const RgbdCamera& rgbd = *got->rgbd();
    ASSERT_TRUE(rgbd.depth_camera.has_value());
    for (const auto& [found, camera] :
         {std::pair(rgbd.camera, expected.camera), std::pair(*rgbd.depth_camera, *expected.depth_camera)}) {
      EXPECT_EQ(found.model, camera.model);
      EXPECT_EQ(found.image, camera.image);
      EXPECT_EQ(found.lens, camera.lens);
      EXPECT_EQ(std::vector({found.fx, found.fy, found.cx, found.cy}),
                std::vector({camera.fx, camera.fy, camera.cx, camera.cy}));
    }
    EXPECT_LT((rgbd.camera_from_depth.rotation - expected.camera_from_depth.rotation).norm(), 1e-12);
    EXPECT_LT((rgbd.camera_from_depth.translation - expected.camera_from_depth.translation).norm(), 1e-12);
    EXPECT_EQ(got->rectified().baseline, kBaselineMetres);
    // By its whole name and by value: the same tables.
    EXPECT_EQ(Got(absl::StrCat(side, ".yaml")), got);
    v1::RgbdCamera by_value;
    client::ToWire(rgbd, &by_value);
    EXPECT_EQ(Got(by_value), got);
    expected.camera_from_depth = expected.camera_from_depth.Inverse();
  }
  EXPECT_NE(Got("left"), Got("right"));
  // Baseline and size are the stream's.
  v1::RgbdCamera other = NamedCamera("right");
  other.set_baseline(0.05);
  other.mutable_rectify()->set_width(160);
  other.mutable_rectify()->set_height(100);
  const auto smaller = Got(other);
  ASSERT_NE(smaller, nullptr);
  EXPECT_EQ(smaller->rectified().baseline, 0.05);
  EXPECT_EQ(smaller->rectified().camera.image, (Shape{160, 100}));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(NamedRgbdTest, DepthsOfOneCameraAreOfItsPixels) {
  const RgbdCamera expected = CameraOf(Kind::kRegistered);
  Write("one.yaml", Kalibr(expected));
  const auto one = Got("one");
  ASSERT_TRUE(one != nullptr && one->rgbd().has_value());
  EXPECT_FALSE(one->rgbd()->depth_camera.has_value());
  v1::RgbdCamera by_value;
  client::ToWire(expected, &by_value);
  EXPECT_EQ(Got(by_value), one);
  // Settings of ORB-SLAM, whose unit and baseline are not those of the stream.
  Write("tum1.yaml",
        "%YAML:1.0\n---\nCamera.fx: 200.5\nCamera.fy: 201.5\nCamera.cx: 158.5\nCamera.cy: 103.25\nCamera.k1: 0.05\n"
        "Camera.k2: -0.03\nCamera.p1: 0.0001\nCamera.p2: 0.0002\nCamera.k3: 0.0\nCamera.width: 320\n"
        "Camera.height: 200\nCamera.bf: 40.0\nDepthMapFactor: 5000.0\n");
  const auto tum = Got("tum1");
  ASSERT_NE(tum, nullptr);
  EXPECT_EQ(tum->rgbd()->camera.fy, 201.5);
  EXPECT_FALSE(tum->rgbd()->depth_camera.has_value());
  EXPECT_EQ(tum->rectified().baseline, kBaselineMetres);
  // The length of a board's squares, which OpenCV's files do not say, is of no account with one camera.
  Write("opencv.yml",
        "%YAML:1.0\n---\nimage_width: 320\nimage_height: 200\ncamera_matrix: !!opencv-matrix\n   rows: 3\n   cols: 3\n"
        "   dt: d\n   data: [200., 0., 158.5, 0., 201., 103.25, 0., 0., 1.]\n"
        "distortion_coefficients: !!opencv-matrix\n   rows: 1\n   cols: 5\n   dt: d\n"
        "   data: [-0.28, 0.07, 0.0002, -0.0003, 0.]\n");
  const auto opencv = Got("opencv");
  ASSERT_NE(opencv, nullptr);
  EXPECT_EQ(opencv->rgbd()->camera.lens[0], -0.28);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(NamedRgbdTest, StreamsOfARealSenseAreImagesAndThenDepths) {
  Write("d435.json", RealSense({{"color", 300}, {"depth", 200}}));
  const auto both = Got("d435");
  ASSERT_TRUE(both != nullptr && both->rgbd()->depth_camera.has_value());
  EXPECT_EQ(both->rgbd()->camera.fx, 300);
  EXPECT_EQ(both->rgbd()->depth_camera->fx, 200);
  EXPECT_NEAR(both->rgbd()->camera_from_depth.translation.x(), -0.015, 1e-12);
  Write("turned.json", RealSense({{"depth", 200}, {"color", 300}}));
  EXPECT_EQ(Refusal("turned"),
            absl::StrCat("raw_camera.name: \"turned\": depth and color are in the other order", kWanted));
  Write("three.json", RealSense({{"infrared1", 200}, {"color", 300}, {"depth", 200}}));
  EXPECT_EQ(Refusal("three"), absl::StrCat("raw_camera.name: \"three\": has 3 cameras", kWanted));
  Write("infrared.json", RealSense({{"infrared1", 200}, {"infrared2", 300}}));
  EXPECT_EQ(Refusal("infrared"),
            absl::StrCat("raw_camera.name: \"infrared\": infrared1 and infrared2 are a stereo pair", kWanted));
  Write("sides.json", RealSense({{"left", 200}, {"right", 300}}));
  EXPECT_THAT(Refusal("sides"), StartsWith("raw_camera.name: \"sides\": left and right are a stereo pair"));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(NamedRgbdTest, ANewFileIsTheNextStreams) {
  RgbdCamera rgbd = CameraOf(Kind::kWithDepthCamera);
  Write("d435.yaml", Kalibr(rgbd));
  const auto before = Got("d435");
  ASSERT_NE(before, nullptr);
  rgbd.depth_camera->fx = 191;
  Write("d435.yaml", Kalibr(rgbd));
  const auto after = Got("d435");
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(before->rgbd()->depth_camera->fx, 190);
  EXPECT_EQ(after->rgbd()->depth_camera->fx, 191);
}

TEST_F(NamedRgbdTest, ANameIsInPlaceOfTheCameras) {
  Write("d435.yaml", Kalibr(CameraOf(Kind::kWithDepthCamera)));
  for (const auto set : {+[](v1::RgbdCamera* camera) { camera->mutable_camera(); },
                         +[](v1::RgbdCamera* camera) { camera->mutable_depth_camera(); },
                         +[](v1::RgbdCamera* camera) { camera->mutable_camera_from_depth(); }}) {
    v1::RgbdCamera both = NamedCamera("d435");
    set(&both);
    EXPECT_EQ(
        rectifications_.Get(both, kPixels).status(),
        WithField("raw_camera", ContradictionError("name",
                                                   "is in place of camera, depth_camera and camera_from_depth: give "
                                                   "either")));
  }
  // What is wrong with the stream's own fields is not the file's fault.
  for (const auto& [field, set] :
       {std::pair(
            "raw_camera.baseline: 0 is not in", +[](v1::RgbdCamera* camera) { camera->clear_baseline(); }),
        std::pair(
            "raw_camera.rectify.focal_length: 31 is not in 32..3200",
            +[](v1::RgbdCamera* camera) { camera->mutable_rectify()->set_focal_length(31); })}) {
    v1::RgbdCamera bad = NamedCamera("d435");
    set(&bad);
    const absl::Status status = rectifications_.Get(bad, kPixels).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), StartsWith(field));
  }
}

TEST_F(NamedRgbdTest, WhatCannotBeIsRefused) {
  EXPECT_THAT(Refusal("../d435", absl::StatusCode::kInvalidArgument), HasSubstr("is not 1..64 letters"));
  EXPECT_THAT(Refusal("d435", absl::StatusCode::kNotFound), StartsWith("raw_camera.name: there is no calibration"));
  const RgbdCamera good = CameraOf(Kind::kWithDepthCamera);
  Write("d435.yaml", Kalibr(good));
  Write("d435.json", Kalibr(good));
  EXPECT_THAT(Refusal("d435"), HasSubstr("is one of several files: give the whole name of d435.json, d435.yaml"));
  RgbdCamera far = good;
  far.camera_from_depth.translation.x() = 101;
  Write("far.yaml", Kalibr(far));
  EXPECT_THAT(Refusal("far"), StartsWith("raw_camera.name: \"far\": camera_from_depth: a distance of 101"));
  RgbdCamera coarse = good;
  coarse.depth_camera = {CameraModel::kRadialTangential, {6, 4}, 5, 5, 3, 2, {0.001, 0, 0, 0, 0}};
  Write("coarse.yaml", Kalibr(coarse));
  EXPECT_THAT(Refusal("coarse"), StartsWith("raw_camera.name: \"coarse\": depth_camera: its pixels are as large as "));
  // What `glint calibration` calls an error, of either camera.
  RgbdCamera millimetres = good;
  millimetres.camera.fx = 3.6;
  Write("camera.yaml", Kalibr(millimetres));
  EXPECT_THAT(Refusal("camera"), StartsWith("raw_camera.name: \"camera\": cam0: fx 3.6 is not 0.1 to 10 times"));
  millimetres = good;
  millimetres.depth_camera->fx = 3.6;
  Write("sensor.yaml", Kalibr(millimetres));
  EXPECT_THAT(Refusal("sensor"), StartsWith("raw_camera.name: \"sensor\": cam1: fx 3.6 is not 0.1 to 10 times"));
  std::string sizeless = Kalibr(good);
  sizeless.erase(sizeless.rfind("  resolution: "));
  Write("sizeless.yaml", sizeless);
  EXPECT_EQ(Refusal("sizeless"), "raw_camera.name: \"sizeless\": cam1: the file does not say the size of its images");
  Rectifications none(int64_t{1} << 30);
  EXPECT_EQ(none.Get(NamedCamera("d435"), kPixels).status().message(),
            "raw_camera.name: this server has no calibrations (--calibration-directory)");
}

TEST_F(NamedRgbdTest, DoubtsAreSaidOnceForEachThatIsNew) {
  RgbdCamera rgbd = CameraOf(Kind::kWithDepthCamera);
  rgbd.camera_from_depth = {Eigen::Matrix3d::Identity(), {15, 0, 0}};
  Write("wide.yaml", Kalibr(rgbd));
  const auto first = Got("wide"), second = Got("wide");
  EXPECT_EQ(first, second);
  EXPECT_THAT(warnings_, ElementsAre("wide cam0, cam1: 15 m between them are over 0.5 m: millimetres or centimetres?"));
  warnings_.clear();
  rgbd.camera_from_depth.translation.setZero();
  Write("nowhere.yaml", Kalibr(rgbd));
  const auto nowhere = Got("nowhere");
  EXPECT_THAT(warnings_, ElementsAre("nowhere cam0, cam1: have no distance between them: does the file say where the "
                                     "camera of the depths is?"));
  warnings_.clear();
  rgbd.depth_camera = rgbd.camera;  // a RealSense's infrared 1
  Write("infrared.yaml", Kalibr(rgbd));
  const auto infrared = Got("infrared");
  EXPECT_NE(infrared, nullptr);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(NamedRgbdTest, StreamsAreAnsweredAsByValue) {
  ServerOptions server_options = TestOptions();
  server_options.calibration_directory = folder_;
  TestServer server(server_options);
  LocalizeClient client(server.channel());
  for (const Kind kind : {Kind::kRegistered, Kind::kWithDepthCamera}) {
    const RgbdCamera rgbd = CameraOf(kind);
    Write("wall.yaml", Kalibr(rgbd));
    v1::LocalizeStreamOptions by_name = OptionsOf(rgbd);
    *by_name.mutable_raw_camera() = NamedCamera("wall");
    v1::LocalizeStreamOptions by_value = OptionsOf(rgbd);
    const auto got = Got("wall");
    ASSERT_NE(got, nullptr);
    client::ToWire(*got->rgbd(), by_value.mutable_raw_camera());
    const auto named = client.Open(by_name), given = client.Open(by_value);
    v1::LocalizeStreamResponse response;
    for (int step = 0; step < kSteps; ++step) {
      const v1::LocalizeStreamRequest request = Message(FrameOf(rgbd, step), step);
      response = named->Ask(request);
      EXPECT_EQ(response.location().SerializeAsString(), given->Ask(request).location().SerializeAsString());
    }
    EXPECT_EQ(response.location().status(), v1::LOCATION_STATUS_TRACKING);
    EXPECT_NEAR(response.location().pose().x(), (kSteps - 1) * kStepMetres, 0.01);
    EXPECT_TRUE(named->Finish().ok());
    EXPECT_TRUE(given->Finish().ok());
  }
  v1::LocalizeStreamOptions unknown = OptionsOf(CameraOf(Kind::kRegistered));
  *unknown.mutable_raw_camera() = NamedCamera("none");
  EXPECT_EQ(client.Refusal(unknown), "raw_camera.name: there is no calibration \"none\"; this server has wall.yaml");
}

}  // namespace
}  // namespace glint::testing
