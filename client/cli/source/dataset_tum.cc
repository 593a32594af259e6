// TUM RGB-D: rgb.txt, depth.txt and groundtruth.txt, lists with times in seconds; depths of 5000 a metre.
// https://cvg.cit.tum.de/data/datasets/rgbd-dataset/file_formats
#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "calibration/calibration.h"
#include "client/cli/source/dataset_layouts.h"
#include "client/cli/source/dataset_parts.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kToleranceNs = 20'000'000;  // of the benchmark's tool that associates colour and depth

std::string SignOfTum(const std::string& folder) {
  for (const char* list : {"rgb.txt", "depth.txt"}) {
    if (IsFile(Inside(folder, list))) return list;
  }
  return "";
}

// The data set has none: what people put beside it, such as ORB-SLAM's TUM1.yaml.
void FindCalibration(const std::string& folder, DataSet* set) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string ending = absl::AsciiStrToLower(at->path().extension().string());
    if (ending == ".yaml" || ending == ".yml" || ending == ".json" || ending == ".xml" || ending == ".conf") {
      files.push_back(at->path().string());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> names;
  for (const std::string& file : files) {
    if (!calibration::ReadCalibration({file}).ok()) continue;
    names.push_back(fs::path(file).filename().string());
    set->calibration = {file, names.back()};
  }
  if (names.size() == 1) return;
  set->calibration = {};
  set->no_calibration = names.empty()
                            ? absl::StrCat(folder, ": has no calibration, as ", set->layout, " has none")
                            : absl::StrCat(folder, ": has several calibrations: ", absl::StrJoin(names, ", "));
}

absl::StatusOr<DataSet> ReadTum(const std::string& folder) {
  DataSet set;
  set.layout = kTumRgbdLayout.name;
  set.left = "rgb";
  set.right = "depth";
  set.depth = true;
  set.depth_unit = 0.0002;
  std::vector<std::vector<TimedFile>> lists;
  for (const std::string& kind : {set.left, set.right}) {
    const std::string list = Inside(folder, kind + ".txt"), pictures = Inside(folder, kind);
    if (!IsFile(list) && !IsFolder(pictures)) return MissingPart(folder, set.layout, kind + ".txt");
    GLINT_ASSIGN_OR_RETURN(lists.emplace_back(), ReadFileList(list, folder, pictures, ListTime::kSeconds, &set.notes));
  }
  GLINT_RETURN_IF_ERROR(SetPairs(lists[0], lists[1], kToleranceNs, &set));
  FindCalibration(folder, &set);
  const std::string truth = Inside(folder, "groundtruth.txt");
  if (IsFile(truth)) set.truth = {truth, "groundtruth.txt"};
  return set;
}

}  // namespace

const DataSetLayout kTumRgbdLayout = {"TUM RGB-D", SignOfTum, ReadTum};

}  // namespace glint::cli
