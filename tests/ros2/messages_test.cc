// Poses, paths and diagnostics as messages of ROS.
#include "ros2/convert/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "ros/cdr.h"
#include "tests/ros2/chain_path.h"

namespace glint::ros2 {
namespace {

using Eigen::Isometry3d;
using ros::DiagnosticStatus;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;

const FrameNames kFrames = {"map", "odom", "base_link", "left_optical"};
constexpr int64_t kStamp = 1'700'000'000'123'456'789;

ChainPose SomePose() {
  ChainPose pose;
  pose.stamp_ns = kStamp;
  pose.map_from_odom = Transform({0, 0, 0.5}, {1, 2, 3});
  pose.odom_from_base = Transform({0, 0, 3}, {4, 5, 6});
  pose.map_from_base = pose.map_from_odom * pose.odom_from_base;
  return pose;
}

Covariance CountedFrom(double first) {
  Covariance covariance;
  for (size_t i = 0; i < 36; ++i) covariance[i] = first + static_cast<double>(i);
  return covariance;
}

// Back from a message.
Isometry3d ToIsometry(const ros::Vector3& t, const ros::Quaternion& q) {
  EXPECT_GE(q.w, 0);
  EXPECT_NEAR(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w, 1, 1e-12);
  return Isometry3d(Eigen::Translation3d(t.x, t.y, t.z) * Eigen::Quaterniond(q.w, q.x, q.y, q.z));
}
Isometry3d ToIsometry(const ros::Pose& pose) {
  return ToIsometry({pose.position.x, pose.position.y, pose.position.z}, pose.orientation);
}

void ExpectHeader(const ros::Header& header, const std::string& frame_id) {
  EXPECT_EQ(header.frame_id, frame_id);
  EXPECT_EQ(header.stamp.sec, 1'700'000'000);
  EXPECT_EQ(header.stamp.nanosec, 123'456'789U);
}

TEST(Messages, OdometryIsInOdomAndItsTwistInTheBase) {
  ChainPose pose = SomePose();
  pose.covariance = CountedFrom(100);
  pose.odom_covariance = CountedFrom(200);
  pose.twist_covariance = CountedFrom(300);
  pose.linear = {1, 2, 3};
  pose.angular = {4, 5, 6};
  ros::Odometry odometry;
  FillOdometry(pose, kFrames, &odometry);
  ExpectHeader(odometry.header, "odom");
  EXPECT_EQ(odometry.child_frame_id, "base_link");
  EXPECT_TRUE(ToIsometry(odometry.pose.pose).isApprox(pose.odom_from_base, 1e-12));
  EXPECT_EQ(odometry.pose.covariance, CountedFrom(200));
  EXPECT_EQ(odometry.twist.covariance, CountedFrom(300));
  const ros::Twist& twist = odometry.twist.twist;
  EXPECT_THAT(
      (std::vector{twist.linear.x, twist.linear.y, twist.linear.z, twist.angular.x, twist.angular.y, twist.angular.z}),
      testing::ElementsAre(1, 2, 3, 4, 5, 6));
  ros::PoseWithCovarianceStamped in_map;
  FillPose(pose, kFrames, &in_map);
  ExpectHeader(in_map.header, "map");
  EXPECT_TRUE(ToIsometry(in_map.pose.pose).isApprox(pose.map_from_base, 1e-12));
  EXPECT_EQ(in_map.pose.covariance, CountedFrom(100));
}

// 0 would be taken for certain.
TEST(Messages, WhatIsNotKnownHasALargeVariance) {
  ros::Odometry odometry;
  odometry.twist.twist.linear.x = 7;  // of the message before
  FillOdometry(SomePose(), kFrames, &odometry);
  ros::PoseWithCovarianceStamped in_map;
  FillPose(SomePose(), kFrames, &in_map);
  for (const Covariance& covariance : {odometry.pose.covariance, odometry.twist.covariance, in_map.pose.covariance}) {
    for (size_t i = 0; i < 36; ++i) EXPECT_EQ(covariance[i], i / 6 == i % 6 ? 1e6 : 0) << i;
  }
  EXPECT_EQ(odometry.twist.twist.linear.x, 0);
}

TEST(Messages, TransformsMakeATree) {
  const ChainPose pose = SomePose();
  ros::TFMessage message;
  message.transforms.resize(5);
  FillTransforms(pose, kFrames, &message);
  ASSERT_EQ(message.transforms.size(), 2U);
  Isometry3d product = Isometry3d::Identity();
  for (const ros::TransformStamped& t : message.transforms) {
    product = product * ToIsometry(t.transform.translation, t.transform.rotation);
  }
  EXPECT_TRUE(product.isApprox(pose.map_from_base, 1e-12));
  ExpectHeader(message.transforms[0].header, "map");
  EXPECT_EQ(message.transforms[0].child_frame_id, "odom");
  ExpectHeader(message.transforms[1].header, "odom");
  EXPECT_EQ(message.transforms[1].child_frame_id, "base_link");
  FillStaticTransform(pose.odom_from_base, "base_link", "left_optical", kStamp, &message);
  ASSERT_EQ(message.transforms.size(), 1U);
  ExpectHeader(message.transforms[0].header, "base_link");
  EXPECT_EQ(message.transforms[0].child_frame_id, "left_optical");
  EXPECT_EQ(message.transforms[0].transform.translation.y, 5);
}

ChainPose PoseAt(double x, double seconds, double heading = 0) {
  ChainPose pose;
  pose.stamp_ns = static_cast<int64_t>(1e9 * seconds);
  pose.map_from_base = Transform({0, 0, heading}, {x, 0, 0});
  return pose;
}

TEST(PathLog, KeepsWhatHasMovedAndIsGivenOutAtTimes) {
  PathLog log(100, 0.5, 0.2);
  EXPECT_EQ(log.Take(), nullptr);
  log.Add(PoseAt(1, 10), kFrames);
  const ros::Path* path = log.Take();
  ASSERT_NE(path, nullptr);
  ASSERT_EQ(path->poses.size(), 1U);
  EXPECT_EQ(path->header.frame_id, "map");
  EXPECT_EQ(path->header.stamp.sec, 10);
  log.Add(PoseAt(1.4, 10.2), kFrames);  // not far enough
  log.Add(PoseAt(1.6, 10.4), kFrames);
  log.Add(PoseAt(1.6, 10.6, 0.1), kFrames);  // nor turned enough
  log.Add(PoseAt(1.6, 10.8, 0.3), kFrames);
  EXPECT_EQ(log.Take(), nullptr);  // within the second
  log.Add(PoseAt(1.6, 11.1, 0.3), kFrames);
  path = log.Take();
  ASSERT_NE(path, nullptr);
  ASSERT_EQ(path->poses.size(), 3U);
  EXPECT_EQ(path->poses[1].pose.position.x, 1.6);
  EXPECT_EQ(path->poses[1].header.stamp.nanosec, 400'000'000U);
  EXPECT_EQ(path->poses[2].header.frame_id, "map");
  EXPECT_NEAR(path->poses[2].pose.orientation.z, std::sin(0.15), 1e-12);
  log.Add(PoseAt(1.6, 13, 0.3), kFrames);
  EXPECT_EQ(log.Take(), nullptr);  // nothing new
  log.Add(PoseAt(5, 3), kFrames);  // the bag begins anew
  EXPECT_NE(log.Take(), nullptr);
}

TEST(PathLog, HoldsTheWholeWayInBoundedMemory) {
  PathLog log(64, 0.5);
  for (int i = 0; i < 100'000; ++i) log.Add(PoseAt(0.1 * i, 0.05 * i), kFrames);
  const ros::Path* path = log.Take();
  ASSERT_NE(path, nullptr);
  const auto& poses = path->poses;
  EXPECT_LE(poses.size(), 64U);
  EXPECT_GE(poses.size(), 32U);
  EXPECT_EQ(poses.front().pose.position.x, 0);
  // 10 km in 32..64 even pieces.
  for (size_t i = 1; i < poses.size(); ++i) {
    EXPECT_LT(poses[i].pose.position.x - poses[i - 1].pose.position.x, 2 * 10'000 / 32.0) << i;
    EXPECT_GT(poses[i].pose.position.x, poses[i - 1].pose.position.x);
  }
  EXPECT_GT(poses.back().pose.position.x, 10'000 - 2 * 10'000 / 32.0);
}

TEST(PathLog, BeginsAnewInAnotherMap) {
  PathLog log;
  for (int i = 0; i < 5; ++i) log.Add(PoseAt(i, i), kFrames);
  ChainPose pose = PoseAt(0, 5);
  pose.new_world = true;
  log.Add(pose, kFrames);
  EXPECT_EQ(log.Take()->poses.size(), 1U);
  log.Clear();
  ASSERT_NE(log.Take(0), nullptr);  // no path any more
  EXPECT_EQ(log.Take(0), nullptr);
}

std::map<std::string, std::string> ValuesOf(const DiagnosticStatus& status) {
  std::map<std::string, std::string> values;
  for (const ros::KeyValue& v : status.values) {
    EXPECT_TRUE(values.insert({v.key, v.value}).second) << v.key;  // each once
  }
  return values;
}

client::LocalizeAnswer AnswerOf(client::LocationStatus status) {
  client::LocalizeAnswer answer;
  answer.location.status = status;
  return answer;
}

TEST(Diagnostics, SayHowAPairWent) {
  client::LocalizeAnswer answer = AnswerOf(client::LocationStatus::kTracking);
  client::Location& l = answer.location;
  l.keypoints = 1200;
  l.matches = 800;
  l.inliers = 700;
  l.reprojection_error = 0.4375;
  l.map_id = 3;
  answer.map_keyframes = 55;
  answer.map_points = 6000;
  answer.timings.locate_ns = 2'345'678;
  answer.timings.total_ns = 12'000'000;
  answer.timings.device = "cuda:0";
  answer.round_trip = absl::Milliseconds(15);
  const DiagnosticStatus status = DiagnosticOf("glint: localize", answer);
  EXPECT_EQ(status.level, DiagnosticStatus::kOk);
  EXPECT_EQ(status.name, "glint: localize");
  EXPECT_EQ(status.message, "located");
  const auto values = ValuesOf(status);
  const std::map<std::string, std::string> expected = {{"status", "TRACKING"},
                                                       {"keypoints", "1200"},
                                                       {"matches", "800"},
                                                       {"inliers", "700"},
                                                       {"map", "3"},
                                                       {"map keyframes", "55"},
                                                       {"map points", "6000"},
                                                       {"reprojection error (px)", "0.4375"},
                                                       {"locate (ms)", "2.346"},
                                                       {"server (ms)", "12.000"},
                                                       {"device", "cuda:0"},
                                                       {"round trip (ms)", "15.000"}};
  for (const auto& [key, value] : expected) EXPECT_THAT(values, Contains(testing::Pair(key, value)));
  EXPECT_THAT(values, Not(Contains(Key("imu"))));
}

TEST(Diagnostics, AreOkOnlyWhereAllIsWell) {
  using client::LocationStatus;
  const std::map<LocationStatus, std::byte> levels = {{LocationStatus::kInitializing, DiagnosticStatus::kWarn},
                                                      {LocationStatus::kTracking, DiagnosticStatus::kOk},
                                                      {LocationStatus::kCoasting, DiagnosticStatus::kWarn},
                                                      {LocationStatus::kLost, DiagnosticStatus::kError},
                                                      {LocationStatus::kRelocalized, DiagnosticStatus::kOk},
                                                      {LocationStatus::kNewMap, DiagnosticStatus::kWarn},
                                                      {static_cast<LocationStatus>(0), DiagnosticStatus::kError},
                                                      {static_cast<LocationStatus>(77), DiagnosticStatus::kError}};
  for (const auto& [location, level] : levels) {
    client::LocalizeAnswer answer = AnswerOf(location);
    EXPECT_EQ(DiagnosticOf("x", answer).level, level) << static_cast<int>(location);
    answer.location.warnings = {{WarningKind::kUnrectified, 3, "px", "rows differ by 3 px"},
                                {WarningKind::kTimestamp, 9, "ms", "9 ms back"}};
    const DiagnosticStatus warned = DiagnosticOf("x", answer);
    EXPECT_EQ(warned.level, std::max(level, DiagnosticStatus::kWarn)) << static_cast<int>(location);
    EXPECT_THAT(warned.message, testing::EndsWith("; rows differ by 3 px; 9 ms back"));
    EXPECT_EQ(ValuesOf(warned)["warning 2"], "9 ms back");
  }
  client::LocalizeAnswer answer = AnswerOf(LocationStatus::kTracking);
  answer.location.map_full = true;
  EXPECT_EQ(DiagnosticOf("x", answer).level, DiagnosticStatus::kWarn);
  answer.location.map_full = false;
  answer.status = absl::AbortedError("a newer one came");
  EXPECT_EQ(DiagnosticOf("x", answer).level, DiagnosticStatus::kError);
  EXPECT_EQ(DiagnosticOf("x", answer).message, "failed: a newer one came");
  answer.drop_reason = client::DropReason::kSuperseded;
  EXPECT_EQ(DiagnosticOf("x", answer).level, DiagnosticStatus::kWarn);
  EXPECT_EQ(DiagnosticOf("x", answer).message, "dropped: a newer one came");
}

TEST(Diagnostics, SayHowTheInertialSensorIs) {
  client::LocalizeAnswer answer = AnswerOf(client::LocationStatus::kTracking);
  client::Inertial& imu = answer.location.inertial.emplace();
  imu.readings.received = 4000;
  imu.readings.late = 7;
  EXPECT_EQ(DiagnosticOf("x", answer).level, DiagnosticStatus::kOk);
  auto values = ValuesOf(DiagnosticOf("x", answer));
  EXPECT_EQ(values["imu"], "INITIALIZING");
  EXPECT_EQ(values["imu readings"], "4000");
  EXPECT_EQ(values["imu readings late"], "7");
  EXPECT_EQ(values.count("gyroscope bias (rad/s)"), 0U);
  imu.status = client::InertialStatus::kReady;
  imu.level = true;
  imu.gyroscope_bias = {0.001, -0.002, 0.003};
  values = ValuesOf(DiagnosticOf("x", answer));
  EXPECT_EQ(values["imu"], "READY");
  EXPECT_EQ(values["level"], "yes");
  EXPECT_EQ(values["gyroscope bias (rad/s)"], "0.001 -0.002 0.003");
  imu.status = client::InertialStatus::kLeftOut;
  const DiagnosticStatus left_out = DiagnosticOf("x", answer);
  EXPECT_EQ(left_out.level, DiagnosticStatus::kWarn);
  EXPECT_THAT(left_out.message, HasSubstr("left out"));
}

}  // namespace
}  // namespace glint::ros2
