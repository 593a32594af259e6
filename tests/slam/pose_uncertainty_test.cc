// How uncertain poses are, beside many poses that were fitted to points with errors, and along graphs of keyframes.
#include "slam/estimate/pose_uncertainty.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "slam/estimate/pose_solver.h"
#include "slam/inertial/rotation_vector.h"
#include "slam/map/drift.h"
#include "slam/map/global_map.h"

namespace glint::slam {
namespace {

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

StereoCamera CameraOfTest() { return {{800, 400}, 450, 402, 196, 0.5, {0.001, -0.002, 0.0015}}; }

Vector6 IncrementFrom(const Pose& from, const Pose& to) {
  const Pose between = to * from.Inverse();
  Vector6 increment;
  increment << RotationVectorOf(between.rotation), between.translation;
  return increment;
}

// A keyframe at the world's origin that sees points, whose depths it has of its disparities, and a camera that is
// located by them a metre on.
class Scene {
 public:
  Scene() {
    std::uniform_real_distribution<double> share(0, 1);
    for (int i = 0; i < 150; ++i) {
      points_.emplace_back(-6 + 12 * share(random_), -3 + 5 * share(random_), 6 + 14 * share(random_));
    }
  }

  // The error of a fit: the increment from the true pose. Disparities at the keyframe and all that the camera sees have
  // noise of so many times what the fit takes them to have; the rig that is believed is turned by an error.
  Vector6 Fit(double noise, const Eigen::Vector3d& rig_error) {
    StereoCamera believed = camera_;
    believed.rig_rotation = RotationVectorOf(RotationOf(rig_error) * RotationOf(camera_.rig_rotation));
    std::vector<Correspondence> correspondences;
    const auto normal = [&](double sigma) { return noise * sigma * normal_(random_); };
    for (size_t i = 0; i < points_.size(); ++i) {
      const StereoPixel at_keyframe = Project(camera_, points_[i]);
      Correspondence c;
      EXPECT_TRUE(Triangulate(believed, at_keyframe.left.x(), at_keyframe.left.y(),
                              at_keyframe.disparity + normal(kDisparity), &c.point));
      c.observation.pixel = Project(camera_, true_pose_ * points_[i]);
      c.observation.pixel.left += Eigen::Vector2d(normal(kPosition), normal(kPosition));
      c.observation.pixel.disparity += normal(kDisparity);
      c.observation.pixel.vertical_disparity += normal(kVertical);
      c.observation.is_stereo = true;
      c.observation.position_sigma = kPosition;
      c.observation.disparity_sigma = kDisparity;
      c.observation.vertical_disparity_sigma = kVertical;
      correspondences.push_back(c);
    }
    Pose pose = true_pose_;
    solver_.Refine(believed, correspondences, &pose, &fit_);
    EXPECT_EQ(fit_.inliers, static_cast<int>(points_.size()));
    FitErrors errors(believed, pose);
    for (const Correspondence& c : correspondences) {
      errors.Add(c, Pose(), DepthSigma(believed, kDisparity, c.point.z(), 1));
    }
    found_ = errors.Of(fit_.covariance, correspondences.size());
    of_twice_ = errors.Of(fit_.covariance, 2 * correspondences.size());
    return IncrementFrom(true_pose_, pose);
  }

  const PoseFit& fit() const { return fit_; }
  const PoseUncertainty& found() const { return found_; }
  const PoseUncertainty& of_twice() const { return of_twice_; }  // if there had been as many outliers

 private:
  static constexpr double kPosition = 0.2, kDisparity = 0.25, kVertical = 0.3;
  const StereoCamera camera_ = CameraOfTest();
  const Pose true_pose_{RotationOf({0.01, -0.03, 0.02}), {0.1, -0.05, -1}};
  std::mt19937 random_{7};
  std::normal_distribution<double> normal_{0, 1};
  std::vector<Eigen::Vector3d> points_;
  PoseSolver solver_;
  PoseFit fit_;
  PoseUncertainty found_, of_twice_;
};

// With noise of a fifth of what is assumed nothing is an outlier, and the residuals tell of its true size.
TEST(FitErrors, CovarianceIsThatOfManyFits) {
  constexpr int kFits = 600;
  constexpr double kNoise = 0.2;
  Scene scene;
  Matrix6 sampled = Matrix6::Zero(), told = Matrix6::Zero(), exact = Matrix6::Zero();
  for (int i = 0; i < kFits; ++i) {
    const Vector6 error = scene.Fit(kNoise, Eigen::Vector3d::Zero());
    sampled += error * error.transpose() / kFits;
    told += scene.found().covariance / kCommonErrors / kFits;
    exact += scene.fit().covariance * kNoise * kNoise / kFits;
  }
  // Depths count: with exact points it would be too small by far.
  EXPECT_GT(exact.llt().solve(sampled).trace() / 6, 1.5);
  // The residuals hold the depths' errors, too, which makes the noise somewhat larger than it is.
  const double ratio = told.llt().solve(sampled).trace() / 6;
  EXPECT_GT(ratio, 0.6);
  EXPECT_LT(ratio, 1.1);
  for (int k = 0; k < 6; ++k) {
    EXPECT_GT(sampled(k, k), 0.5 * told(k, k)) << k;
    EXPECT_LT(sampled(k, k), 1.2 * told(k, k)) << k;
  }
}

TEST(FitErrors, TheRigMovesThePoseAsItSays) {
  constexpr double kLeast = 3e-5;  // smaller steps end a fit
  Scene scene;
  ASSERT_LT(scene.Fit(0, Eigen::Vector3d::Zero()).norm(), kLeast);
  constexpr double kAngle = 5e-4;
  for (int axis = 0; axis < 3; ++axis) {
    const Vector6 moved = scene.Fit(0, kAngle * Eigen::Vector3d::Unit(axis)) / kAngle;
    const Vector6 told = scene.found().by_rig.col(axis);
    EXPECT_LT((moved - told).norm(), 0.02 * told.norm() + kLeast / kAngle)
        << axis << ": " << moved.transpose() << " beside " << told.transpose();
  }
}

// The share of matches that agree counts by its square.
TEST(FitErrors, IsWiderWhereFewAgree) {
  Scene scene;
  scene.Fit(0.3, Eigen::Vector3d::Zero());
  const Matrix6& all = scene.found().covariance;
  EXPECT_LT((scene.of_twice().covariance - 4 * all).norm(), 1e-9 * all.norm());
  EXPECT_EQ(scene.of_twice().by_rig, scene.found().by_rig);
}

TEST(PoseUncertainty, TurnsWithTheCameraAndBack) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> share(-1, 1);
  PoseUncertainty a;
  Matrix6 root;
  for (double& v : root.reshaped()) v = share(random);
  a.covariance = root * root.transpose();
  for (double& v : a.by_rig.reshaped()) v = share(random);
  const Pose b_from_a{RotationOf({0.3, -0.2, 0.5}), {1, 2, -3}};
  // By small increments of a.
  const Pose camera{RotationOf({-0.4, 0.1, 0.2}), {4, -5, 6}};
  constexpr double kStep = 1e-6;
  Matrix6 by_a;
  for (int k = 0; k < 6; ++k) {
    const Vector6 x = kStep * Vector6::Unit(k);
    const Pose moved = Pose{RotationOf(x.head<3>()), x.tail<3>()} * camera;
    by_a.col(k) = IncrementFrom(b_from_a * camera, b_from_a * moved) / kStep;
  }
  const PoseUncertainty b = a.Then(b_from_a, {});
  EXPECT_LT((b.covariance - by_a * a.covariance * by_a.transpose()).norm(), 1e-5 * b.covariance.norm());
  EXPECT_LT((b.by_rig - by_a * a.by_rig).norm(), 1e-5 * b.by_rig.norm());
  // There and back, what both have of the rig is nothing.
  const PoseUncertainty step = {Matrix6::Identity(), a.by_rig};
  const PoseUncertainty back = PoseUncertainty().Then(b_from_a, step).Then(b_from_a.Inverse(), step.Inverse(b_from_a));
  EXPECT_LT(back.by_rig.norm(), 1e-12);
  const PackedUncertainty packed(a);
  EXPECT_TRUE(packed.is_known());
  EXPECT_FALSE(PackedUncertainty().is_known());
  EXPECT_LT((packed.Unpacked().covariance - a.covariance).norm(), 1e-6 * a.covariance.norm());
  EXPECT_LT((packed.Unpacked().by_rig - a.by_rig).norm(), 1e-6 * a.by_rig.norm());
}

// Keyframes of a straight way along z, a metre apart.
class DriftTest : public ::testing::Test {
 protected:
  static constexpr int kKeyframes = 10;
  static constexpr double kRotation = 0.002, kPosition = 0.005, kByRig = 20;  // of a step; metres by radian

  DriftTest() { AddWay(0, 0); }

  void AddWay(int64_t first, int32_t map_id) {
    LocalMap window;
    PoseUncertainty step = UncertaintyOf(kRotation, kPosition);
    step.by_rig(5, 1) = kByRig;
    for (int64_t i = 0; i < kKeyframes; ++i) {
      const bool is_first = i == 0;
      map_.Add(first + i, map_id, {}, std::make_shared<KeyframeFeatures>(), is_first ? PoseUncertainty() : step);
      window.keyframes.push_back({first + i, PoseAt(i)});
    }
    map_.Sync(window);
  }
  static Pose PoseAt(int64_t i) { return {Eigen::Quaterniond::Identity(), {0, 0, -static_cast<double>(i)}}; }

  // Variance across the way after so many steps: each turns those after it.
  static double Across(int steps) {
    double sum = 0;
    for (int i = 0; i < steps; ++i) sum += kPosition * kPosition + i * i * kRotation * kRotation;
    return sum;
  }

  GlobalMap map_;
  const Eigen::Vector3d no_rig_ = Eigen::Vector3d::Zero();
};

TEST_F(DriftTest, GrowsStepByStep) {
  EXPECT_EQ(DriftOf(map_, 0, no_rig_).covariance, Matrix6::Zero());
  for (int i = 1; i < kKeyframes; ++i) {
    const PoseUncertainty drift = DriftOf(map_, i, no_rig_);
    EXPECT_NEAR(drift.covariance(3, 3), Across(i), 1e-6 * Across(i)) << i;
    EXPECT_NEAR(drift.covariance(5, 5), i * kPosition * kPosition, 1e-9) << i;
    EXPECT_NEAR(drift.covariance(1, 1), i * kRotation * kRotation, 1e-9) << i;
    // An error of the rig is the same in each step.
    EXPECT_NEAR(std::sqrt(drift.Total({0, 1e-3, 0})(5, 5) - drift.covariance(5, 5)), i * kByRig * 1e-3, 1e-6) << i;
  }
}

TEST_F(DriftTest, ALoopMakesItSmaller) {
  const double before = DriftOf(map_, 8, no_rig_).covariance(3, 3);
  map_.AddLoop({0, 9, PoseAt(9), 0.001, 0.01});
  EXPECT_NEAR(DriftOf(map_, 9, no_rig_).covariance(3, 3), 1e-4, 1e-9);
  // From there one step back, whose end is turned by the loop's error.
  const double after = DriftOf(map_, 8, no_rig_).covariance(3, 3);
  EXPECT_NEAR(after, 1e-4 + 1e-6 + Across(2) - Across(1), 1e-9);
  EXPECT_LT(after, before);
  EXPECT_NEAR(DriftOf(map_, 1, no_rig_).covariance(3, 3), Across(1), 1e-9);
}

TEST_F(DriftTest, MapsThatBecameOneAreTiedByTheirLoop) {
  AddWay(20, 1);
  EXPECT_EQ(DriftOf(map_, 20, no_rig_).covariance, Matrix6::Zero());
  map_.AddLoop({5, 29, PoseAt(4), 0.001, 0.01});
  map_.Join(1, 0);
  const double at_loop = DriftOf(map_, 29, no_rig_).covariance(5, 5);
  EXPECT_NEAR(at_loop, 5 * kPosition * kPosition + 1e-4, 1e-9);
  EXPECT_NEAR(DriftOf(map_, 20, no_rig_).covariance(5, 5), at_loop + 9 * kPosition * kPosition, 1e-9);
}

// As in a map of a file.
TEST_F(DriftTest, StepsThatAreNotKnownHaveOdometrysNoise) {
  std::vector<MapKeyframe> keyframes = map_.keyframes();
  for (MapKeyframe& k : keyframes) k.step = {};
  GlobalMap loaded;
  loaded.Restore(std::move(keyframes), {}, {});
  EXPECT_NEAR(DriftOf(loaded, 3, no_rig_).covariance(5, 5), 3 * 0.013 * 0.013, 1e-9);
  // A keyframe that nothing leads to.
  loaded.Add(50, 0, {}, std::make_shared<KeyframeFeatures>());
  EXPECT_NEAR(DriftOf(loaded, 50, no_rig_).covariance(5, 5), 0.003 * 0.003, 1e-9);
}

}  // namespace
}  // namespace glint::slam
