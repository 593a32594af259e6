// Localization as its clients see it: pairs, requests about maps, bad input, limits, metrics. What the poses are worth
// is tests/slam's matter: here they are the library's, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "slam/front_end/lane_front_end.h"
#include "slam/localizer.h"
#include "tests/server/harness.h"
#include "tests/server/http_page.h"
#include "tests/server/localize_client.h"
#include "tests/server/localize_pairs.h"
#include "tests/server/wall_messages.h"

namespace glint::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Lt;
using ::testing::SizeIs;

constexpr Shape kShape = {320, 200};
constexpr int kFeatures = 300;
std::vector<Pair> Pairs(int count) { return PairsAlongAWall(kShape, count); }

v1::LocalizeStreamOptions Calibrated() { return WallStreamOptions(kShape, kFeatures); }

// What the library makes of the same pairs.
std::vector<slam::LocalizerResult> ByLibrary(const std::vector<Pair>& pairs) {
  DetectorOptions detector = *PresetOptions("orb");
  detector.max_features = kFeatures;
  slam::LaneFrontEnd front_end(detector, 1);
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
    const slam::FrameStamp stamp = {i, static_cast<int64_t>(i + 1) * kFrameNs};
    const absl::Status status = (*localizer)->Track(pairs[i].left, pairs[i].right, stamp, &results[i]);
    EXPECT_TRUE(status.ok()) << status;
  }
  return results;
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
    client_ = std::make_unique<LocalizeClient>(server_->channel());
  }
  ~Localizing() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<LocalizeClientStream> OpenStream(const v1::LocalizeStreamOptions& options = Calibrated()) {
    return client_->Open(options);
  }
  std::string Refusal(const v1::LocalizeStreamOptions& options) { return client_->Refusal(options); }
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
  std::unique_ptr<LocalizeClient> client_;
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
    v1::LocalizePair pair = MakePair(pairs[i], static_cast<int64_t>(i + 1) * kFrameNs);
    pair.set_frame_id(100 + i);
    one->stream->Write(Message(pair));
    other->stream->Write(Message(pair));
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    SCOPED_TRACE(i);
    for (LocalizeClientStream* open : {one.get(), other.get()}) {
      const v1::LocalizeStreamResponse response = open->Read();
      EXPECT_EQ(response.frame_id(), 100 + i);
      ExpectSame(expected[i], response);
      const v1::Timings& t = response.timings();
      EXPECT_THAT(t.detect_ns(), Gt(0));
      EXPECT_THAT(t.pyramid_ns(), Gt(0));  // a lane's stages
      EXPECT_THAT(t.match_ns(), Gt(0));
      EXPECT_THAT(t.locate_ns(), Gt(0));
      EXPECT_EQ(t.track_ns(), 0);
      EXPECT_LE(t.receive_ns() + t.queue_ns() + t.decode_ns() + t.upload_ns() + t.detect_ns() + t.match_ns() +
                    t.locate_ns() + t.adjust_ns() + t.download_ns() + t.serialize_ns() + t.order_ns(),
                t.total_ns());
    }
  }
  EXPECT_TRUE(one->Finish().ok());
  EXPECT_TRUE(other->Finish().ok());
}

TEST_F(Localizing, ImagesSideBySideAndProjectionsAreTheSame) {
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
    ExpectSame(expected[i], open->Ask(Message(MakePair(pairs[i], static_cast<int64_t>(i + 1) * kFrameNs))));
    ++i;
  };
  next();
  open->ExpectError(Message(MakePair(pairs[1], kFrameNs)), grpc::INVALID_ARGUMENT,
                    "time_ns: 100000000 is an earlier pair's, too");
  next();
  v1::LocalizePair mono = MakePair(pairs[1], 9 * kFrameNs);
  mono.clear_right();
  open->ExpectError(Message(mono), grpc::INVALID_ARGUMENT, "320");
  mono = MakePair(pairs[1], 9 * kFrameNs);
  mono.clear_left();
  open->ExpectError(Message(mono), grpc::INVALID_ARGUMENT, "left");
  next();
  v1::LocalizePair bad = MakePair(pairs[1], 9 * kFrameNs);
  bad.mutable_right()->mutable_encoded()->set_data("no picture");
  open->ExpectError(Message(bad), grpc::INVALID_ARGUMENT, "right");
  bad = MakePair(pairs[1], 9 * kFrameNs);
  SetGray(kShape.width - 2, kShape.height, 9, bad.mutable_right());
  open->ExpectError(Message(bad), grpc::INVALID_ARGUMENT, "right: 318x200 pixels, but the left image has 320x200");
  SetGray(kShape.width - 2, kShape.height, 9, bad.mutable_left());
  open->ExpectError(Message(bad), grpc::INVALID_ARGUMENT, "318");
  next();
  open->ExpectError(Save("../map"), grpc::INVALID_ARGUMENT, "name: \"../map\" is not 1..64 letters");
  open->ExpectError(Save(".hidden"), grpc::INVALID_ARGUMENT, "name: \".hidden\"");
  open->ExpectError(Load(""), grpc::INVALID_ARGUMENT, "name: \"\"");
  open->ExpectError(Load("nowhere"), grpc::NOT_FOUND, "name: there is no map \"nowhere\"; this server has ");
  open->ExpectError(Save("office.glintmap"), grpc::INVALID_ARGUMENT, "name: \"office.glintmap\" is the name of a file");
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
  EXPECT_THAT(Refusal(options),
              HasSubstr("camera: 128800 pixels of both images are over this server's limit of 128000"));
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
  const v1::LocalizeStreamRequest pair = Message(MakePair(pairs[0], kFrameNs));
  const auto first = OpenStream();
  EXPECT_EQ(first->Ask(pair).status().code(), 0);
  {
    const auto second = OpenStream();
    EXPECT_EQ(second->Ask(pair).status().code(), 0);
    EXPECT_EQ(Metric("glint_localize_streams"), 2);
    EXPECT_THAT(
        Refusal(Calibrated()),
        HasSubstr("sessions: 3 streams that localize are over this server's limit of 2 (--max-localize-streams)"));
    second->context.TryCancel();  // as a client that goes away
  }
  EXPECT_TRUE(Eventually([&] { return Metric("glint_localize_streams") == 1; }));
  EXPECT_EQ(first->Ask(Message(MakePair(pairs[1], 2 * kFrameNs))).status().code(), 0);
  v1::LocalizeStreamRequest get;
  get.mutable_get_map();
  EXPECT_EQ(first->Ask(get).status().code(), 0);
  EXPECT_EQ(Metric("glint_frames_total{operation=\"localize\",result=\"OK\"}"), 3);
  EXPECT_EQ(Metric("glint_frames_total{operation=\"map\",result=\"OK\"}"), 1);
  EXPECT_EQ(Metric("glint_stage_duration_seconds_count{stage=\"match\"}"), 3);
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
    v1::LocalizePair pair = MakePair(pairs[static_cast<size_t>(i % 2)], (i + 1) * kFrameNs);
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

TEST_F(Localizing, MapsAreReadSavedLoadedAndFoundIn) {
  const std::vector<Pair> pairs = Pairs(30);
  const auto open = OpenStream();
  open->ExpectError(Save("wall"), grpc::FAILED_PRECONDITION, "map");
  for (size_t i = 0; i < pairs.size(); ++i) {
    v1::LocalizePair pair = MakePair(pairs[i], static_cast<int64_t>(i + 1) * kFrameNs);
    pair.set_frame_id(500 - i);
    EXPECT_EQ(open->Ask(Message(pair)).status().message(), "");
  }
  v1::LocalizeStreamRequest get;
  get.mutable_get_map();
  const v1::LocalizeStreamResponse whole = open->Ask(get);
  EXPECT_GT(whole.timings().adjust_ns(), 0);
  ASSERT_THAT(whole.map().keyframes_size(), Gt(1));
  EXPECT_EQ(whole.map().keyframes_size(), whole.map_keyframes());
  EXPECT_EQ(whole.map().point_id_size(), whole.map_points());
  EXPECT_EQ(whole.map().x_size(), whole.map().point_id_size());
  EXPECT_FALSE(whole.map().has_next());
  EXPECT_EQ(Metric("glint_map_keyframes"), whole.map_keyframes());
  // Each keyframe says which pair it was, and is where that was.
  EXPECT_EQ(whole.map().keyframes(0).frame_id(), 500u);
  for (const v1::MapKeyframe& keyframe : whole.map().keyframes()) {
    const auto pair = static_cast<int64_t>(500 - keyframe.frame_id());
    EXPECT_EQ(keyframe.time_ns(), (pair + 1) * kFrameNs);
    EXPECT_NEAR(keyframe.pose().x(), static_cast<double>(pair) * 0.16, 0.1) << pair;
  }
  // From the second keyframe and the last point on.
  get.mutable_get_map()->mutable_from()->set_keyframe(whole.map().keyframes(1).id());
  get.mutable_get_map()->mutable_from()->set_point(*whole.map().point_id().rbegin());
  const v1::LocalizeStreamResponse rest = open->Ask(get);
  EXPECT_EQ(rest.map().keyframes_size(), whole.map().keyframes_size() - 1);
  EXPECT_EQ(rest.map().keyframes(0).id(), whole.map().keyframes(1).id());
  EXPECT_THAT(rest.map().point_id(), SizeIs(1));

  for (int i = 0; i < 2; ++i) {  // the second time in its place
    const v1::LocalizeStreamResponse saved = open->Ask(Save("wall"));
    EXPECT_EQ(saved.status().message(), "");
    EXPECT_TRUE(saved.has_saved());
    EXPECT_EQ(saved.map_points(), whole.map_points());
  }
  open->ExpectError(Save("other"), grpc::RESOURCE_EXHAUSTED,
                    "name: 2 maps are over this server's limit of 1 (--max-maps)");
  EXPECT_TRUE(open->Finish().ok());

  const auto again = OpenStream();
  v1::LocalizeStreamRequest find;
  *find.mutable_relocalize() = MakePair(pairs[12], 0);
  again->ExpectError(find, grpc::FAILED_PRECONDITION, "map");
  const v1::LocalizeStreamResponse loaded = again->Ask(Load("wall"));
  EXPECT_EQ(loaded.status().message(), "");
  EXPECT_TRUE(loaded.has_loaded());
  EXPECT_EQ(loaded.map_keyframes(), whole.map_keyframes());
  EXPECT_EQ(loaded.map_points(), whole.map_points());
  get.mutable_get_map()->clear_from();
  EXPECT_EQ(again->Ask(get).map().SerializeAsString(), whole.map().SerializeAsString());
  const v1::LocalizeStreamResponse found = again->Ask(find);
  EXPECT_EQ(found.status().message(), "");
  EXPECT_EQ(found.location().status(), v1::LOCATION_STATUS_RELOCALIZED);
  EXPECT_NEAR(found.location().pose().x(), 12 * 0.16, 0.1);
  EXPECT_TRUE(again->Finish().ok());

  v1::LocalizeStreamOptions options = Calibrated();
  options.mutable_camera()->set_baseline(0.3);
  const auto wider = OpenStream(options);
  wider->ExpectError(Load("wall"), grpc::INVALID_ARGUMENT, "map wall: is a map of another camera");
  const v1::ErrorInfo error = wider->Ask(Load("wall")).status().error();
  EXPECT_EQ(error.reason(), "CONTRADICTION");
  EXPECT_EQ(error.metadata().at("field"), "name");  // and no path of the server's
  EXPECT_EQ(error.metadata().at("value"), "wall");
  options = Calibrated();
  options.mutable_detector()->set_preset("bfrost");
  const auto stranger = OpenStream(options);
  stranger->ExpectError(Load("wall"), grpc::INVALID_ARGUMENT,
                        "is a map of another detector: descriptor RBRIEF in the map, BFROST in use");
  EXPECT_TRUE(stranger->Finish().ok());
  std::filesystem::resize_file(directory_ + "/wall.glintmap",
                               std::filesystem::file_size(directory_ + "/wall.glintmap") / 2);
  wider->ExpectError(Load("wall"), grpc::INVALID_ARGUMENT, "wall");
  EXPECT_EQ(wider->Ask(Message(MakePair(pairs[0], kFrameNs))).status().message(), "");
  EXPECT_TRUE(wider->Finish().ok());
}

// What cannot be refused, because a camera may see such things, is answered with a warning and its figure.
TEST_F(Localizing, PairsThatContradictTheCalibrationAreWarnedOf) {
  const std::vector<Pair> pairs = Pairs(3);
  const auto expect_warning = [&](const v1::LocalizePair& pair, const ::testing::Matcher<v1::Warning>& warning) {
    const auto open = OpenStream();
    const v1::LocalizeStreamResponse response = open->Ask(Message(pair));
    EXPECT_EQ(response.status().message(), "");
    EXPECT_THAT(response.location().warnings(), Contains(warning));
    EXPECT_TRUE(open->Finish().ok());
  };
  v1::LocalizePair mono = MakePair(pairs[0], kFrameNs);
  *mono.mutable_right() = mono.left();
  expect_warning(mono, IsWarning(v1::WARNING_KIND_NO_DISPARITY, 0.0, "px",
                                 "disparity is 0.00 pixels (median): is one image sent twice?"));
  v1::LocalizePair exchanged = MakePair(pairs[0], kFrameNs);
  exchanged.mutable_left()->Swap(exchanged.mutable_right());
  expect_warning(exchanged, IsWarning(v1::WARNING_KIND_SWAPPED, AllOf(Gt(0.5), Le(1)), "1",
                                      "left and right seem to be exchanged"));
  // Not rectified: the right image is 40 rows lower.
  constexpr size_t kLower = 40 * kShape.width;
  v1::LocalizePair shifted = MakePair(pairs[0], kFrameNs);
  std::string* const rows = shifted.mutable_right()->mutable_raw()->mutable_data();
  *rows = std::string(kLower, 'x') + rows->substr(0, rows->size() - kLower);
  expect_warning(shifted, IsWarning(v1::WARNING_KIND_DIFFERENT_SCENES, Lt(0.05), "1", "in both images: not rectified"));
  // A baseline a hundred times too long: at such speed nothing drives.
  v1::LocalizeStreamOptions wide = Calibrated();
  wide.mutable_camera()->set_baseline(100 * kBaseline);
  const auto open = OpenStream(wide);
  v1::LocalizeStreamResponse last;
  for (size_t i = 0; i < pairs.size(); ++i) {
    last = open->Ask(Message(MakePair(pairs[i], static_cast<int64_t>(i + 1) * kFrameNs)));
  }
  EXPECT_THAT(last.location().warnings(), Contains(IsWarning(v1::WARNING_KIND_IMPLAUSIBLE_SPEED, Gt(100), "m/s",
                                                             "baseline or timestamps are wrong")));
  EXPECT_TRUE(open->Finish().ok());
}

// Truncated, foreign and damaged files, those of another version, camera and detector, and maps that are too large.
TEST_F(Localizing, MapsThatDoNotFitAreRefusedAndChangeNothing) {
  const std::vector<Pair> pairs = Pairs(20);
  const auto first = OpenStream();
  for (size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(first->Ask(Message(MakePair(pairs[i], static_cast<int64_t>(i + 1) * kFrameNs))).status().message(), "");
  }
  EXPECT_EQ(first->Ask(Save("wall")).status().message(), "");
  EXPECT_TRUE(first->Finish().ok());

  const std::string file = directory_ + "/wall.glintmap";
  std::string good(std::filesystem::file_size(file), ' ');
  ASSERT_TRUE(std::ifstream(file, std::ios::binary).read(good.data(), static_cast<std::streamsize>(good.size())));
  const auto put = [&](const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; };
  const auto open = OpenStream();
  for (const size_t size : {size_t{0}, size_t{7}, good.size() / 2, good.size() - 1}) {
    put(good.substr(0, size));
    open->ExpectError(Load("wall"), grpc::INVALID_ARGUMENT, "map wall");
  }
  put("P5 640 480 255 " + std::string(good.size(), 'x'));
  open->ExpectError(Load("wall"), grpc::INVALID_ARGUMENT, "map wall");
  for (const size_t at : {size_t{8}, good.size() / 3, good.size() - 5}) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    put(damaged);
    open->ExpectError(Load("wall"), grpc::INVALID_ARGUMENT, "map wall");
  }
  put(good + "more");
  open->ExpectError(Load("wall"), grpc::INVALID_ARGUMENT, "map wall");
  put(good);
  // Nothing of it stayed: there is still no map, and then the good one is taken.
  v1::LocalizeStreamRequest find;
  *find.mutable_relocalize() = MakePair(pairs[8], 0);
  open->ExpectError(find, grpc::FAILED_PRECONDITION, "map");
  EXPECT_EQ(open->Ask(Load("wall")).status().message(), "");
  EXPECT_EQ(open->Ask(find).location().status(), v1::LOCATION_STATUS_RELOCALIZED);
  EXPECT_TRUE(open->Finish().ok());
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    EXPECT_EQ(entry.path().filename(), "wall.glintmap");  // no half a file beside it
  }

  v1::LocalizeStreamOptions other = Calibrated();
  other.mutable_camera()->set_focal_length(kFocal + 1);
  const auto longer = OpenStream(other);
  longer->ExpectError(Load("wall"), grpc::INVALID_ARGUMENT, "camera");
  EXPECT_TRUE(longer->Finish().ok());
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

// A full map takes no more keyframes and says so; one that has more than a stream may have is not loaded.
TEST(LocalizingLimits, MapsEndAtTheirKeyframes) {
  const std::string directory = absl::StrCat(::testing::TempDir(), "glint-full-maps-", getpid());
  std::filesystem::create_directories(directory);
  const std::vector<Pair> pairs = Pairs(40);
  for (const int most : {1000, 10}) {
    ServerOptions options = TestOptions();
    options.map_directory = directory;
    options.max_map_keyframes = most;
    TestServer server(options);
    const auto stub = v1::Localization::NewStub(server.channel());
    grpc::ClientContext context;
    const auto stream = stub->LocalizeStream(&context);
    v1::LocalizeStreamRequest request;
    v1::LocalizeStreamResponse response;
    *request.mutable_options() = Calibrated();
    stream->Write(request);
    for (size_t i = 0; i < pairs.size(); ++i) {
      stream->Write(Message(MakePair(pairs[i], static_cast<int64_t>(i + 1) * kFrameNs)));
      ASSERT_TRUE(stream->Read(&response));
      EXPECT_EQ(response.location().status(), v1::LOCATION_STATUS_TRACKING) << i;
    }
    if (most == 10) {
      EXPECT_TRUE(response.location().map_full());
      EXPECT_EQ(response.map_keyframes(), 10);
      request.mutable_load_map()->set_name("full");
      stream->Write(request);
      ASSERT_TRUE(stream->Read(&response));
      EXPECT_EQ(response.status().code(), grpc::RESOURCE_EXHAUSTED);
      EXPECT_THAT(response.status().message(), HasSubstr("10"));
      EXPECT_EQ(response.status().error().reason(), "OVER_LIMIT");
      EXPECT_EQ(response.status().error().metadata().at("field"), "name");
      EXPECT_EQ(response.status().error().metadata().at("highest"), "10");
    } else {
      EXPECT_FALSE(response.location().map_full());
      EXPECT_GT(response.map_keyframes(), 10);
      request.mutable_save_map()->set_name("full");
      stream->Write(request);
      ASSERT_TRUE(stream->Read(&response));
      EXPECT_EQ(response.status().message(), "");
    }
  }
  std::filesystem::remove_all(directory);
}

// Two streams save maps of different lengths under one name, and two load it meanwhile: each save and each load works,
// and what is loaded is one of the two maps.
TEST_F(Localizing, StreamsThatSaveUnderOneNameLeaveWholeMaps) {
  constexpr int kSaves = 20;
  ServerOptions options = TestOptions();
  options.lanes.lanes = 4;
  options.max_localize_streams = 4;
  options.max_maps = 1;
  options.map_directory = directory_;
  TestServer server(options);
  const LocalizeClient client(server.channel());
  const std::vector<Pair> pairs = Pairs(24);
  std::vector<std::unique_ptr<LocalizeClientStream>> streams;
  std::vector<uint32_t> keyframes;
  for (const size_t length : {pairs.size() / 3, pairs.size()}) {
    streams.push_back(client.Open(Calibrated()));
    v1::LocalizeStreamResponse last;
    for (size_t i = 0; i < length; ++i) {
      last = streams.back()->Ask(Message(MakePair(pairs[i], static_cast<int64_t>(i + 1) * kFrameNs)));
    }
    keyframes.push_back(static_cast<uint32_t>(last.map_keyframes()));
    EXPECT_EQ(streams.back()->Ask(Save("wall")).status().message(), "");
  }
  ASSERT_NE(keyframes[0], keyframes[1]);
  std::atomic<int> saving{2}, failed{0}, loads{0};
  std::vector<std::thread> threads;
  for (const auto& stream : streams) {
    threads.emplace_back([&] {
      for (int i = 0; i < kSaves; ++i) failed += stream->Ask(Save("wall")).status().code() != grpc::OK;
      --saving;
    });
  }
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      const auto loader = client.Open(Calibrated());
      while (saving > 0) {
        const v1::LocalizeStreamResponse loaded = loader->Ask(Load("wall"));
        failed += loaded.status().code() != grpc::OK;
        EXPECT_THAT(keyframes, Contains(static_cast<uint32_t>(loaded.map_keyframes())));
        ++loads;
      }
      EXPECT_TRUE(loader->Finish().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_GT(loads, 0);
  for (const auto& stream : streams) EXPECT_TRUE(stream->Finish().ok());
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    EXPECT_EQ(entry.path().filename(), "wall.glintmap");
  }
}

// A limit on files is like a full disk: it ends a write in the middle of the map.
TEST_F(Localizing, AMapThatDoesNotFitOnTheDiskLeavesTheOldOne) {
  const std::vector<Pair> pairs = Pairs(20);
  const auto open = OpenStream();
  for (size_t i = 0; i < pairs.size() / 2; ++i) {
    EXPECT_EQ(open->Ask(Message(MakePair(pairs[i], static_cast<int64_t>(i + 1) * kFrameNs))).status().message(), "");
  }
  EXPECT_EQ(open->Ask(Save("wall")).status().message(), "");
  const auto old = std::filesystem::file_size(directory_ + "/wall.glintmap");
  for (size_t i = pairs.size() / 2; i < pairs.size(); ++i) {
    EXPECT_EQ(open->Ask(Message(MakePair(pairs[i], static_cast<int64_t>(i + 1) * kFrameNs))).status().message(), "");
  }
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit tight = {old, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const v1::LocalizeStreamResponse refused = open->Ask(Save("wall"));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(refused.status().code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.status().message(), HasSubstr("map wall: cannot be written: "));
  EXPECT_EQ(refused.status().message().find(directory_), std::string::npos);
  EXPECT_EQ(refused.status().error().metadata().at("field"), "name");
  EXPECT_EQ(std::filesystem::file_size(directory_ + "/wall.glintmap"), old);
  EXPECT_EQ(open->Ask(Load("wall")).status().message(), "");
  EXPECT_TRUE(open->Finish().ok());
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    EXPECT_EQ(entry.path().filename(), "wall.glintmap");
  }
}

}  // namespace
}  // namespace glint::testing
