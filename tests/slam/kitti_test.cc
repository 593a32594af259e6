// Odometry on a real drive (GLINT_TEST_DATA), beside the true path: KITTI odometry, sequence 06, 51 pairs.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "decode/image_file.h"
#include "gtest/gtest.h"
#include "slam/front_end/lane_front_end.h"
#include "slam/geometry/trajectory.h"
#include "slam/odometry/odometry.h"

namespace glint::slam {
namespace {

std::string Folder() {
  const char* data = std::getenv("GLINT_TEST_DATA");
  return data == nullptr ? "" : std::string(data) + "/kitti_06/";
}

StereoCamera CameraOfKitti() {
  StereoCamera camera;
  camera.image = {1226, 370};
  camera.focal_length = 707.0912;
  camera.centre_x = 601.8873;
  camera.centre_y = 183.1104;
  camera.baseline = 379.8145 / 707.0912;
  return camera;
}

// Tracks the first `pairs` pairs with as many threads.
std::vector<OdometryResult> Drive(size_t pairs, int threads) {
  DetectorOptions detector = *PresetOptions("orbslam");
  detector.max_features = 2000;
  LaneFrontEnd front_end(detector, threads);
  Odometry odometry(CameraOfKitti(), OdometryOptions(), &front_end);
  std::vector<OdometryResult> results;
  for (size_t i = 0; i < pairs; ++i) {
    const std::string name = absl::StrFormat("%06d.png", i);
    const auto left = decode::ReadImageFile(Folder() + "image_l/" + name);
    const auto right = decode::ReadImageFile(Folder() + "image_r/" + name);
    results.emplace_back();
    absl::Status status = left.ok() ? right.status() : left.status();
    if (status.ok()) status = odometry.Track(*left, *right, static_cast<int64_t>(i) * 100'000'000, &results.back());
    EXPECT_TRUE(status.ok()) << name << ": " << status;
    if (!status.ok()) break;
  }
  return results;
}

TEST(OdometryOfKitti, StaysCloseToTheTruth) {
  if (Folder().empty()) GTEST_SKIP() << "GLINT_TEST_DATA is not set";
  const auto truth = ReadKittiPoses(Folder() + "poses.txt");
  if (!truth.ok()) GTEST_SKIP() << truth.status();
  const std::vector<OdometryResult> results = Drive(truth->size(), 2);
  ASSERT_EQ(results.size(), truth->size());

  std::vector<Pose> path;
  double find = 0, track = 0, adjust = 0;
  int keyframes = 0;
  for (const OdometryResult& r : results) {
    EXPECT_EQ(r.status, TrackingStatus::kTracking);
    path.push_back(r.world_from_camera);
    find += 1e-6 * static_cast<double>(r.find_ns);
    track += 1e-6 * static_cast<double>(r.track_ns);
    adjust += 1e-6 * static_cast<double>(r.adjust_ns);
    keyframes += r.is_keyframe ? 1 : 0;
  }
  const PathErrors e = ComparePaths(path, *truth);
  // Once the rig is known.
  const PathErrors later = ComparePaths({path.begin() + 6, path.end()}, {truth->begin() + 6, truth->end()});
  constexpr double kDegrees = 57.29577951308232;
  const Eigen::Vector3d rig = kDegrees * results.back().rig_rotation;
  const auto count = static_cast<double>(results.size());
  std::printf("%.1f m: end %.3f m (%.2f %%), ATE %.3f m, RPE %.4f m and %.4f degrees\n", e.length, e.end,
              100 * e.end / e.length, e.absolute, e.relative, kDegrees * e.relative_angle);
  std::printf("from the seventh pair on: RPE %.4f m\n", later.relative);
  std::printf("rig %.4f %.4f %.4f degrees; a frame: find %.1f, track %.1f, adjust %.1f ms; %d keyframes\n", rig.x(),
              rig.y(), rig.z(), find / count, track / count, adjust / count, keyframes);
  EXPECT_NEAR(e.length, 59.9, 0.1);
  EXPECT_LE(e.end, 0.0085 * e.length);
  EXPECT_LE(e.absolute, 0.06);
  EXPECT_LE(e.relative, 0.012);
  EXPECT_LE(kDegrees * e.relative_angle, 0.061);
}

TEST(OdometryOfKitti, GivesTheSameBytesWithAnyNumberOfThreads) {
  if (Folder().empty()) GTEST_SKIP() << "GLINT_TEST_DATA is not set";
  if (const auto truth = ReadKittiPoses(Folder() + "poses.txt"); !truth.ok()) GTEST_SKIP() << truth.status();
  const std::vector<OdometryResult> one = Drive(8, 1);
  for (const int threads : {1, 2, 3}) {
    const std::vector<OdometryResult> other = Drive(8, threads);
    ASSERT_EQ(other.size(), one.size());
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(other[i].world_from_camera.rotation.coeffs(), one[i].world_from_camera.rotation.coeffs());
      EXPECT_EQ(other[i].world_from_camera.translation, one[i].world_from_camera.translation);
      EXPECT_EQ(other[i].covariance, one[i].covariance);
      EXPECT_EQ(other[i].rig_rotation, one[i].rig_rotation);
    }
  }
}

}  // namespace
}  // namespace glint::slam
