// A short drive through a rendered room whose pictures tests write as data sets, and glint localize on them.
#ifndef GLINT_TESTS_CLIENT_DATASET_DRIVE_H_
#define GLINT_TESTS_CLIENT_DATASET_DRIVE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/base/command.h"
#include "features/types.h"
#include "tests/scene/depth_sensor.h"
#include "tests/scene/imu_path.h"
#include "tests/scene/sensor.h"
#include "tests/scene/smooth_path.h"
#include "tests/scene/world.h"
#include "tests/scene/write_image.h"

namespace glint::cli {

inline constexpr int kPairs = 12;
inline constexpr int64_t kFirst = 1'403'636'579'763'555'584, kStep = 100'000'000;  // ns
inline constexpr double kDepthUnit = 0.0002;

inline int64_t TimeOf(int i) { return kFirst + kStep * i; }

// An arc, 0.5 m/s and 25 degrees/s, through a room.
inline scene::Path ArcPath() {
  scene::Path path;
  for (int i = 0; i < kPairs; ++i) {
    const double at = 2.5 * i;
    path.push_back({0.1 * i,
                    {scene::Rotation(at, 3 * scene::SinDegrees(20.0 * i), 0),
                     {1.2 * (1 - scene::CosDegrees(at)), 0.02 * i, 1.2 * scene::SinDegrees(at)}},
                    ""});
  }
  return scene::Smoothed(path, scene::SmoothPath(path));
}

inline Eigen::Isometry3d ToEigen(const scene::Pose& pose) {
  Eigen::Isometry3d out = Eigen::Isometry3d::Identity();
  out.linear() = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(pose.rotation.m.data());
  out.translation() = Eigen::Vector3d(pose.position.x, pose.position.y, pose.position.z);
  return out;
}

// Where the left camera is in the body: half a metre off, and turned as EuRoC's.
inline const scene::Pose kBodyFromCamera = {{{0, -1, 0, 1, 0, 0, 0, 0, 1}}, {0.5, -0.3, 0.2}};

// Frames of the drive, rendered once; the right camera is `turned`, so that rectification turns the left one, or not.
struct Pictures {
  explicit Pictures(bool turned) {
    head = {{320, 240, 195, 159.5, 119.5}, 0.11, {}};
    if (turned) head.right_from_left = scene::Rotation(1, 4, 0);
    const scene::Path path = ArcPath();
    scene::World world(path, 3);
    for (const scene::TimedPose& at : path) {
      truth.push_back(ToEigen(at.pose));
      left.push_back(world.Render(head.camera, at.pose));
      right.push_back(world.Render(head.camera, scene::EyeOf(head, at.pose, true)));
      depth.push_back(scene::SenseDepth({kDepthUnit, 0.075, 0, 0.4, 8}, head.camera, at.pose, 1, &world));
    }
  }
  scene::StereoHead head;
  std::vector<Image> left, right;
  std::vector<scene::DepthImage> depth;
  std::vector<Eigen::Isometry3d> truth;  // world from left camera
};

inline const Pictures& Straight() {
  static const Pictures* const pictures = new Pictures(false);
  return *pictures;
}
inline const Pictures& Turned() {
  static const Pictures* const pictures = new Pictures(true);
  return *pictures;
}

inline std::string Numbers(const Eigen::Isometry3d& pose) {
  std::string text;
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 4; ++c) absl::StrAppendFormat(&text, "%s%.12g", text.empty() ? "" : ", ", pose(r, c));
  }
  return text;
}

struct Outcome {
  int status;
  std::string out, said, trajectory;
};

class LocalizeDataSet : public ::testing::Test {
 protected:
  ~LocalizeDataSet() override { std::filesystem::remove_all(root_); }

  std::string Path(const std::string& name = "") const { return root_ + "/" + name; }
  void Write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  void WritePicture(const std::string& name, const Image& image, int bits = 8) const {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    if (bits == 8) {
      ASSERT_TRUE(scene::WritePng(Path(name), image, 1).ok());
      return;
    }
    cv::Mat wide;
    cv::Mat(image.height(), image.width(), CV_8U, const_cast<uint8_t*>(image.row(0)),
            static_cast<size_t>(image.stride()))
        .convertTo(wide, CV_16U, 256);
    ASSERT_TRUE(cv::imwrite(Path(name), wide));
  }

  // Runs with the CPU backend inside.
  Outcome Run(const std::vector<std::string>& arguments) const {
    std::vector<std::string> all = {"--server", "inproc", "--backend",    "cpu",
                                    "--format", "none",   "--trajectory", Path("path.txt")};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::filesystem::remove(Path("path.txt"));
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    Outcome outcome;
    outcome.status = RunLocalize(all);
    std::fflush(stdout);
    outcome.out = ::testing::internal::GetCapturedStdout();
    outcome.said = ::testing::internal::GetCapturedStderr();
    std::ifstream file(Path("path.txt"));
    outcome.trajectory = {std::istreambuf_iterator<char>(file), {}};
    return outcome;
  }
  // The number behind `name` of a report.
  static double Number(const Outcome& outcome, const std::string& name) {
    const size_t at = outcome.out.find(name);
    double value = NAN;
    if (at == std::string::npos) return NAN;
    const std::string rest = outcome.out.substr(at + name.size());
    return absl::SimpleAtod(rest.substr(0, rest.find(' ')), &value) ? value : NAN;
  }
  // Located along the whole drive, as near to the truth as pictures of this size let it be.
  static void ExpectNearTruth(const Outcome& outcome, int poses) {
    EXPECT_EQ(outcome.status, 0) << outcome.said;
    EXPECT_THAT(outcome.out, ::testing::StartsWith(absl::StrCat("truth: ", poses, " poses, 0."))) << outcome.said;
    EXPECT_LT(Number(outcome, "ATE: "), 0.02) << outcome.out;
    EXPECT_LT(Number(outcome, "end: "), 0.03) << outcome.out;
    EXPECT_LT(Number(outcome, "RPE of neighbours: "), 0.02) << outcome.out;
  }
  void ExpectTheSame(const Outcome& of_folder, const Outcome& of_parts) const {
    EXPECT_EQ(of_parts.status, 0) << of_parts.said;
    EXPECT_GT(of_folder.trajectory.size(), 100u) << of_folder.said;
    EXPECT_EQ(of_folder.trajectory, of_parts.trajectory);
    EXPECT_EQ(of_folder.out, of_parts.out);
  }

  // cam0, cam1 and imu0 below mav0/, without calibration; and the truth of the body.
  void WriteMav(const Pictures& pictures, int bits, const std::string& truth, const std::string& more) const {
    for (int i = 0; i < kPairs; ++i) {
      const std::string name = absl::StrCat(TimeOf(i), ".png");
      WritePicture("mav0/cam0/data/" + name, pictures.left[static_cast<size_t>(i)], bits);
      WritePicture("mav0/cam1/data/" + name, pictures.right[static_cast<size_t>(i)], bits);
    }
    scene::ImuOptions imu;
    imu.camera_from_imu = {scene::Transpose(kBodyFromCamera.rotation), kBodyFromCamera.ToCamera({})};
    imu.noise = 0;
    imu.offset = 1e-9 * static_cast<double>(kFirst);
    Write("mav0/imu0/data.csv", scene::ImuCsv(scene::MeasureImu(scene::SmoothPath(ArcPath()), imu)));
    std::string csv =
                    "#timestamp [ns], p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], "
                    "q_RS_z []\r\n",
                tum;
    for (int i = 0; i < kPairs; ++i) {
      const Eigen::Isometry3d body = pictures.truth[static_cast<size_t>(i)] * ToEigen(kBodyFromCamera).inverse();
      const Eigen::Quaterniond q(body.linear());
      const Eigen::Vector3d p = body.translation();
      absl::StrAppendFormat(&csv, "%d,%.9f,%.9f,%.9f,%.9f,%.9f,%.9f,%.9f%s\r\n", TimeOf(i), p.x(), p.y(), p.z(), q.w(),
                            q.x(), q.y(), q.z(), more);
      absl::StrAppendFormat(&tum, "%.9f %.9f %.9f %.9f %.9f %.9f %.9f %.9f\n", 1e-9 * static_cast<double>(TimeOf(i)),
                            p.x(), p.y(), p.z(), q.x(), q.y(), q.z(), q.w());
    }
    Write("mav0/" + truth + "/data.csv", csv);
    Write("body.txt", tum);  // the same as if it were a camera's
  }
  static Eigen::Isometry3d BodyFromRight(const scene::StereoHead& head) {
    const scene::Pose left_from_right = {scene::Transpose(head.right_from_left), {head.baseline, 0, 0}};
    return ToEigen(kBodyFromCamera) * ToEigen(left_from_right);
  }

 private:
  const std::string root_ = absl::StrCat(::testing::TempDir(), "localize-dataset-", getpid(), "/",
                                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

}  // namespace glint::cli

#endif  // GLINT_TESTS_CLIENT_DATASET_DRIVE_H_
