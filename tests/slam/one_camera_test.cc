// A stereo camera whose left one sees nothing for a while.
#include <cmath>
#include <cstdint>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slam/localizer.h"
#include "tests/slam/is_warning.h"
#include "tests/slam/point_world.h"
#include "tests/support/images.h"

namespace glint::slam {
namespace {

constexpr int64_t kFrameNs = 100'000'000;
constexpr int kBlindFrom = 20, kBlindTo = 30;  // frames

// In gentle curves, 0.5 metres a frame.
Pose OnTheRoad(int frame) {
  const double z = 0.5 * frame;
  return {RotationOf({0, 0.08 * std::cos(0.08 * z), 0}), {std::sin(0.08 * z), 0, z}};
}

class OneCameraTest : public ::testing::Test {
 protected:
  void Begin(const StereoCamera& truth) {
    world_ = std::make_unique<PointWorld>(truth, 60, 3);
    localizer_ = Localizer::Create(CameraOfTest(), {}, world_.get(), nullptr).value();
  }

  void Blind(bool is_blind) {
    is_blind_ = is_blind;
    world_->CloseLeft(is_blind);
  }

  LocalizerResult Take(int frame) { return TakeAt(OnTheRoad(frame), frame); }
  LocalizerResult TakeAt(const Pose& pose, int frame) {
    world_->Look(pose);
    LocalizerResult result;
    const FrameStamp stamp{static_cast<uint64_t>(frame), (frame + 1) * kFrameNs};
    // What is seen differs from pair to pair, or the camera would be frozen; a blind one sends black.
    left_.row(0)[0] = is_blind_ ? 0 : static_cast<uint8_t>(frame + 1);
    right_.row(0)[0] = static_cast<uint8_t>(frame + 1);
    EXPECT_TRUE(localizer_->Track(left_, right_, stamp, &result).ok());
    return result;
  }

  static double ErrorOf(const LocalizerResult& result, int frame) {
    const Pose truth = OnTheRoad(0).Inverse() * OnTheRoad(frame);
    return (result.world_from_camera.translation - truth.translation).norm();
  }

  Image left_ = testing::Flat({800, 400}, 0), right_ = testing::Flat({800, 400}, 0);
  std::unique_ptr<PointWorld> world_;
  bool is_blind_ = false;
  std::unique_ptr<Localizer> localizer_;
};

TEST_F(OneCameraTest, GoesOnWithTheRightOne) {
  for (const double degrees : {0.0, 0.1}) {
    SCOPED_TRACE(degrees);
    StereoCamera truth = CameraOfTest();
    truth.rig_rotation.x() = degrees * 0.017453292519943295;
    Begin(truth);
    for (int i = 0; i < 50; ++i) {
      SCOPED_TRACE(i);
      const bool is_blind = i >= kBlindFrom && i < kBlindTo;
      Blind(is_blind);
      const LocalizerResult result = Take(i);
      EXPECT_EQ(result.status, TrackingStatus::kTracking);
      EXPECT_LT(ErrorOf(result, i), 0.15);
      if (!is_blind) {
        EXPECT_THAT(result.warnings, ::testing::IsEmpty());
        continue;
      }
      EXPECT_FALSE(result.is_keyframe);
      EXPECT_LT(result.mean_error, 1);
      EXPECT_GE(result.inliers, 60);
      EXPECT_GT(result.covariance(3, 3), 0);
      EXPECT_THAT(result.warnings,
                  ::testing::ElementsAre(IsWarning(WarningKind::kOneCamera, result.keypoints, "1", "left camera")));
    }
  }
}

// Where nothing of the map is seen, the right camera alone begins none.
TEST_F(OneCameraTest, NeedsAMap) {
  Begin(CameraOfTest());
  Blind(true);
  EXPECT_EQ(Take(0).status, TrackingStatus::kInitializing);
  Blind(false);
  for (int i = 1; i < 20; ++i) Take(i);
  Blind(true);
  const Pose elsewhere{RotationOf({0, 3.1, 0}), {0, 0, 134}};
  for (int i = 20; i < 40; ++i) {
    const LocalizerResult result = TakeAt(elsewhere, i);
    EXPECT_TRUE(result.status == TrackingStatus::kCoasting || result.status == TrackingStatus::kLost) << i;
    EXPECT_FALSE(result.is_keyframe);
  }
  Blind(false);
  EXPECT_EQ(TakeAt(elsewhere, 40).status, TrackingStatus::kNewMap);
}

}  // namespace
}  // namespace glint::slam
