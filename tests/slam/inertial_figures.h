// What an inertial sensor was good for: figures of a run beside the truth.
#ifndef GLINT_TESTS_SLAM_INERTIAL_FIGURES_H_
#define GLINT_TESTS_SLAM_INERTIAL_FIGURES_H_

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "tests/slam/rendered_drive.h"

namespace glint::slam {

// Frames in a row that images did not locate, after one that they did.
struct BlindSpan {
  double from = 0, seconds = 0;    // of the drive's time, to the last blind frame
  double error = 0;                // metres, of the last blind frame's position against the last located one's
  double turned = 0;               // radians, likewise
  double sigmas = 0;               // the position's error in standard deviations of its covariance; 0: there was none
  int until_tracking = -1;         // frames from its end to the first that is kTracking; -1: never
  bool is_dark = false;            // of frames that were black
  std::vector<double> normalized;  // of each frame, the three errors of its position in their standard deviations
};

struct InertialFigures {
  // Of located frames of the map that has most of them; paths of fewer than 2 have none.
  int located = 0, maps = 0;
  int near = 0;                     // of them, within 0.2 m of the truth after the best rigid alignment
  double length = 0, absolute = 0;  // metres, ATE
  double end = 0;                   // metres, of the last such frame against the first one
  std::vector<BlindSpan> blind;
  // Shares within 3 standard deviations, if there are any: of positions' axes in blind frames, and of velocities' axes.
  std::optional<double> positions_within, velocities_within;
  // Medians of the innovations, of frames that have one.
  double rotation_innovation = 0, position_innovation = 0;
  std::optional<double> first_ready;                    // seconds from the first frame
  int ready = 0, left_out = 0;                          // frames
  double largest_tilt = 0;                              // radians, of frames that are level and not lost
  double velocity_error = 0;                            // m/s, root mean square
  double gyroscope_error = 0, accelerometer_error = 0;  // of the last biases, rad/s and m/s^2
  double gyroscope_sigma = 0, accelerometer_sigma = 0;
  double rest_drift = 0;  // metres: the farthest from where the camera came to rest, at 10 frames of rest or more
};

// `up`: of the true world, of length 1.
InertialFigures FiguresOf(const DriveRecord& record, const Eigen::Vector3d& up);

// Side by side, blind spans and warnings after them. `inertial` may be null.
void PrintFigures(const DriveRecord& vision, const DriveRecord* inertial, const Eigen::Vector3d& up);

}  // namespace glint::slam

#endif  // GLINT_TESTS_SLAM_INERTIAL_FIGURES_H_
