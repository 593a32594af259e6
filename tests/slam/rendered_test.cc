// Odometry on rendered pictures, whose every pose is known: noise, changing gain, missing frames, darkness, a turned
// right camera. Whole drives are run by tools/localize-paths.sh.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <utility>

#include "features/options.h"
#include "gtest/gtest.h"
#include "slam/front_end/lane_front_end.h"
#include "slam/localizer.h"
#include "tests/slam/rendered_drive.h"
#include "tests/support/images.h"

namespace glint::slam {
namespace {

// Through a room and around a bend, 20 poses a second, 0.5 m/s.
scene::Path Flight(int poses) {
  scene::Path path;
  for (int i = 0; i < poses; ++i) {
    const scene::Vec3 at = {1.5 * (1 - scene::CosDegrees(i)), 0.1 * scene::SinDegrees(3 * i),
                            1.5 * scene::SinDegrees(i)};
    path.push_back({i / 20.0, {scene::Rotation(0.8 * i, 4 * scene::SinDegrees(5 * i), 0), at}, ""});
  }
  return path;
}

class RenderedTest : public ::testing::Test {
 protected:
  RenderedTest() {
    options_.head = {{376, 240, 229, 187.5, 119.5}, 0.11, {}};
    options_.sensor = {2, 0.2, 0};
  }

  DriveRecord Run(int poses) {
    DetectorOptions detector = *PresetOptions("orb");
    detector.max_features = features_;
    LaneFrontEnd front_end(detector, threads_);
    LocalizerOptions options;
    options.odometry.refine_rig = !options_.depth.has_value();
    auto localizer = Localizer::Create(CameraOf(options_.head), options, &front_end);
    EXPECT_TRUE(localizer.ok()) << localizer.status();
    RenderedDrive drive(Flight(poses), options_);
    DriveRecord record;
    const absl::Status status = Track(&drive, localizer->get(), &record);
    EXPECT_TRUE(status.ok()) << status;
    record.Print();
    return record;
  }

  // The farthest from where the camera came to rest, after `poses`.
  double DriftAtRest(int poses) {
    const DriveRecord record = Run(poses);
    const auto rest = record.path.begin() + poses - 1;
    double drift = 0;
    for (auto p = rest; p != record.path.end(); ++p) {
      drift = std::max(drift, (p->translation - rest->translation).norm());
    }
    std::printf("drift %.2f mm\n", 1000 * drift);
    return drift;
  }

  DriveOptions options_;
  int features_ = 700;
  int threads_ = 2;
};

TEST_F(RenderedTest, NoiseAndGainCostLittle) {
  const DriveRecord record = Run(60);
  EXPECT_LT(record.first_lost, 0);
  EXPECT_LT(record.Errors().absolute, 0.005 * record.Errors().length);
}

// What a pose says of its error is neither too little nor by far too much.
TEST_F(RenderedTest, CovariancesAreThoseOfTheErrors) {
  options_.head = {{752, 480, 458.654, 367.215, 248.375}, 0.11, {}};
  features_ = 1200;
  for (const uint32_t seed : {1u, 2u}) {
    options_.seed = seed;
    const DriveRecord::Claims claims = Run(60).TrackingClaims();
    EXPECT_GE(claims.all, 55);
    EXPECT_EQ(claims.wrong, 0);
    EXPECT_LT(claims.sigma, 6 * claims.error);
    EXPECT_GT(claims.normalised, 0.03);
    EXPECT_LT(claims.normalised, 1.5);
  }
}

// A bonnet of corners that moves along with the camera, over a quarter of the picture: where it is masked, the camera
// is located about as well as without it, and there is nothing to warn of.
TEST_F(RenderedTest, AMaskedBonnetDoesNotHoldTheCamera) {
  constexpr int kTop = 180, kPoses = 50, kDisparity = 12;
  const Image bonnet = testing::Texture({376 + kDisparity, 240 - kTop}, 9);
  Image mask = testing::Flat({376, 240}, 255);
  for (int y = kTop; y < 240; ++y) std::fill_n(mask.row(y), 376, uint8_t{0});
  RenderedDrive drive(Flight(kPoses), options_);
  LaneFrontEnd front_end(*PresetOptions("orb"), threads_);
  // The largest error of a position against the first one, metres.
  const auto error_of = [&](bool has_bonnet, bool is_masked) {
    const auto localizer = *Localizer::Create(CameraOf(options_.head), {}, &front_end);
    Pose first_truth, first_found;
    double worst = 0;
    for (size_t i = 0; i < drive.count(); ++i) {
      DriveFrame frame = drive.Render(i);
      for (int y = kTop; has_bonnet && y < 240; ++y) {
        std::copy_n(bonnet.row(y - kTop), 376, frame.left.row(y));
        std::copy_n(bonnet.row(y - kTop) + kDisparity, 376, frame.right.row(y));
      }
      CameraView view = frame.view(0);
      if (is_masked) view.left_mask = view.right_mask = mask;
      LocalizerResult result;
      EXPECT_TRUE(localizer->Track(view, {i, static_cast<int64_t>((1 + frame.seconds) * 1e9)}, &result).ok());
      for (const Warning& w : result.warnings) {
        EXPECT_TRUE(!is_masked || w.kind != WarningKind::kStaticRegion) << w.text;
      }
      if (i == 0) {
        first_truth = frame.truth;
        first_found = result.world_from_camera;
      }
      const Pose truth = first_truth.Inverse() * frame.truth, found = first_found.Inverse() * result.world_from_camera;
      worst = std::max(worst, (truth.translation - found.translation).norm());
    }
    return worst;
  };
  const double masked = error_of(true, true);
  EXPECT_LT(masked, 2 * error_of(false, false));
  EXPECT_LT(masked, 1.5 * error_of(false, true));
  EXPECT_GT(error_of(true, false), 10 * masked);  // it is one that would
}

TEST_F(RenderedTest, MasksHaveTheShapeOfTheCamera) {
  RenderedDrive drive(Flight(1), options_);
  LaneFrontEnd front_end(*PresetOptions("orb"), threads_);
  const auto localizer = *Localizer::Create(CameraOf(options_.head), {}, &front_end);
  const DriveFrame frame = drive.Render(0);
  CameraView view = frame.view(0);
  const Image small = testing::Flat({375, 240}, 255);
  view.right_mask = small;
  LocalizerResult result;
  EXPECT_EQ(localizer->Track(view, {1, 1}, &result).message(), "right_mask: 375x240 is not the camera's 376x240");
}

TEST_F(RenderedTest, MissingFramesAreSurvived) {
  options_.drop_share = 0.3;
  options_.drop_burst = 3;
  const DriveRecord record = Run(60);
  EXPECT_LT(record.path.size(), 55u);
  EXPECT_LT(record.first_lost, 0);
  EXPECT_LT(record.Errors().absolute, 0.006 * record.Errors().length);
}

TEST_F(RenderedTest, DarknessIsNoticedAtOnceAndItsEnd) {
  options_.dark = 20;
  const DriveRecord record = Run(30);
  EXPECT_EQ(record.first_lost, 21);
  EXPECT_EQ(record.statuses.at(TrackingStatus::kLost), 30);
  EXPECT_EQ(record.first_again, 51);
  EXPECT_LT(record.Errors().end, 0.02);
}

TEST_F(RenderedTest, StandingStillStays) {
  options_.still = 40;
  options_.sensor.gain = 0;
  EXPECT_LT(DriftAtRest(12), 0.01);
}

TEST_F(RenderedTest, StandingStillStaysAtFullSize) {
  options_.head = {{752, 480, 458.654, 367.215, 248.375}, 0.11, {}};
  options_.still = 30;
  options_.sensor.gain = 0;
  features_ = 1200;
  EXPECT_LT(DriftAtRest(6), 0.002);
}

// A sensor of depth in place of the right eye, with noise, holes beside edges and nothing beyond 5 m; with one thread
// and with two.
TEST_F(RenderedTest, DepthsAreAsGoodAsARightEye) {
  options_.head.baseline = 0.075;
  options_.depth = scene::DepthSensorOptions();
  options_.depth->noise = 0.2;
  options_.depth->farthest = 5;
  const DriveRecord record = Run(60);
  EXPECT_LT(record.first_lost, 0);
  EXPECT_LT(record.Errors().absolute, 0.003 * record.Errors().length);
  EXPECT_GT(record.last.calibration.stereo_share, 0.3);
  EXPECT_LT(record.last.calibration.stereo_share, 0.95);  // there are holes
  EXPECT_TRUE(record.last.warnings.empty());
  threads_ = 1;
  const DriveRecord again = Run(60);
  ASSERT_EQ(record.path.size(), again.path.size());
  for (size_t i = 0; i < record.path.size(); ++i) {
    EXPECT_EQ(record.path[i].translation, again.path[i].translation) << i;
    EXPECT_EQ(record.path[i].rotation.coeffs(), again.path[i].rotation.coeffs()) << i;
  }
}

}  // namespace
}  // namespace glint::slam
