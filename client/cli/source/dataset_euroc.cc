// EuRoC's layout (ASL): mav0/cam0, cam1, imu0, each with data.csv, data/ and sensor.yaml; and TUM-VI's, which has
// Kalibr's calibration in dso/ beside mav0.
// https://projects.asl.ethz.ch/datasets/doku.php?id=kmavvisualinertialdatasets,
// https://cvg.cit.tum.de/data/datasets/visual-inertial-dataset
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "calibration/calibration.h"
#include "client/cli/source/calibration.h"
#include "client/cli/source/dataset_layouts.h"
#include "client/cli/source/dataset_parts.h"
#include "client/cli/source/picture_files.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr const char* kCameras[] = {"cam0", "cam1"};

std::string BaseOf(const std::string& folder) {
  const std::string inside = Inside(folder, "mav0");
  return IsFolder(inside) ? inside : folder;
}

// TUM-VI's folder beside mav0; empty: there is none.
std::string DsoOf(const std::string& folder) {
  std::string dso = Inside(folder, "dso");
  if (!IsFolder(dso) && NameOf(folder) == "mav0") dso = Inside(ParentOf(folder), "dso");
  return IsFolder(dso) ? dso : "";
}

std::string SignOfEuroc(const std::string& folder) {
  if (IsFolder(Inside(folder, "mav0"))) return "mav0";
  for (const char* camera : kCameras) {
    const std::string path = Inside(folder, camera);
    if (IsFile(Inside(path, "data.csv")) || IsFolder(Inside(path, "data"))) return camera;
  }
  return "";
}

int64_t ToleranceOf(const std::vector<TimedFile>& files) {
  std::vector<absl::Duration> times;
  times.reserve(files.size());
  for (const TimedFile& file : files) times.push_back(absl::Nanoseconds(file.time_ns));
  return absl::ToInt64Nanoseconds(cli::ToleranceOf(times));
}

// Returns whether the calibration may say where the inertial sensor is. What is wrong with it is said when it is read
// for images of known size.
bool FindCalibration(const std::string& base, const std::string& dso, DataSet* set) {
  const std::string chain = Inside(dso, "camchain.yaml"), imu = Inside(dso, "imu_config.yaml");
  if (!dso.empty() && IsFile(chain)) {
    set->calibration = {IsFile(imu) ? absl::StrCat(chain, ",", imu) : chain, "dso/camchain.yaml"};
  } else {
    for (const char* camera : kCameras) {
      if (IsFile(Inside(Inside(base, camera), "sensor.yaml"))) continue;
      set->no_calibration = absl::StrCat(base, ": has no ", camera, "/sensor.yaml",
                                         set->layout == "TUM-VI" ? ", nor dso/camchain.yaml beside it" : "");
      return true;
    }
    set->calibration = {base, "sensor.yaml"};
  }
  const auto read = calibration::ReadCalibration(PathsIn(set->calibration.path), {{}, set->cameras});
  return !read.ok() || read->rig.imu.has_value();
}

absl::StatusOr<DataSet> ReadEuroc(const std::string& folder) {
  const std::string base = BaseOf(folder), dso = DsoOf(folder), imu = Inside(base, "imu0");
  DataSet set;
  set.left = kCameras[0];
  set.right = kCameras[1];
  set.cameras = "cam0,cam1";
  const std::string estimate = "state_groundtruth_estimate0", mocap = "mocap0";
  const bool has_mocap = IsFile(Inside(Inside(base, mocap), "data.csv"));
  set.layout = has_mocap || !dso.empty() ? "TUM-VI" : "EuRoC";
  std::vector<std::vector<TimedFile>> lists;
  for (const char* camera : kCameras) {
    const std::string path = Inside(base, camera), pictures = Inside(path, "data");
    if (!IsFolder(path)) return MissingPart(folder, set.layout, camera);
    GLINT_ASSIGN_OR_RETURN(lists.emplace_back(), ReadFileList(Inside(path, "data.csv"), pictures, pictures,
                                                              ListTime::kNanoseconds, &set.notes));
  }
  GLINT_RETURN_IF_ERROR(SetPairs(lists[0], lists[1], std::min(ToleranceOf(lists[0]), ToleranceOf(lists[1])), &set));
  const bool knows_imu = FindCalibration(base, dso, &set);
  if (IsFile(Inside(imu, "data.csv"))) set.imu = {imu, "imu0"};
  for (const std::string& truth : {estimate, mocap}) {
    const std::string path = Inside(Inside(base, truth), "data.csv");
    if (set.truth.path.empty() && IsFile(path)) set.truth = {path, truth};
  }
  for (DataSetPart* part : {&set.imu, &set.truth}) {  // the truth is the sensor's, too
    if (knows_imu || part->path.empty()) continue;
    set.notes.push_back(absl::StrCat(part->name, " is left out: ", set.calibration.name,
                                     " does not say where the inertial sensor is (--imu PATH --camera-from-imu FILE)"));
    *part = {};
  }
  set.truth_has_gaps = set.truth.name == mocap;  // TUM-VI's room with cameras is where a drive begins and ends
  return set;
}

}  // namespace

const DataSetLayout kEurocLayout = {"EuRoC", SignOfEuroc, ReadEuroc};

}  // namespace glint::cli
