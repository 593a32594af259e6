// Stereo visual odometry: the path of a rectified stereo camera, from its pictures, and those of an inertial sensor's
// readings that agree with them.
//
// Each pair is matched with the points of the last keyframes, its pose is fitted to them, and where little of the last
// keyframe is left in view the pair becomes one itself; the last keyframes, their points and the residual rotation of
// the rig are then adjusted together, on a second thread. The adjustment is used a fixed number of frames later, or
// before the next keyframe, and every sum has one order, without clocks and with fixed seeds: the same pairs give the
// same bytes of poses, on any number of threads.
//
// The scheme is that of ORB-SLAM2's tracking and local mapping (Mur-Artal and Tardos, 2017). The path drifts, and a
// camera that is carried elsewhere while it is lost stays lost; Localizer (localizer.h) adds what mends both.
#ifndef GLINT_SLAM_ODOMETRY_ODOMETRY_H_
#define GLINT_SLAM_ODOMETRY_ODOMETRY_H_

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "features/background.h"
#include "features/camera_view.h"
#include "features/types.h"
#include "slam/estimate/local_map.h"
#include "slam/estimate/pose_uncertainty.h"
#include "slam/front_end/front_end.h"
#include "slam/geometry/pose.h"
#include "slam/geometry/stereo_camera.h"
#include "slam/inertial/imu.h"
#include "slam/inertial/report.h"
#include "slam/odometry/adjustment_scheduler.h"
#include "slam/odometry/inertial_motion.h"
#include "slam/odometry/keyframe_selector.h"
#include "slam/odometry/motion_model.h"
#include "slam/odometry/moving_region.h"
#include "slam/odometry/pose_finder.h"

namespace glint::slam {

enum class TrackingStatus {
  kInitializing,  // no map yet: too few keypoints that both cameras see; the pose is that of the last keyframe
  kTracking,
  kCoasting,     // not located; the pose continues the last motion, or is where the inertial sensor says
  kLost,         // not located; the pose is the last one known
  kRelocalized,  // located again after kLost; nothing is added to the map before the next pair is located, too
  kNewMap,       // the first pair of another map than before, which is its world
};
const char* NameOf(TrackingStatus status);

struct OdometryOptions {
  int min_inliers = 30;          // 10..1000 points that a pose must agree with
  int max_coasting = 3;          // 0..100 frames in a row; after them, or without keypoints, the camera is lost
  int window = 15;               // 2..100 keyframes that are kept and adjusted
  double keyframe_share = 0.75;  // 0..1: a keyframe is due when inliers fall below this share of those of the
                                 // first frame after the last one
  int max_keyframe_gap = 5;      // 1..1000 frames between keyframes, while the camera moves
  int adjust_delay = 1;          // 0..100 frames from a keyframe to the use of its adjustment
  bool refine_rig = true;        // estimate StereoCamera::rig_rotation
  double rig_prior = 0.002;      // 1e-6..0.1 radians
  NoiseModel noise;              // standard deviations, each 0.01..100
  std::optional<ImuModel> imu;   // an inertial sensor, whose readings come by AddImu()
  double max_blind_seconds =
      10;  // 0..60: for as long the camera coasts on the inertial sensor, in place of max_coasting
};
// OK, or INVALID_ARGUMENT that names the first bad field, its value and its range.
absl::Status ValidateOdometryOptions(const OdometryOptions& options);

struct OdometryResult {
  TrackingStatus status = TrackingStatus::kInitializing;
  int32_t map_id = 0;      // of the map that the pose is in; counts up from 0
  Pose world_from_camera;  // the left camera of the map's first keyframe is the world
  // Covariance of the pose relative to the map's first keyframe while kTracking or kRelocalized, or kCoasting on an
  // inertial sensor; otherwise, and in a map's first pair, zero. Of a left increment, as in PoseFit; with the errors of
  // the points, the rig's rotation and the keyframes between. A loop makes it smaller.
  Eigen::Matrix<double, 6, 6> covariance = Eigen::Matrix<double, 6, 6>::Zero();
  int keypoints = 0;
  int matches = 0;          // with points of the map
  int inliers = 0;          // of these, that agree with the pose
  double mean_error = 0;    // pixels, of the inliers' left positions
  int moving = 0;           // keypoints of things that move by themselves, which are no matches
  bool is_unclear = false;  // two motions fit the matches: the pose may be by the wrong one
  bool is_keyframe = false;
  bool is_adjusted = false;  // an adjustment came into use: keyframes and points have moved
  Eigen::Vector3d rig_rotation = Eigen::Vector3d::Zero();  // as estimated so far, radians
  InertialReport inertial;
  int64_t find_ns = 0;    // front end
  int64_t track_ns = 0;   // matching with the map, pose
  int64_t adjust_ns = 0;  // keyframe, waiting for an adjustment
};

// Not thread-safe. Memory is bounded by the window: at most `window`
// keyframes' keypoints are kept as points.
class Odometry {
 public:
  // `camera` and `options` must be valid; `front_end` must outlive it. So must `threads`, which adjust; null: the
  // thread that calls Track() does.
  Odometry(const StereoCamera& camera, const OdometryOptions& options, FrontEnd* front_end,
           AdjustmentUse use = AdjustmentUse::kAfterDelay, BackgroundThreads* threads = nullptr);

  // A rectified pair of the camera's shape, or an image with depths, and its time of capture, nanoseconds of any clock.
  // INVALID_ARGUMENT: errors of ValidateInput(); the pair is then ignored.
  absl::Status Track(const CameraView& view, int64_t time_ns, OdometryResult* result);
  absl::Status Track(const ImageView& left, const ImageView& right, int64_t time_ns, OdometryResult* result) {
    return Track({left, right, {}}, time_ns, result);
  }
  // Readings of the inertial sensor in the options, those up to a pair's time before it. INVALID_ARGUMENT: there is
  // none there, or a value is not finite.
  absl::Status AddImu(const ImuReadings& readings);
  // Where the inertial sensor says that the camera is at times of readings of its gyroscope, in any order: at those
  // later than the last pair, in order, as far as there are readings and for max_blind_seconds. None unless it is
  // ready. Each time takes as long as the readings since the one before. Changes nothing.
  void PredictPoses(absl::Span<const int64_t> sensor_times_ns,
                    const std::function<void(const PredictedPose&)>& found) const;
  // What a pair is answered with that is not to be used, the `passed`-th in a row: where the last motion leads, as
  // kCoasting, for max_coasting pairs; then it is kLost. Changes nothing.
  void PassOver(int64_t time_ns, int passed, OdometryResult* result) const;
  // OK, or INVALID_ARGUMENT: errors of ValidateView(), depths with refine_rig, a time that is not above the last one.
  absl::Status ValidateInput(const CameraView& view, int64_t time_ns) const;

  // The camera's rig rotation as estimated so far, and its standard deviations (zero without refine_rig).
  const StereoCamera& camera() const { return camera_; }
  const Eigen::Vector3d& rig_uncertainty() const { return rig_uncertainty_; }
  // The last keyframes and their points; keyframes[].id and points[].id count up from 0.
  const LocalMap& map() const { return map_; }
  int32_t map_id() const { return map_id_; }
  // From the last keyframe but one to the last one; without points if they do not follow each other in one map.
  const KeyframeStep& keyframe_step() const { return keyframe_step_; }
  // Of the last pair; with `left` keypoints of the right image where is_right_alone().
  const StereoFrame& frame() const { return frame_; }
  // Whether the left camera sees nothing, there is a map, and the last pair is located by the right one alone: near
  // where it is expected, or not at all, and without a keyframe.
  bool is_right_alone() const { return is_right_alone_; }
  // Ids of the next ones.
  int64_t next_keyframe() const { return next_keyframe_; }
  int64_t next_point() const { return next_point_; }

  bool is_adjusting() const { return adjustment_.is_running(); }
  // Waits for the adjustment that goes on, and uses it: keyframes and points have moved.
  void FinishAdjustment();
  // Corrects keyframes by their CorrectionOf() (new world from old), points with the last keyframe that sees them, and
  // the camera with the last keyframe. No adjustment may go on.
  void ApplyCorrections(const std::map<int64_t, Pose>& corrections);
  // What adjustments and corrections have moved the camera by since the last call (new world from old); nothing: none
  // did, or it is in another map since.
  std::optional<Pose> TakeWorldCorrection() { return std::exchange(world_correction_, std::nullopt); }
  // Status and pose of the last pair as they are now, after a correction of the map.
  void Describe(OdometryResult* result) const;
  // Whether the inertial sensor has told which way is up, and the world is not level yet.
  bool wants_level() const { return inertial_.has_value() && inertial_->wants_level(); }
  // Corrects all that is here, and returns the correction (new world from old), for the rest of the map and the result.
  // No adjustment may go on.
  Pose Level(OdometryResult* result);
  // The map has another world (new from old): all that is here is of that. No adjustment may go on.
  void TurnWorld(const Pose& new_from_old) { ApplyCorrections({{0, new_from_old}}); }
  bool is_level() const { return inertial_.has_value() && inertial_->is_level(); }
  const InertialMotion* inertial() const { return inertial_.has_value() ? &*inertial_ : nullptr; }
  // These three need that no adjustment goes on.
  // Goes on, lost, from a map that was saved, near a keyframe, `anchor`; new keyframes and points get ids from these
  // on. The map is not empty, its ids lie below. `level`, here and below: of the map's world, if it is.
  void Load(LocalMap map, const StereoCamera& camera, const PoseAnchor& anchor, int64_t next_keyframe,
            int64_t next_point, const std::optional<WorldLevel>& level);
  // Whether most of what the last pair matches in `map` near a pose agrees with it, at least `min_inliers` points:
  // then the pose is refined, and `matches` are what it was refined by.
  bool Confirm(const LocalMap& map, const StereoFrame& frame, int min_inliers, Pose* camera_from_world,
               FrameMatches* matches);
  // Goes on from another local map, around `anchor`, of a map that was begun here, in which the last pair was
  // confirmed.
  void Relocalize(LocalMap map, int32_t map_id, const std::optional<WorldLevel>& level, const PoseAnchor& anchor,
                  const Pose& camera_from_world, FrameMatches matches, OdometryResult* result);
  // Begins another map with the last pair. False, with everything as it was: both cameras see too little, or something
  // that moves by itself may fill the view, which would be the map.
  bool BeginMap(OdometryResult* result);
  // Whether the camera, which coasts on the inertial sensor, sees something that is not near it in the map.
  bool is_off_map() const;
  // Whether a pose is where the inertial sensor expects it.
  bool Agrees(const Pose& camera_from_world, const PoseFit& fit) const;
  // Goes on from another part of the same map, in which the last pair was confirmed where it Agrees().
  void Rejoin(LocalMap map, const PoseAnchor& anchor, const Pose& camera_from_world, FrameMatches matches,
              OdometryResult* result);
  // Makes the last pair a keyframe of the map where the inertial sensor says. What that does not know is part of the
  // covariance of all poses from there on. No adjustment may go on. False, with everything as it was: both
  // cameras see too little.
  bool GoOnFromImu(OdometryResult* result);
  // Another name for the map, whose world has become that of another one.
  void Rename(int32_t map_id, const std::optional<WorldLevel>& level);
  // The keyframe that covariances are measured from: the newest one, or where another local map was entered; and what
  // they are with, of the rig.
  const PoseAnchor& anchor() const { return anchor_; }
  // How uncertain the newest keyframe is relative to the map that was around.
  const PoseUncertainty& newest_step() const { return newest_step_; }
  void SetUncertaintyOfAnchor(const PoseUncertainty& uncertainty) { anchor_.uncertainty = uncertainty; }
  Eigen::Vector3d RigSigma() const {
    return slam::RigSigma(rig_uncertainty_, options_.rig_prior, camera_.focal_length);
  }

 private:
  // Points that the frame measures with both cameras.
  size_t MeasuredPoints() const;
  bool CanInitialize() const;
  // Sets frame_.
  absl::Status FindKeypoints(const CameraView& view);
  void Enter(LocalMap map, int32_t map_id, const PoseAnchor& anchor, const Pose& camera_from_world,
             TrackingStatus status);
  // Matches and inliers of the pair, before an adjustment moves the pose; the pose and what it is relative to.
  void DescribeFit(OdometryResult* result) const;
  PosePrediction Predict(int64_t time_ns) const;
  PosePrediction PredictionOf(const InertialFilter& filter) const;
  static Eigen::Matrix<double, 6, 6> PriorCovarianceOf(const InertialFilter& filter);
  // Relative to the map's first keyframe, of a pose whose uncertainty relative to the map around is `step`.
  PoseUncertainty UncertaintyAt(const Pose& camera_from_world, const PoseUncertainty& step) const {
    return anchor_.uncertainty.Then(camera_from_world * anchor_.camera_from_world.Inverse(), step);
  }
  // The part of a pose's covariance that is of the anchor's.
  Eigen::Matrix<double, 6, 6> AnchorCovarianceAt(const Pose& camera_from_world) const {
    return UncertaintyAt(camera_from_world, {}).Total(RigSigma());
  }
  // PoseFinder::Find() of frame_, for the left camera, whichever image the keypoints are of.
  bool FindPose(const PosePrior* prior, PosePrediction prediction, Pose* camera_from_world);
  // Updates pose, motion and status by the frame. True: it is to be a keyframe.
  bool LocateFrame(int64_t time_ns, int keypoints);
  // Sees again what moves by itself, by the last two pairs; `before`: the pose of the first of them.
  void WatchMovingRegion(const Pose& before);
  void Coast(int64_t time_ns, int keypoints);
  // Where the inertial sensor says.
  void CoastOnImu(int keypoints);
  // Whether a pose that images say cannot be where the inertial sensor does; not for long.
  bool IsContradicted(const PoseFit& fit);
  // False if it has to wait for an adjustment.
  bool TakeKeyframe(OdometryResult* result);
  // Sets keyframe_step_ from the last keyframe to the pair that becomes one.
  void DescribeKeyframeStep();
  // `step`: how uncertain the pose is relative to the map around.
  void AddKeyframe(const PoseUncertainty& step);
  void AddInertial(Keyframe* keyframe);
  void AddObservation(Landmark* point, size_t keypoint, const Observation& observation) const;
  // Points for the stereo keypoints that are not `is_known`.
  void TriangulatePoints(const std::vector<uint8_t>& is_known);
  void StartAdjustment();
  // Drops the keyframes that nothing ties to the newest one: an adjustment would move these against each other at will.
  void DropUntiedKeyframes();
  // Gives keyframes without a motion one of which nothing is known.
  void FillMotions();
  // Makes the newest keyframe's motion, as adjusted, its prior.
  void KeepNewestMotion(const LocalProblem::Inertial::Vector9& sigma);
  // What the adjustment gets of the inertial sensor: nothing unless the newest keyframe has a motion, in
  // a world that is level.
  std::optional<LocalProblem::Inertial> InertialOfWindow() const;
  // FinishAdjustment(), after which the matches of the frame name the same points. Those that have left the map are no
  // inliers.
  void FinishAndRemapObservations();

  StereoCamera camera_;
  const OdometryOptions options_;
  FrontEnd* const front_end_;
  Eigen::Vector3d rig_uncertainty_;

  // The three steps of a frame.
  PoseFinder pose_finder_;
  MovingRegion moving_region_;
  KeyframeSelector keyframes_;
  AdjustmentScheduler adjustment_;

  LocalMap map_;
  int32_t map_id_ = 0, next_map_id_ = 0;
  int64_t first_keyframe_ = 0;  // of the map, if it was begun here
  int64_t next_keyframe_ = 0;
  int64_t next_point_ = 0;
  int64_t reference_keyframe_ = -1;  // whose image is the front end's reference frame; -1: none of the map's
  Pose camera_from_world_;
  MotionModel motion_;
  Pose coasted_;  // by motion_: the camera now from where it was located last, at located_time_ns_
  int64_t located_time_ns_ = 0;
  int64_t last_time_ns_ = 0;
  bool has_time_ = false;
  std::optional<InertialMotion> inertial_;
  int unmatched_ = 0;     // pairs in a row with something to see, that coasted on the inertial sensor
  int contradicted_ = 0;  // pairs in a row whose pose was not believed
  PoseAnchor anchor_;
  KeyframeStep keyframe_step_;
  PoseUncertainty newest_step_;
  std::optional<Pose> world_correction_;
  TrackingStatus status_ = TrackingStatus::kInitializing;
  int coasting_ = 0;

  // The current frame and its 2D-3D correspondences.
  StereoFrame frame_, other_;
  // Of the last pair and this one, where it is not all in frame_, which lacks a region then.
  StereoFrame seen_before_, seen_;
  bool has_region_ = false;
  bool is_right_alone_ = false;
  FrameMatches matches_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_ODOMETRY_ODOMETRY_H_
