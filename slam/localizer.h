// Where a stereo camera is, in a map that it builds: odometry, a map of all keyframes, loops, relocalisation, map
// files.
//
// Odometry's window is the local part of the map. A keyframe joins the map of all keyframes once its adjustment is in
// use. A keyframe that sees a place of an earlier one closes a loop: the poses of all keyframes are adjusted to what
// both say, and points move along. A camera that is lost is searched for everywhere in the map.
#ifndef GLINT_SLAM_LOCALIZER_H_
#define GLINT_SLAM_LOCALIZER_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "features/background.h"
#include "features/camera_view.h"
#include "features/types.h"
#include "features/warning.h"
#include "slam/front_end/calibration_watch.h"
#include "slam/front_end/frame_stamp.h"
#include "slam/front_end/front_end.h"
#include "slam/geometry/pose.h"
#include "slam/geometry/stereo_camera.h"
#include "slam/inertial/imu.h"
#include "slam/inertial/imu_buffer.h"
#include "slam/inertial/report.h"
#include "slam/odometry/odometry.h"

namespace glint::slam {

// When what a second thread works out is used.
enum class LocalizerMode {
  kReproducible,  // a fixed number of frames later: the same pairs give the same bytes of poses
  kRealtime,      // once it is ready: never waits, and poses depend on the machine's load
};

struct LocalizerOptions {
  OdometryOptions odometry;
  LocalizerMode mode = LocalizerMode::kReproducible;
  bool close_loops = true;
  int loop_delay = 4;             // 1..100 frames from a keyframe to the use of its loop, in kReproducible
  int min_place_inliers = 40;     // 10..1000 points that a loop or a relocalisation must agree with
  int max_keyframes = 20000;      // 10..1000000; in a full map the oldest redundant keyframe makes room
  int64_t max_points = 10000000;  // 1000..100000000, likewise
};
// OK, or INVALID_ARGUMENT that names the first bad field, its value and its range.
absl::Status ValidateLocalizerOptions(const LocalizerOptions& options);

struct LocalizerResult : OdometryResult {
  bool loop_closed = false;  // the map was corrected before this pair, or became one with another
  // What the camera's poses before were moved by: new world from old, of this map or one that has become it. Nothing:
  // the world is where it was. Steps from pair to pair without it are those of the odometry, with half the error.
  std::optional<Pose> world_correction;
  int64_t keyframes = 0;  // of all maps
  int64_t points = 0;     // likewise
  bool map_full = false;  // max_keyframes or max_points is reached; the last keyframe found no room
  // Standard deviations of rig_rotation, radians: the prior's until keyframes were adjusted; 0 without refine_rig.
  Eigen::Vector3d rig_uncertainty = Eigen::Vector3d::Zero();
  CalibrationFigures calibration;
  std::vector<Warning> warnings;  // what is wrong with the calibration or the pairs; usually empty
};

// What VisitMap() shows.
struct MapKeyframeView {
  int64_t id = 0;
  FrameStamp stamp;  // of the pair that it was made of
  Pose world_from_camera;
  int points = 0;  // that it sees
};
struct MapPointView {
  int64_t id = 0;
  Eigen::Vector3d position;  // world, metres
  int observations = 0;      // keyframes that see it
};

// Not thread-safe: one caller at a time. Adjustments and loops are computed on other threads, which never call the
// front end.
class Localizer {
 public:
  // INVALID_ARGUMENT: a camera or options that are not valid. `front_end` must outlive the localizer. So must
  // `threads`, which localizers can share; null: it makes two of its own. RESOURCE_EXHAUSTED: these cannot be made.
  static absl::StatusOr<std::unique_ptr<Localizer>> Create(const StereoCamera& camera, const LocalizerOptions& options,
                                                           FrontEnd* front_end, BackgroundThreads* threads = nullptr);
  ~Localizer();
  Localizer(const Localizer&) = delete;
  Localizer& operator=(const Localizer&) = delete;

  // As Odometry::Track(), but for times, which FrameClock judges: of those that are not above the last one, only an
  // earlier pair's is an error; for pairs with a frozen image, which are passed over; and for a camera that stays lost:
  // the fourth pair in a row that shows something and is not located begins another map (kNewMap), if there is room
  // and nothing that moves by itself was found in the last 30 pairs, which might be all that this map would be of.
  // With fewer than five keyframes the map that it replaces is given up, and the first such pair does. Maps whose
  // keyframes show the same place become one, the older one.
  absl::Status Track(const CameraView& view, const FrameStamp& stamp, LocalizerResult* result);
  absl::Status Track(const ImageView& left, const ImageView& right, const FrameStamp& stamp, LocalizerResult* result) {
    return Track({left, right, {}}, stamp, result);
  }

  // As Odometry::AddImu(). What is received is counted; see InertialReport. With a sensor the world of a map becomes
  // level (z up) with the pair that gravity is found by, which has inertial.is_level set: all keyframes and points turn
  // about the map's first camera. Loops then leave it level, also where the map is loaded or found again, which need no
  // sensor; inertial.is_level says so of every result. Maps that become one are level if either was. A level world is
  // turned again where later estimates of gravity contradict it.
  absl::Status AddImu(const ImuReadings& readings);
  // As Odometry::PredictPoses().
  void PredictPoses(absl::Span<const int64_t> sensor_times_ns,
                    const std::function<void(const PredictedPose&)>& found) const;
  // All zero without a sensor.
  ImuReceived imu_counts() const;

  // Where a single pair is in the map, without a prior: kRelocalized with the pose, or kLost. Changes nothing of map
  // and tracking. INVALID_ARGUMENT: errors of ValidateView(). FAILED_PRECONDITION: there is no map yet.
  absl::Status Relocalize(const CameraView& view, LocalizerResult* result);
  absl::Status Relocalize(const ImageView& left, const ImageView& right, LocalizerResult* result) {
    return Relocalize({left, right, {}}, result);
  }

  // Writes the map, of several the one with the most keyframes, as AtomicFile does, with its errors.
  // FAILED_PRECONDITION: there is no map yet.
  absl::Status SaveMap(const std::string& path) const;

  // Replaces maps and path by those of a file; its world, whether that is level, keyframe ids and rig rotation go on,
  // and what the sensor's biases were, as a prior unless this run has its own. NOT_FOUND: no such file.
  // INVALID_ARGUMENT: not a map, of another version, cut short, damaged, or of another camera or detector.
  // RESOURCE_EXHAUSTED: over max_keyframes or max_points. An error leaves everything as it was.
  absl::Status LoadMap(const std::string& path);

  // Of the map that the last pair is in; see OdometryResult.
  int32_t map_id() const;

  // All keyframes of the map that the last pair is in, then all its points, each in the order of ids; ends early when a
  // function returns false. Either may be null. Keyframes join the map when their adjustment is in use, a few frames
  // after they were taken.
  void VisitMap(const std::function<bool(const MapKeyframeView&)>& keyframe,
                const std::function<bool(const MapPointView&)>& point) const;

  // Memory of the map and its index; odometry's window and scratch memory come on top, a few MiB.
  size_t MemoryBytes() const;

 private:
  struct State;
  explicit Localizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_LOCALIZER_H_
