// Prediction of the next frame's pose by an inertial sensor, and all that it needs: gravity, velocity and biases are
// found from the first poses that images give, and followed from there; a sensor that contradicts the images is left
// out.
#ifndef GLINT_SLAM_ODOMETRY_INERTIAL_MOTION_H_
#define GLINT_SLAM_ODOMETRY_INERTIAL_MOTION_H_

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "slam/geometry/pose.h"
#include "slam/inertial/imu.h"
#include "slam/inertial/imu_buffer.h"
#include "slam/inertial/imu_watch.h"
#include "slam/inertial/inertial_filter.h"
#include "slam/inertial/initializer.h"
#include "slam/inertial/preintegration.h"
#include "slam/inertial/report.h"

namespace glint::slam {

// Not thread-safe. Memory and work are bounded: the readings of ImuBuffer, the last 40 poses.
class InertialMotion {
 public:
  using Matrix6 = InertialFilter::Matrix6;

  explicit InertialMotion(const ImuModel& model);

  void AddReadings(const ImuReadings& readings) { buffer_.Add(readings); }

  // Gravity, velocity and biases are known, and the state is that of the last frame.
  bool is_ready() const { return status_ == InertialStatus::kReady; }
  // Whether there are readings from the last frame on up to this time, without a gap.
  bool HasReadingsUntil(int64_t time_ns) const { return has_time_ && buffer_.Covers(time_ns_, time_ns); }
  // Where the last frame's state leads, if it is ready and there are readings up to then. Changes nothing.
  std::optional<InertialFilter> Predict(int64_t time_ns) const;
  // Likewise at each of the times, which ascend, that is later than the last frame: step by step, so that it takes as
  // long as there are readings; ends where these do. Changes nothing.
  void PredictEach(absl::Span<const int64_t> times_ns,
                   const std::function<void(int64_t time_ns, const InertialFilter& filter)>& found) const;
  // Goes on to a frame: readings since the last one are used, and the state moves along. Once for each frame.
  void Advance(int64_t time_ns);
  // How far a pose is from what is predicted for this frame. Nothing unless it is ready.
  std::optional<Innovation> Compare(const Pose& camera_from_world, const Matrix6& covariance) const;
  // What images say of this frame's pose.
  void Located(const Pose& camera_from_world, const Matrix6& covariance);
  // They say nothing.
  void NotLocated();
  // The predicted pose becomes the map's, which goes on from there without what was seen before.
  void Anchor();

  const InertialFilter& filter() const { return filter_; }  // of this frame, if it is ready
  double blind_seconds() const { return blind_seconds_; }   // since images located a frame
  // A measurement since the last keyframe, and begins the next one: nothing if readings are missing, or it is not
  // ready.
  std::optional<Preintegration> TakeSinceKeyframe();
  // That such a measurement is of by now.
  double seconds_since_keyframe() const { return is_keyframe_linked_ ? since_keyframe_.seconds() : 0; }
  // The next keyframe's predecessor is another one.
  void ForgetKeyframe() { is_keyframe_linked_ = false; }

  // The world moves by this (new world from old), or the poses that were found do.
  void Correct(const Pose& correction);
  // The poses, corrected already, are of another map's world now, which is level or not.
  void EnterWorld(const std::optional<WorldLevel>& level = {});
  // Velocity is not known any more. The world is as level as it was, which helps to find the rest, as do biases.
  void Reset();
  // Likewise, but what the sensor has told of biases is not believed, nor where it was last held.
  void Distrust();
  // The next pose is of another world, which is level or not.
  void LeaveWorld(const std::optional<WorldLevel>& level = {});
  // This frame's camera is a new world.
  void BeginWorld();
  // Set once gravity was found or found better, or contradicts a world that is level: what makes the world level, new
  // world from old, is due.
  bool wants_level() const { return level_.has_value(); }
  // The correction, which is then to be applied to all poses, Correct() included.
  Pose TakeLevel();
  bool is_level() const { return is_level_; }
  WorldLevel level() const { return {gravity_sigma_, biases()}; }  // of a world that is level
  // As they are, or were when they were last known.
  BiasEstimate biases() const;

  const ImuModel& model() const { return model_; }
  const ImuBuffer& buffer() const { return buffer_; }
  const std::vector<Warning>& warnings() const { return watch_.warnings(); }
  InertialReport Report() const;

 private:
  // Whether the sensor repeats itself at the end of the samples.
  bool IsFrozen();
  // Adds a pose to the history.
  void Remember(const Pose& camera_from_world);
  void Initialize();
  BiasEstimate PriorOfBiases() const;
  // What makes the world level, if gravity points there.
  Pose LevelOf(const Eigen::Vector3d& gravity) const;
  void FollowTilt();

  const ImuModel model_;
  ImuBuffer buffer_;
  ImuWatch watch_;
  InertialFilter filter_;
  InertialStatus status_ = InertialStatus::kInitializing;
  ImuBias bias_;  // the last one known

  bool has_time_ = false;
  int64_t time_ns_ = 0;             // of this frame
  std::vector<ImuSample> samples_;  // since the last frame; empty: they are missing
  bool has_samples_ = false;
  int same_rates_ = 0, same_accelerations_ = 0;  // samples in a row that are as the one before
  double blind_seconds_ = 0;
  Innovation innovation_;
  bool has_innovation_ = false;

  // For Initialize(): poses at least kSpacing apart, and what was measured since the last one.
  std::vector<PosedMeasurement> history_;
  std::vector<ImuSample> since_pose_;
  bool is_pose_linked_ = false;  // since_pose_ covers all of the time
  int poses_since_try_ = 0;
  double ready_seconds_ = 0;
  bool is_refined_ = false;
  std::optional<Pose> level_;
  bool is_level_ = false;
  double gravity_sigma_ = 0;   // radians, of the direction, once the world is level
  bool is_held_ = false;       // the world was level before this estimate, and is not turned unless that contradicts it
  bool is_doubted_ = false;    // it does
  BiasEstimate known_biases_;  // while it is not ready
  bool are_biases_own_ = false;  // of this run
  // Gravity in the sensor's axes while it is not ready, by its rotation since it was.
  struct Tilt {
    Eigen::Vector3d gravity;
    double sigma_at_first = 0, seconds = 0, rate_sigma = 0;
    double sigma(const ImuModel& model) const;
  };
  std::optional<Tilt> tilt_;

  Preintegration since_keyframe_;
  bool is_keyframe_linked_ = false;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_ODOMETRY_INERTIAL_MOTION_H_
