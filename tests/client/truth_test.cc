// Truths that are not of the camera whose path is compared with them: of a body, of another camera, of a part of a
// drive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cmath>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/localize/data_set.h"
#include "client/cli/output/trajectory.h"

namespace glint::cli {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

absl::StatusOr<Trajectory> Read(const std::string& text) {
  const std::string path = ::testing::TempDir() + "truth-data.csv";
  std::ofstream(path, std::ios::binary) << text;
  return ReadTrajectory(path);
}

constexpr char kHeader[] =
    "#timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], q_RS_z []";

TEST(Truth, OfEurocHasNanosecondsAndTheRealPartFirst) {
  const std::string rest = ",0.1,0.2,0.3,1,2,3,4,5,6";
  const std::string rows = absl::StrCat("1403715273262142976,0.878612,2.142470,0.947262,0.6,0,-0.8,0", rest,
                                        "\n1403715273312143104,1,2,3,1,0,0,0", rest, "\n");
  for (const std::string& text :
       {rows, absl::StrCat(kHeader, ", v_RS_R_x [m s^-1]\n", rows), absl::StrCat("timestamp,q_RS_w\n", rows),
        absl::StrReplaceAll(absl::StrCat(kHeader, "\n", rows), {{"\n", "\r\n"}, {rest, ""}})}) {
    const auto read = Read(text);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(read->of_imu);
    EXPECT_EQ(read->format, TrajectoryFormat::kTum);
    ASSERT_THAT(read->poses, SizeIs(2));
    EXPECT_NEAR(read->poses[0].seconds, 1403715273.262142976, 1e-6);
    EXPECT_THAT(read->poses[0].pose.position, ElementsAre(0.878612, 2.142470, 0.947262));
    EXPECT_THAT(read->poses[0].pose.rotation, ElementsAre(0, -0.8, 0, 0.6));
  }
  // 12 columns are EuRoC's behind such a header alone.
  const auto twelve = Read(absl::StrCat(kHeader, "\n1403715273262142976,0,0,0,1,0,0,0,9,9,9,9\n"));
  ASSERT_TRUE(twelve.ok()) << twelve.status();
  EXPECT_EQ(twelve->format, TrajectoryFormat::kTum);
  EXPECT_FALSE(Read("1.5 0 0 0 0 0 0 1\n")->of_imu);
  EXPECT_THAT(Read(absl::StrCat(kHeader, "\n1403715273262142976,0,0,0,1,0,0\n")).status().message(),
              HasSubstr("truth-data.csv:2: not nanoseconds x y z qw qx qy qz and what follows (EuRoC)"));
  EXPECT_THAT(Read(absl::StrCat(kHeader, "\n1,0,0,0,1,1,0,0\n")).status().message(), HasSubstr("not a rotation"));
}

TEST(Truth, OfKittisFirstCameraIsMovedToTheColourCamera) {
  client::LocalizeStreamOptions options;
  // KITTI 06's P2: camera 2 lies 6 cm to the left of camera 0.
  options.camera.left_projection = {707.0912, 0,         601.8873, 46.88783, 0, 707.0912,
                                    183.1104, 0.1178601, 0,        0,        1, 0.006203223};
  Trajectory truth;
  truth.poses.resize(1);
  truth.poses[0].pose = {{0, std::sqrt(0.5), 0, std::sqrt(0.5)}, {1, 2, 3}};  // looks along the world's x
  ASSERT_TRUE(PutTruthInCamera(options, std::nullopt, /*of_first=*/true, &truth).ok());
  // Right is the world's -z then. t = (46.88783 - 601.8873 * 0.006203223) / 707.0912 = 0.06103.
  EXPECT_NEAR(truth.poses[0].pose.position[0], 1 - 0.006203223, 1e-9);
  EXPECT_NEAR(truth.poses[0].pose.position[1], 2 - (0.1178601 - 183.1104 * 0.006203223) / 707.0912, 1e-9);
  EXPECT_NEAR(truth.poses[0].pose.position[2], 3 + 0.0610307, 1e-6);
  ASSERT_TRUE(PutTruthInCamera(options, std::nullopt, /*of_first=*/false, &truth).ok());
  EXPECT_NEAR(truth.poses[0].pose.position[2], 3 + 0.0610307, 1e-6);
}

TEST(Truth, OfTheBodyIsMovedToTheCamera) {
  Trajectory truth;
  truth.of_imu = true;
  truth.poses.resize(1);
  truth.poses[0].pose = {{0, 0, std::sqrt(0.5), std::sqrt(0.5)}, {10, 0, 0}};  // the body's x is the world's y
  RigidTransform body_from_camera;
  body_from_camera.rotation << 0, 0, 1, -1, 0, 0, 0, -1, 0;  // the camera looks along the body's x
  body_from_camera.translation = {1, 2, 3};
  client::LocalizeStreamOptions options;
  options.rig.emplace();
  ASSERT_TRUE(PutTruthInCamera(options, body_from_camera.Inverse(), false, &truth).ok());
  const auto& [rotation, position] = truth.poses[0].pose;
  EXPECT_THAT(position, ElementsAre(DoubleNear(8, 1e-12), DoubleNear(1, 1e-12), DoubleNear(3, 1e-12)));
  const Eigen::Quaterniond q(rotation[3], rotation[0], rotation[1], rotation[2]);
  EXPECT_LT((q * Eigen::Vector3d::UnitZ() - Eigen::Vector3d::UnitY()).norm(), 1e-12);
  EXPECT_LT((q * Eigen::Vector3d::UnitX() - Eigen::Vector3d::UnitX()).norm(), 1e-12);
  EXPECT_TRUE(truth.of_raw_camera);
  EXPECT_FALSE(truth.of_imu);
  truth.of_imu = true;
  EXPECT_THAT(PutTruthInCamera(options, std::nullopt, false, &truth).message(),
              HasSubstr("does not say where that is"));
}

// The path of 40 pairs, of which the truth has the first five and the last five.
TEST(Truth, OfPartsOfADriveIsComparedIfTheSetIsKnownForIt) {
  std::vector<TimedPose> path(40);
  Trajectory truth;
  truth.name = "mocap0";
  for (int i = 0; i < 40; ++i) {
    path[static_cast<size_t>(i)].seconds = 0.1 * i;
    path[static_cast<size_t>(i)].pose.position = {0.01 * i * i, 0.1 * i, 0};
    if (i < 5 || i >= 35) truth.poses.push_back(path[static_cast<size_t>(i)]);
  }
  EXPECT_THAT(CompareWithTruth(path, truth).status().message(), HasSubstr("half of them, and two, are needed"));
  truth.has_gaps = true;
  const auto report = CompareWithTruth(path, truth);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(*report, HasSubstr("compared: 10 of 40 located pairs"));
  EXPECT_THAT(*report, HasSubstr("where the truth has gaps, length and RPE leap over them\n"));
  EXPECT_THAT(*report, HasSubstr("ATE: 0.000 m"));
  path.resize(10);
  EXPECT_THAT(CompareWithTruth({path.begin() + 4, path.end()}, truth).status().message(),
              HasSubstr("1 of 6 located pairs have a true pose within 0.050 s; two are needed; "));
  path.resize(5);
  EXPECT_THAT(*CompareWithTruth(path, truth), Not(HasSubstr("leap")));
}

}  // namespace
}  // namespace glint::cli
