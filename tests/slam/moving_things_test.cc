// Things that move in front of a camera, and hold more of its keypoints than the world does.
#include "slam/odometry/moving_things.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "slam/localizer.h"
#include "tests/slam/point_world.h"

namespace glint::slam {
namespace {

// Points before a camera that is at `camera_from_world` for a part of them, and elsewhere for the others.
class TwoMotions {
 public:
  explicit TwoMotions(uint32_t seed) : random_(seed) {}

  void Add(int points, bool is_proven, const Pose& camera_from_world) {
    for (int i = 0; i < points; ++i) {
      const Eigen::Vector3d p(6 * Uniform(), 3 * Uniform(), 12 + 6 * Uniform());
      Correspondence c;
      c.point = camera_from_world.Inverse() * p;
      c.observation.pixel = Project(camera_, p);
      c.observation.pixel.left += 0.3 * Eigen::Vector2d(Uniform(), Uniform());
      c.observation.pixel.disparity += 0.2 * Uniform();
      c.observation.is_stereo = true;
      c.observation.position_sigma = 0.3;
      c.observation.disparity_sigma = c.observation.vertical_disparity_sigma = 0.15;
      correspondences_.push_back(c);
      is_proven_.push_back(is_proven ? 1 : 0);
    }
  }
  // From a fit that begins at `begin`.
  MovingThings::Verdict Judge(const Pose& begin, const Pose& prediction) {
    pose_ = begin;
    PoseSolver().Refine(camera_, correspondences_, &pose_, &fit_);
    fitted_ = pose_;
    return things_.Judge({camera_, correspondences_, is_proven_, prediction, nullptr, 1, 0.6}, &pose_, &fit_);
  }

  Pose pose_, fitted_;
  PoseFit fit_;
  MovingThings things_;

 private:
  double Uniform() { return std::uniform_real_distribution<double>(-1, 1)(random_); }

  const StereoCamera camera_ = CameraOfTest();
  std::mt19937 random_;
  std::vector<Correspondence> correspondences_;
  std::vector<uint8_t> is_proven_;
};

const Pose kWorld{Eigen::Quaterniond::Identity(), {0, 0, -0.5}}, kThing{Eigen::Quaterniond::Identity(), {0.4, 0, -0.5}};

double Between(const Pose& a, const Pose& b) { return (a * b.Inverse()).translation.norm(); }

TEST(MovingThings, NewPointsDoNotOutvoteProvenOnes) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    TwoMotions seen(seed);
    seen.Add(40, /*is_proven=*/true, kWorld);
    seen.Add(20, /*is_proven=*/false, kWorld);
    seen.Add(200, /*is_proven=*/false, kThing);
    EXPECT_EQ(seen.Judge(kThing, kWorld), MovingThings::Verdict::kReplaced) << seed;
    EXPECT_LT(Between(seen.fitted_, kThing), 0.02) << seed;  // it is one that would
    EXPECT_LT(Between(seen.pose_, kWorld), 0.02) << seed;
    EXPECT_NEAR(seen.fit_.inliers, 60, 6) << seed;
    EXPECT_EQ(std::count(seen.fit_.is_inlier.begin(), seen.fit_.is_inlier.end(), 1), seen.fit_.inliers) << seed;
  }
}

// A vehicle starts that was there all the time.
TEST(MovingThings, OfTwoProvenMotionsTheExpectedOneIsTheWorlds) {
  TwoMotions seen(1);
  seen.Add(60, /*is_proven=*/true, kWorld);
  seen.Add(100, /*is_proven=*/true, kThing);
  EXPECT_EQ(seen.Judge(kThing, kWorld), MovingThings::Verdict::kReplaced);
  EXPECT_LT(Between(seen.pose_, kWorld), 0.02);
}

TEST(MovingThings, WhatNothingTellsIsSaid) {
  TwoMotions seen(1);
  seen.Add(80, /*is_proven=*/true, kWorld);
  seen.Add(90, /*is_proven=*/true, kThing);
  const Pose between{Eigen::Quaterniond::Identity(), {0.2, 0, -0.5}};
  EXPECT_EQ(seen.Judge(kThing, between), MovingThings::Verdict::kUnclear);
  EXPECT_GT(3 * std::sqrt(seen.fit_.covariance(3, 3)), 0.35);
}

TEST(MovingThings, OneMotionWithOutliersIsLeftAsItIs) {
  TwoMotions seen(1);
  seen.Add(60, /*is_proven=*/true, kWorld);
  seen.Add(60, /*is_proven=*/false, kWorld);
  for (int i = 0; i < 50; ++i) {
    seen.Add(1, /*is_proven=*/true, {Eigen::Quaterniond::Identity(), {0.3 * (i % 7 - 3), 0.2 * (i % 5 - 2), 1}});
  }
  EXPECT_EQ(seen.Judge(kWorld, kWorld), MovingThings::Verdict::kOneMotion);
  EXPECT_EQ(seen.pose_.translation, seen.fitted_.translation);
}

TEST(MovingThings, NothingIsJudgedByAHandful) {
  TwoMotions seen(1);
  seen.Add(14, /*is_proven=*/true, kWorld);
  seen.Add(100, /*is_proven=*/false, kThing);
  EXPECT_EQ(seen.Judge(kThing, kWorld), MovingThings::Verdict::kOneMotion);
}

// Seven of eleven against four are no evidence: points of one world may fit two poses so.
TEST(MovingThings, AFewProvenPointsDecideNothing) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    TwoMotions seen(seed);
    seen.Add(140, /*is_proven=*/false, kThing);
    seen.Add(4, /*is_proven=*/true, kThing);
    seen.Add(50, /*is_proven=*/false, kWorld);
    seen.Add(7, /*is_proven=*/true, kWorld);
    EXPECT_NE(seen.Judge(kThing, kThing), MovingThings::Verdict::kReplaced) << seed;
    EXPECT_FALSE(seen.things_.is_alert());
  }
}

// A prediction that neither motion is near tells nothing of either.
TEST(MovingThings, NothingDecidesWhereThePredictionIsWrong) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    TwoMotions seen(seed);
    seen.Add(200, /*is_proven=*/false, kThing);
    seen.Add(40, /*is_proven=*/true, kWorld);
    const Pose far{Eigen::Quaterniond::Identity(), {-0.7, 0.6, -0.5}};
    EXPECT_NE(seen.Judge(kThing, far), MovingThings::Verdict::kReplaced) << seed;
    EXPECT_EQ(seen.Judge(kThing, kWorld), MovingThings::Verdict::kReplaced) << seed;
  }
}

// Of the points in view: the figures are those of a board that cut in ahead, and of right poses after gaps.
TEST(MovingThings, APoseThatLeavesOutProvenPointsIsAThings) {
  EXPECT_TRUE(MovingThings::LeavesOutProven({82, 1, 1281, 353}));
  EXPECT_TRUE(MovingThings::LeavesOutProven({96, 0, 1386, 399}));
  EXPECT_FALSE(MovingThings::LeavesOutProven({41, 1, 350, 76}));
  EXPECT_FALSE(MovingThings::LeavesOutProven({39, 2, 319, 63}));
  EXPECT_FALSE(MovingThings::LeavesOutProven({83, 0, 284, 3}));  // three points are no evidence
  EXPECT_FALSE(MovingThings::LeavesOutProven({60, 0, 0, 0}));
}

// Until then no other map is begun, which would be of the thing.
TEST(MovingThings, ASuspicionIsAnAlert) {
  MovingThings things;
  EXPECT_FALSE(things.is_alert());
  things.Suspect();
  EXPECT_TRUE(things.is_alert());
  things.Forget();
  EXPECT_FALSE(things.is_alert());
}

TEST(MovingThings, TheAlertEndsWithFramesOrTimeAndTheDoubtWithAPose) {
  const std::vector<uint8_t> all_new(100, 0), inliers(100, 1);
  for (const auto& [seconds, frames] : {std::pair(0.05, 30), {0.5, 6}, {5.0, 1}}) {
    TwoMotions seen(1);
    seen.Add(200, /*is_proven=*/false, kThing);
    seen.Add(60, /*is_proven=*/true, kWorld);
    ASSERT_EQ(seen.Judge(kThing, kWorld), MovingThings::Verdict::kReplaced);
    int counted = 0;
    for (; seen.things_.is_alert(); ++counted) seen.things_.CountFrame(seconds);
    EXPECT_EQ(counted, frames);
    EXPECT_TRUE(seen.things_.IsOfNewPoints(all_new, inliers, /*is_known=*/false));
    seen.things_.Located();
    EXPECT_FALSE(seen.things_.IsOfNewPoints(all_new, inliers, /*is_known=*/false));
  }
}

// What a localizer says while a board passes that hides `share` of the picture's width, and has most of the keypoints.
struct Passage {
  double worst = 0;  // metres, of poses that are located
  int warned = 0, located = 0, pairs = 0;
};
struct Scene {
  double points = 700;  // of a board as wide as the picture
  size_t most_keypoints = std::numeric_limits<size_t>::max();
  double jump = 0;  // metres that the camera is aside in one pair
};
Passage Pass(double share, double speed, uint32_t seed, const Scene& scene = {}) {
  constexpr double kDistance = 8;
  const StereoCamera camera = CameraOfTest();
  const double half = 0.5 * camera.image.width / camera.focal_length * kDistance, out = half * (1.1 + share);
  std::mt19937 random(seed + 50);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Eigen::Vector3d> board(static_cast<size_t>(scene.points * share)), at(board.size());
  for (Eigen::Vector3d& p : board) p = {share * half * uniform(random), 2.7 * uniform(random), 0.3 * uniform(random)};
  PointWorld world(camera, 60, seed);
  world.SetMost(scene.most_keypoints);
  const auto localizer = *Localizer::Create(camera, {}, &world);
  const Image picture(800, 400);
  Passage passage;
  for (int i = 0; i < 45; ++i) {
    const double z = speed * i, s = (i - 12) / 15.0 - 1;  // it stops in the middle
    for (size_t k = 0; k < board.size(); ++k) {
      at[k] = i >= 12 ? Eigen::Vector3d(board[k] + Eigen::Vector3d(out * s * std::abs(s), 0, z + kDistance))
                      : Eigen::Vector3d(0, 0, -1000);
    }
    world.PutThing(at);
    const Eigen::Vector3d truth(i == 26 ? scene.jump : 0, 0, z);
    world.Look({Eigen::Quaterniond::Identity(), truth});
    LocalizerResult result;
    EXPECT_TRUE(localizer->Track(picture, picture, {0, (i + 1) * int64_t{100'000'000}}, &result).ok());
    ++passage.pairs;
    for (const Warning& w : result.warnings) passage.warned += w.kind == WarningKind::kMovingScene ? 1 : 0;
    if (result.status != TrackingStatus::kTracking) continue;
    ++passage.located;
    passage.worst = std::max(passage.worst, (result.world_from_camera.translation - truth).norm());
  }
  return passage;
}

TEST(MovingThings, ABoardDoesNotCarryACameraAlong) {
  for (const double speed : {0.0, 0.8}) {
    for (const double share : {0.4, 0.6}) {
      for (uint32_t seed = 1; seed <= 2; ++seed) {
        const Passage passage = Pass(share, speed, seed);
        EXPECT_LT(passage.worst, 0.15) << speed << " " << share << " " << seed;
        EXPECT_EQ(passage.located, passage.pairs) << speed << " " << share << " " << seed;
      }
    }
  }
}

// It holds nearly all that a picture can have, and drives ahead from the middle of the drive on.
TEST(MovingThings, ABoardFullOfCornersLeavesTheCameraItsWorld) {
  for (const double share : {0.4, 0.6}) {
    for (uint32_t seed = 1; seed <= 3; ++seed) {
      const Passage passage = Pass(share, 0.8, seed, {/*points=*/2000, /*most_keypoints=*/300});
      EXPECT_LT(passage.worst, 0.15) << share << " " << seed;
      EXPECT_EQ(passage.located, passage.pairs) << share << " " << seed;
      EXPECT_GT(passage.warned, 20) << share << " " << seed;
    }
  }
}

// What few points say then is not believed if it is far from what was expected; elsewhere it is.
TEST(MovingThings, BesideABoardNoPoseIsTakenThatNothingForeshadowed) {
  for (uint32_t seed = 1; seed <= 2; ++seed) {
    Scene scene;
    scene.jump = 3;
    const Passage with = Pass(0.4, 0.8, seed, scene), without = Pass(0, 0.8, seed, scene);
    EXPECT_EQ(with.located, with.pairs - 1) << seed;
    EXPECT_EQ(without.located, without.pairs) << seed;
    EXPECT_LT(with.worst, 0.15) << seed;
    EXPECT_LT(without.worst, 0.15) << seed;
  }
}

TEST(MovingThings, NothingIsWarnedOfWhereNothingMoves) {
  for (const double speed : {0.0, 0.8}) EXPECT_EQ(Pass(0, speed, 1).warned, 0) << speed;
}

}  // namespace
}  // namespace glint::slam
