// A recording in the folders of EuRoC's data sets (ASL format): raw pairs, readings of an inertial sensor, the truth.
#ifndef GLINT_TESTS_SLAM_EUROC_DRIVE_H_
#define GLINT_TESTS_SLAM_EUROC_DRIVE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "features/camera/remap_table.h"
#include "slam/geometry/stereo_camera.h"
#include "slam/inertial/imu.h"
#include "tests/slam/rendered_drive.h"

namespace glint::slam {

// The true world's z points up. Not thread-safe.
class EurocDrive {
 public:
  // `folder` has cam0, cam1, imu0 with their sensor.yaml, and state_groundtruth_estimate0. `images` is where cam0/data
  // and cam1/data lie in it: files of equal names, the time in nanoseconds; "" or ".": beside the rest. Pairs without
  // truth are left out. "rendered": none, but a pose of the truth every 50 ms: for
  // ReadWithoutImages(). Errors name the file.
  static absl::StatusOr<EurocDrive> Open(const std::string& folder, const std::string& images);

  const StereoCamera& camera() const { return camera_; }
  const ImuModel& imu() const { return imu_; }
  size_t count() const { return pairs_.size(); }
  // The i-th rectified pair, with the readings since the one before (of the first: of a second).
  absl::StatusOr<DriveFrame> Read(size_t i) const;
  // All that Read() gives but the images.
  DriveFrame ReadWithoutImages(size_t i) const;
  // Where the rectified left camera is at each pair, beside the first one's.
  scene::Path TruePath() const;
  scene::StereoHead head() const;

 private:
  struct Pair {
    int64_t time_ns;
    std::string left, right;  // files
    Pose truth;               // world from rectified left camera
    ImuMotion motion;
  };
  absl::Status ReadCalibration(const std::string& folder);
  absl::Status ReadReadings(const std::string& file);
  absl::Status ReadPairs(const std::string& images, const std::string& truth);
  absl::Status ReadPoses(const std::string& truth);

  void AddPair(int64_t time_ns, const std::string& left, const std::string& right, const std::vector<double>& truth);

  StereoCamera camera_;
  RemapTable left_, right_;
  ImuModel imu_;
  ImuReadings readings_;
  std::vector<Pair> pairs_;
};

}  // namespace glint::slam

#endif  // GLINT_TESTS_SLAM_EUROC_DRIVE_H_
