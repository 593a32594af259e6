// Localization of raw cameras with depth: they are answered as the images and depths that the reference makes of them,
// wherever the depth comes from, and those that cannot be are refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/camera/depth_registration.h"
#include "features/reference/register_depth.h"
#include "features/reference/remap.h"
#include "server/pixels/rectification.h"
#include "server/wire/stereo_rig.h"
#include "slam/front_end/lane_front_end.h"
#include "slam/localizer.h"
#include "tests/server/harness.h"
#include "tests/server/localize_client.h"
#include "tests/server/raw_depth_frames.h"

namespace glint::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// What the library finds in what the reference makes of the frames.
std::vector<slam::LocalizerResult> ByLibrary(const RgbdCamera& rgbd, const std::vector<Frame>& frames) {
  const RectifiedPair rectified = *UndistortRgbd(rgbd);
  const Camera& to = rectified.camera;
  const RemapTable table = MakeRemapTable(rgbd.camera, Eigen::Matrix3d::Identity(), to);
  DetectorOptions detector = *PresetOptions("orb");
  detector.max_features = kFeatures;
  slam::LaneFrontEnd front_end(detector, 1);
  slam::StereoCamera camera;
  camera.image = to.image;
  camera.focal_length = to.fx;
  camera.centre_x = to.cx;
  camera.centre_y = to.cy;
  camera.baseline = kBaselineMetres;
  slam::LocalizerOptions options;
  options.odometry.refine_rig = false;
  const auto localizer = slam::Localizer::Create(camera, options, &front_end);
  EXPECT_TRUE(localizer.ok()) << localizer.status();
  std::vector<slam::LocalizerResult> results(frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    CameraView view;
    Image image;
    reference::Remap(frames[i].image, table, &image);
    view.left = image;
    std::vector<uint16_t> depths;
    DepthSensor sensor = kSensor;
    if (rgbd.depth_camera.has_value()) {
      const DepthTable depth_table = MakeDepthTable(*rgbd.depth_camera, rgbd.camera_from_depth, to);
      reference::RegisterDepth(frames[i].depth(), depth_table, &depths);
      sensor = {kSensor.unit, 0, 0};
    } else {
      reference::RemapDepth(frames[i].depth(), table, &depths);
    }
    view.depth = {reinterpret_cast<const uint8_t*>(depths.data()), to.image.width, to.image.height,
                  2 * ptrdiff_t{to.image.width}, sensor};
    const slam::FrameStamp stamp = {i, static_cast<int64_t>(i + 1) * kFrameNs};
    const absl::Status status = (*localizer)->Track(view, stamp, &results[i]);
    EXPECT_TRUE(status.ok()) << status;
  }
  return results;
}

class RawDepth : public ::testing::Test {
 protected:
  RawDepth() { Start(int64_t{42} << 20); }
  void Start(int64_t max_rectification_bytes, Backend backend = Backend::kCpu) {
    ServerOptions options = TestOptions();
    options.lanes.backend = backend;
    options.lanes.max_image_pixels = 1 << 19;
    options.max_rectification_bytes = max_rectification_bytes;
    server_ = std::make_unique<TestServer>(options);
    client_ = std::make_unique<LocalizeClient>(server_->channel());
  }
  std::string Refusal(const std::function<void(v1::LocalizeStreamOptions*)>& change,
                      Kind kind = Kind::kWithDepthCamera) const {
    v1::LocalizeStreamOptions options = OptionsOf(CameraOf(kind));
    change(&options);
    return client_->Refusal(options);
  }
  void ExpectTheReferencesImages();

  std::unique_ptr<TestServer> server_;
  std::unique_ptr<LocalizeClient> client_;
};

// Poses are those of the path, with a lens and two focal lengths as without, and with depths from beside the camera.
void RawDepth::ExpectTheReferencesImages() {
  for (const Kind kind : {Kind::kIdeal, Kind::kRegistered, Kind::kWithDepthCamera}) {
    SCOPED_TRACE(static_cast<int>(kind));
    const RgbdCamera rgbd = CameraOf(kind);
    std::vector<Frame> frames;
    for (int step = 0; step < kSteps; ++step) frames.push_back(FrameOf(rgbd, step));
    const std::vector<slam::LocalizerResult> expected = ByLibrary(rgbd, frames);
    const auto stream = client_->Open(OptionsOf(rgbd));
    v1::LocalizeStreamResponse response;
    for (int step = 0; step < kSteps; ++step) {
      response = stream->Ask(Message(frames[static_cast<size_t>(step)], step));
      ExpectSame(expected[static_cast<size_t>(step)], response);
    }
    EXPECT_EQ(response.location().status(), v1::LOCATION_STATUS_TRACKING);
    EXPECT_GT(response.location().inliers(), 60);
    EXPECT_NEAR(response.location().pose().x(), (kSteps - 1) * kStepMetres, 0.01);
    EXPECT_NEAR(response.location().pose().y(), 0, 0.01);
    EXPECT_NEAR(response.location().pose().z(), 0, 0.01);
    EXPECT_NEAR(response.location().pose().qw(), 1, 1e-5);
    const v1::RectifiedCamera& found = response.location().rectified();
    const RectifiedPair rectified = *UndistortRgbd(rgbd);
    EXPECT_EQ(found.width(), 320);
    EXPECT_EQ(found.height(), 200);
    EXPECT_EQ(found.focal_length(), rectified.camera.fx);
    EXPECT_EQ(found.centre_x(), rectified.camera.cx);
    EXPECT_EQ(found.centre_y(), rectified.camera.cy);
    EXPECT_EQ(found.baseline(), kBaselineMetres);
    EXPECT_EQ(found.uncovered(), 0);
    ASSERT_EQ(found.rectified_from_left_size(), 9);
    ASSERT_EQ(found.rectified_from_right_size(), 9);
    for (int i = 0; i < 9; ++i) {
      EXPECT_EQ(found.rectified_from_left(i), i % 4 == 0 ? 1 : 0);
      EXPECT_EQ(found.rectified_from_right(i), i % 4 == 0 ? 1 : 0);
    }
    EXPECT_TRUE(stream->Finish().ok());
  }
}

TEST_F(RawDepth, IsLocatedAsTheReferencesImagesAre) { ExpectTheReferencesImages(); }

TEST_F(RawDepth, IsLocatedOnAGpuAsTheReferencesImagesAre) {
  LaneOptions lane;
  lane.backend = Backend::kCuda;
  lane.lanes = 1;
  if (const auto set = CreateLanes(lane); !set.ok()) GTEST_SKIP() << set.status().message();
  Start(int64_t{42} << 20, Backend::kCuda);
  ExpectTheReferencesImages();
}

TEST_F(RawDepth, MasksAreOfTheRawImage) {
  const RgbdCamera rgbd = CameraOf(Kind::kWithDepthCamera);
  const v1::LocalizeStreamRequest request = Message(FrameOf(rgbd, 0), 0);
  const auto keypoints = [&](
                             const std::function<void(v1::LocalizeStreamOptions*)>& change,
                             const std::function<void(v1::LocalizePair*)>& change_pair = [](auto*) {}) {
    v1::LocalizeStreamOptions options = OptionsOf(rgbd);
    change(&options);
    v1::LocalizeStreamRequest changed = request;
    change_pair(changed.mutable_pair());
    const v1::LocalizeStreamResponse response = client_->Open(options)->Ask(changed);
    EXPECT_EQ(response.status().message(), "");
    return response.location().keypoints();
  };
  const auto all = [](int value) {
    v1::Image mask;
    SetGray(320, 200, static_cast<char>(value), &mask);
    return mask;
  };
  const int whole = keypoints([](auto*) {});
  EXPECT_GT(whole, 250);
  EXPECT_EQ(keypoints([&](auto* o) { *o->mutable_mask() = all(255); }), whole);
  EXPECT_EQ(keypoints([&](auto* o) { *o->mutable_mask() = all(0); }), 0);
  EXPECT_EQ(keypoints([&](auto* o) { *o->mutable_mask() = all(0); }, [&](auto* p) { *p->mutable_mask() = all(255); }),
            whole);
  EXPECT_EQ(keypoints([](auto*) {}, [&](auto* p) { *p->mutable_mask() = all(0); }), 0);
  const int in_region = keypoints([](auto* o) {
    o->mutable_region()->set_x(100);
    o->mutable_region()->set_y(60);
    o->mutable_region()->set_width(14);
    o->mutable_region()->set_height(14);
  });
  EXPECT_GT(in_region, 0);
  EXPECT_LT(in_region, whole / 2);
  v1::LocalizeStreamRequest bad = request;
  SetGray(310, 200, 1, bad.mutable_pair()->mutable_mask());
  const auto stream = client_->Open(OptionsOf(rgbd));
  stream->ExpectError(bad, grpc::INVALID_ARGUMENT, "mask: 310x200 is not the image's 320x200");
  bad = request;
  *bad.mutable_pair()->mutable_right_mask() = all(255);
  stream->ExpectError(bad, grpc::INVALID_ARGUMENT, "right_mask: ");
  EXPECT_THAT(Refusal([&](auto* o) { *o->mutable_right_mask() = all(255); }),
              HasSubstr("right_mask: is given, but a camera with depth has no right image"));
}

TEST_F(RawDepth, ImagesOfAnotherSizeFailAlone) {
  const RgbdCamera rgbd = CameraOf(Kind::kWithDepthCamera);
  const auto stream = client_->Open(OptionsOf(rgbd));
  const v1::LocalizeStreamRequest good = Message(FrameOf(rgbd, 0), 0);
  v1::LocalizeStreamRequest bad = good;
  SetGray(310, 200, 9, bad.mutable_pair()->mutable_left());
  stream->ExpectError(bad, grpc::INVALID_ARGUMENT, "left: 310x200 is not the camera's 320x200");
  bad = Message(FrameOf(CameraOf(Kind::kRegistered), 0), 0);
  stream->ExpectError(bad, grpc::INVALID_ARGUMENT, "depth: 320x200 is not the camera's 340x230");
  bad = good;
  bad.mutable_pair()->clear_depth();
  stream->ExpectError(bad, grpc::INVALID_ARGUMENT, "depth: is missing");
  EXPECT_EQ(stream->Ask(good).status().message(), "");
}

TEST_F(RawDepth, CamerasThatCannotBeAreRefusedByField) {
  const auto expect = [this](const std::string& error, const std::function<void(v1::RgbdCamera*)>& change,
                             Kind kind = Kind::kWithDepthCamera) {
    EXPECT_THAT(Refusal([&](auto* options) { change(options->mutable_raw_camera()); }, kind), StartsWith(error));
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect("raw_camera.camera.width: 0 is not in 1..16384", [](auto* c) { c->clear_camera(); });
  expect("raw_camera.camera.fx: nan is not in 32..3200", [&](auto* c) { c->mutable_camera()->set_fx(nan); });
  expect("raw_camera.camera.radial_tangential.p1: 7 is not in -1..1",
         [](auto* c) { c->mutable_camera()->mutable_radial_tangential()->set_p1(7); });
  expect("raw_camera.depth_camera.fy: 3 is not in 34..3400", [](auto* c) { c->mutable_depth_camera()->set_fy(3); });
  expect("raw_camera.depth_camera.height: -1 is not in",
         [](auto* c) { c->mutable_depth_camera()->set_height(1u << 31); });
  expect("raw_camera.depth_camera: its pixels are as large as ", [](auto* c) {
    v1::Camera* const depth = c->mutable_depth_camera();
    *depth = v1::Camera();
    depth->set_width(6);
    depth->set_height(4);
    depth->set_fx(5);
    depth->set_fy(5);
    depth->set_cx(3);
    depth->set_cy(2);
  });
  expect(
      "raw_camera.camera_from_depth: is given, but depths without `depth_camera` are registered",
      [](auto* c) { c->mutable_camera_from_depth(); }, Kind::kRegistered);
  expect("raw_camera.camera_from_depth.rotation: 8 elements are not the 9 of a 3x3 matrix",
         [](auto* c) { c->mutable_camera_from_depth()->mutable_rotation()->RemoveLast(); });
  expect("raw_camera.camera_from_depth.rotation: is ",
         [&](auto* c) { c->mutable_camera_from_depth()->set_rotation(4, nan); });
  expect("raw_camera.camera_from_depth.z: 1001 is not in -1000..1000",
         [](auto* c) { c->mutable_camera_from_depth()->set_z(1001); });
  for (const double baseline : {0.0, -0.1, 100.5, nan}) {
    expect(absl::StrCat("raw_camera.baseline: ", baseline, " is not in 0.001..100"),
           [&](auto* c) { c->set_baseline(baseline); });
  }
  expect("raw_camera.rectify.height: 0 is not in 1..16384", [](auto* c) { c->mutable_rectify()->set_width(9); });
  expect("raw_camera.rectify.max_field: 9 is not in 10..150", [](auto* c) { c->mutable_rectify()->set_max_field(9); });
  expect("raw_camera.rectify.focal_length: 40 leaves ", [](auto* c) { c->mutable_rectify()->set_focal_length(40); });
  expect("raw_camera.camera: 564000 pixels of both images are over this server's limit of 524288", [](auto* c) {
    c->mutable_depth_camera()->clear_radial_tangential();
    c->mutable_depth_camera()->set_width(1000);
    c->mutable_depth_camera()->set_height(500);
  });
  expect("raw_camera.rectify: 640000 pixels of both images are over this server's limit of 524288", [](auto* c) {
    c->mutable_rectify()->set_width(800);
    c->mutable_rectify()->set_height(400);
  });
}

TEST_F(RawDepth, ARawCameraIsInPlaceOfOthers) {
  EXPECT_EQ(Refusal([](auto* o) { o->mutable_camera()->set_focal_length(200); }),
            "camera: is rectified, and `raw_camera` is raw: give either");
  EXPECT_EQ(Refusal([](auto* o) { o->mutable_rig(); }),
            "rig: has a right camera, and `raw_camera` has none: give either");
  EXPECT_EQ(Refusal([](auto* o) { o->clear_depth(); }), "depth: is missing: a raw_camera has depth");
  EXPECT_EQ(Refusal([](auto* o) { o->mutable_depth()->set_unit(0); }), "depth.unit: 0 is not in 1e-06..1");
  EXPECT_THAT(Refusal([](auto* o) { o->set_refine_rig(v1::RIG_REFINEMENT_ON); }), StartsWith("refine_rig: "));
  EXPECT_EQ(Refusal([](auto*) {}), "");
}

TEST_F(RawDepth, StreamsShareTablesOfWhichThereIsALimit) {
  const RgbdCamera rgbd = CameraOf(Kind::kWithDepthCamera);
  const int64_t bytes = RemapTableBytes({320, 200}) + DepthTableBytes({340, 230});
  Start(bytes);
  const v1::LocalizeStreamRequest request = Message(FrameOf(rgbd, 0), 0);
  const auto first = client_->Open(OptionsOf(rgbd)), same = client_->Open(OptionsOf(rgbd));
  EXPECT_EQ(first->Ask(request).status().message(), "");
  EXPECT_EQ(same->Ask(request).status().message(), "");
  EXPECT_THAT(Refusal([](auto*) {}, Kind::kRegistered),
              StartsWith(absl::StrCat("raw_camera: ", bytes + RemapTableBytes({320, 200}),
                                      " bytes of tables of all streams are over this server's limit of ", bytes,
                                      " (--max-rectification-bytes)")));
}

TEST(RawDepthTables, TakeNoMoreThanIsCounted) {
  const auto bytes_of = [](const auto& values) { return static_cast<int64_t>(values.capacity() * sizeof(values[0])); };
  for (const Kind kind : {Kind::kRegistered, Kind::kWithDepthCamera}) {
    const RgbdCamera rgbd = CameraOf(kind);
    const Rectification rectification(rgbd, *UndistortRgbd(rgbd));
    const RemapTable& left = rectification.tables().left;
    const DepthTable& depth = rectification.tables().depth;
    const int64_t bytes = bytes_of(left.entries) + bytes_of(left.blocks.origins) + bytes_of(left.blocks.pixels) +
                          bytes_of(left.blocks.first_exception) + bytes_of(left.blocks.exceptions) + bytes_of(depth.x) +
                          bytes_of(depth.y) + bytes_of(depth.w) + bytes_of(depth.centre_w);
    EXPECT_EQ(depth.centre_w.size(), kind == Kind::kRegistered ? 0 : 340 * 230);
    EXPECT_LE(bytes, rectification.bytes());
    EXPECT_GE(bytes, rectification.bytes() / 2);
    EXPECT_TRUE(rectification.tables().right.entries.empty());
  }
}

}  // namespace
}  // namespace glint::testing
