// FeatureTracking as its clients see it: frames of one and of several cameras, edits, bad input, limits, metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "features/camera/camera.h"
#include "glint/v1/tracking.grpc.pb.h"
#include "tests/scene/scene.h"
#include "tests/server/harness.h"
#include "tests/server/http_page.h"
#include "tests/server/reference_tracks.h"
#include "tests/support/images.h"

namespace glint::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using TrackStream = grpc::ClientReaderWriter<v1::TrackStreamRequest, v1::TrackStreamResponse>;

constexpr Shape kShape = {240, 160};

// A hand-held camera.
std::vector<Image> Frames(int count, uint32_t seed = 1, Shape shape = kShape) {
  scene::SceneOptions options;
  options.seed = seed;
  options.shape = shape;
  const scene::Scene scene(options);
  std::vector<Image> frames;
  for (int i = 0; i < count; ++i) frames.push_back(scene.Render(scene.PoseAt(i)));
  return frames;
}

void SetImage(const ImageView& image, v1::Image* proto) {
  SetGray(image.width, image.height, 0, proto);
  std::string* const data = proto->mutable_raw()->mutable_data();
  for (int y = 0; y < image.height; ++y) {
    std::memcpy(data->data() + y * image.width, image.row(y), static_cast<size_t>(image.width));
  }
}

v1::TrackStreamRequest FrameOf(const std::vector<ImageView>& images, uint64_t id = 0, int64_t time_ns = 0) {
  v1::TrackStreamRequest request;
  request.mutable_frame()->set_frame_id(id);
  request.mutable_frame()->set_time_ns(time_ns);
  for (const ImageView& image : images) SetImage(image, request.mutable_frame()->add_images());
  return request;
}

v1::TrackStreamRequest Points(std::vector<float> x, std::vector<float> y, uint32_t camera = 0) {
  v1::TrackStreamRequest request;
  request.mutable_add_points()->set_camera(camera);
  request.mutable_add_points()->mutable_x()->Add(x.begin(), x.end());
  request.mutable_add_points()->mutable_y()->Add(y.begin(), y.end());
  return request;
}

class Tracking : public ::testing::Test {
 protected:
  static ServerOptions Options() {
    ServerOptions options = TestOptions();
    options.metrics_listen = "127.0.0.1:0";
    options.lanes.lanes = 3;  // whichever is idle has the next frame
    options.max_track_streams = 2;
    options.max_track_cameras = 3;
    options.max_tracks = 1000;
    options.max_track_pixels = 1 << 18;
    return options;
  }

  struct Open {
    grpc::ClientContext context;
    std::unique_ptr<TrackStream> stream;

    v1::TrackStreamResponse Read() {
      v1::TrackStreamResponse response;
      EXPECT_TRUE(stream->Read(&response));
      return response;
    }
    v1::TrackStreamResponse Ask(const v1::TrackStreamRequest& request) {
      EXPECT_TRUE(stream->Write(request));
      return Read();
    }
    void ExpectError(const v1::TrackStreamRequest& request, grpc::StatusCode code, const std::string& text) {
      const v1::TrackStreamResponse response = Ask(request);
      EXPECT_EQ(response.status().code(), code) << response.status().message();
      EXPECT_THAT(response.status().message(), HasSubstr(text));
      ExpectAPath(response.status());
      EXPECT_EQ(response.answer_case(), v1::TrackStreamResponse::ANSWER_NOT_SET);
    }
    grpc::Status Finish() {
      stream->WritesDone();
      v1::TrackStreamResponse response;
      EXPECT_FALSE(stream->Read(&response));
      return stream->Finish();
    }
  };
  std::unique_ptr<Open> OpenStream(const v1::TrackStreamOptions& options = {}) {
    auto open = std::make_unique<Open>();
    open->stream = stub_->TrackStream(&open->context);
    v1::TrackStreamRequest first;
    *first.mutable_options() = options;
    open->stream->Write(first);
    return open;
  }
  std::string Refusal(const v1::TrackStreamOptions& options) { return OpenStream(options)->Finish().error_message(); }
  double Metric(const std::string& name) { return Sample(Http(server_->metrics_address(), "GET /metrics"), name); }

  TestServer server_{Options()};
  std::unique_ptr<v1::FeatureTracking::Stub> stub_ = v1::FeatureTracking::NewStub(server_.channel());
};

// Without waiting for answers: several frames are with the server at once.
TEST_F(Tracking, FramesAreTrackedAsByTheReferenceWithEveryPreset) {
  const std::vector<Image> frames = Frames(6);
  for (const std::string& preset : PresetNames()) {
    SCOPED_TRACE(preset);
    TrackingOptions options;
    options.detector = *PresetOptions(preset);
    options.detector.descriptor = Descriptor::kNone;
    options.detector.max_features = 300;
    options.track.intensity = IntensityModel::kGainAndOffset;
    options.track.max_backward_error = 1;
    options.target = 60;
    options.min_share = 1;
    options.predict = true;
    v1::TrackStreamOptions wire;
    wire.mutable_detector()->set_preset(preset);
    wire.mutable_detector()->set_max_features(300);
    wire.mutable_track()->set_intensity(v1::INTENSITY_MODEL_GAIN_AND_OFFSET);
    wire.mutable_track()->set_max_backward_error(1);
    wire.set_target(60);
    wire.set_min_share(1);
    wire.set_predict(true);
    const auto open = OpenStream(wire);
    const auto time_of = [](size_t i) { return static_cast<int64_t>(1000 + 33 * i + i * i); };
    for (size_t i = 0; i < frames.size(); ++i) open->stream->Write(FrameOf({frames[i]}, i, time_of(i)));
    ReferenceTracks reference(options);
    for (size_t i = 0; i < frames.size(); ++i) {
      SCOPED_TRACE(i);
      const std::vector<CameraTracks>& expected = reference.Frame({frames[i]}, time_of(i));
      const v1::TrackStreamResponse response = open->Read();
      EXPECT_EQ(response.status().message(), "");
      EXPECT_EQ(response.frame_id(), i);
      ASSERT_EQ(response.tracks().cameras_size(), 1);
      ExpectSameTracks(expected[0], ToTracks(response.tracks().cameras(0)));
      EXPECT_GT(response.timings().track_ns(), 0);
      EXPECT_GT(response.timings().total_ns(), response.timings().track_ns());
    }
    EXPECT_GT(reference.session()->live(), 10u);
    EXPECT_TRUE(open->Finish().ok());
  }
}

// Which frames are dropped is a matter of time; the others are tracked as if these had never been.
TEST_F(Tracking, DroppedFramesAreLeftOut) {
  const std::vector<Image> frames = Frames(12);
  TrackingOptions options;
  options.detector = *PresetOptions("fast_grid");
  options.predict = true;
  v1::TrackStreamOptions wire;
  wire.set_overload_policy(v1::OVERLOAD_POLICY_LATEST);
  wire.set_max_in_flight(1);
  wire.set_predict(true);
  const auto open = OpenStream(wire);
  const auto write = [&](size_t i) { open->stream->Write(FrameOf({frames[i]}, i, static_cast<int64_t>(i + 1))); };
  write(0);
  ReferenceTracks reference(options);
  int good = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    SCOPED_TRACE(i);
    const v1::TrackStreamResponse response = open->Read();
    EXPECT_EQ(response.frame_id(), i);
    // Nothing takes the first one's place.
    for (size_t next = 1; i == 0 && next < frames.size(); ++next) write(next);
    if (response.status().code() == grpc::ABORTED) {
      EXPECT_EQ(response.status().drop_reason(), v1::DROP_REASON_SUPERSEDED);
      continue;
    }
    ++good;
    ExpectSameTracks(reference.Frame({frames[i]}, static_cast<int64_t>(i + 1))[0],
                     ToTracks(response.tracks().cameras(0)));
  }
  EXPECT_GE(good, 2);  // the first and the last
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(Tracking, FastGridIsTheDefault) {
  const std::vector<Image> frames = Frames(1);
  TrackingOptions options;
  options.detector = *PresetOptions("fast_grid");
  const auto open = OpenStream();
  const v1::TrackStreamResponse response = open->Ask(FrameOf({frames[0]}));
  ExpectSameTracks(ReferenceTracks(options).Frame({frames[0]})[0], ToTracks(response.tracks().cameras(0)));
  EXPECT_GT(response.tracks().cameras(0).id_size(), 10);
}

TEST_F(Tracking, CamerasHaveSizesAndTracksOfTheirOwn) {
  const std::vector<Image> left = Frames(4, 1), right = Frames(4, 2, {200, 120}), wide = Frames(4, 3, {320, 120});
  TrackingOptions options;
  options.detector = *PresetOptions("fast_grid");
  options.cameras = 3;
  options.target = 40;
  v1::TrackStreamOptions wire;
  wire.set_cameras(3);
  wire.set_target(40);
  const auto open = OpenStream(wire);
  ReferenceTracks reference(options);
  for (size_t i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    // The second camera changes its size in the third frame.
    const std::vector<ImageView> images = {left[i], i == 2 ? wide[i] : right[i], wide[i]};
    const v1::TrackStreamResponse response = open->Ask(FrameOf(images));
    EXPECT_EQ(response.status().message(), "");
    const std::vector<CameraTracks>& expected = reference.Frame(images);
    ASSERT_EQ(response.tracks().cameras_size(), 3);
    for (int c = 0; c < 3; ++c) {
      EXPECT_EQ(response.tracks().cameras(c).camera(), static_cast<uint32_t>(c));
      ExpectSameTracks(expected[static_cast<size_t>(c)], ToTracks(response.tracks().cameras(c)));
    }
    const bool resized = i >= 2;  // and back again
    EXPECT_EQ(response.tracks().cameras(1).state(0), resized ? v1::TRACK_STATE_IMAGE_RESIZED : v1::TRACK_STATE_TRACKED);
  }
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(Tracking, ColoursAreTrackedInGrey) {
  scene::SceneOptions options;
  options.shape = kShape;
  const scene::Scene scene(options);
  const auto open = OpenStream();
  size_t followed = 0;
  for (int i = 0; i < 3; ++i) {
    const Image rgb = scene.RenderRgb(scene.PoseAt(i));
    v1::TrackStreamRequest request;
    v1::RawImage* const raw = request.mutable_frame()->add_images()->mutable_raw();
    raw->set_format(v1::PIXEL_FORMAT_RGB8);
    raw->set_width(240);
    raw->set_height(160);
    for (int y = 0; y < 160; ++y) raw->mutable_data()->append(reinterpret_cast<const char*>(rgb.row(y)), 720);
    const v1::TrackStreamResponse response = open->Ask(request);
    EXPECT_EQ(response.status().message(), "");
    for (const int32_t age : response.tracks().cameras(0).age()) followed += age == 2 ? 1 : 0;
  }
  EXPECT_GT(followed, 10u);
}

// All sent without waiting. Tracks of several frames live at once, so that some get new templates.
TEST_F(Tracking, TemplatesOfFirstFramesAreThoseOfTheReference) {
  const std::vector<Image> left = Frames(12, 1), right = Frames(12, 2);
  TrackingOptions options;
  options.detector = *PresetOptions("fast_grid");
  options.track.max_residual = 12;
  options.cameras = 2;
  options.target = 40;
  options.min_share = 1;
  options.template_frames = 2;
  v1::TrackStreamOptions wire;
  wire.mutable_track()->set_max_residual(12);
  wire.set_cameras(2);
  wire.set_target(40);
  wire.set_min_share(1);
  wire.set_track_template(v1::TRACK_TEMPLATE_FIRST_FRAME);
  wire.set_template_frames(2);
  const auto open = OpenStream(wire);
  v1::TrackStreamRequest reset;
  reset.mutable_reset_tracks()->set_camera(1);
  for (size_t i = 0; i < left.size(); ++i) {
    open->stream->Write(FrameOf({left[i], right[i]}, i));
    if (i == 5) open->stream->Write(Points({20, 30}, {40, 50}, 1));
    if (i == 8) open->stream->Write(reset);
  }
  ReferenceTracks reference(options);
  uint32_t oldest = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    SCOPED_TRACE(i);
    const std::vector<CameraTracks>& expected = reference.Frame({left[i], right[i]});
    const v1::TrackStreamResponse response = open->Read();
    ASSERT_EQ(response.tracks().cameras_size(), 2) << response.status().message();
    for (int c = 0; c < 2; ++c)
      ExpectSameTracks(expected[static_cast<size_t>(c)], ToTracks(response.tracks().cameras(c)));
    for (const TrackOrigin& origin : expected[0].origin) oldest = std::max(oldest, origin.age);
    CameraTracks changed;
    if (i == 5) {
      ASSERT_TRUE(reference.session()->Add(1, {20, 30}, {40, 50}, &changed).ok());
      ExpectSameTracks(changed, ToTracks(open->Read().edited().cameras(0)));
    }
    if (i == 8) {
      ASSERT_TRUE(reference.session()->Reset(1, &changed).ok());
      ExpectSameTracks(changed, ToTracks(open->Read().edited().cameras(0)));
    }
  }
  EXPECT_EQ(oldest, 11u);
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(Tracking, PredictionsOfTheClientAreUsed) {
  const std::vector<Image> frames = Frames(1, 1, {400, 160});
  const auto part = [&](int x) { return ImageView{frames[0].row(0) + x, kShape.width, 160, frames[0].stride()}; };
  v1::TrackStreamOptions wire;
  wire.mutable_track()->set_levels(1);  // which alone does not see a move of 60 pixels
  wire.mutable_track()->set_max_residual(2);
  wire.set_min_share(0);
  TrackingOptions options;
  options.detector = *PresetOptions("fast_grid");
  options.track.levels = 1;
  options.track.max_residual = 2;
  options.min_share = 0;
  ReferenceTracks reference(options);
  const auto open = OpenStream(wire);
  const v1::CameraTracks begun = open->Ask(FrameOf({part(0)})).tracks().cameras(0);
  reference.Frame({part(0)});
  v1::TrackStreamRequest request = FrameOf({part(60)}, 1);
  v1::TrackPrediction* const wire_prediction = request.mutable_frame()->add_predictions();
  TrackPrediction prediction;
  prediction.homography = {1, 0, -60, 0, 1, 0, 0, 0, 1};
  wire_prediction->mutable_homography()->Add(prediction.homography.begin(), prediction.homography.end());
  for (int i = 0; i < begun.id_size(); i += 7) {  // these are expected elsewhere
    prediction.ids.push_back(begun.id(i));
    prediction.x.push_back(begun.x(i));
    prediction.y.push_back(begun.y(i));
  }
  wire_prediction->mutable_ids()->Add(prediction.ids.begin(), prediction.ids.end());
  wire_prediction->mutable_x()->Add(prediction.x.begin(), prediction.x.end());
  wire_prediction->mutable_y()->Add(prediction.y.begin(), prediction.y.end());
  const v1::CameraTracks found = open->Ask(request).tracks().cameras(0);
  ExpectSameTracks(reference.Frame({part(60)}, 0, false, {&prediction, 1})[0], ToTracks(found));
  int right = 0, inside = 0;
  for (int i = 0; i < found.id_size(); ++i) {
    if (begun.x(i) < 75) continue;
    ++inside;
    right += i % 7 != 0 && std::abs(found.x(i) - (begun.x(i) - 60)) < 0.1f ? 1 : 0;
  }
  EXPECT_GT(right, inside * 3 / 4);
  EXPECT_GT(inside, 20);

  const auto bad = grpc::INVALID_ARGUMENT;
  const auto error = [&](auto change) {
    v1::TrackStreamRequest frame = FrameOf({part(60)}, 2);
    change(frame.mutable_frame()->add_predictions());
    return frame;
  };
  open->ExpectError(error([](v1::TrackPrediction* p) { p->set_camera(1); }), bad,
                    "predictions[0].camera: 1 is not in 0..0");
  open->ExpectError(error([](v1::TrackPrediction* p) { p->add_homography(1); }), bad,
                    "predictions[0].homography: 1 elements");
  open->ExpectError(error([](v1::TrackPrediction* p) { p->add_ids(1); }), bad,
                    "predictions[0].x: 0 elements, but ids has 1");
  open->ExpectError(error([](v1::TrackPrediction* p) {
                      for (int i = 0; i < 1001; ++i) p->add_x(1);
                    }),
                    grpc::RESOURCE_EXHAUSTED, "predictions: 1001 elements are over this server's limit of 1000");
  request.mutable_frame()->add_predictions();
  open->ExpectError(request, bad, "predictions: 2, but the stream has cameras: 1");
  EXPECT_EQ(open->Ask(FrameOf({part(60)}, 2)).status().code(), 0);
  EXPECT_TRUE(open->Finish().ok());
}

// 255 where `allows(x, y)`.
template <typename Allows>
Image MaskOf(Shape shape, Allows allows) {
  Image mask(shape.width, shape.height);
  for (int y = 0; y < shape.height; ++y) {
    for (int x = 0; x < shape.width; ++x) mask.row(y)[x] = allows(x, y) ? 255 : 0;
  }
  return mask;
}

// Two cameras, whose masks are more than options may have without them. The second one's has values other than 255.
TEST_F(Tracking, TracksAreWhereMasksAndRegionAllowThem) {
  const Shape shape = {256, 160};
  const std::vector<Image> frames = Frames(8, 1, shape);
  const auto in_region = [](int x, int y) { return x >= 20 && x < 230 && y >= 10 && y < 150; };
  const auto allowed = [&](int c, int x, int y) {
    return in_region(x, y) && (c == 0 ? x < 90 || x > 140 || y < 60 : x > 100);
  };
  for (const std::string preset : {"fast_grid", "orb", "bfrost"}) {
    SCOPED_TRACE(preset);
    v1::TrackStreamOptions wire;
    wire.mutable_detector()->set_preset(preset);
    wire.set_cameras(2);
    wire.set_target(60);
    wire.set_min_share(1);
    SetImage(MaskOf(shape, [](int x, int y) { return x < 90 || x > 140 || y < 60; }), wire.add_masks());
    SetImage(MaskOf(shape, [](int x, int) { return x > 100; }), wire.add_masks());
    for (char& value : *wire.mutable_masks(1)->mutable_raw()->mutable_data()) value = value == 0 ? 0 : 1;
    wire.mutable_region()->set_x(20);
    wire.mutable_region()->set_y(10);
    wire.mutable_region()->set_width(210);
    wire.mutable_region()->set_height(140);
    const auto open = OpenStream(wire);
    int begun = 0, masked = 0;
    for (const Image& frame : frames) {
      const v1::TrackStreamResponse response = open->Ask(FrameOf({frame, frame}));
      ASSERT_EQ(response.tracks().cameras_size(), 2) << response.status().message();
      for (int c = 0; c < 2; ++c) {
        const v1::CameraTracks& tracks = response.tracks().cameras(c);
        for (int i = 0; i < tracks.id_size(); ++i) {
          const auto x = static_cast<int>(std::lround(tracks.x(i))), y = static_cast<int>(std::lround(tracks.y(i)));
          EXPECT_TRUE(tracks.state(i) != v1::TRACK_STATE_TRACKED || allowed(c, x, y)) << c << ": " << x << ", " << y;
          begun += tracks.age(i) == 0 && tracks.state(i) == v1::TRACK_STATE_TRACKED ? 1 : 0;
          if (tracks.state(i) != v1::TRACK_STATE_MASKED) continue;
          ++masked;
          EXPECT_TRUE(allowed(c, x, y));  // the last good position
          EXPECT_EQ(tracks.x(i), tracks.last_x(i));
        }
      }
    }
    EXPECT_GT(begun, 60);
    EXPECT_GT(masked, 0);
    EXPECT_TRUE(open->Finish().ok());
  }
  EXPECT_GT(Metric("glint_tracks_ended_total{reason=\"masked\"}"), 0);
}

// The image moves by 4 pixels to the left from frame to frame.
TEST_F(Tracking, ATrackEndsInTheFrameInWhichItIsMasked) {
  const Image wide = Texture({260, 160}, 3);
  const auto image = [&wide](int i) { return ImageView{wide.row(0) + 4 * i, 240, 160, wide.stride()}; };
  v1::TrackStreamOptions wire;
  wire.set_redetection(v1::REDETECTION_ON_REQUEST);
  SetImage(MaskOf(kShape, [](int x, int) { return x >= 90; }), wire.add_masks());
  const auto open = OpenStream(wire);
  EXPECT_EQ(open->Ask(FrameOf({image(0)})).status().message(), "");
  EXPECT_EQ(open->Ask(Points({100, 104}, {80, 60})).edited().cameras(0).id_size(), 2);
  const auto next = [&](int i) { return open->Ask(FrameOf({image(i)})).tracks().cameras(0); };
  EXPECT_THAT(next(1).state(), Each(v1::TRACK_STATE_TRACKED));
  EXPECT_THAT(next(2).state(), Each(v1::TRACK_STATE_TRACKED));  // at 92 and 96
  const v1::CameraTracks ended = next(3);
  EXPECT_THAT(ended.state(), ElementsAre(v1::TRACK_STATE_MASKED, v1::TRACK_STATE_TRACKED));
  EXPECT_NEAR(ended.x(0), 92, 0.1);
  EXPECT_NEAR(ended.y(0), 80, 0.1);
  EXPECT_THAT(ended.age(), ElementsAre(2, 3));
  // A mask of the frame is in place of the stream's, which holds again in the next one.
  v1::TrackStreamRequest own = FrameOf({image(4)});
  SetGray(240, 160, 1, own.mutable_frame()->add_masks());
  EXPECT_THAT(open->Ask(own).tracks().cameras(0).state(), ElementsAre(v1::TRACK_STATE_TRACKED));
  EXPECT_THAT(next(5).state(), ElementsAre(v1::TRACK_STATE_MASKED));
  EXPECT_THAT(next(5).state(), SizeIs(0));
  EXPECT_TRUE(open->Finish().ok());
}

void SetCamera(const Camera& camera, v1::Camera* wire) {
  wire->set_width(static_cast<uint32_t>(camera.image.width));
  wire->set_height(static_cast<uint32_t>(camera.image.height));
  wire->set_fx(camera.fx);
  wire->set_fy(camera.fy);
  wire->set_cx(camera.cx);
  wire->set_cy(camera.cy);
  if (camera.model == CameraModel::kFov) wire->mutable_fov()->set_w(camera.lens[0]);
}

void ExpectRays(const Camera& camera, const v1::CameraTracks& tracks) {
  ASSERT_GT(tracks.id_size(), 0);
  for (const int size : {tracks.ray_x_size(), tracks.ray_y_size(), tracks.ray_z_size()}) {
    ASSERT_EQ(size, tracks.id_size());
  }
  for (int i = 0; i < tracks.id_size(); ++i) {
    Eigen::Vector3d ray;
    ASSERT_TRUE(Unproject(camera, {tracks.x(i), tracks.y(i)}, &ray));
    EXPECT_EQ(tracks.ray_x(i), static_cast<float>(ray.x()));
    EXPECT_EQ(tracks.ray_y(i), static_cast<float>(ray.y()));
    EXPECT_EQ(tracks.ray_z(i), static_cast<float>(ray.z()));
  }
}

TEST_F(Tracking, RaysAreThoseOfThePositions) {
  const std::vector<Image> frames = Frames(3);
  const Camera wide = {CameraModel::kFov, kShape, 120, 121, 119.5, 80, {0.9}};
  const Camera pinhole = {CameraModel::kPinhole, kShape, 200, 200, 120, 79, {}};
  v1::TrackStreamOptions wire;
  wire.set_cameras(2);
  SetCamera(wide, wire.add_calibrations());
  SetCamera(pinhole, wire.add_calibrations());
  const auto open = OpenStream(wire);
  for (const Image& frame : frames) {
    const v1::TrackStreamResponse response = open->Ask(FrameOf({frame, frame}));
    ASSERT_EQ(response.tracks().cameras_size(), 2) << response.status().message();
    ExpectRays(wide, response.tracks().cameras(0));
    ExpectRays(pinhole, response.tracks().cameras(1));
    const v1::CameraTracks& second = response.tracks().cameras(1);
    EXPECT_NEAR(second.ray_x(0) / second.ray_z(0), (second.x(0) - 120) / 200, 1e-6);
  }
  const v1::TrackResult added = open->Ask(Points({20, 30}, {40, 50}, 1)).edited();
  ASSERT_EQ(added.cameras_size(), 1);
  ExpectRays(pinhole, added.cameras(0));
  open->ExpectError(FrameOf({frames[0], Image(200, 160)}), grpc::INVALID_ARGUMENT, "images[1]: 200x160");
  EXPECT_EQ(open->Ask(FrameOf({frames[0], frames[0]})).status().message(), "");
  EXPECT_TRUE(open->Finish().ok());
  wire.mutable_calibrations(1)->set_fx(-1);
  EXPECT_THAT(Refusal(wire), HasSubstr("calibrations[1].fx: -1 is not in "));
  wire.mutable_calibrations()->RemoveLast();
  EXPECT_EQ(Refusal(wire), "calibrations: 1, but the stream has cameras: 2");
}

TEST_F(Tracking, BadMasksAndRegionsFailTheirFrame) {
  const std::vector<Image> frames = Frames(2);
  const auto bad = grpc::INVALID_ARGUMENT;
  v1::TrackStreamOptions wire;
  SetGray(240, 160, 1, wire.add_masks());
  SetGray(240, 160, 1, wire.add_masks());
  EXPECT_EQ(Refusal(wire), "masks: 2, but the stream has cameras: 1");
  for (int i = 0; i < 20; ++i) SetGray(240, 160, 1, wire.add_masks());
  EXPECT_EQ(Refusal(wire), "masks: 22, but the stream has cameras: 1");
  wire.clear_masks();
  wire.add_masks()->mutable_raw()->set_format(v1::PIXEL_FORMAT_RGB8);
  EXPECT_THAT(Refusal(wire), HasSubstr("masks[0].raw."));
  wire.clear_masks();
  SetGray(200, 160, 1, wire.add_masks());
  auto open = OpenStream(wire);
  open->ExpectError(FrameOf({frames[0]}), bad, "masks[0]: 200x160 is not the image's 240x160");
  v1::TrackStreamRequest own = FrameOf({frames[0]});
  SetGray(240, 160, 1, own.mutable_frame()->add_masks());
  EXPECT_GT(open->Ask(own).tracks().cameras(0).id_size(), 0);
  open->ExpectError(FrameOf({frames[1]}), bad, "masks[0]: 200x160");
  SetGray(240, 160, 1, own.mutable_frame()->add_masks());
  open->ExpectError(own, bad, "masks: 2, but the stream has cameras: 1");
  own.mutable_frame()->clear_masks();
  own.mutable_frame()->add_masks()->mutable_encoded()->set_data("no picture");
  open->ExpectError(own, bad, "masks[0]");
  EXPECT_TRUE(open->Finish().ok());
  wire.clear_masks();
  wire.mutable_region()->set_x(200);
  wire.mutable_region()->set_width(41);
  wire.mutable_region()->set_height(10);
  open = OpenStream(wire);
  open->ExpectError(FrameOf({frames[0]}), bad, "region.width: 41");
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(Tracking, TemplatesCountAsPixels) {
  v1::TrackStreamOptions wire;
  wire.set_track_template(v1::TRACK_TEMPLATE_FIRST_FRAME);
  const auto open = OpenStream(wire);
  // 4 templates beside two frames: three times 320 x 300 padded pixels.
  open->ExpectError(FrameOf({Image(300, 300)}), grpc::RESOURCE_EXHAUSTED,
                    "images: 288000 pixels with those of templates are over this server's limit of 262144");
  EXPECT_EQ(open->Ask(FrameOf({Image(240, 160)})).status().message(), "");
  wire.set_template_frames(9);
  EXPECT_THAT(Refusal(wire), HasSubstr("template_frames: 9 is not in 1..8"));
  wire.set_template_frames(-2);
  EXPECT_THAT(Refusal(wire), HasSubstr("template_frames: -2 is not in 1..8"));
  wire.set_template_frames(0);
  EXPECT_THAT(Refusal(wire), HasSubstr("template_frames: 0 is not in 1..8"));
  wire.set_track_template(static_cast<v1::TrackTemplate>(7));
  EXPECT_THAT(Refusal(wire), HasSubstr("track_template: \"7\" is not one of LAST_FRAME, FIRST_FRAME"));
}

// All sent without waiting: edits come between the frames that are sent between them.
TEST_F(Tracking, EditsComeBetweenFrames) {
  const std::vector<Image> frames = Frames(5);
  TrackingOptions options;
  options.detector = *PresetOptions("fast_grid");
  options.on_request = true;
  v1::TrackStreamOptions wire;
  wire.set_redetection(v1::REDETECTION_ON_REQUEST);
  const auto open = OpenStream(wire);
  ReferenceTracks reference(options);
  v1::TrackStreamRequest forget, reset, detect;
  forget.mutable_forget_tracks()->set_frame_id(70);
  forget.mutable_forget_tracks()->add_ids(2);
  reset.mutable_reset_tracks()->set_frame_id(71);
  detect = FrameOf({frames[3]}, 3);
  detect.mutable_frame()->set_detect(true);
  for (const v1::TrackStreamRequest& request :
       {FrameOf({frames[0]}, 0), Points({60.5f, 120, 180}, {50, 80.25f, 100}), FrameOf({frames[1]}, 1), forget,
        FrameOf({frames[2]}, 2), detect, reset, FrameOf({frames[4]}, 4)}) {
    ASSERT_TRUE(open->stream->Write(request));
  }
  EXPECT_THAT(reference.Frame({frames[0]})[0].id, SizeIs(0));
  EXPECT_THAT(open->Read().tracks().cameras(0).id(), SizeIs(0));
  CameraTracks changed[kMaxTrackCameras];
  ASSERT_TRUE(reference.session()->Add(0, {60.5f, 120, 180}, {50, 80.25f, 100}, changed).ok());
  ExpectSameTracks(changed[0], ToTracks(open->Read().edited().cameras(0)));
  ExpectSameTracks(reference.Frame({frames[1]})[0], ToTracks(open->Read().tracks().cameras(0)));
  ASSERT_TRUE(reference.session()->Forget({2}, changed).ok());
  v1::TrackStreamResponse response = open->Read();
  EXPECT_EQ(response.frame_id(), 70u);
  ExpectSameTracks(changed[0], ToTracks(response.edited().cameras(0)));
  ExpectSameTracks(reference.Frame({frames[2]})[0], ToTracks(open->Read().tracks().cameras(0)));
  const size_t added = reference.session()->live();
  ExpectSameTracks(reference.Frame({frames[3]}, 0, true)[0], ToTracks(open->Read().tracks().cameras(0)));
  EXPECT_GT(reference.session()->live(), added + 10);
  response = open->Read();
  EXPECT_EQ(response.frame_id(), 71u);
  EXPECT_EQ(response.edited().cameras(0).id_size(), static_cast<int>(reference.session()->live()));
  EXPECT_THAT(response.edited().cameras(0).state(), Each(v1::TRACK_STATE_RESET));
  EXPECT_THAT(open->Read().tracks().cameras(0).id(), SizeIs(0));
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(Tracking, BadInputIsAnsweredAndTheStreamLives) {
  const std::vector<Image> frames = Frames(3);
  v1::TrackStreamOptions wire;
  wire.set_cameras(2);
  wire.set_target(30);
  const auto open = OpenStream(wire);
  const auto bad = grpc::INVALID_ARGUMENT;
  open->ExpectError(Points({1}, {1}), grpc::FAILED_PRECONDITION, "camera: 0 has had no frame");
  const v1::ErrorInfo early = open->Ask(Points({1}, {1})).status().error();
  EXPECT_EQ(early.reason(), "FAILED_PRECONDITION");
  EXPECT_EQ(early.metadata().at("field"), "camera");
  EXPECT_EQ(early.metadata().at("value"), "0");
  open->ExpectError(FrameOf({frames[0]}), bad, "images: 1, but the stream has cameras: 2");
  open->ExpectError(FrameOf(std::vector<ImageView>(9, frames[0])), bad, "images: 9, but the stream has cameras: 2");
  const v1::TrackStreamResponse first = open->Ask(FrameOf({frames[0], frames[0]}, 0, 100));
  EXPECT_EQ(first.status().message(), "");

  v1::TrackStreamRequest request = FrameOf({frames[1], frames[1]}, 0, 200);
  request.mutable_frame()->mutable_images(1)->mutable_encoded()->set_data("no picture");
  open->ExpectError(request, bad, "images[1]");
  request = FrameOf({frames[1], frames[1]}, 0, 200);
  request.mutable_frame()->mutable_images(1)->mutable_raw()->set_width(0);
  open->ExpectError(request, bad, "images[1].raw.width: 0 is not in 1..16384");
  request.mutable_frame()->mutable_images(1)->clear_content();
  open->ExpectError(request, bad, "images[1]: neither raw nor encoded nor shared is set");
  open->ExpectError(FrameOf({frames[1], frames[1]}, 0, 100), bad, "time_ns: 100 is not above 100");
  const Image large(640, 400);
  open->ExpectError(FrameOf({frames[1], large}, 0, 200), grpc::RESOURCE_EXHAUSTED,
                    "images: 296960 pixels are over this server's limit of 262144 (--max-track-pixels)");
  const v1::TrackStreamResponse outside = open->Ask(Points({1, 240}, {1, 1}));
  EXPECT_EQ(outside.status().message(), "x[1]: 240 is not in 0..239");
  EXPECT_EQ(outside.status().error().reason(), "OUT_OF_RANGE");
  EXPECT_EQ(outside.status().error().metadata().at("field"), "x[1]");
  open->ExpectError(Points({1}, {std::nanf("")}), bad, "y[0]: nan is not in 0..159");
  open->ExpectError(Points({1}, {INFINITY}), bad, "y[0]: inf is not in 0..159");
  open->ExpectError(Points({1}, {1}, 2), bad, "camera: 2 is not in 0..1");
  open->ExpectError(Points({1}, {1}, UINT32_MAX), bad, "camera: 4294967295 is not in 0..1");
  open->ExpectError(Points(std::vector<float>(1001, 1), std::vector<float>(1001, 1)), grpc::RESOURCE_EXHAUSTED,
                    "tracks are over this server's limit of 1000 (--max-tracks)");
  open->ExpectError(Points(std::vector<float>(8200, 1), std::vector<float>(8200, 1)), bad, "send it in parts");
  v1::TrackStreamRequest edit;
  edit.mutable_forget_tracks()->add_ids(12345);
  open->ExpectError(edit, grpc::NOT_FOUND, "ids[0]: no live track has the id 12345");
  const v1::ErrorInfo unknown = open->Ask(edit).status().error();
  EXPECT_EQ(unknown.reason(), "NOT_FOUND");
  EXPECT_EQ(unknown.metadata().at("field"), "ids[0]");
  EXPECT_EQ(unknown.metadata().at("value"), "12345");
  edit.mutable_reset_tracks()->set_camera(7);
  open->ExpectError(edit, bad, "camera: 7 is not in 0..1");
  request = FrameOf({frames[1], frames[1]}, 0, 200);
  request.mutable_frame()->set_max_age_ns(1);
  open->ExpectError(request, grpc::DEADLINE_EXCEEDED, "max_age_ns: expired");

  // As if none of that had been.
  TrackingOptions options;
  options.detector = *PresetOptions("fast_grid");
  options.cameras = 2;
  options.target = 30;
  ReferenceTracks reference(options);
  ExpectSameTracks(reference.Frame({frames[0], frames[0]}, 100)[1], ToTracks(first.tracks().cameras(1)));
  const v1::TrackStreamResponse last = open->Ask(FrameOf({frames[2], frames[2]}, 0, 200));
  EXPECT_EQ(last.status().message(), "");
  const std::vector<CameraTracks>& expected = reference.Frame({frames[2], frames[2]}, 200);
  ExpectSameTracks(expected[0], ToTracks(last.tracks().cameras(0)));
  EXPECT_GT(expected[0].age[0], 0u);
  EXPECT_TRUE(open->Finish().ok());
}

// A frame of another size that fails half-way costs the tracks of the cameras before.
TEST_F(Tracking, AFrameOfAnotherSizeThatFailsLosesTheLastOne) {
  const std::vector<Image> frames = Frames(2);
  const Image small(100, 80), large(640, 400);
  v1::TrackStreamOptions wire;
  wire.set_cameras(2);
  const auto open = OpenStream(wire);
  const v1::TrackStreamResponse first = open->Ask(FrameOf({frames[0], frames[0]}));
  open->ExpectError(FrameOf({small, large}), grpc::RESOURCE_EXHAUSTED, "images: ");
  const v1::TrackStreamResponse response = open->Ask(FrameOf({frames[1], frames[1]}));
  EXPECT_EQ(response.tracks().cameras(0).state(0), v1::TRACK_STATE_LAST_FRAME_LOST);
  EXPECT_EQ(response.tracks().cameras(0).id(0), first.tracks().cameras(0).id(0));
  EXPECT_EQ(response.tracks().cameras(1).state(0), v1::TRACK_STATE_TRACKED);
  EXPECT_EQ(response.tracks().cameras(1).age(0), 1);
}

TEST_F(Tracking, ImagesOfAnySizeAreTaken) {
  const auto open = OpenStream();
  for (const Shape shape : {Shape{1, 1}, Shape{1, 1}, Shape{2, 1}, Shape{3, 33}, Shape{33, 3}, Shape{4096, 1}}) {
    for (int i = 0; i < 2; ++i) {
      const v1::TrackStreamResponse response = open->Ask(FrameOf({Noise(shape, 1)}));
      EXPECT_EQ(response.status().message(), "") << shape.width << "x" << shape.height;
      const auto last = static_cast<float>(shape.width - 1);
      EXPECT_EQ(open->Ask(Points({0, last}, {0, 0})).edited().cameras(0).id_size(), 2);
    }
  }
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(Tracking, OptionsAreCheckedAtTheBeginning) {
  v1::TrackStreamOptions options;
  options.set_cameras(9);
  EXPECT_THAT(Refusal(options), HasSubstr("cameras: 9 is not in 1..8"));
  options.set_cameras(-1);
  EXPECT_THAT(Refusal(options), HasSubstr("cameras: -1 is not in 1..8"));
  options.set_cameras(4);
  options.set_target(1);
  EXPECT_THAT(Refusal(options), HasSubstr("cameras: 4 is over this server's limit of 3 (--max-track-cameras)"));
  options.set_cameras(2);
  options.set_target(501);
  EXPECT_THAT(Refusal(options), HasSubstr("target: 1002 tracks of all cameras are over this server's limit of 1000"));
  options = {};
  options.set_min_share(1.5f);
  EXPECT_THAT(Refusal(options), HasSubstr("min_share: 1.5 is not in 0..1"));
  options = {};
  options.mutable_track()->set_patch_size(33);
  EXPECT_THAT(Refusal(options), HasSubstr("track.patch_size: 33 is not in 3..32"));
  options = {};
  options.mutable_track()->set_intensity(static_cast<v1::IntensityModel>(9));
  EXPECT_THAT(Refusal(options), HasSubstr("track.intensity: \"9\" is not one of SAME"));
  options = {};
  options.mutable_detector()->set_preset("sift");
  EXPECT_THAT(Refusal(options), HasSubstr("preset: \"sift\" is not one of"));
}

TEST_F(Tracking, StreamsThatFollowPointsHaveALimit) {
  const Image image(64, 64);
  const auto first = OpenStream();
  EXPECT_EQ(first->Ask(FrameOf({image})).status().code(), 0);
  {
    const auto second = OpenStream();
    EXPECT_EQ(second->Ask(FrameOf({image})).status().code(), 0);
    const grpc::Status refused = OpenStream()->Finish();
    EXPECT_EQ(refused.error_code(), grpc::RESOURCE_EXHAUSTED);
    EXPECT_THAT(refused.error_message(),
                HasSubstr("sessions: 3 streams that track are over this server's limit of 2 (--max-track-streams)"));
    EXPECT_TRUE(second->Finish().ok());
  }
  EXPECT_TRUE(Eventually([&] { return Metric("glint_track_streams") == 1; }));
  EXPECT_EQ(OpenStream()->Ask(FrameOf({image})).status().code(), 0);
}

TEST_F(Tracking, MetricsCountTracksUntilTheStreamEnds) {
  const std::vector<Image> frames = Frames(2);
  const auto open = OpenStream();
  const int begun = open->Ask(FrameOf({frames[0]})).tracks().cameras(0).id_size();
  EXPECT_EQ(Metric("glint_tracks"), begun);
  EXPECT_EQ(Metric("glint_tracks_begun_total"), begun);
  v1::TrackStreamRequest forget;
  for (const uint64_t id : {1, 2, 3}) forget.mutable_forget_tracks()->add_ids(id);
  EXPECT_EQ(open->Ask(forget).edited().cameras(0).id_size(), 3);
  EXPECT_EQ(Metric("glint_tracks"), begun - 3);
  EXPECT_EQ(Metric("glint_tracks_ended_total{reason=\"forgotten\"}"), 3);
  EXPECT_EQ(Metric("glint_track_age_frames_count"), 3);
  open->Ask(FrameOf({frames[1]}));
  EXPECT_EQ(Metric("glint_stage_duration_seconds_count{stage=\"track\"}"), 2);
  EXPECT_EQ(Metric("glint_frames_total{operation=\"track\",result=\"OK\"}"), 2);
  EXPECT_EQ(Metric("glint_frames_total{operation=\"edit_tracks\",result=\"OK\"}"), 1);
  open->context.TryCancel();  // as a client that goes away
  EXPECT_TRUE(Eventually([&] { return Metric("glint_tracks") == 0 && Metric("glint_track_streams") == 0; }));
}

TEST(TrackingLimits, AnIdleStreamExpires) {
  ServerOptions options = TestOptions();
  options.stream_idle_timeout = absl::Milliseconds(500);
  const v1::TrackStreamRequest frame = FrameOf({Frames(1)[0]});
  TestServer server(options);
  const auto stub = v1::FeatureTracking::NewStub(server.channel());
  grpc::ClientContext context;
  const auto stream = stub->TrackStream(&context);
  v1::TrackStreamRequest first;
  first.mutable_options();
  stream->Write(first);
  stream->Write(frame);
  v1::TrackStreamResponse response;
  EXPECT_TRUE(stream->Read(&response));
  EXPECT_FALSE(stream->Read(&response));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_message(), HasSubstr("(--stream-idle-timeout); open a new stream"));
}

TEST(TrackingLimits, LanesThatCannotTrackSaySo) {
  LaneControl control;
  TestServer server(TestOptions(), &control);
  const auto stub = v1::FeatureTracking::NewStub(server.channel());
  grpc::ClientContext context;
  const auto stream = stub->TrackStream(&context);
  v1::TrackStreamRequest first;
  first.mutable_options();
  stream->Write(first);
  stream->Write(FrameOf({Image(64, 64)}));
  v1::TrackStreamResponse response;
  EXPECT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.status().code(), grpc::UNIMPLEMENTED);
  EXPECT_EQ(response.status().message(), "tracking: not of lanes on fake:0");
}

}  // namespace
}  // namespace glint::testing
