// Poses, cameras, the pose solver and the measures of a path, on values that are known.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "slam/estimate/pose_solver.h"
#include "slam/geometry/stereo_camera.h"
#include "slam/geometry/trajectory.h"

namespace glint::slam {
namespace {

using ::testing::HasSubstr;

StereoCamera Camera() { return {{640, 480}, 500, 320, 240, 0.2, {0.001, -0.0015, 0.002}}; }
Pose SomePose() { return {RotationOf({0.1, -0.2, 0.3}), {1, -2, 3}}; }

TEST(Pose, InvertsAndComposes) {
  const Pose pose = SomePose();
  const Eigen::Vector3d p(0.3, 0.7, -2);
  EXPECT_LT((pose.Inverse() * (pose * p) - p).norm(), 1e-14);
  EXPECT_LT(((pose * pose) * p - pose * (pose * p)).norm(), 1e-14);
  EXPECT_NEAR(AngleOf(pose.rotation), Eigen::Vector3d(0.1, -0.2, 0.3).norm(), 1e-15);
  EXPECT_LT(
      RotationOf({1e-9, 0, 0}).angularDistance(Eigen::Quaterniond(Eigen::AngleAxisd(1e-9, Eigen::Vector3d::UnitX()))),
      1e-15);
}

TEST(StereoCamera, TriangulatesWhatItProjects) {
  StereoCamera camera = Camera();
  const Eigen::Vector3d p(0.8, -0.5, 6);
  const StereoPixel pixel = Project(camera, p);
  EXPECT_NEAR(pixel.left.x(), 320 + 500 * 0.8 / 6, 1e-12);
  Eigen::Vector3d found;
  ASSERT_TRUE(Triangulate(camera, pixel.left.x(), pixel.left.y(), pixel.disparity, &found));
  // The right row is taken for the left one.
  EXPECT_LT((found - p).norm(), 0.05);
  camera.rig_rotation.setZero();
  const StereoPixel level = Project(camera, p);
  EXPECT_EQ(level.vertical_disparity, 0);
  ASSERT_TRUE(Triangulate(camera, level.left.x(), level.left.y(), level.disparity, &found));
  EXPECT_LT((found - p).norm(), 1e-12);
  EXPECT_FALSE(Triangulate(camera, 100, 100, 0, &found));
  EXPECT_FALSE(Triangulate(camera, 100, 100, -1, &found));
}

// `count` points and how `pose` sees them; every `bad`th observation is of another place.
std::vector<Correspondence> Correspondences(const Pose& pose, int count, int bad) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> share(-1, 1);
  std::normal_distribution<double> noise(0, 0.2);
  std::vector<Correspondence> correspondences;
  for (int i = 0; i < count; ++i) {
    const Eigen::Vector3d p(4 * share(random), 3 * share(random), 8 + 5 * share(random));
    Correspondence s;
    s.point = pose.Inverse() * p;
    s.observation.pixel = Project(Camera(), p);
    s.observation.is_stereo = i % 4 != 0;
    s.observation.position_sigma = s.observation.disparity_sigma = s.observation.vertical_disparity_sigma = 0.2;
    s.observation.pixel.left += Eigen::Vector2d(noise(random), noise(random));
    s.observation.pixel.disparity += noise(random);
    s.observation.pixel.vertical_disparity += noise(random);
    if (bad > 0 && i % bad == 0) s.observation.pixel.left += Eigen::Vector2d(60 * share(random) + 90, 40);
    correspondences.push_back(s);
  }
  return correspondences;
}

TEST(PoseSolver, FindsThePoseAmongOutliers) {
  const Pose truth = SomePose();
  const std::vector<Correspondence> correspondences = Correspondences(truth, 300, 3);
  Pose pose;
  PoseSolver solver;
  ASSERT_TRUE(solver.Find(Camera(), correspondences, 50, &pose));
  PoseFit fit;
  solver.Refine(Camera(), correspondences, &pose, &fit);
  EXPECT_GE(fit.inliers, 180);
  EXPECT_LE(fit.inliers, 200);
  for (size_t i = 0; i < correspondences.size(); i += 3) EXPECT_EQ(fit.is_inlier[i], 0) << i;
  const Pose off = truth.Inverse() * pose;
  EXPECT_LT(AngleOf(off.rotation), 5 * std::sqrt(fit.covariance.topLeftCorner<3, 3>().trace()));
  EXPECT_LT(off.translation.norm(), 5 * std::sqrt(fit.covariance.bottomRightCorner<3, 3>().trace()));
  EXPECT_LT(off.translation.norm(), 0.02);
}

// What looks alike in a window around the last pose: most matches are wrong, and all of these are near where the camera
// would see them had it not moved.
TEST(PoseSolver, WrongMatchesDoNotPullThePoseAway) {
  const Pose truth = SomePose(), last = Pose{RotationOf({0.02, 0.05, -0.01}), {0.3, -0.1, 1.2}} * truth;
  std::vector<Correspondence> correspondences = Correspondences(truth, 300, 0);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> within(-40, 40);
  for (size_t i = 0; i < correspondences.size(); ++i) {
    Observation& observation = correspondences[i].observation;
    if (i % 5 == 1) continue;
    observation.pixel = Project(Camera(), last * correspondences[i].point);
    observation.pixel.left += Eigen::Vector2d(within(random), within(random));
    observation.pixel.disparity += within(random) / 10;
  }
  PoseSolver solver;
  Pose pose;
  ASSERT_TRUE(solver.Find(Camera(), correspondences, 15, &pose));
  PoseFit fit;
  solver.RefineFound(Camera(), correspondences, &pose, &fit);
  EXPECT_GE(fit.inliers, 50);
  const Pose off = truth.Inverse() * pose;
  EXPECT_LT(AngleOf(off.rotation), 0.003);
  EXPECT_LT(off.translation.norm(), 0.03);
}

TEST(PoseSolver, FindsNothingInNoise) {
  Pose pose;
  PoseSolver solver;
  EXPECT_FALSE(solver.Find(Camera(), {}, 10, &pose));
  EXPECT_FALSE(solver.Find(Camera(), Correspondences(SomePose(), 2, 0), 10, &pose));
  std::vector<Correspondence> correspondences = Correspondences(SomePose(), 200, 0);
  for (size_t i = 0; i < correspondences.size(); ++i)
    correspondences[i].point = correspondences[(i + 71) % correspondences.size()].point;
  EXPECT_FALSE(solver.Find(Camera(), correspondences, 30, &pose));
}

TEST(ComparePaths, MeasuresWhatIsKnown) {
  std::vector<Pose> truth(11);
  for (int i = 0; i <= 10; ++i) truth[static_cast<size_t>(i)].translation.z() = i;
  std::vector<Pose> longer = truth;
  for (Pose& pose : longer) pose.translation *= 1.01;
  PathErrors e = ComparePaths(longer, truth);
  EXPECT_DOUBLE_EQ(e.length, 10);
  EXPECT_NEAR(e.end, 0.1, 1e-12);
  EXPECT_NEAR(e.relative, 0.01, 1e-12);
  EXPECT_NEAR(e.relative_angle, 0, 1e-12);
  // -0.05..0.05 after alignment of the centres.
  EXPECT_NEAR(e.absolute, std::sqrt(0.001), 1e-9);

  std::vector<Pose> moved = truth;
  for (Pose& pose : moved) pose = SomePose() * pose;
  e = ComparePaths(moved, truth);
  EXPECT_NEAR(e.end, 0, 1e-12);
  EXPECT_NEAR(e.absolute, 0, 1e-9);
}

TEST(KittiPoses, AreReadAsTheyAreWritten) {
  const std::string path = ::testing::TempDir() + "/poses.txt";
  std::ofstream(path) << KittiLine({}) << KittiLine(SomePose());
  const auto poses = ReadKittiPoses(path);
  ASSERT_TRUE(poses.ok()) << poses.status();
  ASSERT_EQ(poses->size(), 2);
  EXPECT_LT(((*poses)[1].translation - SomePose().translation).norm(), 1e-8);
  EXPECT_LT((*poses)[1].rotation.angularDistance(SomePose().rotation), 1e-8);

  for (const std::string bad :
       {"1 0 0 0 0 1 0 0 0 0 1", "1 0 0 0 0 1 0 0 0 0 1 0 7", "1 0 0 0 0 1 0 0 0 0 2 0", "1 0 0 x 0 1 0 0 0 0 1 0"}) {
    std::ofstream(path) << KittiLine({}) << bad << "\n";
    EXPECT_THAT(std::string(ReadKittiPoses(path).status().message()), HasSubstr("line 2 is not 12 numbers")) << bad;
  }
  EXPECT_EQ(ReadKittiPoses(path + ".none").status().code(), absl::StatusCode::kNotFound);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace glint::slam
