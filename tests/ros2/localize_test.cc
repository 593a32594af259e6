// Localization against servers in this process: poses are those that the client's own stream has, turned into ROS's
// axes; streams go on after losses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "client/client.h"
#include "tests/ros2/localize_fixture.h"

namespace glint::ros2 {
namespace {

using ::testing::HasSubstr;

using Localize = LocalizeTest;

Eigen::Isometry3d Isometry(const std::array<double, 4>& q, const std::array<double, 3>& p) {
  Eigen::Isometry3d pose = Eigen::Isometry3d::Identity();
  pose.linear() = Eigen::Quaterniond(q[3], q[0], q[1], q[2]).toRotationMatrix();
  pose.translation() = Eigen::Vector3d(p[0], p[1], p[2]);
  return pose;
}

Eigen::Isometry3d Isometry(const ros::Pose& pose) {
  const ros::Quaternion& q = pose.orientation;
  return Isometry({q.x, q.y, q.z, q.w}, {pose.position.x, pose.position.y, pose.position.z});
}

TEST_F(Localize, PosesAreThoseOfTheClientsStream) {
  StartServer();
  Start();
  const auto client = client::Client::Connect(config_.server.address);
  ASSERT_TRUE(client.ok()) << client.status();
  client::LocalizeStreamOptions options;
  options.detector = *PresetOptions("orb");
  options.detector.max_features = 300;
  options.camera = Camera();
  std::vector<client::Location> expected;
  const auto stream = client->OpenLocalizeStream(
      options, [&](const client::LocalizeAnswer& answer) { expected.push_back(answer.location); });
  ASSERT_TRUE(stream.ok()) << stream.status();
  constexpr size_t kPairs = 12;
  for (size_t i = 0; i < kPairs; ++i) {
    const int64_t time_ns = kStart + static_cast<int64_t>(i + 1) * kFrameNs;
    ASSERT_TRUE((*stream)->Write(i, pairs_[i].left, pairs_[i].right, time_ns).ok());
  }
  ASSERT_TRUE((*stream)->Finish().ok());
  const Eigen::Isometry3d base_from_camera = Isometry({-0.5, 0.5, -0.5, 0.5}, {1, 0, 0.5});
  const auto camera_at = [](const client::CameraPose& pose) { return Isometry(pose.rotation, pose.position); };
  Eigen::Isometry3d odom_from_camera = Eigen::Isometry3d::Identity();  // of the camera's place at first
  bool has_moved = false;                                              // the world, by adjustments
  for (size_t i = 0; i < kPairs; ++i) {
    SCOPED_TRACE(i);
    const ros::Odometry odometry = Locate(i);
    EXPECT_EQ(ros::NanosecondsOf(odometry.header.stamp), kStart + static_cast<int64_t>(i + 1) * kFrameNs);
    EXPECT_EQ(odometry.header.frame_id, "odom");
    EXPECT_EQ(odometry.child_frame_id, "base_link");
    const Eigen::Isometry3d now = camera_at(expected[i].pose);
    if (i > 0) {
      Eigen::Isometry3d last = camera_at(expected[i - 1].pose);
      if (expected[i].world_correction.has_value()) last = camera_at(*expected[i].world_correction) * last;
      odom_from_camera = odom_from_camera * last.inverse() * now;
      has_moved |= (last.matrix() - camera_at(expected[i - 1].pose).matrix()).cwiseAbs().maxCoeff() > 1e-4;
    }
    const Eigen::Isometry3d in_odom = base_from_camera * odom_from_camera * base_from_camera.inverse();
    EXPECT_LT((Isometry(odometry.pose.pose).matrix() - in_odom.matrix()).cwiseAbs().maxCoeff(), 1e-9);
    const Eigen::Isometry3d pose = base_from_camera * now * base_from_camera.inverse();
    const auto in_map = Last<ros::PoseWithCovarianceStamped>("/pose");
    EXPECT_EQ(in_map.header.frame_id, "map");
    EXPECT_LT((Isometry(in_map.pose.pose).matrix() - pose.matrix()).cwiseAbs().maxCoeff(), 1e-9);
    EXPECT_NEAR(in_map.pose.pose.position.y, -kStep * static_cast<double>(i), 0.05);
    const auto transforms = Last<ros::TFMessage>("/tf").transforms;
    ASSERT_EQ(transforms.size(), 2u);
    EXPECT_EQ(transforms[0].header.frame_id, "map");
    EXPECT_EQ(transforms[1].child_frame_id, "base_link");
    EXPECT_EQ(transforms[1].transform.translation.y, odometry.pose.pose.position.y);
  }
  EXPECT_TRUE(has_moved);
  EXPECT_GE(Last<ros::Path>("/path").poses.size(), 2u);
  const auto fixed = Last<ros::TFMessage>("/tf_static").transforms;
  ASSERT_EQ(fixed.size(), 1u);
  EXPECT_EQ(fixed[0].child_frame_id, "left_optical");
  EXPECT_EQ(fixed[0].transform.translation.z, 0.5);
  EXPECT_TRUE(Eventually([&] { return Count("/map_points") > 0; }));
  const auto points = Last<ros::PointCloud2>("/map_points");
  EXPECT_EQ(points.header.frame_id, "map");
  EXPECT_GT(points.width, 100u);
  EXPECT_EQ(operation_->Diagnose().level, ros::DiagnosticStatus::kOk) << Told();
}

TEST_F(Localize, WhatIsNotLocatedIsNotPublished) {
  StartServer();
  Start();
  for (size_t i = 0; i < 5; ++i) Locate(i);
  const size_t before = Count("/odometry");
  Image blank(kShape.width, kShape.height);
  for (int y = 0; y < kShape.height; ++y) std::fill_n(blank.row(y), kShape.width, 128);
  for (int i = 0; i < 4; ++i) Take(blank, blank);
  EXPECT_TRUE(Eventually([&] { return Told().find("\nanswered: 9") != std::string::npos; })) << Told();
  EXPECT_EQ(Count("/odometry"), before);
  EXPECT_EQ(Count("/pose"), before);
  EXPECT_EQ(Count("/tf"), before);
  EXPECT_NE(operation_->Diagnose().level, ros::DiagnosticStatus::kOk);
  EXPECT_THAT(Told(), HasSubstr("\nlocated: 5"));
}

TEST_F(Localize, GoesOnAfterTheServerHasBeenAway) {
  Start();  // before there is one
  Take(pairs_[0].left, pairs_[0].right);
  StartServer();
  ASSERT_TRUE(LocateAgain(0)) << Told();
  for (size_t i = 1; i < 8; ++i) Locate(i);
  const double before = Last<ros::Odometry>("/odometry").pose.pose.position.y;
  server_.reset();
  for (size_t i = 8; i < 10; ++i) Take(pairs_[i].left, pairs_[i].right);
  ASSERT_TRUE(Eventually([&] { return connection_->client() == nullptr; }));
  EXPECT_TRUE(Eventually([&] { return operation_->Diagnose().level == ros::DiagnosticStatus::kError; })) << Told();
  StartServer();
  ASSERT_TRUE(LocateAgain(10)) << Told();
  // Another map, which begins at one of the last pairs. The odometry goes on as before, for kLongestStep at most.
  const double left = Left();
  EXPECT_NEAR(left, -kStep, 1.1 * kStep);
  const double speed = kStep / (1e-9 * kFrameNs);
  EXPECT_LT(Last<ros::Odometry>("/odometry").pose.pose.position.y, before);
  EXPECT_GT(Last<ros::Odometry>("/odometry").pose.pose.position.y, before - 1.05 * speed * kLongestStep - 2 * kStep);
  for (size_t i = 11; i < 16; ++i) Locate(i);
  EXPECT_NEAR(Left(), left - 5 * kStep, 0.05);
}

TEST_F(Localize, CameraStandsInTheBasesPlace) {
  config_.frames.base_from_camera.reset();
  StartServer();
  Start();
  ASSERT_TRUE(LocateAgain(0)) << Told();  // after a while
  Locate(1);
  Locate(2);
  EXPECT_NEAR(Left(), -2 * kStep, 0.05);
  EXPECT_EQ(operation_->Diagnose().level, ros::DiagnosticStatus::kWarn);
  EXPECT_THAT(Told(), HasSubstr("camera on the base: in the base's place"));
}

TEST_F(Localize, ReadingsGoWithTheirFrames) {
  config_.imu.topic = "/imu";
  config_.imu.camera_from_imu = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  StartServer();
  Start();
  ros::Imu reading;  // of a camera that moves steadily
  reading.linear_acceleration.y = -9.81;
  int64_t time_ns = kStart, readings = 0;
  for (int64_t i = 0; i < 6; ++i) {
    for (; time_ns <= kStart + (i + 1) * kFrameNs; time_ns += 5'000'000, ++readings) {
      reading.header.stamp = ros::TimeOf(time_ns);
      operation_->AddImu(reading);
    }
    Locate(static_cast<size_t>(i));
    EXPECT_THAT(Told(), HasSubstr("\nimu: "));
    EXPECT_THAT(Told(), HasSubstr("\nahead of readings: no"));
  }
  EXPECT_THAT(Told(), HasSubstr(absl::StrCat("\nimu readings: ", readings, "\n")));
}

}  // namespace
}  // namespace glint::ros2
