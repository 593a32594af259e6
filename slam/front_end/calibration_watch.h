// Checks of the calibration by the keypoints of pairs: figures, and warnings where it is implausible.
#ifndef GLINT_SLAM_FRONT_END_CALIBRATION_WATCH_H_
#define GLINT_SLAM_FRONT_END_CALIBRATION_WATCH_H_

#include <cstddef>
#include <vector>

#include "features/warning.h"
#include "slam/front_end/front_end.h"

namespace glint::slam {

// Figures of one pair, over the keypoints that both cameras see.
struct CalibrationFigures {
  int stereo = 0;                        // these keypoints
  double stereo_share = 0;               // of all keypoints
  double median_vertical_disparity = 0;  // pixels, left y - right y
  double vertical_disparity_spread = 0;  // pixels, median distance from that median
  double median_disparity = 0;           // pixels
  double speed = 0;                      // metres a second, as tracked; 0 unless tracking
  double swapped_share = 0;              // stereo_share with left and right exchanged, if that was tried; otherwise 0
};

// All but `speed` and `swapped_share`.
CalibrationFigures FiguresOf(const StereoFrame& frame);

// Whether so few keypoints are seen by both cameras that exchanging them is worth a try.
bool MayBeSwapped(const CalibrationFigures& figures, size_t keypoints);

// Empty if nothing is wrong. `rig_angle`: of the estimated rotation, radians.
std::vector<Warning> WarningsOf(const CalibrationFigures& figures, size_t keypoints, double rig_angle);
// Warnings of an image with depths, which has no second camera.
std::vector<Warning> DepthWarningsOf(const CalibrationFigures& figures, size_t keypoints);

}  // namespace glint::slam

#endif  // GLINT_SLAM_FRONT_END_CALIBRATION_WATCH_H_
