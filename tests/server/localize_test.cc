// Localization as its clients see it: pairs, requests about maps, bad input, limits, metrics. What the poses are worth
// is tests/slam's matter: here they are the library's, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glint/v1/localization.grpc.pb.h"
#include "slam/cpu_front_end.h"
#include "slam/localizer.h"
#include "tests/server/harness.h"
#include "tests/server/http_page.h"
#include "tests/support/images.h"

namespace glint::testing {
namespace {

using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Stream = grpc::ClientReaderWriter<v1::LocalizeStreamRequest, v1::LocalizeStreamResponse>;

constexpr Shape kShape = {320, 200};
constexpr int kFeatures = 300;
constexpr int64_t kFrameNs = 100'000'000;

// A wall at a distance of 4 m, along which the camera moves by 0.16 m a pair: the right eye sees it 10 pixels further
// left, and the next pair 8 pixels.
constexpr double kFocal = 200, kBaseline = 0.2;
constexpr int kDisparity = 10, kStep = 8;

struct Pair {
  Image left, right;
};

Image Part(const Image& whole, int x) {
  Image part(kShape.width, kShape.height);
  for (int y = 0; y < part.height(); ++y) {
    std::memcpy(part.row(y), whole.row(y) + x, static_cast<size_t>(part.width()));
  }
  return part;
}

std::vector<Pair> Pairs(int count) {
  const Image wall = Texture({kShape.width + kDisparity + kStep * count, kShape.height}, 5);
  std::vector<Pair> pairs;
  for (int i = 0; i < count; ++i) pairs.push_back({Part(wall, kStep * i), Part(wall, kStep * i + kDisparity)});
  return pairs;
}

void SetImage(const Image& image, v1::Image* proto) {
  SetGray(image.width(), image.height(), 0, proto);
  std::string* const data = proto->mutable_raw()->mutable_data();
  for (int y = 0; y < image.height(); ++y) {
    std::memcpy(data->data() + y * image.width(), image.row(y), static_cast<size_t>(image.width()));
  }
}

v1::LocalizePair Eyes(const Pair& pair, int64_t time_ns) {
  v1::LocalizePair proto;
  proto.set_time_ns(time_ns);
  SetImage(pair.left, proto.mutable_left());
  SetImage(pair.right, proto.mutable_right());
  return proto;
}

v1::LocalizeStreamRequest Message(const v1::LocalizePair& pair) {
  v1::LocalizeStreamRequest request;
  *request.mutable_pair() = pair;
  return request;
}

v1::LocalizeStreamOptions Calibrated() {
  v1::LocalizeStreamOptions options;
  options.mutable_detector()->set_preset("orb");
  options.mutable_detector()->set_max_features(kFeatures);
  v1::StereoCamera* const camera = options.mutable_camera();
  camera->set_width(kShape.width);
  camera->set_height(kShape.height);
  camera->set_focal_length(kFocal);
  camera->set_centre_x(160);
  camera->set_centre_y(100);
  camera->set_baseline(kBaseline);
  return options;
}

// What the library makes of the same pairs.
std::vector<slam::LocalizerResult> ByLibrary(const std::vector<Pair>& pairs) {
  DetectorOptions detector = *PresetOptions("orb");
  detector.max_features = kFeatures;
  slam::CpuFrontEnd front_end(detector, 1);
  slam::StereoCamera camera;
  camera.image = kShape;
  camera.focal_length = kFocal;
  camera.centre_x = 160;
  camera.centre_y = 100;
  camera.baseline = kBaseline;
  const auto localizer = slam::Localizer::Create(camera, slam::LocalizerOptions(), &front_end);
  EXPECT_TRUE(localizer.ok()) << localizer.status();
  std::vector<slam::LocalizerResult> results(pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    const double seconds = static_cast<double>(static_cast<int64_t>(i + 1) * kFrameNs) * 1e-9;
    const absl::Status status = (*localizer)->Track(pairs[i].left, pairs[i].right, seconds, &results[i]);
    EXPECT_TRUE(status.ok()) << status;
  }
  return results;
}

void ExpectSame(const slam::LocalizerResult& expected, const v1::LocalizeStreamResponse& response) {
  EXPECT_EQ(response.status().message(), "");
  const v1::Location& found = response.location();
  EXPECT_EQ(found.status(), static_cast<int>(expected.status) + 1);
  const Eigen::Quaterniond& q = expected.world_from_camera.rotation;
  const double sign = q.w() < 0 ? -1 : 1;
  EXPECT_EQ(found.pose().qx(), sign * q.x());
  EXPECT_EQ(found.pose().qy(), sign * q.y());
  EXPECT_EQ(found.pose().qz(), sign * q.z());
  EXPECT_EQ(found.pose().qw(), sign * q.w());
  EXPECT_EQ(found.pose().x(), expected.world_from_camera.translation.x());
  EXPECT_EQ(found.pose().y(), expected.world_from_camera.translation.y());
  EXPECT_EQ(found.pose().z(), expected.world_from_camera.translation.z());
  EXPECT_EQ(found.rig_rotation().y(), expected.rig_rotation.y());
  EXPECT_EQ(found.rig_uncertainty().y(), expected.rig_uncertainty.y());
  EXPECT_EQ(found.keypoints(), static_cast<uint32_t>(expected.keypoints));
  EXPECT_EQ(found.matches(), static_cast<uint32_t>(expected.matches));
  EXPECT_EQ(found.inliers(), static_cast<uint32_t>(expected.inliers));
  EXPECT_EQ(found.reprojection_error(), expected.mean_error);
  EXPECT_EQ(found.keyframe(), expected.is_keyframe);
  EXPECT_EQ(response.keyframes(), static_cast<uint64_t>(expected.keyframes));
  EXPECT_EQ(response.points(), static_cast<uint64_t>(expected.points));
  ASSERT_THAT(found.covariance(), SizeIs(found.status() == v1::LOCATION_STATUS_TRACKING ? 21 : 0));
  if (found.covariance_size() == 0) return;
  EXPECT_EQ(found.covariance(1), expected.covariance(0, 1));
  EXPECT_EQ(found.covariance(20), expected.covariance(5, 5));
}

class Localizing : public ::testing::Test {
 protected:
  Localizing() {
    ServerOptions options = TestOptions();
    options.metrics_listen = "127.0.0.1:0";
    options.lanes.lanes = 3;  // whichever is idle has the next pair
    options.max_localize_streams = 2;
    options.max_localize_pixels = 2 * kShape.pixels();
    options.max_maps = 1;
    options.map_directory = directory_;
    std::filesystem::create_directories(directory_);
    server_ = std::make_unique<TestServer>(options);
    stub_ = v1::Localization::NewStub(server_->channel());
  }
  ~Localizing() override { std::filesystem::remove_all(directory_); }

  struct Open {
    grpc::ClientContext context;
    std::unique_ptr<Stream> stream;

    v1::LocalizeStreamResponse Read() {
      v1::LocalizeStreamResponse response;
      EXPECT_TRUE(stream->Read(&response));
      return response;
    }
    v1::LocalizeStreamResponse Ask(const v1::LocalizeStreamRequest& request) {
      EXPECT_TRUE(stream->Write(request));
      return Read();
    }
    void ExpectError(const v1::LocalizeStreamRequest& request, grpc::StatusCode code, const std::string& text) {
      const v1::LocalizeStreamResponse response = Ask(request);
      EXPECT_EQ(response.status().code(), code) << response.status().message();
      EXPECT_THAT(response.status().message(), HasSubstr(text));
      EXPECT_FALSE(response.has_location());
    }
    grpc::Status Finish() {
      stream->WritesDone();
      v1::LocalizeStreamResponse response;
      EXPECT_FALSE(stream->Read(&response));
      return stream->Finish();
    }
  };
  std::unique_ptr<Open> OpenStream(const v1::LocalizeStreamOptions& options = Calibrated()) {
    auto open = std::make_unique<Open>();
    open->stream = stub_->LocalizeStream(&open->context);
    v1::LocalizeStreamRequest first;
    *first.mutable_options() = options;
    open->stream->Write(first);
    return open;
  }
  std::string Refusal(const v1::LocalizeStreamOptions& options) {
    return OpenStream(options)->Finish().error_message();
  }
  double Metric(const std::string& name) { return Sample(Http((*server_)->metrics_address(), "GET /metrics"), name); }
  static v1::LocalizeStreamRequest Save(const std::string& name) {
    v1::LocalizeStreamRequest request;
    request.mutable_save_map()->set_name(name);
    return request;
  }
  static v1::LocalizeStreamRequest Load(const std::string& name) {
    v1::LocalizeStreamRequest request;
    request.mutable_load_map()->set_name(name);
    return request;
  }

  const std::string directory_ = absl::StrCat(::testing::TempDir(), "glint-maps-", getpid());
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<v1::Localization::Stub> stub_;
};

// Without waiting for answers, on three lanes, and twice at once.
TEST_F(Localizing, PairsAreLocatedAsByTheLibrary) {
  const std::vector<Pair> pairs = Pairs(10);
  const std::vector<slam::LocalizerResult> expected = ByLibrary(pairs);
  EXPECT_EQ(expected.back().status, slam::TrackingStatus::kTracking);
  EXPECT_NEAR(expected.back().world_from_camera.translation.x(), 9 * 0.16, 0.05);
  const auto one = OpenStream();
  const auto other = OpenStream();
  for (size_t i = 0; i < pairs.size(); ++i) {
    v1::LocalizePair pair = Eyes(pairs[i], static_cast<int64_t>(i + 1) * kFrameNs);
    pair.set_frame_id(100 + i);
    one->stream->Write(Message(pair));
    other->stream->Write(Message(pair));
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    SCOPED_TRACE(i);
    for (Open* open : {one.get(), other.get()}) {
      const v1::LocalizeStreamResponse response = open->Read();
      EXPECT_EQ(response.frame_id(), 100 + i);
      ExpectSame(expected[i], response);
      const v1::Timings& t = response.timings();
      EXPECT_THAT(t.detect_ns(), Gt(0));
      EXPECT_LE(t.receive_ns() + t.queue_ns() + t.decode_ns() + t.upload_ns() + t.detect_ns() + response.locate_ns() +
                    response.adjust_ns() + t.download_ns() + t.serialize_ns() + t.order_ns(),
                t.total_ns());
    }
  }
  EXPECT_TRUE(one->Finish().ok());
  EXPECT_TRUE(other->Finish().ok());
}

TEST_F(Localizing, EyesSideBySideAndProjectionsAreTheSame) {
  const std::vector<Pair> pairs = Pairs(4);
  const std::vector<slam::LocalizerResult> expected = ByLibrary(pairs);
  v1::LocalizeStreamOptions options = Calibrated();
  v1::StereoCamera* const camera = options.mutable_camera();
  for (const double v : {kFocal, 0.0, 160.0, 0.0, 0.0, kFocal, 100.0, 0.0, 0.0, 0.0, 1.0, 0.0}) {
    camera->add_left_projection(v);
    camera->add_right_projection(v);
  }
  camera->set_right_projection(3, -kFocal * kBaseline);
  camera->clear_focal_length();
  camera->clear_centre_x();
  camera->clear_centre_y();
  camera->clear_baseline();
  const auto open = OpenStream(options);
  for (size_t i = 0; i < pairs.size(); ++i) {
    Image both(2 * kShape.width, kShape.height);
    for (int y = 0; y < both.height(); ++y) {
      std::memcpy(both.row(y), pairs[i].left.row(y), kShape.width);
      std::memcpy(both.row(y) + kShape.width, pairs[i].right.row(y), kShape.width);
    }
    v1::LocalizePair pair;
    pair.set_time_ns(static_cast<int64_t>(i + 1) * kFrameNs);
    SetImage(both, pair.mutable_left());
    ExpectSame(expected[i], open->Ask(Message(pair)));
  }
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(Localizing, BadMessagesAreAnsweredAndChangeNothing) {
  const std::vector<Pair> pairs = Pairs(5);
  const std::vector<slam::LocalizerResult> expected = ByLibrary(pairs);
  const auto open = OpenStream();
  size_t i = 0;
  const auto next = [&] {
    ExpectSame(expected[i], open->Ask(Message(Eyes(pairs[i], static_cast<int64_t>(i + 1) * kFrameNs))));
    ++i;
  };
  next();
  open->ExpectError(Message(Eyes(pairs[1], kFrameNs)), grpc::INVALID_ARGUMENT,
                    "time_ns: 100000000 is not above the last pair's, 100000000");
  next();
  v1::LocalizePair mono = Eyes(pairs[1], 9 * kFrameNs);
  mono.clear_right();
  open->ExpectError(Message(mono), grpc::INVALID_ARGUMENT, "320");
  mono = Eyes(pairs[1], 9 * kFrameNs);
  mono.clear_left();
  open->ExpectError(Message(mono), grpc::INVALID_ARGUMENT, "left");
  next();
  v1::LocalizePair bad = Eyes(pairs[1], 9 * kFrameNs);
  bad.mutable_right()->mutable_encoded()->set_data("no picture");
  open->ExpectError(Message(bad), grpc::INVALID_ARGUMENT, "right");
  bad = Eyes(pairs[1], 9 * kFrameNs);
  SetGray(kShape.width - 2, kShape.height, 9, bad.mutable_right());
  open->ExpectError(Message(bad), grpc::INVALID_ARGUMENT, "right: 318x200 pixels, but the left eye has 320x200");
  SetGray(kShape.width - 2, kShape.height, 9, bad.mutable_left());
  open->ExpectError(Message(bad), grpc::INVALID_ARGUMENT, "318");
  next();
  open->ExpectError(Save("../map"), grpc::INVALID_ARGUMENT, "name: \"../map\" is not 1..64 letters");
  open->ExpectError(Save(".hidden"), grpc::INVALID_ARGUMENT, "name: \".hidden\"");
  open->ExpectError(Load(""), grpc::INVALID_ARGUMENT, "name: \"\"");
  open->ExpectError(Load("nowhere"), grpc::NOT_FOUND, "nowhere");
  open->ExpectError(Load(std::string(5000, 'x')), grpc::INVALID_ARGUMENT, "bytes are more than 4096");
  next();
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(Localizing, OptionsAreCheckedAtTheBeginning) {
  v1::LocalizeStreamOptions options = Calibrated();
  options.clear_camera();
  EXPECT_THAT(Refusal(options), HasSubstr("camera: missing"));
  options = Calibrated();
  options.mutable_camera()->set_baseline(0);
  EXPECT_THAT(Refusal(options), HasSubstr("camera.baseline: 0 is not in 0.001..100"));
  options.mutable_camera()->set_baseline(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(Refusal(options), HasSubstr("camera.baseline"));
  options = Calibrated();
  options.mutable_camera()->set_width(0);
  EXPECT_THAT(Refusal(options), HasSubstr("camera.width: 0"));
  options.mutable_camera()->set_width(322);
  EXPECT_THAT(Refusal(options), HasSubstr("pixels of both eyes: 128800 is over this server's limit of 128000"));
  options = Calibrated();
  options.mutable_camera()->mutable_rig_rotation()->set_x(1);
  EXPECT_THAT(Refusal(options), HasSubstr("camera.rig_rotation: 1 is not in -0.02..0.02"));
  options = Calibrated();
  options.mutable_camera()->add_left_projection(1);
  EXPECT_THAT(Refusal(options), HasSubstr("camera.left_projection"));
  options = Calibrated();
  options.mutable_detector()->set_preset("harris");
  EXPECT_THAT(Refusal(options), HasSubstr("detector.descriptor_kind: none"));
  options = Calibrated();
  options.set_refine_rig(static_cast<v1::RigRefinement>(7));
  EXPECT_THAT(Refusal(options), HasSubstr("refine_rig: \"7\" is not one of ON, OFF, FIXED"));
  options = Calibrated();
  options.set_mode(static_cast<v1::LocalizeMode>(7));
  EXPECT_THAT(Refusal(options), HasSubstr("mode: \"7\" is not one of REPRODUCIBLE, REALTIME"));
}

TEST_F(Localizing, StreamsHaveALimitAndMetricsForgetThem) {
  const std::vector<Pair> pairs = Pairs(2);
  const v1::LocalizeStreamRequest pair = Message(Eyes(pairs[0], kFrameNs));
  const auto first = OpenStream();
  EXPECT_EQ(first->Ask(pair).status().code(), 0);
  {
    const auto second = OpenStream();
    EXPECT_EQ(second->Ask(pair).status().code(), 0);
    EXPECT_EQ(Metric("glint_localize_streams"), 2);
    EXPECT_THAT(Refusal(Calibrated()),
                HasSubstr("localize streams: 3 is over this server's limit of 2 (--max-localize-streams)"));
    second->context.TryCancel();  // as a client that goes away
  }
  EXPECT_TRUE(Eventually([&] { return Metric("glint_localize_streams") == 1; }));
  EXPECT_EQ(first->Ask(Message(Eyes(pairs[1], 2 * kFrameNs))).status().code(), 0);
  v1::LocalizeStreamRequest get;
  get.mutable_get_map();
  EXPECT_EQ(first->Ask(get).status().code(), 0);
  EXPECT_EQ(Metric("glint_frames_total{operation=\"localize\",result=\"OK\"}"), 3);
  EXPECT_EQ(Metric("glint_frames_total{operation=\"map\",result=\"OK\"}"), 1);
  EXPECT_EQ(Metric("glint_stage_duration_seconds_count{stage=\"locate\"}"), 3);
  EXPECT_GT(Metric("glint_locations_total{status=\"tracking\"}"), 0);
  EXPECT_GT(Metric("glint_map_bytes"), 0);
  EXPECT_TRUE(first->Finish().ok());
  EXPECT_TRUE(Eventually([&] { return Metric("glint_map_bytes") == 0 && Metric("glint_map_points") == 0; }));
}

// Under a policy that drops pairs, too, requests about the map are answered in their turn.
TEST_F(Localizing, RequestsAboutTheMapAreNeverDropped) {
  const std::vector<Pair> pairs = Pairs(2);
  v1::LocalizeStreamOptions options = Calibrated();
  options.set_overload_policy(v1::OVERLOAD_POLICY_LATEST);
  options.set_max_in_flight(1);
  const auto open = OpenStream(options);
  uint64_t id = 0;
  for (int i = 0; i < 20; ++i) {
    v1::LocalizePair pair = Eyes(pairs[static_cast<size_t>(i % 2)], (i + 1) * kFrameNs);
    pair.set_frame_id(id++);
    open->stream->Write(Message(pair));
    if (i % 4 != 3) continue;
    v1::LocalizeStreamRequest get;
    get.mutable_get_map()->set_frame_id(id++);
    open->stream->Write(get);
  }
  for (uint64_t i = 0; i < id; ++i) {
    const v1::LocalizeStreamResponse response = open->Read();
    EXPECT_EQ(response.frame_id(), i);
    if (i % 5 == 4) {
      EXPECT_EQ(response.status().message(), "");
      EXPECT_TRUE(response.has_map());
    }
  }
  EXPECT_TRUE(open->Finish().ok());
}

TEST(LocalizingLimits, WithoutADirectoryThereAreNoMaps) {
  TestServer server(TestOptions());
  const auto stub = v1::Localization::NewStub(server.channel());
  grpc::ClientContext context;
  const auto stream = stub->LocalizeStream(&context);
  v1::LocalizeStreamRequest request;
  *request.mutable_options() = Calibrated();
  stream->Write(request);
  request.mutable_save_map()->set_name("map");
  stream->Write(request);
  v1::LocalizeStreamResponse response;
  EXPECT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status().code(), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(response.status().message(), "name: this server keeps no maps (--map-directory)");
}

}  // namespace
}  // namespace glint::testing
