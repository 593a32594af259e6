// What a lane is asked for by the frame of a session of tracks, and when its pixels are given back.
#include "server/operations/track/track_lane.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/images.h"

namespace glint {
namespace {

// Writes down what it is asked for.
class WritingLane final : public Lane {
 public:
  absl::Status Run(const DetectorOptions&, const Pixels&, const Pixels&, Features* features, StageTimes*) override {
    features->Resize(0, 0);
    return absl::OkStatus();
  }
  absl::Status StartRun(const DetectorOptions& options, const Pixels& image, const Pixels& mask, Features* features,
                        StageTimes* times) override {
    calls += "detect ";
    return Run(options, image, mask, features, times);
  }
  absl::Status FinishRun() override {
    calls += "detected ";
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<TrackFrames>> MakeTrackFrames(Shape, const TrackOptions&, int, int) override {
    return std::make_unique<TrackFrames>();
  }
  absl::StatusOr<ImageView> LendTrackFrame(TrackFrames*, int, const Pixels& image) override {
    if (lends-- == 0) return absl::InternalError("no frame");
    calls += "lend ";
    return image.view;
  }
  absl::Status ReleasePixels(TrackFrames*) override {
    calls += "release ";
    return released;
  }
  absl::Status fatal() const override { return absl::OkStatus(); }
  const std::string& device() const override { return device_; }

  std::string calls;
  int lends = 1 << 30;
  absl::Status released;

 private:
  const std::string device_ = "fake";
};

class TrackLaneTest : public ::testing::Test {
 protected:
  TrackLaneTest() {
    options_.detector = *PresetOptions("fast_grid");
    options_.cameras = 2;
  }

  absl::Status Frame() {
    lane_.calls.clear();
    TrackSession session(options_);
    TrackScratch scratch;
    TrackLane backend(&lane_, &options_, &cameras_, &track_ns_, &stages_);
    absl::Status status = session.Begin(0, false, {}, &scratch);
    for (int c = 0; c < 2 && status.ok(); ++c) status = session.Start(c, image_, &backend, &scratch, &tracks_[c]);
    for (int c = 0; c < 2 && status.ok(); ++c) status = session.Finish(c, &backend, &scratch, &tracks_[c]);
    if (status.ok()) backend.Keep();
    return status;
  }

  WritingLane lane_;
  TrackingOptions options_;
  TrackedCameras cameras_;
  int64_t track_ns_ = 0;
  StageTimes stages_;
  CameraTracks tracks_[2];
  const Image image_ = testing::Texture({96, 64}, 1);
};

TEST_F(TrackLaneTest, GivesPixelsBackAtTheEnd) {
  ASSERT_TRUE(Frame().ok());
  EXPECT_EQ(lane_.calls, "lend detect lend detected detect detected release release ");
  EXPECT_TRUE(cameras_[0].has_last);
}

TEST_F(TrackLaneTest, AFrameThatFailsLeavesNothingOpen) {
  lane_.lends = 1;
  EXPECT_EQ(Frame().message(), "no frame");
  EXPECT_EQ(lane_.calls, "lend detect detected release ");
  EXPECT_EQ(cameras_[1].frames, nullptr);
}

TEST_F(TrackLaneTest, ACameraWhosePixelsCannotBeGivenBackIsLost) {
  ASSERT_TRUE(Frame().ok());
  lane_.released = absl::InternalError("the device is lost");
  ASSERT_TRUE(Frame().ok());
  for (const size_t camera : {0, 1}) {
    EXPECT_EQ(cameras_[camera].frames, nullptr);
    EXPECT_FALSE(cameras_[camera].has_last);
  }
}

}  // namespace
}  // namespace glint
