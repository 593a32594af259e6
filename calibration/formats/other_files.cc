#include "calibration/formats/other_files.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace glint::calibration {
namespace {

constexpr size_t kSearchedBytes = 1 << 16;

// A file that begins with `begin` and has all of `words` among its first bytes.
struct OtherFile {
  absl::string_view begin;
  std::vector<absl::string_view> words;
  const char* what;
};

constexpr char kByNumpy[] =
    "NumPy's: write K1, D1, K2, D2, R and T by cv2.FileStorage, or by json with numpy's tolist()";
constexpr char kByMatlab[] =
    "MATLAB's: write K1, D1, K2, D2, R and T as OpenCV's FileStorage has them, R from the first to the second";

const std::vector<OtherFile>& OtherFiles() {
  static const auto* files = new std::vector<OtherFile>{
      {"\x93NUMPY", {}, kByNumpy},
      {"PK\x03\x04", {".npy"}, kByNumpy},
      {"\x80", {"numpy"}, kByNumpy},  // a pickle
      {"MATLAB 5.0 MAT-file", {}, kByMatlab},
      {"#ROSBAG", {}, "a recording of ROS: rostopic echo -n 1 of its camera_info topics prints a calibration"},
      {"SQLite format 3", {}, "a data base: of a ROS 2 recording ros2 topic echo --once prints camera_info"},
      {"\x89PNG", {}, "a picture"},
      {"\xff\xd8\xff", {}, "a picture"},
      {"",
       {"CalibrationInformation", "ModelParameters"},
       "the raw calibration of an Azure Kinect, in shares of the "
       "sensor: take camera_info of its ROS driver, or k4a's intrinsics as fx, fy, cx, cy, k1 to k6, p1, p2"},
      {"", {"intrinsicId", "pxFocalLength"}, "AliceVision or Meshroom, a reconstruction: export it to COLMAP's text"},
      {"",
       {"\"focalLength\"", "\"intrinsicId\""},
       "AliceVision or Meshroom, a reconstruction: export it to COLMAP's text"},
      {"", {"openMVG", "\"intrinsics\""}, "openMVG, a reconstruction: export it to COLMAP's text"},
      {"", {"<calibration", "<projection>", "<f>"}, "Agisoft Metashape: export the camera as OpenCV XML"},
      {"",
       {"fc_left", "cc_left"},
       "the toolbox of Bouguet for MATLAB, in text: write K_left, kc_left as D_left, K_right, "
       "D_right, and T and R of om as OpenCV's FileStorage has them"},
      {"",
       {"cameraParameters"},
       "MATLAB: stereoParametersToOpenCV gives the matrices; write them as K1, D1, K2, D2, R, T"},
      {"", {"np.array("}, "text of Python: write the matrices as YAML or JSON, K: [[fx, 0, cx], ...]"},
      {"", {"target_type", "tagSize"}, "Kalibr's target: the calibration is its camchain"},
      {"", {"amera-system parameters", "distortion:"}, "Kalibr's results in text: its camchain has the same"},
      {"", {"lensmodel", "LENSMODEL_"}, "mrcal's camera model: mrcal-to-kalibr writes Kalibr's camchain of it"},
      {"", {"<images>"}, "a list of pictures for OpenCV's sample: the calibration is what the sample writes"},
  };
  return *files;
}

}  // namespace

std::string WhatItSeems(absl::string_view text) {
  const absl::string_view searched = text.substr(0, kSearchedBytes);
  for (const OtherFile& file : OtherFiles()) {
    const auto has = [&](absl::string_view word) { return absl::StrContains(searched, word); };
    if (!absl::StartsWith(text, file.begin) || (file.begin.empty() && file.words.empty())) continue;
    if (std::all_of(file.words.begin(), file.words.end(), has)) return file.what;
  }
  return "";
}

}  // namespace glint::calibration
