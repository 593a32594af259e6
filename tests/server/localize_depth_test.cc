// Localization of a camera with depth as its clients see it: raw and encoded depths, and what is refused. What
// the poses are worth is tests/slam's matter: here they are the library's, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "slam/front_end/lane_front_end.h"
#include "slam/localizer.h"
#include "tests/scene/write_image.h"
#include "tests/server/harness.h"
#include "tests/server/http_page.h"
#include "tests/server/localize_client.h"
#include "tests/server/localize_pairs.h"

namespace glint::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Shape kShape = {320, 200};
constexpr int kFeatures = 300;
constexpr double kUnit = 0.0002;  // TUM's: the wall at 4 m is 20000, both of whose bytes count

// The wall, with holes that move.
scene::DepthImage DepthAt(size_t pair) {
  scene::DepthImage depth;
  depth.shape = kShape;
  for (int i = 0; i < kShape.width * kShape.height; ++i) {
    const int sample = (i + static_cast<int>(pair)) % 50 == 0 ? 0 : 20000 + i % 7;
    depth.bytes.push_back(static_cast<uint8_t>(sample & 255));
    depth.bytes.push_back(static_cast<uint8_t>(sample >> 8));
  }
  return depth;
}

std::string PngOf(const scene::DepthImage& depth) {
  const std::string path = ::testing::TempDir() + "localize-depth.png";
  EXPECT_TRUE(scene::WriteDepthPng(path, depth).ok());
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void SetRaw(const scene::DepthImage& depth, v1::Image* proto) {
  v1::RawImage* const raw = proto->mutable_raw();
  raw->set_format(v1::PIXEL_FORMAT_GRAY16);
  raw->set_width(static_cast<uint32_t>(depth.shape.width));
  raw->set_height(static_cast<uint32_t>(depth.shape.height));
  raw->mutable_data()->assign(depth.bytes.begin(), depth.bytes.end());
}

v1::LocalizeStreamRequest Message(const Pair& pair, size_t number) {
  v1::LocalizeStreamRequest request;
  v1::LocalizePair* const proto = request.mutable_pair();
  proto->set_time_ns(static_cast<int64_t>(number + 1) * kFrameNs);
  SetGray(kShape.width, kShape.height, 0, proto->mutable_left());
  std::string* const data = proto->mutable_left()->mutable_raw()->mutable_data();
  for (int y = 0; y < kShape.height; ++y) {
    std::memcpy(data->data() + y * kShape.width, pair.left.row(y), static_cast<size_t>(kShape.width));
  }
  SetRaw(DepthAt(number), proto->mutable_depth());
  return request;
}

v1::LocalizeStreamOptions Options() {
  v1::LocalizeStreamOptions options;
  options.mutable_detector()->set_preset("orb");
  options.mutable_detector()->set_max_features(kFeatures);
  v1::StereoCamera* const camera = options.mutable_camera();
  camera->set_width(kShape.width);
  camera->set_height(kShape.height);
  camera->set_focal_length(kFocal);
  camera->set_centre_x(160);
  camera->set_centre_y(100);
  camera->set_baseline(0.08);
  options.mutable_depth()->set_unit(kUnit);
  return options;
}

std::vector<slam::LocalizerResult> ByLibrary(const std::vector<Pair>& pairs) {
  DetectorOptions detector = *PresetOptions("orb");
  detector.max_features = kFeatures;
  slam::LaneFrontEnd front_end(detector, 1);
  slam::StereoCamera camera;
  camera.image = kShape;
  camera.focal_length = kFocal;
  camera.centre_x = 160;
  camera.centre_y = 100;
  camera.baseline = 0.08;
  slam::LocalizerOptions options;
  options.odometry.refine_rig = false;
  const auto localizer = slam::Localizer::Create(camera, options, &front_end);
  EXPECT_TRUE(localizer.ok()) << localizer.status();
  std::vector<slam::LocalizerResult> results(pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    const scene::DepthImage depth = DepthAt(i);
    const DepthView view = {depth.bytes.data(), kShape.width, kShape.height, 2 * kShape.width, {kUnit, 0, 0}};
    const slam::FrameStamp stamp = {i, static_cast<int64_t>(i + 1) * kFrameNs};
    const absl::Status status = (*localizer)->Track({pairs[i].left, {}, view}, stamp, &results[i]);
    EXPECT_TRUE(status.ok()) << status;
  }
  return results;
}

class LocalizingDepth : public ::testing::Test {
 protected:
  LocalizingDepth() {
    ServerOptions options = TestOptions();
    options.metrics_listen = "127.0.0.1:0";
    options.lanes.lanes = 2;
    options.max_localize_pixels = 2 * kShape.pixels();
    server_ = std::make_unique<TestServer>(options);
    client_ = std::make_unique<LocalizeClient>(server_->channel());
  }
  std::unique_ptr<LocalizeClientStream> OpenStream(const v1::LocalizeStreamOptions& options = Options()) {
    return client_->Open(options);
  }
  std::string Refusal(const v1::LocalizeStreamOptions& options) { return client_->Refusal(options); }

  const std::vector<Pair> pairs_ = PairsAlongAWall(kShape, 8);
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<LocalizeClient> client_;
};

TEST_F(LocalizingDepth, IsWhatTheLibraryFindsInAnyEncoding) {
  const std::vector<slam::LocalizerResult> expected = ByLibrary(pairs_);
  EXPECT_EQ(expected.back().status, slam::TrackingStatus::kTracking);
  EXPECT_NEAR(expected.back().world_from_camera.translation.x(), 7 * 0.16, 0.05);
  const auto open = OpenStream();
  for (size_t i = 0; i < pairs_.size(); ++i) {
    SCOPED_TRACE(i);
    v1::LocalizeStreamRequest request = Message(pairs_[i], i);
    v1::Image* const depth = request.mutable_pair()->mutable_depth();
    if (i % 3 == 1) depth->mutable_encoded()->set_data(PngOf(DepthAt(i)));
    if (i % 3 == 2) {  // gaps between rows
      const std::string rows = depth->raw().data();
      std::string* const wide = depth->mutable_raw()->mutable_data();
      wide->clear();
      for (size_t at = 0; at < rows.size(); at += 2 * kShape.width) wide->append(rows, at, 2 * kShape.width) += "gap";
      depth->mutable_raw()->set_stride(2 * kShape.width + 3);
    }
    const v1::LocalizeStreamResponse response = open->Ask(request);
    ExpectSame(expected[i], response);
    EXPECT_GT(response.timings().detect_ns(), 0);
    EXPECT_GT(response.timings().locate_ns(), 0);
  }
  v1::LocalizeStreamRequest find;
  *find.mutable_relocalize() = Message(pairs_[3], 3).pair();
  const v1::LocalizeStreamResponse found = open->Ask(find);
  EXPECT_EQ(found.location().status(), v1::LOCATION_STATUS_RELOCALIZED);
  EXPECT_NEAR(found.location().pose().x(), 3 * 0.16, 0.1);
  EXPECT_TRUE(open->Finish().ok());
  const std::string metrics = Http((*server_)->metrics_address(), "GET /metrics");
  EXPECT_EQ(Sample(metrics, "glint_frames_total{operation=\"localize\",result=\"OK\"}"), 9);
}

// As gRPC delivers large messages: the depth lies in several pieces, and is put together.
TEST_F(LocalizingDepth, OfTheLeftProjectionAloneAndInLargeMessages) {
  v1::LocalizeStreamOptions options = Options();
  v1::StereoCamera* const camera = options.mutable_camera();
  for (const double v : {kFocal, 0.0, 160.0, 0.0, 0.0, kFocal, 100.0, 0.0, 0.0, 0.0, 1.0, 0.0}) {
    camera->add_left_projection(v);
  }
  camera->clear_focal_length();
  camera->clear_centre_x();
  camera->clear_centre_y();
  const std::vector<slam::LocalizerResult> expected = ByLibrary(pairs_);
  const auto open = OpenStream(options);
  for (size_t i = 0; i < 3; ++i) {
    v1::LocalizeStreamRequest request = Message(pairs_[i], i);
    // Rows of 8 KiB: the message is far longer than what one read brings.
    const std::string rows = request.pair().depth().raw().data();
    std::string* const wide = request.mutable_pair()->mutable_depth()->mutable_raw()->mutable_data();
    wide->assign(static_cast<size_t>(kShape.height) * 8192, 'x');
    for (size_t y = 0; y < static_cast<size_t>(kShape.height); ++y) {
      wide->replace(y * 8192, 2 * kShape.width, rows, y * 2 * kShape.width, 2 * kShape.width);
    }
    request.mutable_pair()->mutable_depth()->mutable_raw()->set_stride(8192);
    ExpectSame(expected[i], open->Ask(request));
  }
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(LocalizingDepth, BadPairsAreAnsweredAndChangeNothing) {
  const std::vector<slam::LocalizerResult> expected = ByLibrary(pairs_);
  const auto open = OpenStream();
  size_t next = 0;
  const auto expect_good = [&] {
    ExpectSame(expected[next], open->Ask(Message(pairs_[next], next)));
    ++next;
  };
  expect_good();
  const v1::LocalizeStreamRequest good = Message(pairs_[5], 50);
  v1::LocalizeStreamRequest bad = good;
  *bad.mutable_pair()->mutable_right() = good.pair().left();
  open->ExpectError(bad, grpc::INVALID_ARGUMENT, "right: is given, but the stream's camera has `depth` in its place");
  bad = good;
  bad.mutable_pair()->clear_depth();
  open->ExpectError(bad, grpc::INVALID_ARGUMENT, "depth: is missing");
  bad.mutable_pair()->mutable_depth();
  open->ExpectError(bad, grpc::INVALID_ARGUMENT, "depth: neither raw nor encoded nor shared is set");
  bad = good;
  *bad.mutable_pair()->mutable_depth() = good.pair().left();
  open->ExpectError(bad, grpc::INVALID_ARGUMENT, "depth.raw.format: \"1\" is not one of GRAY16");
  expect_good();
  scene::DepthImage narrow = DepthAt(0);
  narrow.shape.width /= 2;
  narrow.bytes.resize(narrow.bytes.size() / 2);
  bad = good;
  SetRaw(narrow, bad.mutable_pair()->mutable_depth());
  open->ExpectError(bad, grpc::INVALID_ARGUMENT, "depth: 160x200 is not the camera's 320x200");
  bad.mutable_pair()->mutable_depth()->mutable_encoded()->set_data(PngOf(narrow));
  open->ExpectError(bad, grpc::INVALID_ARGUMENT, "depth: 160x200 is not the camera's 320x200");
  std::string png = PngOf(DepthAt(0));
  bad.mutable_pair()->mutable_depth()->mutable_encoded()->set_data(png.substr(0, png.size() / 2));
  open->ExpectError(bad, grpc::INVALID_ARGUMENT, "depth.encoded.data: PNG: ");
  bad.mutable_pair()->mutable_depth()->mutable_encoded()->set_data("\xff\xd8\xff a JPEG file");
  open->ExpectError(bad, grpc::INVALID_ARGUMENT, "depth.encoded.data: is a JPEG file, not a grey PNG of 16 bits");
  const std::string path = ::testing::TempDir() + "localize-grey.png";
  ASSERT_TRUE(scene::WritePng(path, pairs_[0].left, 1).ok());
  std::ifstream file(path, std::ios::binary);
  bad.mutable_pair()->mutable_depth()->mutable_encoded()->set_data(
      std::string(std::istreambuf_iterator<char>(file), {}));
  open->ExpectError(bad, grpc::INVALID_ARGUMENT,
                    "depth.encoded.data: PNG: colour type 0 of 8 bits is not grey (0) of 16 bits");
  expect_good();
  bad = good;
  SetGray(kShape.width - 2, kShape.height, 9, bad.mutable_pair()->mutable_left());
  open->ExpectError(bad, grpc::INVALID_ARGUMENT, "left: 318x200 is not the camera's 320x200");
  expect_good();
  EXPECT_TRUE(open->Finish().ok());

  // Depth for a stereo camera.
  v1::LocalizeStreamOptions stereo = Options();
  stereo.clear_depth();
  const auto stereo_stream = OpenStream(stereo);
  stereo_stream->ExpectError(good, grpc::INVALID_ARGUMENT,
                             "depth: is given, but the stream's options say nothing of depth");
  v1::LocalizeStreamRequest pair = good;
  pair.mutable_pair()->clear_depth();
  *pair.mutable_pair()->mutable_right() = pair.pair().left();
  EXPECT_EQ(stereo_stream->Ask(pair).status().message(), "");
  EXPECT_TRUE(stereo_stream->Finish().ok());
}

TEST_F(LocalizingDepth, OptionsAreCheckedAtTheBeginning) {
  v1::LocalizeStreamOptions options = Options();
  options.mutable_depth()->set_unit(0);
  EXPECT_THAT(Refusal(options), HasSubstr("depth.unit: 0 is not in 1e-06..1"));
  options = Options();
  options.mutable_depth()->set_nearest(-1);
  EXPECT_THAT(Refusal(options), HasSubstr("depth.nearest: -1 is not in 0..1000"));
  options.mutable_depth()->set_nearest(2);
  options.mutable_depth()->set_farthest(1);
  EXPECT_THAT(Refusal(options), HasSubstr("depth.farthest: 1 is neither 0 nor above depth.nearest, 2"));
  options = Options();
  options.mutable_camera()->clear_baseline();
  EXPECT_THAT(Refusal(options), HasSubstr("camera.baseline: 0 is not in 0.001..100"));
  options = Options();
  options.mutable_camera()->add_right_projection(1);
  EXPECT_THAT(Refusal(options), HasSubstr("camera.right_projection: is given"));
  for (const auto refinement : {v1::RIG_REFINEMENT_ON, v1::RIG_REFINEMENT_FIXED}) {
    options = Options();
    options.set_refine_rig(refinement);
    EXPECT_THAT(Refusal(options), HasSubstr("is not one of OFF: a camera with depth has no right camera"));
  }
  options = Options();
  options.set_refine_rig(v1::RIG_REFINEMENT_OFF);
  EXPECT_EQ(Refusal(options), "");
}

TEST_F(LocalizingDepth, HardlyAnyDepthIsWarnedOf) {
  v1::LocalizeStreamOptions options = Options();
  options.mutable_depth()->set_farthest(3);  // before the wall
  const auto open = OpenStream(options);
  const v1::LocalizeStreamResponse response = open->Ask(Message(pairs_[0], 0));
  EXPECT_EQ(response.location().status(), v1::LOCATION_STATUS_INITIALIZING);
  EXPECT_THAT(response.location().warnings(),
              ElementsAre(IsWarning(v1::WARNING_KIND_FEW_DEPTHS, 0.0, "1", "only 0.0 %")));
  EXPECT_TRUE(open->Finish().ok());
}

}  // namespace
}  // namespace glint::testing
