// KITTI: sequences of the odometry benchmark (image_0, image_1, calib.txt, times.txt, poses/NN.txt elsewhere) and
// drives of the raw data (image_00/data, image_00/timestamps.txt, the calibration in the folder of the day).
// https://www.cvlibs.net/datasets/kitti/eval_odometry.php, https://www.cvlibs.net/datasets/kitti/raw_data.php
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/source/dataset_layouts.h"
#include "client/cli/source/dataset_lists.h"
#include "client/cli/source/dataset_parts.h"
#include "client/cli/source/imu_file.h"
#include "client/cli/source/text_file.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

struct CameraPair {
  const char *left, *right;
  const char* cameras;  // in the calibration
};
constexpr CameraPair kOdometry[] = {
    {"image_0", "image_1", "P0,P1"}, {"image_2", "image_3", "P2,P3"}, {"image_l", "image_r", "P0,P1"}};
constexpr CameraPair kRaw[] = {{"image_00", "image_01", "P0,P1"}, {"image_02", "image_03", "P2,P3"}};

constexpr char kNoTimes[] = "no times are there: 10 pairs a second (--rate HZ, --times FILE)";

std::string SignOfOdometry(const std::string& folder) {
  const bool has_lists = IsFile(Inside(folder, "calib.txt")) || IsFile(Inside(folder, "times.txt"));
  for (const CameraPair& pair : kOdometry) {
    const bool left = IsFolder(Inside(folder, pair.left)), right = IsFolder(Inside(folder, pair.right));
    if ((left && right) || ((left || right) && has_lists)) return left ? pair.left : pair.right;
  }
  return "";
}

std::string SignOfRaw(const std::string& folder) {
  for (const CameraPair& pair : kRaw) {
    for (const char* name : {pair.left, pair.right}) {
      const std::string path = Inside(folder, name);
      if (IsFolder(Inside(path, "data")) || IsFile(Inside(path, "timestamps.txt"))) return name;
    }
  }
  return "";
}

// Sets the cameras to the first pair that is there. NOT_FOUND: none are.
template <size_t kCount>
absl::Status SetCameras(const std::string& folder, const CameraPair (&all)[kCount], DataSet* set) {
  std::string missing;
  for (const CameraPair& pair : all) {
    const bool left = IsFolder(Inside(folder, pair.left)), right = IsFolder(Inside(folder, pair.right));
    if (left && right) {
      set->left = pair.left;
      set->right = pair.right;
      set->cameras = pair.cameras;
      return absl::OkStatus();
    }
    if (left || right) missing = left ? pair.right : pair.left;
  }
  return MissingPart(folder, set->layout, missing);
}

absl::StatusOr<DataSet> ReadOdometry(const std::string& folder) {
  DataSet set;
  set.layout = kKittiOdometryLayout.name;
  GLINT_RETURN_IF_ERROR(SetCameras(folder, kOdometry, &set));
  const std::string times_path = Inside(folder, "times.txt"), calib = Inside(folder, "calib.txt");
  std::vector<int64_t> times;
  if (IsFile(times_path)) {
    GLINT_ASSIGN_OR_RETURN(times, ReadTimes(times_path));
  } else {
    set.notes.push_back(kNoTimes);
  }
  GLINT_ASSIGN_OR_RETURN(const auto left, ReadFrames(Inside(folder, set.left)));
  GLINT_ASSIGN_OR_RETURN(const auto right, ReadFrames(Inside(folder, set.right)));
  GLINT_RETURN_IF_ERROR(SetFramePairs(left, right, times, times_path, &set));
  if (IsFile(calib)) {
    set.calibration = {calib, "calib.txt"};
  } else {
    set.no_calibration = absl::StrCat(calib, ": is not there");
  }
  const std::string poses = absl::StrCat("poses/", NameOf(folder), ".txt"), above = ParentOf(folder);
  const DataSetPart candidates[] = {{Inside(folder, "poses.txt"), "poses.txt"},
                                    {Inside(above, poses), poses},
                                    {Inside(ParentOf(above), poses), poses}};  // sequences/NN, poses/NN.txt
  for (const DataSetPart& truth : candidates) {
    if (set.truth.path.empty() && IsFile(truth.path)) set.truth = truth;
  }
  set.truth_of_first = set.cameras == "P2,P3";
  return set;
}

absl::StatusOr<DataSet> ReadRaw(const std::string& folder) {
  DataSet set;
  set.layout = kKittiRawLayout.name;
  GLINT_RETURN_IF_ERROR(SetCameras(folder, kRaw, &set));
  const std::string left_path = Inside(folder, set.left), times_path = Inside(left_path, "timestamps.txt");
  std::vector<int64_t> times;
  if (IsFile(times_path)) {
    GLINT_ASSIGN_OR_RETURN(const std::string text, ReadText(times_path));
    GLINT_ASSIGN_OR_RETURN(times, ParseTimestamps(times_path, text));
  } else {
    set.notes.push_back(kNoTimes);
  }
  GLINT_ASSIGN_OR_RETURN(const auto left, ReadFrames(Inside(left_path, "data")));
  GLINT_ASSIGN_OR_RETURN(const auto right, ReadFrames(Inside(Inside(folder, set.right), "data")));
  GLINT_RETURN_IF_ERROR(SetFramePairs(left, right, times, times_path, &set));
  const std::string name = "calib_cam_to_cam.txt", above = Inside(ParentOf(folder), name);
  set.no_calibration = absl::StrCat(above, ": is not there: KITTI has it as a file of the day's own");
  for (const std::string& path : {Inside(folder, name), above}) {
    if (set.calibration.path.empty() && IsFile(path)) set.calibration = {path, name};
  }
  if (IsFolder(Inside(folder, "oxts"))) set.notes.push_back("oxts (GPS and inertial sensor) is not used");
  return set;
}

}  // namespace

const DataSetLayout kKittiOdometryLayout = {"KITTI odometry", SignOfOdometry, ReadOdometry};
const DataSetLayout kKittiRawLayout = {"KITTI raw", SignOfRaw, ReadRaw};

}  // namespace glint::cli
