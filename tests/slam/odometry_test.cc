// Odometry in a made-up world whose every pose is known.
#include "slam/odometry/odometry.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slam/front_end/frame_stamp.h"
#include "slam/front_end/lane_front_end.h"
#include "slam/geometry/trajectory.h"
#include "slam/odometry/keyframe_selector.h"
#include "slam/odometry/pose_finder.h"
#include "tests/slam/point_world.h"

namespace glint::slam {
namespace {

constexpr double kDegree = 0.017453292519943295;
constexpr int64_t kFrameNs = 100'000'000;

// Along the road, in gentle curves that stay on it: a metre a frame.
Pose OnTheRoad(int frame) {
  const double z = frame;
  const double heading = 0.08 * std::cos(0.08 * z);
  return {RotationOf({0, heading, 0}), {std::sin(0.08 * z), 0, z}};
}

struct Driver {
  explicit Driver(const StereoCamera& truth, uint32_t seed = 1, const OdometryOptions& options = {})
      : world(truth, 60, seed), odometry(CameraOfTest(), options, &world), picture(800, 400) {}

  OdometryResult Take(const Pose& pose) {
    world.Look(pose);
    OdometryResult result;
    const absl::Status status = odometry.Track(picture, picture, time_ns += kFrameNs, &result);
    EXPECT_TRUE(status.ok()) << status;
    path.push_back(result.world_from_camera);
    truth.push_back(pose);
    return result;
  }

  PointWorld world;
  Odometry odometry;
  const Image picture;
  int64_t time_ns = 0;
  std::vector<Pose> path, truth;
};

TEST(Odometry, FollowsTheRoad) {
  Driver driver(CameraOfTest());
  for (int i = 0; i < 60; ++i) {
    const OdometryResult r = driver.Take(OnTheRoad(i));
    ASSERT_EQ(r.status, TrackingStatus::kTracking) << i;
    if (i == 0) continue;
    EXPECT_GE(r.inliers, 50) << i;
    EXPECT_LT(r.mean_error, 1) << i;
    // The error is what the covariance says, which is a share of the way.
    const Pose true_pose = driver.truth[0].Inverse() * driver.truth.back();
    const Eigen::Vector3d error = (true_pose.Inverse() * r.world_from_camera).translation;
    const Eigen::Matrix3d covariance = r.covariance.bottomRightCorner<3, 3>();
    EXPECT_LT(error.dot(covariance.inverse() * error), 9) << i;
    EXPECT_GT(covariance(0, 0), 0);
    EXPECT_LT(std::sqrt(covariance(2, 2)), 0.1 + 0.006 * i) << i;
  }
  const PathErrors e = ComparePaths(driver.path, driver.truth);
  EXPECT_LE(e.end, 0.005 * e.length) << e.end;
  EXPECT_LE(e.absolute, 0.1) << e.absolute;
}

TEST(Odometry, GivesTheSameBytesAgain) {
  Driver a(CameraOfTest());
  Driver b(CameraOfTest());
  for (int i = 0; i < 30; ++i) {
    const Pose first = a.Take(OnTheRoad(i)).world_from_camera;
    const Pose second = b.Take(OnTheRoad(i)).world_from_camera;
    EXPECT_EQ(first.rotation.coeffs(), second.rotation.coeffs());
    EXPECT_EQ(first.translation, second.translation);
  }
}

TEST(Odometry, FindsTheRotationOfTheRig) {
  for (const Eigen::Vector3d& degrees : {Eigen::Vector3d{0.1, 0, 0}, {0, 0.1, 0}, {0, 0, 0.1}, {-0.06, 0.08, 0.05}}) {
    SCOPED_TRACE(testing::PrintToString(std::vector<double>(degrees.data(), degrees.data() + 3)));
    StereoCamera turned = CameraOfTest();
    turned.rig_rotation = kDegree * degrees;
    Driver driver(turned);
    OdometryResult last;
    for (int i = 0; i < 55; ++i) last = driver.Take(OnTheRoad(i));
    for (int axis = 0; axis < 3; ++axis) EXPECT_NEAR(last.rig_rotation[axis] / kDegree, degrees[axis], 0.01) << axis;
    const PathErrors e = ComparePaths(driver.path, driver.truth);
    EXPECT_LE(e.end, 0.01 * e.length) << e.end;

    OdometryOptions rigid;
    rigid.refine_rig = false;
    Driver unaware(turned, 1, rigid);
    for (int i = 0; i < 55; ++i) EXPECT_EQ(unaware.Take(OnTheRoad(i)).rig_rotation, Eigen::Vector3d::Zero());
    if (degrees.y() == 0) continue;  // the others hardly change disparities
    EXPECT_GT(ComparePaths(unaware.path, unaware.truth).end, 2 * e.end);
  }
}

TEST(Odometry, SurvivesMissingFrames) {
  Driver driver(CameraOfTest());
  for (int i = 0; i < 55; ++i) {
    // One in ten, and two in a row now and then.
    if (i % 10 == 7 || i % 30 == 8) {
      driver.time_ns += kFrameNs;
      continue;
    }
    EXPECT_EQ(driver.Take(OnTheRoad(i)).status, TrackingStatus::kTracking) << i;
  }
  const PathErrors e = ComparePaths(driver.path, driver.truth);
  EXPECT_LE(e.end, 0.0075 * e.length) << e.end;
}

TEST(Odometry, SaysAtOnceThatItIsLostAndFindsItsPlaceAgain) {
  Driver driver(CameraOfTest());
  for (int i = 0; i < 20; ++i) driver.Take(OnTheRoad(i));
  driver.world.Close(true);
  for (int i = 0; i < 30; ++i) {
    const OdometryResult r = driver.Take(OnTheRoad(19));
    EXPECT_EQ(r.status, TrackingStatus::kLost) << i;
    EXPECT_EQ(r.inliers, 0);
    EXPECT_FALSE(r.is_keyframe);
  }
  driver.world.Close(false);
  const OdometryResult again = driver.Take(OnTheRoad(19));
  EXPECT_EQ(again.status, TrackingStatus::kRelocalized);
  EXPECT_LT((again.world_from_camera.translation - (OnTheRoad(0).Inverse() * OnTheRoad(19)).translation).norm(), 0.2);
  EXPECT_EQ(driver.Take(OnTheRoad(20)).status, TrackingStatus::kTracking);
}

// Where a descriptor is found at several places, what is near the last pose tells them apart.
TEST(Odometry, FindsACameraThatStoodInTheDark) {
  Driver driver(CameraOfTest());
  driver.world.Repeat(4);
  for (int i = 0; i < 20; ++i) ASSERT_EQ(driver.Take(OnTheRoad(i)).status, TrackingStatus::kTracking) << i;
  driver.world.Close(true);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(driver.Take(OnTheRoad(19)).status, TrackingStatus::kLost);
  driver.world.Close(false);
  // Nothing is added to the map by a pair that may be a mistake; once two agree, the place is.
  const OdometryResult found = driver.Take(OnTheRoad(19));
  EXPECT_EQ(found.status, TrackingStatus::kRelocalized);
  EXPECT_FALSE(found.is_keyframe);
  for (int i = 0; i < 5; ++i) {
    const OdometryResult next = driver.Take(OnTheRoad(19));
    EXPECT_EQ(next.status, TrackingStatus::kTracking) << i;
    EXPECT_EQ(next.is_keyframe, i == 0) << i;
    EXPECT_LT((next.world_from_camera.translation - (OnTheRoad(0).Inverse() * OnTheRoad(19)).translation).norm(), 0.2);
  }
}

// A wall whose pattern is the same again after the step that the camera makes to the side, beside things that are there
// twice: a search near the last pose finds that the camera stands still, which many points agree with, but not most.
TEST(Odometry, APatternIsNotFollowedWhereMostDisagree) {
  constexpr double kWall = 10, kPeriod = 60 * kWall / 450;  // metres: 60 pixels, of three columns
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Eigen::Vector3d> points;
  std::vector<std::pair<size_t, size_t>> alike;
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 27; ++column) {
      if (column >= 3) alike.emplace_back(points.size() - 3, points.size());
      points.emplace_back((column - 13) * kPeriod / 3, (row - 3.5) * 0.8, kWall);
    }
  }
  for (int i = 0; i < 400; ++i) {
    const Eigen::Vector3d first(7 * uniform(random), 3.2 * uniform(random), kWall);
    alike.emplace_back(points.size(), points.size() + 1);
    points.push_back(first);
    const double angle = 3.14 * uniform(random);  // 3.5 pixels
    points.push_back(first + Eigen::Vector3d(kPeriod + 0.078 * std::cos(angle), 0.078 * std::sin(angle), 0));
  }
  for (int i = 0; i < 200; ++i) {
    const double z = 8.5 + 3 * uniform(random);
    points.emplace_back(0.7 * z * uniform(random), 0.35 * z * uniform(random), z);
  }
  PointWorld world(CameraOfTest(), points, 1);
  for (const auto& [first, second] : alike) world.MakeAlike(first, second);
  Odometry odometry(CameraOfTest(), {}, &world);
  OdometryResult result;
  const Image picture(800, 400);
  for (int i = 0; i < 2; ++i) {
    world.Look({Eigen::Quaterniond::Identity(), {i * kPeriod, 0, 0}});
    ASSERT_TRUE(odometry.Track(picture, picture, (i + 1) * kFrameNs, &result).ok());
  }
  EXPECT_EQ(result.status, TrackingStatus::kTracking);
  EXPECT_LT((result.world_from_camera.translation - Eigen::Vector3d(kPeriod, 0, 0)).norm(), 0.05);
}

// Points that are seen from so far away that their depths, and so their places here, are hardly known.
TEST(PoseFinder, WhatCannotDisagreeIsNoEvidence) {
  const StereoCamera camera = CameraOfTest();
  const Pose here{Eigen::Quaterniond::Identity(), {0, 0, -25}};
  for (const bool is_right : {false, true}) {
    std::mt19937 random(5);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<Eigen::Vector3d> points;
    for (int i = 0; i < 100; ++i) {
      // Those near the axis cannot be elsewhere, whatever their depth.
      const double side = is_right ? 1 : 12;
      points.emplace_back(side * (i % 2 == 0 ? 1 : -1) + uniform(random), 4 * uniform(random), 50);
    }
    PointWorld world(camera, points, 1);
    StereoFrame frame;
    LocalMap map;
    map.keyframes.push_back({0, Pose()});
    ASSERT_TRUE(world.Find({}, &frame).ok());
    ASSERT_EQ(frame.left.count(), points.size());
    for (size_t i = 0; i < points.size(); ++i) {
      const uint8_t* const descriptor = frame.left.descriptors.data() + 32 * i;
      map.points.push_back({static_cast<int64_t>(i), points[i], {descriptor, descriptor + 32}, 0, 50, {{0, 0, {}}}});
    }
    world.Look(here.Inverse());
    ASSERT_TRUE(world.Find({}, &frame).ok());
    ASSERT_EQ(frame.left.count(), points.size());
    for (size_t i = 0; i < points.size() && !is_right; ++i) {
      frame.left.x[i] += static_cast<float>(5 * uniform(random));
      frame.left.y[i] += static_cast<float>(5 * uniform(random));
      frame.is_stereo[i] = 0;
    }
    PoseFinder finder(30, {}, &world);
    FrameMatches matches;
    Pose pose = here;
    EXPECT_EQ(finder.Confirm({camera, map, /*reference_keyframe=*/-1, frame}, 40, &pose, &matches), is_right);
    EXPECT_GE(matches.fit.inliers, 40) << is_right;
  }
}

// Steps that no window holds: near points move by hundreds of pixels.
TEST(Odometry, FollowsASlowCamera) {
  for (const int step : {3, 6}) {
    Driver driver(CameraOfTest());
    for (int i = 0; i < 60; i += step) {
      driver.time_ns += (step - 1) * kFrameNs;
      EXPECT_EQ(driver.Take(OnTheRoad(i)).status, TrackingStatus::kTracking) << i;
    }
    const PathErrors e = ComparePaths(driver.path, driver.truth);
    EXPECT_LE(e.end, 0.02 * e.length) << e.end;
  }
}

TEST(Odometry, GoesOnAfterTheDarkWhileDriving) {
  Driver driver(CameraOfTest());
  for (int i = 0; i < 40; ++i) {
    driver.world.Close(i >= 20 && i < 24);
    const OdometryResult r = driver.Take(OnTheRoad(i));
    EXPECT_EQ(r.status, i < 20   ? TrackingStatus::kTracking
                        : i < 24 ? TrackingStatus::kLost
                        : i > 24 ? TrackingStatus::kTracking
                                 : TrackingStatus::kRelocalized)
        << i;
    if (i < 24) continue;
    EXPECT_LT((r.world_from_camera.translation - (OnTheRoad(0).Inverse() * OnTheRoad(i)).translation).norm(), 0.5) << i;
  }
}

// However few the first frame after a keyframe had.
TEST(KeyframeSelector, FewInliersAreAReason) {
  LocalMap map;
  map.keyframes.push_back({9, Pose()});
  FrameMatches matches;
  for (size_t i = 0; i < 120; ++i) {
    map.points.emplace_back();
    map.points[i].observations.push_back({9, 0, Observation()});
    map.points[i].observations[0].observation.pixel.left = {100, 100};
    Observation now;
    now.pixel.left = {110, 100};
    matches.correspondences.push_back({Eigen::Vector3d::Zero(), now});
    matches.landmark.push_back(i);
  }
  matches.fit.is_inlier.assign(120, 1);
  KeyframeSelector selector(0.75, 5);
  for (const auto& [inliers, is_due] : {std::pair(110, false), {101, false}, {99, true}, {64, true}}) {
    matches.fit.inliers = inliers;
    EXPECT_EQ(selector.IsDue(map, 9, 10, 0, matches), is_due) << inliers;
  }
  // The more the frame measures itself, the more are few.
  for (const auto& [measured, is_due] : {std::pair(size_t{300}, false), {size_t{420}, true}, {size_t{2000}, true}}) {
    matches.fit.inliers = 120;
    EXPECT_EQ(selector.IsDue(map, 9, 10, measured, matches), is_due) << measured;
  }
  matches.fit.inliers = 151;
  EXPECT_FALSE(selector.IsDue(map, 9, 10, 2000, matches));
  // A camera that stands needs none.
  for (Correspondence& c : matches.correspondences) c.observation.pixel.left.x() = 101;
  matches.fit.inliers = 90;
  EXPECT_FALSE(selector.IsDue(map, 9, 10, 0, matches));
}

// Nothing but what is near, at both sides of the picture: all of it is gone after four frames, and errors of depths
// show.
TEST(Odometry, TracksWhereAllIsNear) {
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<Eigen::Vector3d> points;
    for (int i = 0; i < 9000; ++i) {
      const double side = i % 2 == 0 ? 1 : -1;
      points.emplace_back(side * (2.5 + 2 * uniform(random)), 3 * uniform(random) - 1.5, 110 * uniform(random));
    }
    PointWorld world(CameraOfTest(), points, seed);
    world.SeeUpTo(9);
    Odometry odometry(CameraOfTest(), {}, &world);
    const Image picture(800, 400);
    OdometryResult r;
    for (int i = 0; i < 60; ++i) {
      world.Look({Eigen::Quaterniond::Identity(), {0, 0, 1.2 * i}});
      ASSERT_TRUE(odometry.Track(picture, picture, (i + 1) * kFrameNs, &r).ok());
      EXPECT_EQ(r.status, TrackingStatus::kTracking) << seed << " " << i << " " << r.inliers << " of " << r.matches;
    }
    EXPECT_LT((r.world_from_camera.translation - Eigen::Vector3d(0, 0, 1.2 * 59)).norm(), 0.8) << seed;
  }
}

// Points too far for the map are no beginning: their disparities are 0.56 pixels.
TEST(Odometry, DoesNotBeginWithWhatIsFarAway) {
  std::vector<Eigen::Vector3d> far;
  for (int i = 0; i < 400; ++i) far.emplace_back(30 * (i % 20 - 9.5), 15 * (i / 20 - 9.5), 400);
  PointWorld world(CameraOfTest(), far, 1);
  world.SeeUpTo(1000);
  world.SetNoise(0);
  Odometry odometry(CameraOfTest(), {}, &world);
  OdometryResult result;
  const Image picture(800, 400);
  ASSERT_TRUE(odometry.Track(picture, picture, 1, &result).ok());
  EXPECT_GT(std::count(odometry.frame().is_stereo.begin(), odometry.frame().is_stereo.end(), 1), 300);
  EXPECT_EQ(result.status, TrackingStatus::kInitializing);
}

// Rectangles at random, all `disparity` pixels apart in the two eyes.
std::pair<Image, Image> FlatScene(int disparity) {
  std::mt19937 random(3);
  std::pair<Image, Image> eyes{Image(800, 400), Image(800, 400)};
  Image wide(800 + disparity, 400);
  for (int y = 0; y < 400; ++y) std::fill(wide.row(y), wide.row(y) + wide.width(), uint8_t{90});
  for (int i = 0; i < 600; ++i) {
    const int x = static_cast<int>(random() % 790), y = static_cast<int>(random() % 380);
    const int right = std::min(wide.width(), x + 8 + static_cast<int>(random() % 40));
    const int bottom = std::min(400, y + 8 + static_cast<int>(random() % 30));
    const auto grey = static_cast<uint8_t>(random());
    for (int row = y; row < bottom; ++row) std::fill(wide.row(row) + x, wide.row(row) + right, grey);
  }
  for (int y = 0; y < 400; ++y) {
    std::copy(wide.row(y), wide.row(y) + 800, eyes.first.row(y));
    std::copy(wide.row(y) + disparity, wide.row(y) + disparity + 800, eyes.second.row(y));
  }
  return eyes;
}

TEST(Odometry, BlackPicturesLoseTheCameraAndNothingElse) {
  LaneFrontEnd front_end(*PresetOptions("orb"), 1);
  Odometry odometry(CameraOfTest(), {}, &front_end);
  const auto [left, right] = FlatScene(20);
  Image black(800, 400);
  for (int y = 0; y < 400; ++y) std::fill(black.row(y), black.row(y) + 800, uint8_t{0});
  OdometryResult result;
  int64_t time_ns = 0;
  const auto take = [&](const Image& l, const Image& r) {
    const absl::Status status = odometry.Track(l, r, time_ns += kFrameNs, &result);
    EXPECT_TRUE(status.ok()) << status;
    return result.status;
  };
  EXPECT_EQ(take(black, black), TrackingStatus::kInitializing);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(take(left, right), TrackingStatus::kTracking) << i;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(take(black, black), TrackingStatus::kLost) << i;
  EXPECT_EQ(take(left, right), TrackingStatus::kRelocalized);
  EXPECT_LT(result.world_from_camera.translation.norm(), 0.02);
  EXPECT_EQ(take(left, right), TrackingStatus::kTracking);
}

TEST(Odometry, WaitsForSomethingToSee) {
  Driver driver(CameraOfTest());
  driver.world.Close(true);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(driver.Take(OnTheRoad(0)).status, TrackingStatus::kInitializing);
  driver.world.Close(false);
  const OdometryResult first = driver.Take(OnTheRoad(0));
  EXPECT_EQ(first.status, TrackingStatus::kTracking);
  EXPECT_TRUE(first.is_keyframe);
}

TEST(Odometry, StaysWhereItStands) {
  Driver driver(CameraOfTest());
  Pose last;
  for (int i = 0; i < 95; ++i) last = driver.Take(OnTheRoad(3)).world_from_camera;
  EXPECT_LE(last.translation.norm(), 0.002);
}

TEST(Odometry, RefusesWhatItCannotUse) {
  using ::testing::HasSubstr;
  Driver driver(CameraOfTest());
  OdometryResult result;
  const Image small(799, 400);
  const auto error = [&](const Image& left, const Image& right, int64_t time_ns) {
    return std::string(driver.odometry.Track(left, right, time_ns, &result).message());
  };
  EXPECT_THAT(error(small, driver.picture, 0), HasSubstr("left: 799x400 is not the camera's 800x400"));
  EXPECT_THAT(error(driver.picture, small, 0), HasSubstr("right: 799x400 is not the camera's 800x400"));
  driver.Take(OnTheRoad(0));
  for (const int64_t time_ns : {kFrameNs, int64_t{0}, std::numeric_limits<int64_t>::min()}) {
    EXPECT_THAT(error(driver.picture, driver.picture, time_ns),
                HasSubstr(absl::StrCat("time_ns: ", time_ns, " is not above the last pair's, 100000000")));
  }
  EXPECT_EQ(driver.Take(OnTheRoad(1)).status, TrackingStatus::kTracking);
}

// A clock may count from any moment on, and finer than a double has digits.
TEST(Odometry, TakesTimesOfAnyClock) {
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min(), kLast = std::numeric_limits<int64_t>::max();
  Driver driver(CameraOfTest());
  for (const int64_t time_ns : {kFirst, kFirst + 1, kFirst + 2, kFirst + 2 + kFrameNs, kLast - 1, kLast}) {
    OdometryResult result;
    driver.world.Look(OnTheRoad(0));
    EXPECT_TRUE(driver.odometry.Track(driver.picture, driver.picture, time_ns, &result).ok()) << time_ns;
    EXPECT_EQ(result.status, TrackingStatus::kTracking) << time_ns;
    EXPECT_LT(result.world_from_camera.translation.norm(), 0.05) << time_ns;
  }
}

// The bytes of poses depend on how an interval is computed.
TEST(FrameStamp, SecondsAreRoundedBeforeTheyAreSubtracted) {
  constexpr int64_t kToday = 1'764'320'000'123'456'789;
  EXPECT_EQ(SecondsBetween(0, kFrameNs), 0.1);
  EXPECT_EQ(SecondsBetween(kToday, kToday + kFrameNs), 1764320000.2234569 - 1764320000.123457);
  EXPECT_EQ(SecondsBetween(kToday, kToday + 1), 1e-9);
  EXPECT_EQ(SecondsBetween(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()),
            2 * 9223372036.854776);
}

TEST(Odometry, ChecksOptionsAndCameras) {
  using ::testing::HasSubstr;
  EXPECT_TRUE(ValidateOdometryOptions({}).ok());
  OdometryOptions options;
  options.window = 1;
  EXPECT_THAT(std::string(ValidateOdometryOptions(options).message()), HasSubstr("window: 1 is not in 2..100"));
  options = {};
  options.noise.vertical_disparity = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(std::string(ValidateOdometryOptions(options).message()), HasSubstr("noise.vertical_disparity: nan"));

  EXPECT_TRUE(ValidateStereoCamera(CameraOfTest()).ok());
  StereoCamera camera = CameraOfTest();
  camera.baseline = 0;
  EXPECT_THAT(std::string(ValidateStereoCamera(camera).message()),
              HasSubstr("camera.baseline: 0 is not in 0.001..100"));
  camera = CameraOfTest();
  camera.focal_length = 79;
  EXPECT_THAT(std::string(ValidateStereoCamera(camera).message()),
              HasSubstr("camera.focal_length: 79 is not in 80..8000"));
  camera = CameraOfTest();
  camera.rig_rotation.x() = 0.03;
  EXPECT_THAT(std::string(ValidateStereoCamera(camera).message()),
              HasSubstr("camera.rig_rotation: 0.03 is not in -0.02..0.02"));
}

}  // namespace
}  // namespace glint::slam
