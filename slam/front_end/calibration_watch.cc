#include "slam/front_end/calibration_watch.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_format.h"

namespace glint::slam {
namespace {

constexpr size_t kFewest = 50;               // keypoints that suffice for a warning
constexpr double kLeastShare = 0.05;         // of keypoints that both cameras see
constexpr double kSwapGain = 4;              // of that share, when left and right are exchanged
constexpr double kMaxVerticalDisparity = 2;  // pixels
constexpr double kLargestSpread = 0.7;
constexpr double kLeastDisparity = 0.3;
constexpr double kFastest = 100;           // metres a second
constexpr double kLargestRigAngle = 0.01;  // radians
constexpr double kDegrees = 57.29577951308232;

double MedianOf(std::vector<double>* values) {
  const auto middle = values->begin() + static_cast<ptrdiff_t>(values->size() / 2);
  std::nth_element(values->begin(), middle, values->end());
  return *middle;
}

Warning SpeedWarning(double speed, const char* cause) {
  return {WarningKind::kImplausibleSpeed, speed, "m/s",
          absl::StrFormat("the camera would move at %.0f m/s: %s or timestamps are wrong", speed, cause)};
}

}  // namespace

CalibrationFigures FiguresOf(const StereoFrame& frame) {
  CalibrationFigures figures;
  std::vector<double> vertical_disparities;
  std::vector<double> disparities;
  for (size_t i = 0; i < frame.left.count(); ++i) {
    if (frame.is_stereo[i] == 0) continue;
    vertical_disparities.push_back(frame.vertical_disparity[i]);
    disparities.push_back(frame.disparity[i]);
  }
  if (vertical_disparities.empty()) return figures;
  figures.stereo_keypoints = static_cast<int>(vertical_disparities.size());
  figures.stereo_share = static_cast<double>(vertical_disparities.size()) / static_cast<double>(frame.left.count());
  figures.median_disparity = MedianOf(&disparities);
  figures.median_vertical_disparity = MedianOf(&vertical_disparities);
  for (double& v : vertical_disparities) v = std::abs(v - figures.median_vertical_disparity);
  figures.vertical_disparity_spread = MedianOf(&vertical_disparities);
  return figures;
}

bool MayBeSwapped(const CalibrationFigures& figures, size_t keypoints) {
  return keypoints >= kFewest && figures.stereo_share < 1 / kSwapGain;
}

std::vector<Warning> WarningsOf(const CalibrationFigures& f, size_t keypoints, double rig_angle, double swapped_share) {
  std::vector<Warning> warnings;
  if (swapped_share > 0 && swapped_share >= kSwapGain * f.stereo_share) {
    warnings.push_back({WarningKind::kSwapped, swapped_share, "1",
                        absl::StrFormat("left and right seem to be exchanged: %.0f %% of the keypoints are in both "
                                        "images, and %.0f %% the other way round",
                                        100 * f.stereo_share, 100 * swapped_share)});
  } else if (keypoints >= kFewest && f.stereo_share < kLeastShare) {
    warnings.push_back(
        {WarningKind::kDifferentScenes, f.stereo_share, "1",
         absl::StrFormat("only %.1f %% of %d keypoints are in both images: not rectified, or not a pair?",
                         100 * f.stereo_share, keypoints)});
  }
  if (rig_angle > kLargestRigAngle) {
    const double degrees = kDegrees * rig_angle;
    warnings.push_back({WarningKind::kRigRotation, degrees, "deg",
                        absl::StrFormat("the right camera seems to be turned by %.2f degrees: rectify anew", degrees)});
  }
  if (f.speed > kFastest) warnings.push_back(SpeedWarning(f.speed, "baseline"));
  if (static_cast<size_t>(f.stereo_keypoints) < kFewest) return warnings;
  if (std::abs(f.median_vertical_disparity) > kMaxVerticalDisparity) {
    warnings.push_back(
        {WarningKind::kUnrectified, f.median_vertical_disparity, "px",
         absl::StrFormat("vertical disparity of %.1f pixels (median): not rectified", f.median_vertical_disparity)});
  }
  if (f.vertical_disparity_spread > kLargestSpread) {
    warnings.push_back({WarningKind::kVerticalDisparitySpread, f.vertical_disparity_spread, "px",
                        absl::StrFormat("vertical disparity varies by %.1f pixels (median): not rectified, or the "
                                        "images are not of one moment",
                                        f.vertical_disparity_spread)});
  }
  if (std::abs(f.median_disparity) < kLeastDisparity) {
    warnings.push_back(
        {WarningKind::kNoDisparity, f.median_disparity, "px",
         absl::StrFormat("disparity is %.2f pixels (median): is one image sent twice?", f.median_disparity)});
  }
  return warnings;
}

std::vector<Warning> DepthWarningsOf(const CalibrationFigures& f, size_t keypoints) {
  std::vector<Warning> warnings;
  if (keypoints >= kFewest && f.stereo_share < kLeastShare) {
    warnings.push_back({WarningKind::kFewDepths, f.stereo_share, "1",
                        absl::StrFormat("only %.1f %% of %d keypoints have a depth: wrong unit or limits, or not "
                                        "registered with the image?",
                                        100 * f.stereo_share, keypoints)});
  }
  if (f.speed > kFastest) warnings.push_back(SpeedWarning(f.speed, "unit of the depth"));
  return warnings;
}

}  // namespace glint::slam
