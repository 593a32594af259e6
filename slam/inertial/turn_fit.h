// Rotations of a camera, as images tell them, beside those of a gyroscope: how well they agree, and what would explain
// a difference. Pure: thread-safe.
#ifndef GLINT_SLAM_INERTIAL_TURN_FIT_H_
#define GLINT_SLAM_INERTIAL_TURN_FIT_H_

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace glint::slam {

inline constexpr int kMostTurns = 32;
inline constexpr double kDegreesInRadian = 57.29577951308232;
using Rotations =
    Eigen::Matrix<double, 3, Eigen::Dynamic, Eigen::ColMajor, 3, kMostTurns>;  // rotation vectors, radians

// What the camera turned by in pieces of time, and what the sensor did. Rotations are of the axes at the beginning of a
// piece from those at its end; all members have the same count of pieces.
struct Turns {
  Rotations camera;      // in the camera's axes
  Rotations in_degrees;  // the sensor's in its axes, if its readings are of degrees a second
  std::array<Eigen::Quaterniond, kMostTurns> sensor;
  std::array<int64_t, kMostTurns> from_ns = {}, to_ns = {};
  std::array<double, kMostTurns> seconds = {};
  Eigen::Index count = 0;

  // The sensor's, in its axes; of half a turn and more, without taking whole turns off.
  Rotations Sensor() const;
};

// How far the camera's rotations vary about their mean: what no bias explains. Radians, root of the mean square.
double Variation(const Turns& turns);

// What a gyroscope's bias may be: in camera axes, rad/s.
struct BiasLimit {
  Eigen::Vector3d centre = Eigen::Vector3d::Zero();
  double radius = 0.5;
};

// Squared difference per component, normalised by errors of 3 mrad and 5 % of images, with the bias that explains most
// of it taken off, and without the worst fifth of the pieces, such as a loop that is closed makes: about 1 or less
// where all is well.
struct TurnFit {
  double error = 0;
  double worst = 0;                                // of one piece, with those that are left out
  Eigen::Vector3d bias = Eigen::Vector3d::Zero();  // rad/s, in camera axes
  std::array<double, kMostTurns> weight = {};      // of the pieces' squared differences, 1/rad^2; 0: left out
};
// At least 2 pieces. `predicted`: the camera's rotations as the sensor has them, in camera axes.
TurnFit CompareTurns(const Turns& turns, const Rotations& predicted, const BiasLimit& limit = {});

// The rotation, or with `may_mirror` the orthogonal matrix, that takes the sensor's rotations to the camera's best:
// Kabsch's. Where the rotations are about one axis only, the one that is nearest to `given`.
struct AxesFit {
  double error = 0;
  Eigen::Matrix3d camera_from_imu = Eigen::Matrix3d::Identity();
  bool is_unique = false;  // the rotations are about more than one axis
};
AxesFit FitAxes(const Turns& turns, const Eigen::Matrix3d& given, bool may_mirror);

// The integral of angular velocities from some time on, in the sensor's axes, without composing rotations: for pieces
// of a tenth of a second.
struct TurnPoint {
  int64_t time_ns = 0;
  Eigen::Vector3d angle = Eigen::Vector3d::Zero();
};

// By how much the sensor's times are ahead, within 100 ms. Pieces that `line` (by time) does not cover by 110 ms beyond
// both ends are not used.
struct OffsetFit {
  bool is_known = false;  // there is one best offset, and it explains the difference
  double error = 0;       // with it
  double error_without = 0;
  double error_at_rest = 0;  // if the sensor did not turn
  double seconds = 0;
  double sigma = 0;  // seconds; an error of the axes and a bias, which are estimated, too, are part of it
  double angle = 0;  // of that error, radians
};
OffsetFit FitOffset(const Turns& turns, const Eigen::Matrix3d& camera_from_imu, const std::vector<TurnPoint>& line);

}  // namespace glint::slam

#endif  // GLINT_SLAM_INERTIAL_TURN_FIT_H_
