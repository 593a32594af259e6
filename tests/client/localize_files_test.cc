// What glint localize reads and writes: calibrations, trajectories, and errors beside the truth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <opencv2/core.hpp>
#include <string>
#include <vector>

#include "client/cli/output/trajectory.h"
#include "client/cli/source/calibration.h"

namespace glint::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Write(const std::string& name, const std::string& text) {
  const std::string path = ::testing::TempDir() + "localize-" + name;
  std::ofstream(path) << text;
  return path;
}

TEST(Calibration, OfKittiHasNamesOrNone) {
  const std::string left = "700 0 600 0 0 700 180 0 0 0 1 0", right = "700 0 600 -380 0 700 180 0 0 0 1 0";
  const auto named = ReadCalibration(
      Write("named.txt", "P0: " + right + "\nP1: " + right + "\nP2: " + left + "\nP3: " + right + "\nTr: 1 2\n"),
      "P2,P3");
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_THAT(named->left_projection, ElementsAre(700, 0, 600, 0, 0, 700, 180, 0, 0, 0, 1, 0));
  EXPECT_EQ(named->right_projection[3], -380);
  const auto unnamed = ReadCalibration(Write("unnamed.txt", left + "\n" + right + "\n"), "");
  ASSERT_TRUE(unnamed.ok()) << unnamed.status();
  EXPECT_EQ(unnamed->left_projection, named->left_projection);
  EXPECT_EQ(unnamed->right_projection, named->right_projection);
}

TEST(Calibration, OfOneEyeIsEnoughWithDepth) {
  const std::string left = "700 0 600 0 0 700 180 0 0 0 1 0", other = "500 0 320 0 0 500 240 0 0 0 1 0";
  const std::string path = Write("one.txt", "P0: " + left + "\nP2: " + other + "\n");
  const auto first = ReadCalibration(path, "", /*of_one=*/true);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(first->left_projection, ElementsAre(700, 0, 600, 0, 0, 700, 180, 0, 0, 0, 1, 0));
  EXPECT_THAT(first->right_projection, SizeIs(0));
  const auto named = ReadCalibration(path, "P2", /*of_one=*/true);
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->left_projection[0], 500);
  EXPECT_THAT(ReadCalibration(path, "P0,P2", true).status().message(), HasSubstr("'P0,P2' is not one projection"));
}

TEST(Calibration, OfOpenCvIsAFileStorage) {
  const std::string path = ::testing::TempDir() + "localize-stereo.yml";
  {
    cv::FileStorage file(path, cv::FileStorage::WRITE);
    const cv::Mat left = (cv::Mat_<double>(3, 4) << 500, 0, 320, 0, 0, 500, 240, 0, 0, 0, 1, 0);
    cv::Mat right = left.clone();
    right.at<double>(0, 3) = -60;
    file << "R1" << cv::Mat::eye(3, 3, CV_64F) << "P1" << left << "P2" << right;
  }
  const auto camera = ReadCalibration(path, "");
  ASSERT_TRUE(camera.ok()) << camera.status();
  EXPECT_THAT(camera->right_projection, ElementsAre(500, 0, 320, -60, 0, 500, 240, 0, 0, 0, 1, 0));
}

TEST(Calibration, ErrorsNameFileAndLine) {
  const std::string bad = Write("bad.txt", "P0: 1 2 3\n");
  EXPECT_THAT(ReadCalibration(bad, "").status().message(), HasSubstr("bad.txt:1: not the 12 numbers"));
  const std::string few = Write("few.txt", "1 0 0 0 0 1 0 0 0 0 1 0\n");
  EXPECT_THAT(ReadCalibration(few, "").status().message(), HasSubstr("few.txt: has no 3x4 projection P1"));
  EXPECT_THAT(ReadCalibration(few, "P0").status().message(), HasSubstr("'P0' is not LEFT,RIGHT"));
  EXPECT_TRUE(absl::IsNotFound(ReadCalibration("/nowhere.txt", "").status()));
  EXPECT_FALSE(ReadCalibration(Write("bad.yml", "no yaml: ["), "").ok());
}

TimedPose At(double seconds, double x, double z, double turn) {
  return {seconds, {{0, std::sin(turn / 2), 0, std::cos(turn / 2)}, {x, 0, z}}};
}

TEST(Trajectory, BothFormatsReadAsTheyWereWritten) {
  const std::vector<TimedPose> poses = {At(0, 0, 0, 0), At(0.1, 1, 2, 0.3), At(0.2, -1, 5, 3.1), At(0.3, 0, 1, -3)};
  for (const TrajectoryFormat format : {TrajectoryFormat::kTum, TrajectoryFormat::kKitti}) {
    std::string text = "# a comment\n";
    for (const TimedPose& pose : poses) text += TrajectoryLine(pose, format);
    const auto read = ReadTrajectory(Write("path.txt", text), 0.1);
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_THAT(*read, SizeIs(poses.size()));
    for (size_t i = 0; i < poses.size(); ++i) {
      EXPECT_NEAR((*read)[i].seconds, poses[i].seconds, 1e-9);
      const double sign = poses[i].pose.rotation[3] * (*read)[i].pose.rotation[3] < 0 ? -1 : 1;
      for (size_t k = 0; k < 4; ++k) {
        EXPECT_NEAR(sign * (*read)[i].pose.rotation[k], poses[i].pose.rotation[k], 1e-8) << i;
      }
      for (size_t k = 0; k < 3; ++k) EXPECT_NEAR((*read)[i].pose.position[k], poses[i].pose.position[k], 1e-8);
    }
  }
  EXPECT_THAT(ReadTrajectory(Write("odd.txt", "1 2 3\n"), 0.1).status().message(), HasSubstr("odd.txt:1: neither"));
  EXPECT_THAT(ReadTrajectory(Write("turn.txt", "0 1 2 3 1 1 1 1\n"), 0.1).status().message(),
              HasSubstr("turn.txt:1: not a rotation"));
}

// A straight drive of 300 m whose path is 1 % too long and turns by 0.01 degrees a metre.
TEST(Trajectory, ErrorsAreThoseOfTheirDefinitions) {
  std::vector<TimedPose> truth, path;
  constexpr double kTurn = 0.01 / 57.29577951308232;
  for (int i = 0; i <= 300; ++i) {
    truth.push_back(At(0.1 * i, 0, i, 0));
    path.push_back(At(0.1 * i, 0, 1.01 * i, kTurn * i));
  }
  const auto report = CompareWithTruth(path, truth, 0.1);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(*report, HasSubstr("truth: 301 poses, 300.0 m\nend: 3.000 m, 1.00 %\n"));
  EXPECT_THAT(*report, HasSubstr("0.0100 degrees\n"));
  // The pose beyond a length is a metre further: 20 parts of 101 m and 10 of 201 m.
  EXPECT_THAT(*report, HasSubstr("r_rel 1.0083 degrees in 100 m"));
  path.resize(50);
  const auto part = CompareWithTruth(path, truth, 0.1);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_THAT(*part, HasSubstr("KITTI: none"));
  for (TimedPose& pose : path) pose.seconds += 1000;
  EXPECT_TRUE(absl::IsFailedPrecondition(CompareWithTruth(path, truth, 0.1).status()));
}

}  // namespace
}  // namespace glint::cli
