#include "tests/slam/euroc_drive.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "calibration/calibration.h"
#include "calibration/stereo_rig.h"
#include "decode/image_file.h"
#include "features/camera/rectification.h"
#include "features/status_macros.h"

namespace glint::slam {
namespace {

constexpr int64_t kSecond = 1'000'000'000, kNear = 1'000'000, kStep = 49'000'000;  // ns

Pose ToPose(const RigidTransform& t) { return {Eigen::Quaterniond(t.rotation).normalized(), t.translation}; }

struct Row {
  int64_t time_ns;
  std::vector<double> values;
};

// Lines of a time and `count` numbers, but for comments.
absl::StatusOr<std::vector<Row>> ReadCsv(const std::string& file, size_t count) {
  std::ifstream in(file);
  if (!in) return absl::NotFoundError(absl::StrCat(file, ": cannot be read"));
  std::vector<Row> rows;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(", \r"), absl::SkipEmpty());
    Row row = {0, std::vector<double>(count)};
    bool is_valid = words.size() == count + 1 && absl::SimpleAtoi(words[0], &row.time_ns);
    for (size_t i = 0; is_valid && i < count; ++i) {
      is_valid = absl::SimpleAtod(words[i + 1], &row.values[i]) && std::isfinite(row.values[i]);
    }
    if (!is_valid) {
      return absl::InvalidArgumentError(absl::StrCat(file, ":", number, ": is not a time and ", count, " numbers"));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// By the time that is their name.
absl::StatusOr<std::map<int64_t, std::string>> FilesIn(const std::string& folder) {
  std::error_code error;
  std::map<int64_t, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    int64_t time_ns = 0;
    if (absl::SimpleAtoi(entry.path().stem().string(), &time_ns)) files[time_ns] = entry.path().string();
  }
  if (files.empty()) return absl::NotFoundError(absl::StrCat(folder, ": has no images"));
  return files;
}

absl::StatusOr<Image> ReadRectified(const std::string& file, const RemapTable& table) {
  GLINT_ASSIGN_OR_RETURN(const Image raw, decode::ReadImageFile(file));
  if (raw.shape() != table.source) return absl::InvalidArgumentError(absl::StrCat(file, ": is of another size"));
  return Rectified(raw, table);
}

}  // namespace

absl::Status EurocDrive::ReadCalibration(const std::string& folder) {
  GLINT_ASSIGN_OR_RETURN(const auto calibration,
                         calibration::ReadCalibration({folder + "/cam0/sensor.yaml", folder + "/cam1/sensor.yaml",
                                                       folder + "/imu0/sensor.yaml"}));
  const Rig& rig = calibration.rig;
  if (rig.cameras.size() < 2 || !rig.imu.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": is not a pair and an inertial sensor"));
  }
  const StereoRig stereo = calibration::StereoRigOf(rig, rig.cameras[0].camera.image);
  GLINT_ASSIGN_OR_RETURN(const RectifiedPair pair,
                         RectifyPair(stereo.left, stereo.right, stereo.right_from_left, stereo.rectify));
  left_ = MakeRemapTable(stereo.left, pair.rectified_from_left, pair.camera);
  right_ = MakeRemapTable(stereo.right, pair.rectified_from_right, pair.camera);
  camera_.image = pair.camera.image;
  camera_.focal_length = pair.camera.fx;
  camera_.centre_x = pair.camera.cx;
  camera_.centre_y = pair.camera.cy;
  camera_.baseline = pair.baseline;
  const RigidTransform turned = {pair.rectified_from_left, Eigen::Vector3d::Zero()};
  imu_.camera_from_imu = ToPose(turned * rig.cameras[0].rig_from_camera.Inverse() * rig.imu->rig_from_imu);
  imu_.gyroscope_noise_density = rig.imu->gyroscope_noise_density;
  imu_.gyroscope_random_walk = rig.imu->gyroscope_random_walk;
  imu_.accelerometer_noise_density = rig.imu->accelerometer_noise_density;
  imu_.accelerometer_random_walk = rig.imu->accelerometer_random_walk;
  return absl::OkStatus();
}

absl::Status EurocDrive::ReadReadings(const std::string& file) {
  GLINT_ASSIGN_OR_RETURN(const std::vector<Row> rows, ReadCsv(file, 6));
  for (const Row& row : rows) {
    const double* v = row.values.data();
    readings_.gyroscope.push_back({row.time_ns, {v[0], v[1], v[2]}});
    readings_.accelerometer.push_back({row.time_ns, {v[3], v[4], v[5]}});
  }
  return absl::OkStatus();
}

void EurocDrive::AddPair(int64_t time_ns, const std::string& left, const std::string& right,
                         const std::vector<double>& truth) {
  const double* v = truth.data();
  const Pose world_from_imu = {Eigen::Quaterniond(v[3], v[4], v[5], v[6]).normalized(), {v[0], v[1], v[2]}};
  ImuMotion motion;
  motion.velocity = {v[7], v[8], v[9]};
  motion.bias = {{v[10], v[11], v[12]}, {v[13], v[14], v[15]}};
  pairs_.push_back({time_ns, left, right, world_from_imu * imu_.camera_from_imu.Inverse(), motion});
}

absl::Status EurocDrive::ReadPoses(const std::string& truth) {
  GLINT_ASSIGN_OR_RETURN(const std::vector<Row> rows, ReadCsv(truth, 16));
  int64_t next = INT64_MIN;
  for (const Row& row : rows) {
    if (row.time_ns < next) continue;
    AddPair(row.time_ns, "", "", row.values);
    next = row.time_ns + kStep;
  }
  return pairs_.empty() ? absl::NotFoundError(absl::StrCat(truth, ": has no pose")) : absl::OkStatus();
}

absl::Status EurocDrive::ReadPairs(const std::string& images, const std::string& truth) {
  GLINT_ASSIGN_OR_RETURN(const std::vector<Row> rows, ReadCsv(truth, 16));
  GLINT_ASSIGN_OR_RETURN(const auto left, FilesIn(images + "/cam0/data"));
  GLINT_ASSIGN_OR_RETURN(const auto right, FilesIn(images + "/cam1/data"));
  for (const auto& [time_ns, file] : left) {
    const auto row = std::lower_bound(rows.begin(), rows.end(), time_ns - kNear,
                                      [](const Row& r, int64_t time) { return r.time_ns < time; });
    const auto other = right.find(time_ns);
    if (row == rows.end() || row->time_ns > time_ns + kNear || other == right.end()) continue;
    AddPair(time_ns, file, other->second, row->values);
  }
  return pairs_.empty() ? absl::NotFoundError(absl::StrCat(images, ": has no pair with a truth")) : absl::OkStatus();
}

absl::StatusOr<EurocDrive> EurocDrive::Open(const std::string& folder, const std::string& images) {
  EurocDrive drive;
  GLINT_RETURN_IF_ERROR(drive.ReadCalibration(folder));
  GLINT_RETURN_IF_ERROR(drive.ReadReadings(folder + "/imu0/data.csv"));
  const std::string truth = folder + "/state_groundtruth_estimate0/data.csv";
  GLINT_RETURN_IF_ERROR(images == "rendered" ? drive.ReadPoses(truth) : drive.ReadPairs(folder + "/" + images, truth));
  return drive;
}

absl::StatusOr<DriveFrame> EurocDrive::Read(size_t i) const {
  DriveFrame frame = ReadWithoutImages(i);
  GLINT_ASSIGN_OR_RETURN(frame.left, ReadRectified(pairs_[i].left, left_));
  GLINT_ASSIGN_OR_RETURN(frame.right, ReadRectified(pairs_[i].right, right_));
  return frame;
}

DriveFrame EurocDrive::ReadWithoutImages(size_t i) const {
  const Pair& pair = pairs_[i];
  DriveFrame frame;
  frame.seconds = 1e-9 * static_cast<double>(pair.time_ns - pairs_[0].time_ns) + 1;
  frame.truth = pair.truth;
  frame.motion = pair.motion;
  // Times of the drive begin a second before its first pair.
  const int64_t zero = pairs_[0].time_ns - kSecond, since = i == 0 ? zero : pairs_[i - 1].time_ns;
  for (size_t k = 0; k < readings_.gyroscope.size(); ++k) {
    const int64_t time_ns = readings_.gyroscope[k].time_ns;
    if (time_ns <= since || time_ns > pair.time_ns) continue;
    frame.imu.gyroscope.push_back({time_ns - zero, readings_.gyroscope[k].value});
    frame.imu.accelerometer.push_back({time_ns - zero, readings_.accelerometer[k].value});
  }
  return frame;
}

scene::StereoHead EurocDrive::head() const {
  return {{camera_.image.width, camera_.image.height, camera_.focal_length, camera_.centre_x, camera_.centre_y},
          camera_.baseline,
          {}};
}

scene::Path EurocDrive::TruePath() const {
  scene::Path path;
  for (const Pair& pair : pairs_) {
    const Pose pose = pairs_.front().truth.Inverse() * pair.truth;
    const Eigen::Vector3d& t = pose.translation;
    const Eigen::Quaterniond& q = pose.rotation;
    path.push_back({1e-9 * static_cast<double>(pair.time_ns - pairs_.front().time_ns),
                    {scene::RotationOf({q.x(), q.y(), q.z(), q.w()}), {t.x(), t.y(), t.z()}},
                    ""});
  }
  return path;
}

}  // namespace glint::slam
