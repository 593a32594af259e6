// The localizer in a made-up world whose every pose is known: a round that is driven twice.
#include "slam/localizer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "features/background.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slam/geometry/trajectory.h"
#include "tests/slam/is_warning.h"
#include "tests/slam/point_world.h"
#include "tests/support/one_thread.h"

namespace glint::slam {
namespace {

using ::testing::HasSubstr;

constexpr int kLap = 75;        // frames
constexpr double kRadius = 12;  // metres: a metre a frame
constexpr double kTurn = 6.283185307179586;
constexpr int64_t kFrameNs = 100'000'000;
constexpr uint64_t kFirstFrame = ~uint64_t{0} - 1000;  // the id of a driver's first frame

// Houses around the round, and some within it.
std::vector<Eigen::Vector3d> PointsOfRound(uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<Eigen::Vector3d> points;
  for (int i = 0; i < 1800; ++i) {
    const double angle = kTurn * share(random);
    const double radius = i % 4 == 0 ? 2 + 6 * share(random) : 16 + 8 * share(random);
    points.emplace_back(radius * std::sin(angle), 1.6 - 5 * share(random), radius * std::cos(angle));
  }
  return points;
}

// World from camera; `aside`: metres outwards.
Pose OnTheRound(double frame, double aside = 0) {
  const double angle = kTurn * frame / kLap;
  const double radius = kRadius + aside;
  return {RotationOf({0, angle + kTurn / 4, 0}), {radius * std::sin(angle), 0, radius * std::cos(angle)}};
}

// The same around another middle, out of sight; and its points beside those of the first round.
constexpr double kApart = 500;  // metres
Pose OnTheOtherRound(double frame) {
  Pose pose = OnTheRound(frame);
  pose.translation.x() += kApart;
  return pose;
}
std::vector<Eigen::Vector3d> PointsOfBothRounds(uint32_t seed) {
  std::vector<Eigen::Vector3d> points = PointsOfRound(seed);
  for (Eigen::Vector3d point : PointsOfRound(seed + 100)) {
    point.x() += kApart;
    points.push_back(point);
  }
  return points;
}

struct Driver {
  explicit Driver(const StereoCamera& truth, const LocalizerOptions& options = {}, uint32_t seed = 1,
                  BackgroundThreads* threads = nullptr)
      : Driver(truth, options, PointsOfRound(seed), seed, threads) {}
  Driver(const StereoCamera& truth, const LocalizerOptions& options, std::vector<Eigen::Vector3d> points,
         uint32_t seed = 1, BackgroundThreads* threads = nullptr)
      : world(truth, std::move(points), seed), picture(800, 400) {
    world.SetFlips(20);
    auto created = Localizer::Create(CameraOfTest(), options, &world, threads);
    EXPECT_TRUE(created.ok()) << created.status();
    localizer = *std::move(created);
  }

  LocalizerResult Take(const Pose& pose) {
    world.Look(pose);
    LocalizerResult result;
    const absl::Status status =
        localizer->Track(picture, picture, {kFirstFrame + path.size(), time_ns += kFrameNs}, &result);
    EXPECT_TRUE(status.ok()) << status;
    if (result.status == TrackingStatus::kTracking && last.status == TrackingStatus::kTracking &&
        result.world_correction.has_value()) {
      const Pose step = truth.back().Inverse() * pose;
      const Pose corrected = *result.world_correction * last.world_from_camera;
      const auto error = [&](const Pose& from) {
        return ((from.Inverse() * result.world_from_camera).translation - step.translation).norm();
      };
      step_error = std::max(step_error, error(corrected));
      largest_jump = std::max(largest_jump, error(last.world_from_camera));
    }
    last = result;
    path.push_back(result.world_from_camera);
    truth.push_back(pose);
    loops += result.loop_closed ? 1 : 0;
    return result;
  }
  LocalizerResult Search(const Pose& pose) {
    world.Look(pose);
    LocalizerResult result;
    const absl::Status status = localizer->Relocalize(picture, picture, &result);
    EXPECT_TRUE(status.ok()) << status;
    return result;
  }

  PointWorld world;
  const Image picture;
  std::unique_ptr<Localizer> localizer;
  int64_t time_ns = 0;
  std::vector<Pose> path, truth;
  LocalizerResult last;
  double step_error = 0, largest_jump = 0;  // metres that a corrected step is off, and without correction, at most
  int loops = 0;
};

// Of a pose in the map of a drive that began at frame 0.
double ErrorOf(const LocalizerResult& result, const Pose& truth) {
  return (result.world_from_camera.translation - (OnTheRound(0).Inverse() * truth).translation).norm();
}

TEST(Localizer, ClosesTheLoop) {
  // The rig is turned by a little that nobody knows, so that the path drifts.
  StereoCamera turned = CameraOfTest();
  turned.rig_rotation = {0, 0.0008, 0};
  LocalizerOptions options;
  options.odometry.refine_rig = false;
  Driver closing(turned, options);
  options.close_loops = false;
  Driver drifting(turned, options);
  for (int i = 0; i < 2 * kLap; ++i) {
    ASSERT_EQ(closing.Take(OnTheRound(i)).status, TrackingStatus::kTracking) << i;
    ASSERT_EQ(drifting.Take(OnTheRound(i)).status, TrackingStatus::kTracking) << i;
  }
  EXPECT_GE(closing.loops, 1);
  EXPECT_EQ(drifting.loops, 0);
  // A loop moves the world, and says by what.
  EXPECT_LT(closing.step_error, 0.06);
  EXPECT_GT(closing.largest_jump, 0.15);
  EXPECT_LT(drifting.step_error, 0.06);
  const PathErrors closed = ComparePaths(closing.path, closing.truth);
  const PathErrors open = ComparePaths(drifting.path, drifting.truth);
  EXPECT_LT(closed.end, 0.5 * open.end) << closed.end << " m beside " << open.end;
  // And it says that it is better.
  const auto sigma_of = [](const Driver& driver) {
    return std::sqrt(driver.last.covariance.diagonal().tail<3>().sum());
  };
  EXPECT_LT(sigma_of(closing), 0.7 * sigma_of(drifting)) << sigma_of(closing) << " m beside " << sigma_of(drifting);
  // The map has moved along: its keyframes and points are near the truth.
  std::vector<Pose> keyframes;
  closing.localizer->VisitMap(
      [&](const MapKeyframeView& k) {
        keyframes.push_back(k.world_from_camera);
        return true;
      },
      nullptr);
  EXPECT_GT(keyframes.size(), 20U);
}

// Whatever is refused between.
TEST(Localizer, GivesTheSameBytesAgain) {
  Driver a(CameraOfTest());
  Driver b(CameraOfTest());
  for (int i = 0; i < kLap + 20; ++i) {
    const LocalizerResult first = a.Take(OnTheRound(i));
    const LocalizerResult second = b.Take(OnTheRound(i));
    LocalizerResult refused;
    EXPECT_TRUE(absl::IsInvalidArgument(b.localizer->Track(b.picture, b.picture, {0, b.time_ns}, &refused)));
    EXPECT_EQ(first.world_from_camera.rotation.coeffs(), second.world_from_camera.rotation.coeffs());
    EXPECT_EQ(first.world_from_camera.translation, second.world_from_camera.translation);
    EXPECT_EQ(first.loop_closed, second.loop_closed) << i;
    EXPECT_EQ(first.points, second.points);
  }
}

// Whoever computes adjustments and loops: threads of its own, one that two share, or none.
TEST(Localizer, GivesTheSameBytesOnSharedThreads) {
  const auto one = *BackgroundThreads::Create("test", 1), none = *BackgroundThreads::Create("test", 0);
  Driver own(CameraOfTest()), first(CameraOfTest(), {}, 1, one.get()), second(CameraOfTest(), {}, 1, one.get()),
      alone(CameraOfTest(), {}, 1, none.get());
  for (int i = 0; i < kLap + 20; ++i) {
    const LocalizerResult expected = own.Take(OnTheRound(i));
    for (Driver* driver : {&first, &second, &alone}) {
      const LocalizerResult result = driver->Take(OnTheRound(i));
      EXPECT_EQ(result.world_from_camera.rotation.coeffs(), expected.world_from_camera.rotation.coeffs());
      EXPECT_EQ(result.world_from_camera.translation, expected.world_from_camera.translation);
      EXPECT_EQ(result.loop_closed, expected.loop_closed) << i;
    }
  }
}

#ifndef GLINT_SANITIZED  // sanitizers have threads of their own
// With the threads of others a localizer makes none.
TEST(Localizer, ThreadsThatCannotBeMadeAreAnErrorOfCreate) {
  const int status = InOneThread([] {
    if (!absl::IsResourceExhausted(Localizer::Create(CameraOfTest(), {}, nullptr).status())) return 1;
    const auto none = BackgroundThreads::Create("test", 0);
    Driver driver(CameraOfTest(), {}, 1, none->get());
    for (int i = 0; i < 30; ++i) driver.Take(OnTheRound(i));
    return driver.localizer->MemoryBytes() > 0 ? 0 : 2;
  });
  if (status == kNotLimited) GTEST_SKIP() << "the system does not hold RLIMIT_NPROC here";
  EXPECT_EQ(status, 0);
}
#endif

// A lap that was driven once, and its map in a file.
class LocalizerOnALap : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    lap_ = new Driver(CameraOfTest());
    for (int i = 0; i < kLap; ++i) last_ = lap_->Take(OnTheRound(i));
    file_ = testing::TempDir() + "slam_localizer_test.map";
    const absl::Status status = lap_->localizer->SaveMap(file_);
    ASSERT_TRUE(status.ok()) << status;
  }
  static void TearDownTestSuite() {
    delete lap_;
    std::remove(file_.c_str());
  }
  static std::string Content() {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  // What LoadMap() says of these bytes, to a localizer of this camera and these options.
  static absl::Status Load(const std::string& bytes, const StereoCamera& camera = CameraOfTest(),
                           const LocalizerOptions& options = {}) {
    const std::string path = testing::TempDir() + "slam_localizer_test.other";
    std::ofstream(path, std::ios::binary) << bytes;
    PointWorld world(camera, {}, 1);
    auto localizer = Localizer::Create(camera, options, &world);
    EXPECT_TRUE(localizer.ok());
    const absl::Status status = (*localizer)->LoadMap(path);
    std::remove(path.c_str());
    return status;
  }

  static Driver* lap_;
  static LocalizerResult last_;
  static std::string file_;
};
Driver* LocalizerOnALap::lap_ = nullptr;
LocalizerResult LocalizerOnALap::last_;
std::string LocalizerOnALap::file_;

TEST_F(LocalizerOnALap, TellsOfTheMap) {
  EXPECT_GT(last_.keyframes, 10);
  EXPECT_GT(last_.points, 500);
  EXPECT_FALSE(last_.map_full);
  EXPECT_THAT(last_.warnings, testing::IsEmpty());
  EXPECT_GT(last_.calibration.stereo_keypoints, 100);
  EXPECT_NEAR(last_.calibration.median_vertical_disparity, 0, 0.1);
  EXPECT_NEAR(last_.calibration.speed, 10, 1);  // a loop that closed has moved the map by centimetres
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_GT(last_.rig_uncertainty[axis], 0);
    EXPECT_LT(last_.rig_uncertainty[axis], 0.001);
    EXPECT_LT(std::abs(last_.rig_rotation[axis]), 5 * last_.rig_uncertainty[axis]);
  }
  int64_t keyframes = 0, points = 0, id = -1;
  lap_->localizer->VisitMap(
      [&](const MapKeyframeView& k) {
        EXPECT_GT(k.id, id);
        id = k.id;
        EXPECT_GT(k.points, 0);
        const uint64_t frame = k.stamp.frame_id - kFirstFrame;
        EXPECT_EQ(k.stamp.time_ns, static_cast<int64_t>(frame + 1) * kFrameNs);
        const Pose& truth = lap_->truth.at(frame);
        EXPECT_LT((k.world_from_camera.translation - (OnTheRound(0).Inverse() * truth).translation).norm(), 0.5);
        ++keyframes;
        return true;
      },
      [&](const MapPointView& p) {
        EXPECT_GT(p.observations, 0);
        ++points;
        return points < 100;
      });
  EXPECT_EQ(keyframes, last_.keyframes);
  EXPECT_EQ(points, 100);
  EXPECT_GT(lap_->localizer->MemoryBytes(), static_cast<size_t>(last_.points) * 32);
}

TEST_F(LocalizerOnALap, FindsSinglePairsInALoadedMap) {
  Driver other(CameraOfTest());
  const absl::Status status = other.localizer->LoadMap(file_);
  ASSERT_TRUE(status.ok()) << status;
  int found = 0;
  for (int i = 0; i < kLap; ++i) {
    const Pose pose = OnTheRound(i + 0.5, 0.4);
    const LocalizerResult result = other.Search(pose);
    if (result.status != TrackingStatus::kRelocalized) continue;
    ++found;
    EXPECT_LT(ErrorOf(result, pose), 0.5) << i;
    EXPECT_GE(result.inliers, 40);
    EXPECT_EQ(result.keyframes, last_.keyframes);
  }
  EXPECT_GE(found, 95 * kLap / 100);
  // Somewhere else.
  Driver elsewhere(CameraOfTest(), {}, 2);
  ASSERT_TRUE(elsewhere.localizer->LoadMap(file_).ok());
  for (int i = 0; i < kLap; i += 5) EXPECT_EQ(elsewhere.Search(OnTheRound(i)).status, TrackingStatus::kLost);
}

TEST_F(LocalizerOnALap, GoesOnInALoadedMap) {
  Driver other(CameraOfTest());
  ASSERT_TRUE(other.localizer->LoadMap(file_).ok());
  other.world.Close(true);
  EXPECT_EQ(other.Take(OnTheRound(30)).status, TrackingStatus::kLost);
  other.world.Close(false);
  EXPECT_EQ(other.Take(OnTheRound(30)).status, TrackingStatus::kRelocalized);
  LocalizerResult result;
  for (int i = 31; i < 50; ++i) {
    result = other.Take(OnTheRound(i));
    ASSERT_EQ(result.status, TrackingStatus::kTracking) << i;
    EXPECT_LT(ErrorOf(result, OnTheRound(i)), 0.5) << i;
  }
  EXPECT_GT(result.keyframes, last_.keyframes);
  // Carried off in the dark to the other side.
  other.world.Close(true);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(other.Take(OnTheRound(50)).status, TrackingStatus::kLost);
  other.world.Close(false);
  result = other.Take(OnTheRound(5));
  EXPECT_EQ(result.status, TrackingStatus::kRelocalized);
  EXPECT_LT(ErrorOf(result, OnTheRound(5)), 0.5);
  EXPECT_EQ(other.Take(OnTheRound(6)).status, TrackingStatus::kTracking);
}

TEST_F(LocalizerOnALap, SavesWhatItLoaded) {
  Driver other(CameraOfTest());
  ASSERT_TRUE(other.localizer->LoadMap(file_).ok());
  const std::string again = testing::TempDir() + "slam_localizer_test.again";
  ASSERT_TRUE(other.localizer->SaveMap(again).ok());
  std::ifstream in(again, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_TRUE(bytes == Content());
  std::remove(again.c_str());
  EXPECT_FALSE(other.localizer->SaveMap(testing::TempDir() + "not/there/map").ok());
  EXPECT_TRUE(absl::IsInternal(other.localizer->SaveMap(testing::TempDir() + "not/there/map")));
}

TEST_F(LocalizerOnALap, RefusesBadMaps) {
  const std::string good = Content();
  ASSERT_GT(good.size(), 1000U);
  EXPECT_TRUE(Load(good).ok());
  const auto error = [](const std::string& bytes) { return std::string(Load(bytes).message()); };
  EXPECT_THAT(error(""), HasSubstr("is not a map"));
  EXPECT_THAT(error("GLINTMAX" + good.substr(8)), HasSubstr("is not a map"));
  EXPECT_THAT(error(good + "x"), HasSubstr("cut short or damaged"));
  for (const size_t length : {size_t{9}, size_t{60}, size_t{300}, good.size() / 2, good.size() - 1}) {
    EXPECT_THAT(error(good.substr(0, length)), HasSubstr("cut short or damaged")) << length;
  }
  std::string version = good;
  version[8] = 9;
  EXPECT_THAT(error(version), HasSubstr("is a map of version 9, not 4"));
  for (size_t i = 12; i < good.size(); i += good.size() / 97) {
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
    EXPECT_FALSE(Load(damaged).ok()) << i;
  }
  StereoCamera wide = CameraOfTest();
  wide.baseline = 0.6;
  EXPECT_THAT(std::string(Load(good, wide).message()), HasSubstr("is a map of another camera: 800x400"));
  LocalizerOptions small;
  small.max_keyframes = 10;
  const absl::Status over = Load(good, CameraOfTest(), small);
  EXPECT_TRUE(absl::IsResourceExhausted(over)) << over;
  EXPECT_THAT(std::string(over.message()), HasSubstr("keyframes, over the limit of 10"));
  PointWorld world(CameraOfTest(), {}, 1);
  EXPECT_TRUE(absl::IsNotFound((*Localizer::Create(CameraOfTest(), {}, &world))->LoadMap("/not/there")));
}

// Counts what VisitMap() shows.
int64_t KeyframesShown(const Localizer& localizer) {
  int64_t count = 0;
  localizer.VisitMap([&count](const MapKeyframeView&) { return ++count > 0; }, nullptr);
  return count;
}

TEST(Localizer, ACameraThatIsNowhereInItsMapBeginsAnother) {
  Driver driver(CameraOfTest(), {}, PointsOfBothRounds(1));
  LocalizerResult result;
  for (int i = 0; i < 40; ++i) result = driver.Take(OnTheRound(i));
  ASSERT_EQ(result.status, TrackingStatus::kTracking);
  for (int i = 0; i < 3; ++i) {
    result = driver.Take(OnTheOtherRound(i));
    EXPECT_THAT(result.status, testing::AnyOf(TrackingStatus::kCoasting, TrackingStatus::kLost)) << i;
    EXPECT_EQ(result.map_id, 0);
  }
  result = driver.Take(OnTheOtherRound(3));
  EXPECT_EQ(result.status, TrackingStatus::kNewMap);
  EXPECT_EQ(result.map_id, 1);
  EXPECT_TRUE(result.is_keyframe);
  EXPECT_EQ(result.world_from_camera.translation, Eigen::Vector3d::Zero());
  for (int i = 4; i < 20; ++i) {
    result = driver.Take(OnTheOtherRound(i));
    ASSERT_EQ(result.status, TrackingStatus::kTracking) << i;
    EXPECT_EQ(result.map_id, 1);
    const Pose truth = OnTheRound(3).Inverse() * OnTheRound(i);
    EXPECT_LT((result.world_from_camera.translation - truth.translation).norm(), 0.3) << i;
  }
  // The file has the map with more keyframes, which is not the one that is shown.
  const int64_t of_first = result.keyframes - KeyframesShown(*driver.localizer);
  const std::string path = testing::TempDir() + "slam_localizer_test.largest";
  ASSERT_TRUE(driver.localizer->SaveMap(path).ok());
  Driver other(CameraOfTest(), {}, PointsOfBothRounds(1));
  ASSERT_TRUE(other.localizer->LoadMap(path).ok());
  std::remove(path.c_str());
  EXPECT_EQ(KeyframesShown(*other.localizer), of_first);
  result = other.Search(OnTheRound(20.5));
  EXPECT_EQ(result.status, TrackingStatus::kRelocalized);
  EXPECT_LT(ErrorOf(result, OnTheRound(20.5)), 0.5);
  EXPECT_EQ(other.Search(OnTheOtherRound(10)).status, TrackingStatus::kLost);

  // Back in the first map.
  driver.world.Close(true);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(driver.Take(OnTheRound(20)).status, TrackingStatus::kLost);
  driver.world.Close(false);
  result = driver.Take(OnTheRound(20));
  EXPECT_EQ(result.status, TrackingStatus::kRelocalized);
  EXPECT_EQ(result.map_id, 0);
  EXPECT_FALSE(result.is_keyframe);
  EXPECT_LT(ErrorOf(result, OnTheRound(20)), 0.5);
  result = driver.Take(OnTheRound(21));
  EXPECT_EQ(result.status, TrackingStatus::kTracking);
  EXPECT_TRUE(result.is_keyframe);  // where it was found, once a second pair agrees
  EXPECT_LT(ErrorOf(result, OnTheRound(21)), 0.5);
}

// The second map comes round to where the first one began. With threads of its own, and with one that is shared.
TEST(Localizer, MapsThatMeetBecomeOne) {
  const auto threads = BackgroundThreads::Create("one", 1);
  ASSERT_TRUE(threads.ok());
  Driver own(CameraOfTest());
  Driver shared(CameraOfTest(), {}, 1, threads->get());
  for (Driver* driver : {&own, &shared}) {
    LocalizerResult result;
    for (int i = 0; i < 30; ++i) driver->Take(OnTheRound(i));
    driver->world.Close(true);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(driver->Take(OnTheRound(30)).status, TrackingStatus::kLost);
    driver->world.Close(false);
    int joined = -1;
    for (int i = 47; i < kLap + 25; ++i) {
      result = driver->Take(OnTheRound(i));
      if (i < 50) continue;
      EXPECT_EQ(result.status, i == 50 ? TrackingStatus::kNewMap : TrackingStatus::kTracking) << i;
      if (result.map_id == 0 && joined < 0) {
        joined = i;
        EXPECT_TRUE(result.loop_closed);
        EXPECT_TRUE(result.world_correction.has_value());
      }
      EXPECT_EQ(result.map_id, joined < 0 ? 1 : 0) << i;
      if (joined < 0) continue;
      EXPECT_LT(ErrorOf(result, OnTheRound(i)), 0.5) << i;
    }
    EXPECT_GT(joined, 60);
    EXPECT_LT(driver->step_error, 0.05);
    EXPECT_GT(driver->largest_jump, 1);
    EXPECT_EQ(KeyframesShown(*driver->localizer), result.keyframes);
  }
  ASSERT_EQ(own.path.size(), shared.path.size());
  for (size_t i = 0; i < own.path.size(); ++i) {
    EXPECT_EQ(own.path[i].translation, shared.path[i].translation) << i;
    EXPECT_EQ(own.path[i].rotation.coeffs(), shared.path[i].rotation.coeffs()) << i;
  }
}

TEST(Localizer, ABadFirstPairCostsThatPair) {
  Driver driver(CameraOfTest(), {}, PointsOfBothRounds(1));
  EXPECT_EQ(driver.Take(OnTheOtherRound(0)).status, TrackingStatus::kTracking);
  // Darkness is no reason to begin anew.
  driver.world.Close(true);
  EXPECT_EQ(driver.Take(OnTheRound(0)).status, TrackingStatus::kLost);
  driver.world.Close(false);
  LocalizerResult result = driver.Take(OnTheRound(0));
  EXPECT_EQ(result.status, TrackingStatus::kNewMap);
  EXPECT_EQ(result.map_id, 1);
  EXPECT_EQ(result.keyframes, 1);  // nothing is left of the other one
  for (int i = 1; i < 15; ++i) {
    result = driver.Take(OnTheRound(i));
    EXPECT_EQ(result.status, TrackingStatus::kTracking) << i;
    EXPECT_LT(ErrorOf(result, OnTheRound(i)), 0.3) << i;
  }
}

// What is full has no room for another map, and the camera is found where it was.
TEST(Localizer, AFullMapStaysTheOnlyOne) {
  LocalizerOptions options;
  options.max_keyframes = 10;
  Driver driver(CameraOfTest(), options, PointsOfBothRounds(1));
  for (int i = 0; i < 30; ++i) driver.Take(OnTheRound(i));
  for (int i = 0; i < 8; ++i) {
    const LocalizerResult result = driver.Take(OnTheOtherRound(i));
    EXPECT_THAT(result.status, testing::AnyOf(TrackingStatus::kCoasting, TrackingStatus::kLost)) << i;
    EXPECT_LE(result.keyframes, 10);
  }
  const LocalizerResult found = driver.Take(OnTheRound(5));
  EXPECT_EQ(found.status, TrackingStatus::kRelocalized);
  EXPECT_LT(ErrorOf(found, OnTheRound(5)), 0.5);
}

TEST(Localizer, KeepsToItsLimits) {
  LocalizerOptions options;
  options.max_keyframes = 10;
  Driver driver(CameraOfTest(), options);
  LocalizerResult result;
  int full = 0;  // frames; in others a redundant keyframe has made room
  for (int i = 0; i < 40; ++i) {
    result = driver.Take(OnTheRound(i));
    ASSERT_EQ(result.status, TrackingStatus::kTracking) << i;
    EXPECT_LE(result.keyframes, 10);
    full += result.map_full ? 1 : 0;
  }
  EXPECT_GE(full, 10);
  EXPECT_LT(ErrorOf(result, OnTheRound(39)), 0.5);
}

TEST(Localizer, TracksInRealTime) {
  LocalizerOptions options;
  options.mode = LocalizerMode::kRealtime;
  Driver driver(CameraOfTest(), options);
  // Far faster than any camera, so the adjustments may fall behind and the camera may be lost; it must not be misled.
  int tracked = 0;
  for (int i = 0; i < 40; ++i) {
    const LocalizerResult result = driver.Take(OnTheRound(i));
    if (result.status != TrackingStatus::kTracking || result.map_id != 0) continue;
    ++tracked;
    EXPECT_LT(ErrorOf(result, OnTheRound(i)), 0.5) << i;
  }
  EXPECT_GE(tracked, 5);
}

TEST(Localizer, RefusesWhatItCannotUse) {
  PointWorld world(CameraOfTest(), {}, 1);
  LocalizerOptions options;
  options.loop_delay = 0;
  EXPECT_THAT(std::string(Localizer::Create(CameraOfTest(), options, &world).status().message()),
              HasSubstr("loop_delay: 0 is not in 1..100"));
  StereoCamera camera = CameraOfTest();
  camera.baseline = 0;
  EXPECT_THAT(std::string(Localizer::Create(camera, {}, &world).status().message()), HasSubstr("camera.baseline: 0"));
  auto localizer = *Localizer::Create(CameraOfTest(), {}, &world);
  LocalizerResult result;
  const Image picture(800, 400);
  const Image small(799, 400);
  EXPECT_TRUE(absl::IsFailedPrecondition(localizer->SaveMap(testing::TempDir() + "none.map")));
  EXPECT_TRUE(absl::IsFailedPrecondition(localizer->Relocalize(picture, picture, &result)));
  EXPECT_THAT(std::string(localizer->Relocalize(picture, small, &result).message()),
              HasSubstr("right: 799x400 is not the camera's 800x400"));
  EXPECT_THAT(std::string(localizer->Track(small, picture, {}, &result).message()),
              HasSubstr("left: 799x400 is not the camera's 800x400"));
}

TEST(CalibrationWatch, WarnsWithFigures) {
  using ::testing::ElementsAre;
  const auto warnings = [](const CalibrationFigures& f, double angle = 0, double swapped_share = 0) {
    return WarningsOf(f, 1000, angle, swapped_share);
  };
  CalibrationFigures good;
  good.stereo_keypoints = 600;
  good.stereo_share = 0.6;
  good.median_disparity = 12;
  EXPECT_THAT(warnings(good, 0.001), testing::IsEmpty());
  EXPECT_THAT(warnings(good, 0.02), ElementsAre(IsWarning(WarningKind::kRigRotation, 0.02 * 57.29577951308232, "deg",
                                                          "camera seems to be turned by 1.15 degrees")));
  CalibrationFigures bad = good;
  bad.median_vertical_disparity = -3.25;
  EXPECT_THAT(warnings(bad),
              ElementsAre(IsWarning(WarningKind::kUnrectified, -3.25, "px", "vertical disparity of -3.2 pixels")));
  bad = good;
  bad.vertical_disparity_spread = 1.5;
  EXPECT_THAT(warnings(bad),
              ElementsAre(IsWarning(WarningKind::kVerticalDisparitySpread, 1.5, "px", "varies by 1.5 pixels")));
  bad = good;
  bad.median_disparity = -0.125;
  EXPECT_THAT(warnings(bad),
              ElementsAre(IsWarning(WarningKind::kNoDisparity, -0.125, "px", "is one image sent twice?")));
  bad = good;
  bad.speed = 400;
  EXPECT_THAT(warnings(bad), ElementsAre(IsWarning(WarningKind::kImplausibleSpeed, 400, "m/s", "400 m/s: baseline")));
  bad = {};
  bad.stereo_keypoints = 10;
  bad.stereo_share = 0.01;
  EXPECT_THAT(warnings(bad), ElementsAre(IsWarning(WarningKind::kDifferentScenes, 0.01, "1",
                                                   "only 1.0 % of 1000 keypoints are in both images")));
  EXPECT_THAT(warnings(bad, 0, 0.5),
              ElementsAre(IsWarning(WarningKind::kSwapped, 0.5, "1", "left and right seem to be exchanged: 1 %")));
}

}  // namespace
}  // namespace glint::slam
