// What is known of gravity and of a sensor's biases: in maps that are saved and loaded, in the next map of a stream,
// and where two maps become one. A camera that goes round in a made-up world.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "slam/localizer.h"
#include "slam/map/map_file.h"
#include "tests/slam/point_world.h"

namespace glint::slam {
namespace {

constexpr double kPi = 3.14159265358979323846, kDegree = kPi / 180;
constexpr double kRadius = 12;           // metres
constexpr double kStep = 2 * kPi / 150;  // of the round in a frame
constexpr double kRate = 10;             // frames per second
constexpr int64_t kFrameNs = 100'000'000, kReadingNs = 10'000'000;
constexpr int kFlight = 60;  // frames of the map that is saved

ImuBias SomeBias() { return {{0.01, -0.02, 0.015}, {0.05, -0.03, 0.04}}; }

std::vector<Eigen::Vector3d> PointsOfRound() {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<Eigen::Vector3d> points;
  for (int i = 0; i < 1800; ++i) {
    const double angle = 2 * kPi * share(random);
    const double radius = i % 4 == 0 ? 2 + 6 * share(random) : 16 + 8 * share(random);
    points.emplace_back(radius * std::sin(angle), 1.6 - 5 * share(random), radius * std::cos(angle));
  }
  return points;
}

// World (y downwards) from camera.
Pose OnTheRound(double frame) {
  const double angle = kStep * frame;
  return {RotationOf({0, angle + kPi / 2, 0}), {kRadius * std::sin(angle), 0, kRadius * std::cos(angle)}};
}

// Of a camera that stands upright: radians between what its map has upwards and what is.
double TiltOf(const Pose& world_from_camera) {
  const Eigen::Vector3d up = world_from_camera.rotation * -Eigen::Vector3d::UnitY();
  return std::atan2(up.head<2>().norm(), up.z());
}

struct Driver {
  explicit Driver(bool has_sensor, LocalizerOptions options = {}) : world(CameraOfTest(), PointsOfRound(), 1) {
    if (has_sensor) options.odometry.imu = ImuModel();
    world.SetFlips(20);
    localizer = *Localizer::Create(CameraOfTest(), options, &world);
  }

  LocalizerResult Take(double frame) {
    if (sends) SendReadings();
    world.Look(OnTheRound(frame));
    LocalizerResult result;
    const absl::Status status = localizer->Track(picture, picture, {static_cast<uint64_t>(time_ns), time_ns}, &result);
    EXPECT_TRUE(status.ok()) << status;
    time_ns += kFrameNs;
    return result;
  }
  // Sees nothing.
  LocalizerResult TakeDarkness(double frame) {
    world.Close(true);
    LocalizerResult result = Take(frame);
    world.Close(false);
    return result;
  }
  std::map<int64_t, Pose> Keyframes() const {
    std::map<int64_t, Pose> poses;
    localizer->VisitMap(
        [&poses](const MapKeyframeView& k) {
          poses[k.id] = k.world_from_camera;
          return true;
        },
        nullptr);
    return poses;
  }

  PointWorld world;
  const Image picture{800, 400};
  std::unique_ptr<Localizer> localizer;
  ImuBias bias = SomeBias();
  bool sends = true;
  int64_t time_ns = 0, sent_ns = -kFrameNs;

 private:
  // Up to the frame and one beyond. The camera's axes are the sensor's: x points to the middle, y downwards.
  void SendReadings() {
    const double rate = kStep * kRate;
    ImuReadings readings;
    for (; sent_ns <= time_ns; sent_ns += kReadingNs) {
      readings.gyroscope.push_back({sent_ns, bias.gyroscope + Eigen::Vector3d(0, rate, 0) + Noise(1e-3)});
      readings.accelerometer.push_back(
          {sent_ns, bias.accelerometer + Eigen::Vector3d(rate * rate * kRadius, -9.81, 0) + Noise(0.01)});
    }
    EXPECT_TRUE(localizer->AddImu(readings).ok());
  }
  // Readings that repeat themselves are none.
  Eigen::Vector3d Noise(double sigma) {
    const double x = normal_(random_), y = normal_(random_), z = normal_(random_);
    return sigma * Eigen::Vector3d(x, y, z);
  }

  std::mt19937 random_{1};
  std::normal_distribution<double> normal_;
};

class LevelMap : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    file_ = testing::TempDir() + "slam_level_map_test.map";
    Driver driver(/*has_sensor=*/true);
    for (int i = 0; i < kFlight; ++i) last_ = driver.Take(i);
    ASSERT_EQ(last_.inertial.status, InertialStatus::kReady);
    ASSERT_TRUE(driver.localizer->SaveMap(file_).ok());
  }
  static void TearDownTestSuite() { std::remove(file_.c_str()); }

  static absl::StatusOr<LoadedMap> Read() {
    const PointWorld world(CameraOfTest(), 1, 1);
    return ReadMapFile(file_, CameraOfTest(), world.kind(), {1000, 100000});
  }
  // The map, in another world (new from old), which is level or not, in another file.
  static std::string Changed(const Pose& turn, const std::optional<WorldLevel>& level) {
    auto loaded = Read();
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    GlobalMap map;
    map.Restore(loaded->map.keyframes(), PointsOf(loaded->map), loaded->map.loops());
    map.ApplyCorrections({{0, turn}}, 0);
    if (level.has_value()) map.SetLevel(0, *level);
    std::string path = testing::TempDir() + "slam_level_map_test.changed";
    EXPECT_TRUE(WriteMapFile(path, loaded->camera, loaded->scales, loaded->features, map).ok());
    return path;
  }
  static std::vector<MapLandmark> PointsOf(const GlobalMap& map) {
    std::vector<MapLandmark> points;
    for (size_t id = 0; id < map.points().size(); ++id) points.push_back(map.points()[id]);
    return points;
  }
  static WorldLevel SomeLevel() { return {0.004, {SomeBias(), 0.001, 0.02}}; }

  static std::string file_;
  static LocalizerResult last_;
};
std::string LevelMap::file_;
LocalizerResult LevelMap::last_;

TEST_F(LevelMap, TheFileSaysWhatIsKnown) {
  const auto loaded = Read();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const std::optional<WorldLevel> level = loaded->map.LevelOf(0);
  ASSERT_TRUE(level.has_value());
  EXPECT_GT(level->gravity_sigma, 1e-4);
  EXPECT_LT(level->gravity_sigma, 0.0175);
  EXPECT_EQ(level->biases.bias.gyroscope, last_.inertial.motion.bias.gyroscope);
  EXPECT_EQ(level->biases.bias.accelerometer, last_.inertial.motion.bias.accelerometer);
  EXPECT_EQ(level->biases.gyroscope_sigma, last_.inertial.gyroscope_bias_sigma);
  EXPECT_EQ(level->biases.accelerometer_sigma, last_.inertial.accelerometer_bias_sigma);
  for (const MapKeyframe& k : loaded->map.keyframes()) {
    EXPECT_LT(TiltOf(k.camera_from_world.Inverse()), kDegree) << k.id;
  }
}

// Whether biases are still what they were, or not.
TEST_F(LevelMap, ALoadedWorldStaysLevelAndTheSensorIsReadySoon) {
  for (const double change : {0.0, 1.0}) {
    SCOPED_TRACE(change);
    Driver driver(/*has_sensor=*/true);
    driver.bias.gyroscope += change * Eigen::Vector3d(0.02, 0.01, -0.02);
    driver.bias.accelerometer += change * Eigen::Vector3d(-0.1, 0.05, 0.05);
    ASSERT_TRUE(driver.localizer->LoadMap(file_).ok());
    const Pose first = driver.Keyframes().begin()->second;
    int ready = -1;
    LocalizerResult result;
    for (int i = 0; i < 40; ++i) {
      result = driver.Take(i + 15);
      ASSERT_EQ(result.status, i == 0 ? TrackingStatus::kRelocalized : TrackingStatus::kTracking) << i;
      EXPECT_TRUE(result.inertial.is_level) << i;
      EXPECT_LT(TiltOf(result.world_from_camera), kDegree) << i;
      if (result.inertial.status == InertialStatus::kReady && ready < 0) ready = i;
    }
    EXPECT_GT(ready, 0);
    EXPECT_LE(ready, 9);  // a new map takes 15 and more
    const Eigen::Vector3d velocity = result.inertial.motion.velocity;
    EXPECT_NEAR(velocity.norm(), kStep * kRate * kRadius, 0.1);
    EXPECT_LT((result.inertial.motion.bias.gyroscope - driver.bias.gyroscope).norm(), 0.002);
    EXPECT_LT((result.inertial.motion.bias.accelerometer - driver.bias.accelerometer).norm(), 0.1);
    EXPECT_EQ(driver.Keyframes().begin()->second.rotation.coeffs(), first.rotation.coeffs());
  }
}

TEST_F(LevelMap, AWorldThatIsNotAsLevelAsItSaysIsTurned) {
  const std::string tilted = Changed({RotationOf({0.1, 0.1, 0}), {1, 2, 3}}, SomeLevel());
  Driver driver(/*has_sensor=*/true);
  ASSERT_TRUE(driver.localizer->LoadMap(tilted).ok());
  std::remove(tilted.c_str());
  LocalizerResult result = driver.Take(15);
  ASSERT_EQ(result.status, TrackingStatus::kRelocalized);
  EXPECT_GT(TiltOf(result.world_from_camera), 7 * kDegree);
  for (int i = 16; i < 50; ++i) result = driver.Take(i);
  EXPECT_EQ(result.inertial.status, InertialStatus::kReady);
  EXPECT_LT(TiltOf(result.world_from_camera), kDegree);
}

TEST_F(LevelMap, OfTheVersionBeforeIsLevelledAsANewOne) {
  const std::string untold = Changed({}, std::nullopt);
  Driver driver(/*has_sensor=*/true);
  ASSERT_TRUE(driver.localizer->LoadMap(untold).ok());
  std::remove(untold.c_str());
  EXPECT_FALSE(driver.Take(15).inertial.is_level);
  LocalizerResult result;
  for (int i = 16; i < 45; ++i) result = driver.Take(i);
  EXPECT_TRUE(result.inertial.is_level);
  EXPECT_LT(TiltOf(result.world_from_camera), kDegree);
}

// Loops turn keyframes about the vertical alone, though the path drifts and nothing but images is there.
TEST_F(LevelMap, LoopsLeaveItLevelWithoutASensor) {
  for (const bool is_level : {true, false}) {
    SCOPED_TRACE(is_level);
    const std::string path = Changed({}, is_level ? std::optional(SomeLevel()) : std::nullopt);
    LocalizerOptions options;
    options.odometry.refine_rig = false;
    Driver driver(/*has_sensor=*/false, options);
    driver.sends = false;
    ASSERT_TRUE(driver.localizer->LoadMap(path).ok());
    std::remove(path.c_str());
    int loops = 0;
    double turned = 0;  // radians, the most that a loop has turned an upward axis
    for (int i = 50; i < 150 + 50; ++i) {
      const std::map<int64_t, Pose> before = driver.Keyframes();
      const LocalizerResult result = driver.Take(i);
      EXPECT_EQ(result.inertial.is_level, is_level);
      if (!result.loop_closed) continue;
      ++loops;
      for (const auto& [id, pose] : driver.Keyframes()) {
        if (id + 30 > before.rbegin()->first || before.count(id) == 0) continue;  // adjusted meanwhile
        const Pose& old = before.at(id);
        const Eigen::Vector3d now = pose.rotation.conjugate() * Eigen::Vector3d::UnitZ();
        turned = std::max(turned, now.cross(old.rotation.conjugate() * Eigen::Vector3d::UnitZ()).norm());
      }
    }
    EXPECT_GE(loops, 1);
    if (is_level) {
      EXPECT_LT(turned, 1e-9);
    } else {
      EXPECT_GT(turned, 1e-6);
    }
  }
}

// The newer map, of images alone, comes into the older one, which is level.
TEST_F(LevelMap, AMapThatJoinsALevelOneIsLevel) {
  Driver driver(/*has_sensor=*/false);
  driver.sends = false;
  ASSERT_TRUE(driver.localizer->LoadMap(file_).ok());
  LocalizerResult result;
  int32_t joined = -1;
  for (int i = 95; i < 180; ++i) {
    result = driver.Take(i);
    if (result.status != TrackingStatus::kTracking) continue;
    if (result.map_id == 0 && joined < 0) joined = i;
    EXPECT_EQ(result.inertial.is_level, joined >= 0) << i;
  }
  ASSERT_GT(joined, 110);
  EXPECT_LT(TiltOf(result.world_from_camera), 1.5 * kDegree);
}

// The older map, of images alone, becomes level with the newer one.
TEST(LevelMaps, AMapThatALevelOneJoinsBecomesLevel) {
  Driver driver(/*has_sensor=*/true);
  driver.sends = false;
  for (int i = 30; i < 60; ++i) driver.Take(i);
  for (int i = 0; i < 2; ++i) driver.TakeDarkness(60);
  driver.sends = true;
  driver.sent_ns = driver.time_ns - kFrameNs;
  LocalizerResult result;
  int joined = -1, level = -1;
  for (int i = 95; i < 220; ++i) {
    result = driver.Take(i);
    if (result.inertial.is_level && level < 0) {
      level = i;
      ASSERT_TRUE(result.world_correction.has_value());
      EXPECT_GT(result.world_correction->rotation.angularDistance(Eigen::Quaterniond::Identity()), 1);
    }
    if (i > 100 && result.map_id == 0 && joined < 0) joined = i;
    if (level < 0) continue;
    EXPECT_TRUE(result.inertial.is_level) << i;
    EXPECT_LT(TiltOf(result.world_from_camera), 1.5 * kDegree) << i;
  }
  EXPECT_GT(level, 100);
  ASSERT_GT(joined, level);
  EXPECT_EQ(result.inertial.status, InertialStatus::kReady);
  for (const auto& [id, pose] : driver.Keyframes()) EXPECT_LT(TiltOf(pose), 1.5 * kDegree) << id;
}

// Lost while readings went on: gravity is known by the sensor's rotation since.
TEST(LevelMaps, TheNextMapIsLevelFromItsFirstPair) {
  LocalizerOptions options;
  options.odometry.max_blind_seconds = 0.5;
  Driver driver(/*has_sensor=*/true, options);
  LocalizerResult result;
  for (int i = 0; i < 45; ++i) result = driver.Take(i);
  ASSERT_EQ(result.inertial.status, InertialStatus::kReady);
  for (int i = 45; i < 60; ++i) result = driver.TakeDarkness(i);
  ASSERT_EQ(result.status, TrackingStatus::kLost);
  int begun = -1, ready = -1;
  for (int i = 95; i < 125; ++i) {
    result = driver.Take(i);
    if (result.status == TrackingStatus::kNewMap) begun = i;
    if (begun < 0) continue;
    EXPECT_EQ(result.map_id, 1);
    EXPECT_TRUE(result.inertial.is_level) << i;
    EXPECT_LT(TiltOf(result.world_from_camera), kDegree) << i;
    if (result.inertial.status == InertialStatus::kReady && ready < 0) ready = i;
  }
  ASSERT_GT(begun, 0);
  EXPECT_GT(ready, begun);
  EXPECT_LE(ready, begun + 9);
}

}  // namespace
}  // namespace glint::slam
