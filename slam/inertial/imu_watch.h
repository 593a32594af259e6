// What an inertial sensor says beside what the images say: faults that are found, named, and left out.
#ifndef GLINT_SLAM_INERTIAL_IMU_WATCH_H_
#define GLINT_SLAM_INERTIAL_IMU_WATCH_H_

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "features/warning.h"
#include "slam/geometry/pose.h"
#include "slam/inertial/imu.h"
#include "slam/inertial/turn_fit.h"

namespace glint::slam {

enum class ImuFault {
  kNone,
  kNoSamples,      // images go on, readings do not
  kFrozen,         // the same values all the time
  kSaturated,      // at the range, over and over
  kDegrees,        // angular velocity in degrees a second
  kGravityUnits,   // acceleration in units of g, or of mm/s^2: its length at rest is far off gravity's
  kAxes,           // another orientation than camera_from_imu says: axes exchanged, mirrored, its inverse
  kTimeOffset,     // clocks differ by more than 10 ms beyond what is given
  kContradiction,  // none of these explains the difference
};

// Looks at frames that the images located: intervals of the last 5 s, five times a second. Times are those of frames,
// so that the same input gives the same. Thread-compatible. Work and memory are bounded.
class ImuWatch {
 public:
  explicit ImuWatch(const ImuModel& model) : model_(model) {}

  // The pose of a frame and the samples (not corrected by any bias) since the frame before, which may be none. Frames
  // that were not located by images are not added, and break the chain: Break().
  void Add(int64_t time_ns, const Pose& camera_from_world, absl::Span<const ImuSample> since_last);
  void Break() { has_last_ = false; }
  // Judges: by rotations of the camera beside those of the gyroscope, by the mean length of accelerations, by repeated
  // and saturated values. A fault is one once it holds for over a second of frames (kContradiction: 3.5 s), within 5 s
  // of its begin where the motion shows it (turns that vary by over 0.1 rad/s; a camera at rest, or one that turns
  // steadily, tells no orientation and no offset: a fault then stays as it was), and ends likewise. Of several faults,
  // the first one of the enumeration.
  ImuFault fault() const { return fault_; }
  // Of all faults that hold: what is wrong, by how much, and what to do; WarningKind::kImuContradicts or kImuSamples.
  const std::vector<Warning>& warnings() const { return warnings_; }
  // By how much the sensor's clock seems to be ahead of what is given, ns, and whether the motion told so.
  bool knows_offset() const { return knows_offset_; }
  int64_t offset_ns() const { return offset_ns_; }

 private:
  static constexpr size_t kFaults = static_cast<size_t>(ImuFault::kContradiction) + 1;

  // Between two frames.
  struct Interval {
    int64_t from_ns = 0, to_ns = 0;
    double seconds = 0;
    // Of the axes at the beginning from those at the end: the camera's, by images; the sensor's; the sensor's if its
    // readings are of degrees a second.
    Eigen::Quaterniond camera, sensor, in_degrees;
    Eigen::Vector3d moved;    // of the camera, in the world, metres
    double acceleration = 0;  // mean length, m/s^2
    bool has_samples = false, is_saturated = false;
    bool is_gyroscope_frozen = false, is_accelerometer_frozen = false;
  };
  enum class Verdict { kUnknown, kHolds, kDoesNot };
  struct State {
    double seconds_for = 0, seconds_against = 0;  // in a row
    bool is_fault = false;
    Warning warning;
  };

  void Measure(absl::Span<const ImuSample> samples, Interval* interval);
  void Judge(double seconds);
  void JudgeSamples();
  void JudgeLength();
  // By `seconds`: since the last time.
  void JudgeTurns(double seconds);
  ImuFault NameFault(double error, double at_rest, double seconds);
  void Say(ImuFault fault, Verdict verdict) { verdicts_[static_cast<size_t>(fault)] = verdict; }
  void SayHolds(ImuFault fault, const Warning& warning);
  // Pieces of `seconds` each that end every `stride`, of the time `span` before the newest frame.
  void Collect(double seconds, double stride, double span, Turns* turns) const;
  bool HasMoved(bool by_speed) const;  // in the last second
  OffsetFit FindOffset();
  void AddOffset(const OffsetFit& fit, double seconds);

  ImuModel model_;
  std::vector<Interval> intervals_;
  std::vector<TurnPoint> line_;  // angles of the gyroscope as long as samples are without a gap
  bool has_last_ = false;
  int64_t last_ns_ = 0;
  Pose last_;
  bool has_last_sample_ = false;
  ImuSample last_sample_;
  double seconds_since_judged_ = 0;
  Turns turns_, offset_turns_;
  Eigen::Vector3d bias_ = Eigen::Vector3d::Zero();  // of the gyroscope, rad/s
  double bias_seconds_ = 0;                         // that it was found in
  bool contradicts_at_rest_ = false;                // that is what kContradiction was found by
  double offset_ = 0, offset_weight_ = 0;           // seconds, and their information, 1/s^2
  double said_offset_ = 0;                          // what kTimeOffset was found by
  std::array<Verdict, kFaults> verdicts_ = {};
  std::array<State, kFaults> states_;
  ImuFault fault_ = ImuFault::kNone;
  std::vector<Warning> warnings_;
  bool knows_offset_ = false;
  int64_t offset_ns_ = 0;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_INERTIAL_IMU_WATCH_H_
