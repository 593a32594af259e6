// The operations "detect", "stereo" and "track" against servers in this process: clouds are what the client's own
// streams find, and what goes wrong is told.
#include "ros2/operations/features/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/client.h"
#include "features/camera/camera.h"
#include "ros/cdr.h"
#include "ros2/operations/connection.h"
#include "ros2/operations/stream_figures.h"
#include "tests/ros2/fake_node.h"
#include "tests/scene/scene.h"
#include "tests/server/harness.h"

namespace glint::ros2 {
namespace {

using ::glint::testing::Eventually;
using ::glint::testing::TestOptions;
using ::glint::testing::TestServer;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kStart = 1'700'000'000'000'000'000;  // ns

class Features : public ::testing::Test {
 protected:
  Features() : scene_({scene::Layout::kRoom, scene::Density::kDense, scene::Motion::kWalk, {320, 240}, 1, 0.12}) {
    config_.detect.enabled = config_.stereo.enabled = config_.track.enabled = true;
    config_.camera.left = "/left/image_rect";
    config_.camera.right = "/right/image_rect";
  }

  void Serve(const ServerOptions& options) {
    if (config_.server.address.find(options.listen[0]) == std::string::npos) config_.server.address = options.listen[0];
    server_ = std::make_unique<TestServer>(options);
  }
  Context Connect() {
    connection_ = std::make_unique<Connection>(Connection::Options{config_.server, 8}, &input_);
    return {&config_, &participant_, &input_, connection_.get(), nullptr};
  }
  std::shared_ptr<const Frame> FrameAt(int i) {
    const auto frame = std::make_shared<Frame>();
    const scene::Pose left = scene_.PoseAt(i);
    const auto set = [&](const scene::Pose& pose, Picture* picture) {
      images_.push_back(scene_.Render(pose));
      picture->stamp_ns = kStart + i * int64_t{50'000'000};
      picture->received_ns = absl::GetCurrentTimeNanos();
      picture->frame_id = "left_optical";
      picture->image = images_.back();
    };
    set(left, &frame->left);
    set(scene_.RightOf(left), &frame->right);
    return frame;
  }
  client::StereoCamera Camera() const {
    const scene::Camera& camera = scene_.camera();
    return {320, 240, camera.focal, camera.cx, camera.cy, 0.12};
  }
  static Cameras Of(const client::StereoCamera& camera) {
    Cameras cameras;
    cameras.camera = camera;
    return cameras;
  }
  // The messages of that many frames: one at a time, since late ones would be dropped.
  template <class T>
  std::vector<T> Run(Operation* operation, const std::string& topic, int frames) {
    FakeTopic* const published = participant_.topic(topic);
    for (int i = 0; i < frames; ++i) {
      operation->Take(FrameAt(i));
      EXPECT_TRUE(Eventually([&] { return published->count() > static_cast<size_t>(i); })) << Told(operation);
    }
    bytes_ = published->Messages();
    std::vector<T> messages(bytes_.size());
    for (size_t i = 0; i < bytes_.size(); ++i) {
      EXPECT_TRUE(ros::ReadCdr(bytes_[i], &messages[i]).ok());
      EXPECT_EQ(ros::NanosecondsOf(messages[i].header.stamp), kStart + static_cast<int64_t>(i) * 50'000'000);
      EXPECT_EQ(messages[i].header.frame_id, "left_optical");
    }
    return messages;
  }
  static std::string Told(Operation* operation) { return operation->Diagnose().message; }
  static std::string Figure(const ros::DiagnosticStatus& status, const std::string& key) {
    for (const ros::KeyValue& value : status.values) {
      if (value.key == key) return value.value;
    }
    return "none";
  }

  using FakeTopic = testing::FakeTopic;

  const scene::Scene scene_;
  Config config_;
  std::deque<Image> images_;  // what frames point to
  std::vector<std::vector<uint8_t>> bytes_;
  testing::FakeParticipant participant_;
  testing::FakeInput input_;
  std::unique_ptr<TestServer> server_;
  std::unique_ptr<Connection> connection_;
};

// A float32 of a point, by the name of its field.
float At(const ros::PointCloud2& cloud, size_t point, const std::string& field) {
  for (const ros::PointField& one : cloud.fields) {
    if (one.name != field) continue;
    EXPECT_EQ(one.datatype, ros::PointField::kFloat32);
    float value;
    std::memcpy(&value, cloud.data.data() + point * cloud.point_step + one.offset, sizeof(value));
    return value;
  }
  ADD_FAILURE() << field << " is no field";
  return 0;
}

template <class T>
std::vector<uint8_t> Cdr(const T& message) {
  std::vector<uint8_t> bytes;
  ros::WriteCdr(message, &bytes);
  return bytes;
}

TEST_F(Features, KeypointsAreTheClients) {
  Serve(TestOptions());
  config_.detect.max_keypoints = 200;
  const Context context = Connect();
  const auto operation = MakeDetect(context);
  ASSERT_TRUE(operation.ok()) << operation.status();
  const auto clouds = Run<ros::PointCloud2>(operation->get(), "/keypoints", 3);
  ASSERT_THAT(clouds, SizeIs(3));
  EXPECT_EQ(participant_.topic("/keypoints")->type.name, "sensor_msgs/msg/PointCloud2");

  const client::Client client(server_->channel());
  DetectorOptions options = *PresetOptions("orb");
  options.max_features = 200;
  for (size_t i = 0; i < 3; ++i) {
    const auto found = client.Detect(options, images_[2 * i]);
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_GE(found->features.count(), 150);
    ASSERT_EQ(clouds[i].width * clouds[i].height, found->features.count());
    for (size_t k = 0; k < found->features.count(); ++k) {
      ASSERT_EQ(At(clouds[i], k, "x"), found->features.x[k]);
      ASSERT_EQ(At(clouds[i], k, "y"), found->features.y[k]);
      ASSERT_EQ(At(clouds[i], k, "response"), found->features.response[k]);
    }
  }
  const ros::DiagnosticStatus status = (*operation)->Diagnose();
  EXPECT_EQ(status.level, ros::DiagnosticStatus::kOk) << status.message;
  EXPECT_EQ(status.name, "detect");
  EXPECT_EQ(Figure(status, "answered"), "3");
  EXPECT_EQ(Figure(status, "reconnects"), "0");
  EXPECT_EQ(Figure(status, "dropped"), "0");
  EXPECT_GT(std::stod(Figure(status, "latency_ms p50")), std::stod(Figure(status, "server_ms p50")));
}

TEST_F(Features, TracksAreTheClients) {
  Serve(TestOptions());
  config_.track.max_keypoints = 60;
  const Context context = Connect();
  const auto operation = MakeTrack(context);
  ASSERT_TRUE(operation.ok()) << operation.status();
  const auto clouds = Run<ros::PointCloud2>(operation->get(), "/tracks", 4);
  ASSERT_THAT(clouds, SizeIs(4));

  const client::Client client(server_->channel());
  client::TrackStreamOptions options;
  options.detector = *PresetOptions("fast_grid", kTrackDefaults);
  options.target = 60;
  std::vector<std::vector<uint8_t>> expected;
  const FrameNames frames = {"map", "odom", "base_link", "left_optical"};
  const auto stream = client.OpenTrackStream(options, [&](const client::TrackAnswer& answer) {
    ASSERT_TRUE(answer.status.ok()) << answer.status;
    ASSERT_GE(answer.cameras[0].count(), 30);
    std::vector<uint8_t> data;
    ros::PointCloud2 cloud;
    FillTracks(answer, kStart + static_cast<int64_t>(answer.frame_id) * 50'000'000, frames, &data, &cloud);
    expected.push_back(Cdr(cloud));
  });
  ASSERT_TRUE(stream.ok()) << stream.status();
  for (uint64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE((*stream)->Write(i, {images_[2 * i]}, kStart + static_cast<int64_t>(i) * 50'000'000).ok());
  }
  ASSERT_TRUE((*stream)->Finish().ok());
  EXPECT_EQ(bytes_, expected);
}

TEST_F(Features, StereoPointsAndDisparitiesAreTheClientsAndTheScenes) {
  Serve(TestOptions());
  input_.Set(Of(Camera()));
  const Context context = Connect();
  const auto operation = MakeStereo(context);
  ASSERT_TRUE(operation.ok()) << operation.status();
  const auto points = Run<ros::PointCloud2>(operation->get(), "/stereo_points", 2);
  ASSERT_THAT(points, SizeIs(2));
  ASSERT_TRUE(Eventually([&] { return participant_.topic("/disparity")->count() == 2; }));
  const auto disparities = participant_.topic("/disparity")->Messages();

  const client::Client client(server_->channel());
  client::StereoStreamOptions options;
  options.stereo.focal_length = Camera().focal_length;
  options.stereo.baseline = 0.12;
  const FrameNames frames = {"map", "odom", "base_link", "left_optical"};
  const auto stream = client.OpenStereoStream(options, [&](const client::StereoAnswer& answer) {
    const size_t i = answer.frame_id;
    const int64_t stamp_ns = kStart + static_cast<int64_t>(i) * 50'000'000;
    ASSERT_GE(answer.disparity.size(), 80);
    std::vector<uint8_t> data;
    ros::PointCloud2 cloud;
    FillStereoPoints(answer, Camera(), stamp_ns, frames, &data, &cloud);
    EXPECT_EQ(bytes_[i], Cdr(cloud));
    ros::DisparityImage image;
    FillDisparity(answer, Camera(), stamp_ns, frames, &data, &image);
    EXPECT_EQ(disparities[i], Cdr(image));
  });
  ASSERT_TRUE(stream.ok()) << stream.status();
  for (uint64_t i = 0; i < 2; ++i) ASSERT_TRUE((*stream)->Write(i, images_[2 * i], images_[2 * i + 1]).ok());
  ASSERT_TRUE((*stream)->Finish().ok());

  // z is the depth that was rendered, but for few: within 3 %.
  const std::vector<float> depth = scene_.Depth(scene_.PoseAt(0));
  size_t good = 0;
  const size_t count = points[0].width;
  for (size_t k = 0; k < count; ++k) {
    const auto u = static_cast<size_t>(std::lround(At(points[0], k, "u"))),
               v = static_cast<size_t>(std::lround(At(points[0], k, "v")));
    if (std::abs(At(points[0], k, "z") / depth[v * 320 + u] - 1) < 0.03) ++good;
  }
  EXPECT_GE(good, count * 8 / 10) << count;
}

TEST_F(Features, RawPairsAreRectifiedByTheServer) {
  Serve(TestOptions());
  const scene::Camera& from = scene_.camera();
  client::StereoRig rig;
  rig.left.image = {320, 240};
  rig.left.fx = rig.left.fy = from.focal;
  rig.left.cx = from.cx;
  rig.left.cy = from.cy;
  rig.right = rig.left;
  rig.right_from_left.translation = {-0.12, 0, 0};
  Cameras cameras;
  cameras.rig = rig;
  input_.Set(cameras);
  const Context context = Connect();
  const auto operation = MakeStereo(context);
  ASSERT_TRUE(operation.ok()) << operation.status();
  const auto points = Run<ros::PointCloud2>(operation->get(), "/stereo_points", 1);
  ASSERT_THAT(points, SizeIs(1));
  const std::vector<float> depth = scene_.Depth(scene_.PoseAt(0));
  size_t good = 0;
  for (size_t k = 0; k < points[0].width; ++k) {
    const float x = At(points[0], k, "x"), y = At(points[0], k, "y"), z = At(points[0], k, "z");
    const auto u = static_cast<size_t>(std::lround(from.cx + from.focal * x / z)),
               v = static_cast<size_t>(std::lround(from.cy + from.focal * y / z));
    if (u < 320 && v < 240 && std::abs(z / depth[v * 320 + u] - 1) < 0.03) ++good;
  }
  EXPECT_GE(points[0].width, 80);
  EXPECT_GE(good, points[0].width * 8 / 10);
}

TEST_F(Features, WhatNobodySubscribesToIsNotMade) {
  Serve(TestOptions());
  participant_.topic("/keypoints")->wanted = false;
  const Context context = Connect();
  const auto operation = MakeDetect(context);
  ASSERT_TRUE(operation.ok()) << operation.status();
  (*operation)->Take(FrameAt(0));
  ASSERT_TRUE(Eventually([&] { return Figure((*operation)->Diagnose(), "answered") == "1"; }));
  EXPECT_THAT(participant_.topic("/keypoints")->Messages(), IsEmpty());
}

TEST_F(Features, AStreamWaitsForItsCameras) {
  Serve(TestOptions());
  const Context context = Connect();
  const auto operation = MakeStereo(context);
  ASSERT_TRUE(operation.ok()) << operation.status();
  EXPECT_EQ(Told(operation->get()), "no images yet");
  (*operation)->Take(FrameAt(0));
  ASSERT_TRUE(Eventually([&] { return Told(operation->get()) == "waits for CameraInfo on /left/camera_info"; }));
  EXPECT_EQ((*operation)->Diagnose().level, ros::DiagnosticStatus::kWarn);
  input_.Set(Of(Camera()));
  EXPECT_TRUE(Eventually([&] { return participant_.topic("/stereo_points")->count() == 1; }));

  // Other cameras: another stream, by which a frame has other depths.
  client::StereoCamera wider = Camera();
  wider.baseline *= 2;
  input_.Set(Of(wider));
  ASSERT_TRUE(Eventually([&] {
    (*operation)->Take(FrameAt(0));
    const auto messages = participant_.topic("/disparity")->Messages();
    ros::DisparityImage last;
    return !messages.empty() && ros::ReadCdr(messages.back(), &last).ok() && std::abs(last.t - 0.24) < 1e-6;
  }));
  EXPECT_EQ(Figure((*operation)->Diagnose(), "reconnects"), "1");
}

TEST_F(Features, GoesOnWithAnotherServer) {
  const ServerOptions options = TestOptions();
  Serve(options);
  const Context context = Connect();
  const auto operation = MakeTrack(context);
  ASSERT_TRUE(operation.ok()) << operation.status();
  FakeTopic* const tracks = participant_.topic("/tracks");
  (*operation)->Take(FrameAt(0));
  ASSERT_TRUE(Eventually([&] { return tracks->count() == 1; })) << Told(operation->get());

  server_.reset();
  ASSERT_TRUE(Eventually([&] {
    (*operation)->Take(FrameAt(1));
    return (*operation)->Diagnose().level == ros::DiagnosticStatus::kError;
  }));
  EXPECT_EQ(tracks->count(), 1);
  Serve(options);
  ASSERT_TRUE(Eventually([&] {
    (*operation)->Take(FrameAt(2));
    return tracks->count() > 1;
  })) << Told(operation->get());
  const ros::DiagnosticStatus status = (*operation)->Diagnose();
  EXPECT_NE(status.level, ros::DiagnosticStatus::kError) << status.message;
  EXPECT_GE(std::stoi(Figure(status, "reconnects")), 1);
}

TEST_F(Features, FramesThatAServerIsTooSlowForAreDroppedOldestFirst) {
  glint::testing::LaneControl lanes;
  lanes.Hold(true);
  const ServerOptions options = TestOptions();
  config_.server.address = options.listen[0];
  server_ = std::make_unique<TestServer>(options, &lanes);
  const Context context = Connect();
  const auto operation = MakeDetect(context);
  ASSERT_TRUE(operation.ok()) << operation.status();
  (*operation)->Take(FrameAt(0));
  lanes.WaitUntilRunning(1);
  for (int i = 1; i < 10; ++i) (*operation)->Take(FrameAt(i));  // none of it waits for the lane
  ASSERT_TRUE(Eventually([&] { return Figure((*operation)->Diagnose(), "frames") == "10"; }));
  EXPECT_GE(std::stoi(Figure((*operation)->Diagnose(), "dropped")), 5);
  EXPECT_EQ((*operation)->Diagnose().level, ros::DiagnosticStatus::kWarn);
  lanes.Hold(false);
  FakeTopic* const keypoints = participant_.topic("/keypoints");
  const auto last = [&] {
    const auto messages = keypoints->Messages();
    ros::PointCloud2 cloud;
    return !messages.empty() && ros::ReadCdr(messages.back(), &cloud).ok()
               ? (ros::NanosecondsOf(cloud.header.stamp) - kStart) / 50'000'000
               : -1;
  };
  EXPECT_TRUE(Eventually([&] { return last() == 9; })) << last();
  const ros::DiagnosticStatus status = (*operation)->Diagnose();
  EXPECT_EQ(std::stoi(Figure(status, "dropped")) + static_cast<int>(keypoints->count()), 10);

  // It ends while a frame is on the lane.
  lanes.Hold(true);
  const int runs = lanes.runs();
  (*operation)->Take(FrameAt(10));
  ASSERT_TRUE(Eventually([&] { return lanes.runs() > runs; }));
  const size_t count = keypoints->count();
  const_cast<std::unique_ptr<Operation>&>(*operation).reset();
  lanes.Hold(false);
  EXPECT_EQ(keypoints->count(), count);
}

TEST_F(Features, WhatTheServerRefusesIsTold) {
  ServerOptions options = TestOptions();
  options.max_features = 100;
  Serve(options);
  config_.detect.max_keypoints = 200;
  const Context context = Connect();
  const auto operation = MakeDetect(context);
  ASSERT_TRUE(operation.ok()) << operation.status();
  ASSERT_TRUE(Eventually([&] {
    (*operation)->Take(FrameAt(0));
    return (*operation)->Diagnose().level == ros::DiagnosticStatus::kError;
  })) << Told(operation->get());
  EXPECT_THAT(Told(operation->get()), HasSubstr("the server refuses the stream: "));
  EXPECT_THAT(Told(operation->get()), HasSubstr("max_features"));
}

TEST(RecentTimes, AreOfTheLast256) {
  RecentTimes times;
  EXPECT_TRUE(times.empty());
  EXPECT_EQ(times.Median(), 0);
  times.Add(3'000'000);
  times.Add(1'000'000);
  times.Add(2'000'000);
  EXPECT_EQ(times.Median(), 2);
  EXPECT_EQ(times.Largest(), 3);
  for (int i = 0; i < 256; ++i) times.Add(i * 10'000);
  EXPECT_DOUBLE_EQ(times.Median(), 1.28);
  EXPECT_DOUBLE_EQ(times.Largest(), 2.55);
}

TEST(StreamFigures, RatesAreThoseSinceTheLastCall) {
  StreamFigures figures;
  ros::DiagnosticStatus status;
  const absl::Time start = absl::UnixEpoch();
  figures.frames = 10;
  figures.Describe(start, &status);
  EXPECT_EQ(figures.rate_in, 0);
  figures.frames = 40;
  figures.answered = 25;
  figures.Describe(start + absl::Seconds(2), &status);
  EXPECT_DOUBLE_EQ(figures.rate_in, 15);
  EXPECT_DOUBLE_EQ(figures.rate_answered, 12.5);
}

TEST_F(Features, WhatCannotBeIsRefusedByItsKey) {
  const Context context = Connect();
  config_.track.detector = "sift9";
  EXPECT_THAT(MakeTrack(context).status().message(), HasSubstr("track.detector: "));
  config_.detect.max_keypoints = 1 << 30;
  EXPECT_THAT(MakeDetect(context).status().message(), HasSubstr("detect.max_keypoints: "));
  config_.camera.right.clear();
  EXPECT_EQ(MakeStereo(context).status().message(), "stereo.enabled: true, but camera.right is not set");
}

}  // namespace
}  // namespace glint::ros2
