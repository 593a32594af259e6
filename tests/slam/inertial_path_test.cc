// A stereo camera with an inertial sensor along rendered paths, whose every pose, velocity and bias is known: darkness,
// rest, noise, faults of the sensor.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "features/options.h"
#include "gtest/gtest.h"
#include "slam/front_end/lane_front_end.h"
#include "slam/inertial/rotation_vector.h"
#include "slam/localizer.h"
#include "tests/slam/inertial_figures.h"
#include "tests/slam/rendered_drive.h"

namespace glint::slam {
namespace {

const Eigen::Vector3d kUp = {0, -1, 0};  // of the rendered world, whose y points down
constexpr double kDegrees = 57.29577951308232;

// Through a room, 20 poses a second: up to 1.6 m/s, 1 m/s^2 and 0.9 rad/s times `turns`.
scene::Path Flight(double duration, double turns = 1) {
  scene::Path path;
  for (int i = 0; i <= 20 * duration; ++i) {
    const double t = i / 20.0;
    const auto sine = [&](double amplitude, double period) { return amplitude * scene::SinDegrees(360 * t / period); };
    path.push_back({t,
                    {scene::Rotation(sine(60, 11 / turns), sine(10, 4.3 / turns), sine(8, 5.7 / turns)),
                     {sine(2.5, 13), sine(0.3, 3.7), sine(1.5, 8.5)}},
                    ""});
  }
  return path;
}

class InertialPathTest : public ::testing::Test {
 protected:
  InertialPathTest() {
    options_.head = {{376, 240, 229, 187.5, 119.5}, 0.11, {}};
    options_.sensor = {2, 0.2, 0};
    options_.imu = scene::ImuOptions();
    options_.imu->camera_from_imu = {scene::Rotation(90, 10, -85), {0.05, -0.03, -0.02}};
    options_.imu->gyroscope_bias = {0.01, -0.02, 0.015};
    options_.imu->accelerometer_bias = {0.05, -0.08, 0.03};
  }

  // A localizer beside others on the same pictures.
  struct Run {
    std::unique_ptr<LaneFrontEnd> front_end;
    std::unique_ptr<Localizer> localizer;
    DriveRecord record;
  };
  Run MakeRun(const std::optional<ImuModel>& imu, int threads = 2) {
    Run run;
    DetectorOptions detector = *PresetOptions("orb");
    detector.max_features = 700;
    run.front_end = std::make_unique<LaneFrontEnd>(detector, threads);
    LocalizerOptions options;
    options.odometry.imu = imu;
    auto localizer = Localizer::Create(CameraOf(options_.head), options, run.front_end.get());
    EXPECT_TRUE(localizer.ok()) << localizer.status();
    run.localizer = *std::move(localizer);
    return run;
  }
  // Without a sensor and with one that is known as it is, but for its faults.
  void RunBoth(const scene::Path& path) {
    RenderedDrive drive(path, options_);
    vision_ = MakeRun(std::nullopt);
    inertial_ = MakeRun(model_.has_value() ? *model_ : ImuModelOf(*options_.imu));
    const absl::Status status = Track(&drive, {{vision_.localizer.get(), &vision_.record},
                                               {inertial_.localizer.get(), &inertial_.record, /*with_imu=*/true}});
    EXPECT_TRUE(status.ok()) << status;
    PrintFigures(vision_.record, &inertial_.record, kUp);
  }
  InertialFigures Figures() const { return FiguresOf(inertial_.record, kUp); }
  // At the end, with a warning.
  bool IsLeftOut() const {
    const LocalizerResult& last = inertial_.record.last;
    return last.inertial.status != InertialStatus::kReady &&
           std::any_of(last.warnings.begin(), last.warnings.end(), [](const Warning& w) {
             return w.kind == WarningKind::kImuSamples || w.kind == WarningKind::kImuContradicts;
           });
  }
  static int Count(const DriveRecord& record, TrackingStatus status) {
    const auto found = record.statuses.find(status);
    return found == record.statuses.end() ? 0 : found->second;
  }

  DriveOptions options_;
  std::optional<ImuModel> model_;
  Run vision_, inertial_;
};

TEST_F(InertialPathTest, TellsUpVelocityAndBiases) {
  RunBoth(Flight(12));
  const InertialFigures figures = Figures();
  ASSERT_TRUE(figures.first_ready.has_value());
  EXPECT_LT(*figures.first_ready, 5);
  EXPECT_EQ(figures.left_out, 0);
  EXPECT_LT(kDegrees * figures.largest_tilt, 1);
  EXPECT_LT(figures.velocity_error, 0.05);
  EXPECT_GT(*figures.velocities_within, 0.95);
  EXPECT_LT(figures.gyroscope_error, 3 * std::sqrt(3.0) * figures.gyroscope_sigma);
  EXPECT_LT(figures.gyroscope_error, 0.002);
  EXPECT_LT(figures.accelerometer_error, 3 * std::sqrt(3.0) * figures.accelerometer_sigma);
  EXPECT_EQ(inertial_.record.statuses.size(), 1u);  // all frames are tracked, as without
  EXPECT_LT(figures.absolute, 1.2 * FiguresOf(vision_.record, kUp).absolute + 0.002);
}

// Two seconds of darkness in flight: without a sensor the camera begins another map after them; with one it goes on,
// about where it is, and says how far off it may be.
TEST_F(InertialPathTest, GoesOnThroughDarkness) {
  options_.dark_spans = {{6, 7}, {9, 11}};
  RunBoth(Flight(14));
  EXPECT_GT(Count(vision_.record, TrackingStatus::kLost), 40);
  EXPECT_EQ(Count(inertial_.record, TrackingStatus::kLost), 0);
  EXPECT_GE(Count(inertial_.record, TrackingStatus::kCoasting), 60);
  EXPECT_LE(Count(inertial_.record, TrackingStatus::kCoasting), 64);
  const InertialFigures figures = Figures();
  EXPECT_EQ(figures.maps, 1);
  EXPECT_EQ(std::count_if(figures.blind.begin(), figures.blind.end(), [](const BlindSpan& s) { return s.is_dark; }), 2);
  for (const BlindSpan& span : figures.blind) {
    if (!span.is_dark) continue;
    EXPECT_LT(span.error, 0.1 * span.seconds * span.seconds);
    EXPECT_LT(kDegrees * span.turned, 0.5);
    EXPECT_GT(span.sigmas, 0);
    EXPECT_LT(span.sigmas, 3);
    EXPECT_LE(span.until_tracking, 2);
  }
  EXPECT_LT(kDegrees * figures.largest_tilt, 1.5);
}

// What the sensor says is of no use, and is left out with a warning.
TEST_F(InertialPathTest, FaultsCostNothing) {
  for (const scene::ImuFault fault :
       {scene::ImuFault::kDegrees, scene::ImuFault::kGravityUnits, scene::ImuFault::kAxes, scene::ImuFault::kSilent}) {
    SCOPED_TRACE(static_cast<int>(fault));
    options_.imu->fault = fault;
    options_.imu->fault_from = fault == scene::ImuFault::kSilent ? 6 : 0;
    RunBoth(Flight(12));
    EXPECT_EQ(Count(inertial_.record, TrackingStatus::kTracking), 241);
    EXPECT_LT(Figures().absolute, 1.2 * FiguresOf(vision_.record, kUp).absolute + 0.002);
    EXPECT_TRUE(IsLeftOut());
  }
}

// Until they are known to repeat, they mislead.
TEST_F(InertialPathTest, ReadingsThatRepeatAreLeftOut) {
  options_.imu->fault = scene::ImuFault::kFrozen;
  options_.imu->fault_from = 6;
  RunBoth(Flight(12));
  EXPECT_GT(Count(inertial_.record, TrackingStatus::kTracking), 225);  // of 241
  EXPECT_EQ(Count(inertial_.record, TrackingStatus::kLost), 0);
  EXPECT_EQ(Figures().maps, 1);
  EXPECT_LT(Figures().absolute, 0.15);
  EXPECT_TRUE(IsLeftOut());
}

// Within 5 s of turns, and the path is that of the images.
TEST_F(InertialPathTest, AnUntoldTimeOffsetIsNamed) {
  model_ = ImuModelOf(*options_.imu);
  options_.imu->offset = 0.04;
  for (const double turns : {1.0, 2.5}) {
    SCOPED_TRACE(turns);
    RunBoth(Flight(8, turns));
    EXPECT_GE(Count(inertial_.record, TrackingStatus::kTracking), 155);
    double first_told = 1e9, told_ms = 0;  // at last
    for (size_t i = 0; i < inertial_.record.results.size(); ++i) {
      for (const Warning& w : inertial_.record.results[i].warnings) {
        if (w.kind != WarningKind::kImuContradicts || std::string(w.unit) != "ms") continue;
        first_told = std::min(first_told, inertial_.record.seconds[i]);
        told_ms = w.figure;
      }
    }
    EXPECT_LT(first_told, 5);
    EXPECT_NEAR(std::fabs(told_ms), 40, turns > 1 ? 5 : 15);
    EXPECT_LT(Figures().absolute, 1.2 * FiguresOf(vision_.record, kUp).absolute + 0.002);
  }
}

// Over seconds, a tilt of the map by a degree is an acceleration of 0.17 m/s^2: keyframes are tied over less.
TEST_F(InertialPathTest, PairsFarApartAreKeyframes) {
  options_.every = 12;  // 0.6 s
  RunBoth(Flight(18));
  std::optional<double> last_keyframe;  // since the sensor has been ready
  int late = 0;
  for (size_t i = 0; i < inertial_.record.results.size(); ++i) {
    const LocalizerResult& result = inertial_.record.results[i];
    const double seconds = inertial_.record.seconds[i];
    if (result.inertial.status != InertialStatus::kReady) continue;
    if (last_keyframe.has_value() && seconds - *last_keyframe > 1 && result.status == TrackingStatus::kTracking) {
      EXPECT_TRUE(result.is_keyframe) << seconds;
      ++late;
    }
    if (result.is_keyframe) last_keyframe = seconds;
  }
  EXPECT_GE(late, 2);
  EXPECT_EQ(Figures().maps, 1);
  EXPECT_LT(Figures().absolute, 0.1);
}

TEST_F(InertialPathTest, AToldTimeOffsetCostsNothing) {
  options_.imu->offset = 0.04;
  options_.dark_spans = {{7, 8}};
  RunBoth(Flight(10));
  const InertialFigures figures = Figures();
  ASSERT_EQ(figures.blind.size(), 1u);
  EXPECT_LT(figures.blind[0].error, 0.1);
  EXPECT_LT(figures.blind[0].sigmas, 3);
  EXPECT_EQ(figures.left_out, 0);
}

TEST_F(InertialPathTest, StandingStillStays) {
  options_.sensor.gain = 0;
  scene::Path path;
  for (int i = 0; i < 160; ++i) path.push_back({i / 20.0, {scene::Rotation(15, 5, 0), {0.2, 0, 0.1}}, ""});
  options_.dark_spans = {{6, 7}};
  RunBoth(path);
  const InertialFigures figures = Figures();
  EXPECT_LT(figures.rest_drift, 0.02);
  EXPECT_LT(kDegrees * figures.largest_tilt, 1.5);  // as the accelerometer's bias tilts what it feels
  EXPECT_EQ(Count(inertial_.record, TrackingStatus::kLost), 0);
}

// Two hundred a second, from each frame to the next one: against what the camera did meanwhile, in its own axes.
TEST_F(InertialPathTest, PosesBetweenFramesAreThoseOfTheFlight) {
  RenderedDrive drive(Flight(9), options_);
  Run run = MakeRun(ImuModelOf(*options_.imu));
  Pose truth, found;  // at the last frame, world from camera
  bool is_ready = false;
  int frames = 0;
  double squares = 0;  // normalised
  for (size_t i = 0; i < drive.count(); ++i) {
    const DriveFrame frame = drive.Render(i);
    if (is_ready) {
      ASSERT_TRUE(run.localizer->AddImu(frame.imu).ok());
      std::vector<int64_t> times;
      for (const ImuReading& reading : frame.imu.gyroscope) times.push_back(reading.time_ns);
      std::reverse(times.begin(), times.end());
      std::vector<PredictedPose> poses;
      run.localizer->PredictPoses(times, [&poses](const PredictedPose& pose) { poses.push_back(pose); });
      ASSERT_GE(poses.size(), 9u);
      Pose last = found;
      for (size_t k = 0; k < poses.size(); ++k) {
        EXPECT_LT((poses[k].world_from_camera.translation - last.translation).norm(), 0.03);
        if (k > 0) {
          const double step = 1e-9 * static_cast<double>(poses[k].time_ns - poses[k - 1].time_ns);
          EXPECT_NEAR(step, 0.005, 1e-6);
          // But for how the drift until then is seen from the camera, which moves.
          EXPECT_GT(poses[k].covariance.trace(), 0.999 * poses[k - 1].covariance.trace());
        }
        last = poses[k].world_from_camera;
      }
      const auto at = std::find_if(poses.begin(), poses.end(), [&](const PredictedPose& p) {
        return std::fabs(1e-9 * static_cast<double>(p.time_ns) - frame.seconds) < 1e-5;
      });
      ASSERT_NE(at, poses.end());
      const auto error_from = [&](const Pose& then, const Pose& then_found) {
        return at->world_from_camera.Inverse() * (then_found * (then.Inverse() * frame.truth));
      };
      const Pose error = error_from(truth, found);
      EXPECT_LT(error.translation.norm(), 0.02);
      EXPECT_LT(kDegrees * AngleOf(error.rotation), 0.3);
      // Since the map's first frame, as the covariance: a left increment of camera_from_world.
      const Pose drifted = error_from(run.record.truth[0], run.record.path[0]);
      Eigen::Matrix<double, 6, 1> increment;
      increment << RotationVectorOf(drifted.rotation), drifted.translation;
      squares += increment.dot(at->covariance.ldlt().solve(increment)) / 6;
      ++frames;
    }
    ASSERT_TRUE(TrackFrame(frame, i, 0, {{run.localizer.get(), &run.record, /*with_imu=*/!is_ready}}).ok());
    const LocalizerResult& result = run.record.results.back();
    is_ready = result.inertial.status == InertialStatus::kReady && result.inertial.is_level;
    truth = frame.truth;
    found = result.world_from_camera;
  }
  EXPECT_GT(frames, 80);
  std::printf("normalised squared error %.3f\n", squares / frames);
  EXPECT_LT(squares / frames, 1.5);
  EXPECT_GT(squares / frames, 0.05);
}

// Whatever the number of threads, and of batches that readings come in.
TEST_F(InertialPathTest, TheBytesArePosesAndReadings) {
  options_.dark_spans = {{5, 6}};
  RenderedDrive drive(Flight(7), options_);
  Run one = MakeRun(ImuModelOf(*options_.imu), 1), two = MakeRun(ImuModelOf(*options_.imu), 2);
  for (size_t i = 0; i < drive.count(); ++i) {
    DriveFrame frame = drive.Render(i);
    ASSERT_TRUE(TrackFrame(frame, i, 0, {{one.localizer.get(), &one.record, true}}).ok());
    for (const ImuReading& reading : frame.imu.gyroscope) {
      ASSERT_TRUE(two.localizer->AddImu({{reading}, {}}).ok());
    }
    std::vector<ImuReading>& accelerometer = frame.imu.accelerometer;
    std::reverse(accelerometer.begin(), accelerometer.end());
    frame.imu.gyroscope.clear();
    ASSERT_TRUE(TrackFrame(frame, i, 0, {{two.localizer.get(), &two.record, true}}).ok());
  }
  for (size_t i = 0; i < one.record.path.size(); ++i) {
    const LocalizerResult &a = one.record.results[i], &b = two.record.results[i];
    ASSERT_EQ(a.status, b.status) << i;
    ASSERT_EQ(a.world_from_camera.translation, b.world_from_camera.translation) << i;
    ASSERT_EQ(a.world_from_camera.rotation.coeffs(), b.world_from_camera.rotation.coeffs()) << i;
    ASSERT_EQ(a.covariance, b.covariance) << i;
    ASSERT_EQ(a.inertial.motion.velocity, b.inertial.motion.velocity) << i;
  }
  EXPECT_EQ(one.record.last.inertial.status, InertialStatus::kReady);
}

TEST_F(InertialPathTest, ReadingsNeedASensor) {
  const Run run = MakeRun(std::nullopt);
  EXPECT_EQ(run.localizer->AddImu({{{1, {0, 0, 0}}}, {}}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(run.localizer->imu_counts().received, 0);
}

}  // namespace
}  // namespace glint::slam
