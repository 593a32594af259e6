// Checks of the calibration by the keypoints of pairs: figures, and warnings where it is implausible.
#ifndef GLINT_SLAM_FRONT_END_CALIBRATION_WATCH_H_
#define GLINT_SLAM_FRONT_END_CALIBRATION_WATCH_H_

#include <cstddef>
#include <vector>

#include "features/location_report.h"
#include "features/warning.h"
#include "slam/front_end/front_end.h"

namespace glint::slam {

// All but `speed`, over the keypoints that both cameras see.
CalibrationFigures FiguresOf(const StereoFrame& frame);

// Whether so few keypoints are seen by both cameras that exchanging them is worth a try.
bool MayBeSwapped(const CalibrationFigures& figures, size_t keypoints);

// Empty if nothing is wrong. `rig_angle`: of the estimated rotation, radians. `swapped_share`: the share of keypoints
// that both cameras see with left and right exchanged, if that was tried; otherwise 0.
std::vector<Warning> WarningsOf(const CalibrationFigures& figures, size_t keypoints, double rig_angle,
                                double swapped_share);
// Warnings of an image with depths, which has no second camera.
std::vector<Warning> DepthWarningsOf(const CalibrationFigures& figures, size_t keypoints);

}  // namespace glint::slam

#endif  // GLINT_SLAM_FRONT_END_CALIBRATION_WATCH_H_
