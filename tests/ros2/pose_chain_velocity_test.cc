// Covariances and velocities of map -> odom -> base.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>

#include "ros2/convert/pose_chain.h"
#include "tests/ros2/chain_path.h"

namespace glint::ros2 {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector3d;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

constexpr auto kTracking = LocationStatus::kTracking;

Matrix6 SomeCovariance() {
  Matrix6 root;
  std::mt19937 random(5);
  for (Eigen::Index i = 0; i < root.size(); ++i) {
    root.data()[i] = static_cast<double>(random() % 2001) / 1000.0 - 1;
  }
  root.topRows<3>() *= 0.002;
  root.bottomRows<3>() *= 0.01;
  return root * root.transpose();
}

Matrix6 ToMatrix(const Covariance& covariance) {
  return Eigen::Map<const Eigen::Matrix<double, 6, 6, Eigen::RowMajor>>(covariance.data());
}

Vector3d TurnOf(const Eigen::Matrix3d& rotation) {
  const Eigen::AngleAxisd turn(rotation);
  return turn.angle() * turn.axis();
}

// By the definitions: that of glint.v1, a small motion that is applied in camera coordinates, rotation before
// translation, and that of ROS, x, y, z and rotations about fixed axes.
Matrix6 CovarianceByDifferences(const Matrix6& of_camera, const Isometry3d& parent_from_world,
                                const Isometry3d& world_from_camera, const Isometry3d& camera_from_base) {
  const auto base = [&](const Isometry3d& motion) {
    return parent_from_world * world_from_camera * motion * camera_from_base;
  };
  const Isometry3d at = base(Isometry3d::Identity());
  constexpr double kSmall = 1e-6;
  Matrix6 jacobian;
  for (int i = 0; i < 6; ++i) {
    Eigen::Matrix<double, 6, 1> difference = Eigen::Matrix<double, 6, 1>::Zero();
    for (const double sign : {1.0, -1.0}) {
      Vector3d parts[2] = {Vector3d::Zero(), Vector3d::Zero()};
      parts[i / 3][i % 3] = sign * kSmall;
      const Isometry3d moved = base(Transform(parts[0], parts[1]));
      difference.head<3>() += sign * (moved.translation() - at.translation());
      difference.tail<3>() += sign * TurnOf(moved.linear() * at.linear().transpose());
    }
    jacobian.col(i) = difference / (2 * kSmall);
  }
  return jacobian * of_camera * jacobian.transpose();
}

TEST(PoseChainCovariance, IsThatOfTheBaseAboutFixedAxes) {
  const Isometry3d base_from_camera = SomeMounting();
  const Isometry3d other_from_world = Transform({0.3, -1, 0.2}, {4, 5, 6});
  PoseChain chain(base_from_camera);
  chain.Take(LocationAt(Isometry3d::Identity(), kTracking), 0);
  // In another world, so that odom's axes are not the map's.
  const Isometry3d pose = other_from_world * Transform({0.1, 0.4, -0.3}, {1, 2, 3});
  Location location = LocationAt(pose, LocationStatus::kRelocalized);
  const Matrix6 of_camera = SomeCovariance();
  location.covariance = UpperOf(of_camera);
  location.has_covariance = true;
  const std::optional<ChainPose> now = chain.Take(location, kPeriodNs);
  ASSERT_TRUE(now.has_value());
  ASSERT_TRUE(now->covariance.has_value());
  const Isometry3d camera_from_base = base_from_camera.inverse();
  const Matrix6 in_map = CovarianceByDifferences(of_camera, chain.map_from_world(), pose, camera_from_base);
  const Matrix6 in_odom =
      CovarianceByDifferences(of_camera, now->map_from_odom.inverse() * chain.map_from_world(), pose, camera_from_base);
  EXPECT_LT((ToMatrix(*now->covariance) - in_map).norm(), 1e-7 * in_map.norm());
  EXPECT_LT((ToMatrix(*now->odom_covariance) - in_odom).norm(), 1e-7 * in_odom.norm());
  EXPECT_GT((in_map - in_odom).norm(), 0.1 * in_map.norm());
  EXPECT_EQ(ToMatrix(*now->covariance)(0, 1), (*now->covariance)[1]);
}

TEST(PoseChainCovariance, IsNotKnownWhereItIsAbsentOrZero) {
  PoseChain chain(BaseAtCamera());
  Location location = LocationAt(Isometry3d::Identity(), kTracking);
  EXPECT_FALSE(chain.Take(location, 0)->covariance.has_value());
  location.has_covariance = true;  // of a map's first pair
  EXPECT_FALSE(chain.Take(location, kPeriodNs)->covariance.has_value());
  location.covariance = UpperOf(Matrix6::Identity() * std::nan(""));
  EXPECT_FALSE(chain.Take(location, 2 * kPeriodNs)->odom_covariance.has_value());
}

TEST(PoseChainVelocity, IsThatOfTheLastStepInTheAxesOfTheBase) {
  const Isometry3d base_from_camera = SomeMounting();
  const Vector3d turn(0.2, -0.3, 0.9), pace(1.2, 0.2, -0.1);
  PoseChain chain(base_from_camera);
  for (int i = 0; i < 4; ++i) {
    const Isometry3d base = OnCurve(turn, pace, 0.05 * i);
    const std::optional<ChainPose> pose =
        chain.Take(LocationAt(base_from_camera.inverse() * base * base_from_camera, kTracking), i * kPeriodNs);
    ASSERT_TRUE(pose.has_value());
    ASSERT_EQ(pose->linear.has_value(), i > 0);
    ASSERT_EQ(pose->angular.has_value(), i > 0);
    for (size_t k = 0; i > 0 && k < 3; ++k) {
      EXPECT_NEAR((*pose->linear)[k], pace[static_cast<Eigen::Index>(k)], 1e-7);
      EXPECT_NEAR((*pose->angular)[k], turn[static_cast<Eigen::Index>(k)], 1e-7);
    }
  }
}

TEST(PoseChainVelocity, IsThatOfTheInertialSensorWhereItIsReady) {
  const Isometry3d base_from_camera = SomeMounting();
  const Isometry3d base_from_imu = Transform({0.5, 0.1, 2}, {-0.3, 0.2, 0.6});
  const Isometry3d world_from_map = base_from_camera.inverse();  // as the chain has it
  const Vector3d turn(0.2, -0.3, 0.9), pace(1.2, 0.2, -0.1);
  PoseChain chain(base_from_camera, base_from_imu);
  std::optional<ChainPose> pose;
  for (int i = 0; i < 3; ++i) {
    const double seconds = 0.05 * i;
    const auto imu = [&](double at) {
      return Vector3d(world_from_map * OnCurve(turn, pace, at) * base_from_imu.translation());
    };
    const Vector3d velocity = (imu(seconds + 1e-4) - imu(seconds - 1e-4)) / 2e-4;
    Isometry3d base = OnCurve(turn, pace, seconds);
    base.translation().x() += 0.01 * i * i;  // images err
    Location location = LocationAt(world_from_map * base * base_from_camera, kTracking);
    location.inertial.emplace().status = i == 0 ? InertialStatus::kInitializing : InertialStatus::kReady;
    location.inertial->velocity = {velocity.x(), velocity.y(), velocity.z()};
    location.inertial->velocity_sigma = 0.05;
    location.has_covariance = true;
    location.covariance = UpperOf(SomeCovariance());
    pose = chain.Take(location, i * kPeriodNs);
    ASSERT_TRUE(pose.has_value());
  }
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR((*pose->linear)[k], pace[static_cast<Eigen::Index>(k)], 1e-5);
    EXPECT_NEAR((*pose->angular)[k], turn[static_cast<Eigen::Index>(k)], 1e-7);
  }
  // Its own error, and that of the angular velocity at the lever: v = v_imu - w x p.
  ASSERT_TRUE(pose->twist_covariance.has_value());
  const Matrix6 covariance = ToMatrix(*pose->twist_covariance);
  Matrix6 jacobian = Matrix6::Identity();
  for (int i = 0; i < 3; ++i) jacobian.block<3, 1>(0, 3 + i) = -Vector3d::Unit(i).cross(base_from_imu.translation());
  Matrix6 apart = Matrix6::Zero();
  apart.topLeftCorner<3, 3>() = 0.05 * 0.05 * Eigen::Matrix3d::Identity();
  apart.bottomRightCorner<3, 3>() = covariance.bottomRightCorner<3, 3>();
  EXPECT_LT((covariance - jacobian * apart * jacobian.transpose()).norm(), 1e-9 * covariance.norm());
}

TEST(PoseChainVelocity, HasTheErrorsOfBothPoses) {
  PoseChain chain(BaseAtCamera());
  std::optional<ChainPose> pose;
  for (const double sigma : {0.03, 0.04}) {
    Matrix6 covariance = Matrix6::Identity() * sigma * sigma;
    covariance(2, 2) *= 4;  // about the camera's axis, which is the base's x
    Location location = LocationAt(Isometry3d::Identity(), kTracking);
    location.has_covariance = true;
    location.covariance = UpperOf(covariance);
    pose = chain.Take(location, sigma > 0.035 ? kPeriodNs : 0);
    EXPECT_EQ(pose->twist_covariance.has_value(), sigma > 0.035);
  }
  const Matrix6 covariance = ToMatrix(*pose->twist_covariance);
  const double both = (0.03 * 0.03 + 0.04 * 0.04) / (0.05 * 0.05);  // of an error that is that of two
  Matrix6 expected = Matrix6::Identity() * both;
  expected(3, 3) *= 4;
  EXPECT_LT((covariance - expected).norm(), 1e-9);
}

TEST(PoseChainVelocity, GoesOnOverASteppedMapWithoutACovariance) {
  PoseChain chain(BaseAtCamera());
  Location location = LocationAt(Isometry3d::Identity(), kTracking);
  location.has_covariance = true;
  location.covariance = UpperOf(SomeCovariance());
  chain.Take(location, 0);
  location.pose.position = {0, 0, 0.1};
  chain.Take(location, kPeriodNs);
  location.pose.position = {5, 6, 7};
  location.map_id = 1;
  const std::optional<ChainPose> pose = chain.Take(location, 2 * kPeriodNs);
  ASSERT_TRUE(pose->linear.has_value());
  EXPECT_NEAR((*pose->linear)[0], 2, 1e-9);
  EXPECT_NEAR(pose->odom_from_base.translation().x(), 0.2, 1e-9);
  EXPECT_FALSE(pose->twist_covariance.has_value());
  EXPECT_TRUE(pose->covariance.has_value());
}

}  // namespace
}  // namespace glint::ros2
