// client::TrackStream against a server: what it finds is the reference's, and edits reach it.
#include "client/tracking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "client/client.h"
#include "features/camera/camera.h"
#include "features/error.h"
#include "tests/server/harness.h"
#include "tests/server/reference_tracks.h"
#include "tests/support/images.h"

namespace glint::client {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

void ExpectSame(const CameraTracks& expected, const TrackArrays& actual) {
  EXPECT_EQ(expected.id, actual.id);
  EXPECT_EQ(std::vector<int32_t>(expected.age.begin(), expected.age.end()), actual.age);
  EXPECT_EQ(expected.state, actual.state);
  EXPECT_EQ(expected.x, actual.x);
  EXPECT_EQ(expected.y, actual.y);
  EXPECT_EQ(expected.last_x, actual.last_x);
  EXPECT_EQ(expected.last_y, actual.last_y);
  EXPECT_EQ(expected.residual, actual.residual);
  EXPECT_EQ(expected.gain, actual.gain);
  EXPECT_EQ(expected.offset, actual.offset);
  EXPECT_EQ(expected.detected, actual.detected);
  ASSERT_EQ(actual.template_age.size(), expected.has_templates ? expected.count() : 0);
  for (size_t i = 0; i < actual.template_age.size(); ++i)
    EXPECT_EQ(static_cast<int32_t>(expected.origin[i].age), actual.template_age[i]);
}

TEST(ClientTracking, FramesAndEditsAreAnsweredInOrder) {
  glint::testing::TestServer server(glint::testing::TestOptions());
  const Client client(server.channel());
  const Image wide = glint::testing::Texture({260, 160}, 3);
  const auto image = [&wide](int i) { return ImageView{wide.row(0) + 2 * i, 240, 160, wide.stride()}; };

  TrackStreamOptions options;
  options.cameras = 2;
  options.target = 30;
  options.min_share = 1;
  options.predict = true;
  options.template_frames = 2;
  options.track.levels = 3;
  options.track.intensity = IntensityModel::kGain;
  std::vector<TrackAnswer> answers;
  const auto stream = client.OpenTrackStream(options, [&](const TrackAnswer& answer) { answers.push_back(answer); });
  ASSERT_TRUE(stream.ok()) << stream.status();
  TrackStream& s = **stream;
  ASSERT_TRUE(s.Write(10, {image(0), image(4)}, 1000).ok());
  ASSERT_TRUE(s.Write(11, {image(1), image(3)}, 2000).ok());
  ASSERT_TRUE(s.Forget(12, {1, 2}).ok());
  ASSERT_TRUE(s.Add(13, 1, {50, 60}, {70, 80}).ok());
  ASSERT_TRUE(s.Forget(14, {1}).ok());
  const client::Prediction right = {1, {1, 0, 1, 0, 1, 0.5f, 0, 0, 1}, {40}, {50.5f}, {70}};
  ASSERT_TRUE(s.Write(15, {image(2), image(2)}, 3500, true, {right}).ok());
  ASSERT_TRUE(s.Reset(16, 1).ok());
  ASSERT_TRUE(s.Reset(17).ok());
  ASSERT_TRUE(s.Write(18, {image(3), image(1)}).ok());
  ASSERT_TRUE(s.Finish().ok());
  ASSERT_THAT(answers, SizeIs(9));
  for (size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i].frame_id, 10 + i);

  TrackingOptions same;
  same.detector = options.detector;
  same.track = options.track;
  same.cameras = 2;
  same.target = 30;
  same.min_share = 1;
  same.predict = true;
  same.template_frames = 2;
  glint::testing::ReferenceTracks reference(same);
  CameraTracks changed[kMaxTrackCameras];
  const auto expect_frame = [&](const TrackAnswer& answer, const std::vector<CameraTracks>& expected) {
    ASSERT_THAT(answer.cameras, SizeIs(2)) << answer.status;
    for (size_t c = 0; c < 2; ++c) ExpectSame(expected[c], answer.cameras[c]);
    EXPECT_GT(answer.timings.track_ns, 0);
  };
  expect_frame(answers[0], reference.Frame({image(0), image(4)}, 1000));
  expect_frame(answers[1], reference.Frame({image(1), image(3)}, 2000));
  ASSERT_TRUE(reference.session()->Forget({1, 2}, changed).ok());
  ExpectSame(changed[0], answers[2].cameras.at(0));
  ASSERT_TRUE(reference.session()->Add(1, {50, 60}, {70, 80}, changed).ok());
  EXPECT_EQ(answers[3].cameras.at(0).camera, 1);
  ExpectSame(changed[0], answers[3].cameras.at(0));
  EXPECT_EQ(answers[4].status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(answers[4].status.message(), HasSubstr("ids[0]: no live track has the id 1"));
  const TrackPrediction same_right = {1, right.homography, right.ids, right.x, right.y};
  expect_frame(answers[5], reference.Frame({image(2), image(2)}, 3500, true, {&same_right, 1}));
  EXPECT_THAT(answers[6].cameras, SizeIs(1));
  EXPECT_THAT(answers[6].cameras.at(0).state, Each(TrackState::kReset));
  EXPECT_EQ(answers[7].cameras.at(0).camera, 0);
  reference.session()->ResetAll(changed);
  expect_frame(answers[8], reference.Frame({image(3), image(1)}));
}

// The content moves by 4 pixels to the left from frame to frame.
TEST(ClientTracking, MasksRegionAndCalibrationsReachTheServer) {
  glint::testing::TestServer server(glint::testing::TestOptions());
  const Client client(server.channel());
  const Image wide = glint::testing::Texture({260, 160}, 3);
  const auto image = [&wide](int i) { return ImageView{wide.row(0) + 4 * i, 240, 160, wide.stride()}; };
  Image mask(240, 160), all(240, 160);
  for (int y = 0; y < 160; ++y) {
    std::fill_n(mask.row(y), 240, uint8_t{255});
    std::fill_n(mask.row(y), 90, uint8_t{0});
    std::fill_n(all.row(y), 240, uint8_t{255});
  }
  TrackStreamOptions options;
  options.min_share = 1;
  options.masks = {mask};
  options.region = {0, 20, 240, 100};
  options.calibrations = {{CameraModel::kKannalaBrandt, {240, 160}, 110, 111, 120, 80, {0.1, -0.02, 0.01, -0.001}}};
  std::vector<TrackAnswer> answers;
  const auto stream = client.OpenTrackStream(options, [&](const TrackAnswer& answer) { answers.push_back(answer); });
  ASSERT_TRUE(stream.ok()) << stream.status();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*stream)->Write(10, {image(i)}).ok());
  ASSERT_TRUE((*stream)->Write(13, {image(3)}, 0, false, {}, {all}).ok());
  ASSERT_TRUE((*stream)->Write(14, {image(4)}).ok());
  ASSERT_TRUE((*stream)->Finish().ok());
  ASSERT_THAT(answers, SizeIs(5));
  int masked = 0, left = 0;
  for (size_t frame = 0; frame < answers.size(); ++frame) {
    SCOPED_TRACE(frame);
    ASSERT_THAT(answers[frame].cameras, SizeIs(1)) << answers[frame].status;
    const TrackArrays& tracks = answers[frame].cameras[0];
    ASSERT_GT(tracks.count(), 10u);
    ASSERT_EQ(tracks.rays.x.size(), tracks.count());
    for (size_t i = 0; i < tracks.count(); ++i) {
      Eigen::Vector3d ray;
      ASSERT_TRUE(Unproject(options.calibrations[0], {tracks.x[i], tracks.y[i]}, &ray));
      EXPECT_EQ(tracks.rays.x[i], static_cast<float>(ray.x()));
      EXPECT_EQ(tracks.rays.y[i], static_cast<float>(ray.y()));
      EXPECT_EQ(tracks.rays.z[i], static_cast<float>(ray.z()));
      masked += tracks.state[i] == TrackState::kMasked ? 1 : 0;
      if (tracks.state[i] != TrackState::kTracked) continue;
      EXPECT_GE(tracks.y[i], 19.5f);
      EXPECT_LE(tracks.y[i], 119.5f);
      left += tracks.x[i] < 89 ? 1 : 0;
      EXPECT_TRUE(frame == 3 || tracks.x[i] >= 89.5f) << tracks.x[i];
    }
  }
  EXPECT_GT(masked, 0);
  EXPECT_GT(left, 0);  // in the frame with a mask of its own
}

TEST(ClientTracking, OptionsThatAreRefusedEndTheStream) {
  glint::testing::TestServer server(glint::testing::TestOptions());
  const Client client(server.channel());
  TrackStreamOptions options;
  options.cameras = -1;
  const auto stream = client.OpenTrackStream(options, nullptr);
  const absl::Status refused = stream.ok() ? (*stream)->Finish() : stream.status();
  EXPECT_THAT(refused.message(), HasSubstr("cameras: -1 is not in 1..8"));
  const auto info = ErrorInfoOf(refused);
  ASSERT_TRUE(info.has_value()) << refused;
  EXPECT_EQ(info->reason, "OUT_OF_RANGE");
  EXPECT_EQ(info->field, "cameras");
  EXPECT_EQ(info->value, "-1");
  EXPECT_EQ(info->lowest, "1");
  EXPECT_EQ(info->highest, "8");
  options.in_flight = 0;
  EXPECT_EQ(client.OpenTrackStream(options, nullptr).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace glint::client
