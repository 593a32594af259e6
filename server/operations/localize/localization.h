// The localization of a stream: slam/ on lanes, with the map in parts as the wire has it.
#ifndef GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZATION_H_
#define GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZATION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "features/background.h"
#include "features/camera_view.h"
#include "features/depth.h"
#include "features/options.h"
#include "lane/lane.h"
#include "proto/location.h"
#include "server/pixels/rectification.h"
#include "server/schedule/frame_job.h"
#include "slam/front_end/lane_front_end.h"
#include "slam/geometry/stereo_camera.h"
#include "slam/inertial/imu.h"
#include "slam/inertial/imu_buffer.h"
#include "slam/localizer.h"

namespace glint {

struct LocalizationOptions {
  DetectorOptions detector;                            // valid, with descriptors
  slam::StereoCamera camera;                           // of rectified images
  std::shared_ptr<const Rectification> rectification;  // of raw images, whose camera that is; or null
  std::optional<DepthSensor> depth;  // of an RGB-D camera; then odometry.refine_rig is off and camera.rig_rotation 0
  // Its odometry.imu is of the camera above. Keyframes and points above its ranges, or what max_map_bytes holds, are
  // cut.
  slam::LocalizerOptions localizer;
  int64_t max_map_bytes = 0;                       // of memory
  int64_t max_wait_for_readings_ns = 100'000'000;  // of a pair, with an inertial sensor; 0: none
};

struct MapSize {
  int64_t keyframes = 0, points = 0, bytes = 0;
};

// Of one part.
inline constexpr size_t kMaxPartKeyframes = 1024;
inline constexpr size_t kMaxPartPoints = 16384;

// State that a LocalizeStream keeps from pair to pair. Thread-compatible. Features are found, matched and followed by
// the lane that works on a pair, any of the same LaneSet; images to be followed stay on the device of the first one.
// With LocalizerMode::kReproducible, results do not depend on the lanes.
class Localization {
 public:
  // INVALID_ARGUMENT names the field of the camera or of the depth sensor. `threads` as for slam::Localizer.
  static absl::StatusOr<std::unique_ptr<Localization>> Create(const LocalizationOptions& options,
                                                              BackgroundThreads* threads = nullptr);

  // The next pair, or image with depths, as the options say; a keyframe that is made of it keeps its id and time.
  // INVALID_ARGUMENT: a time that is not above the last pair's, images of another shape than the camera's.
  // RESOURCE_EXHAUSTED: the map takes more than max_map_bytes, which max_keyframes and max_points do not let it. These
  // pairs change nothing. Errors of the lane: a pair whose features were found counts as one in which less was found.
  // Without an error `times` has stages, match_ns, locate_ns and adjust_ns.
  absl::Status Track(Lane* lane, const CameraView& view, uint64_t frame_id, int64_t time_ns, Location* location,
                     FrameTimes* times);
  // Finds a pair in the map; changes nothing. FAILED_PRECONDITION: there is no map. Errors of the lane.
  absl::Status Relocalize(Lane* lane, const CameraView& view, Location* location, FrameTimes* times);

  // Readings of the inertial sensor in the options, those up to a pair's time before it; and how many more there was no
  // room for. INVALID_ARGUMENT: there is none there, or a value is not finite.
  absl::Status AddImu(const slam::ImuReadings& readings, int64_t lost);
  // As slam::Localizer::PredictPoses().
  void PredictPoses(const std::vector<int64_t>& sensor_times_ns, std::vector<ImuPose>* poses) const;
  // Of all AddImu().
  ImuReceived imu_received() const { return WithLost(localizer_->imu_counts()); }

  // FAILED_PRECONDITION: there is no map yet. RESOURCE_EXHAUSTED, INTERNAL: errors of AtomicFile.
  absl::Status Save(const std::string& path) const { return localizer_->SaveMap(path); }
  // NOT_FOUND; INVALID_ARGUMENT: no map, damaged, or of another camera or detector. Then nothing has changed.
  absl::Status Load(const std::string& path);
  // The part of the map from there on.
  void Read(const MapPosition& from, MapPart* part) const;

  MapSize size() const { return {keyframes_, points_, static_cast<int64_t>(localizer_->MemoryBytes())}; }

 private:
  explicit Localization(const LocalizationOptions& options)
      : front_end_(options.detector), max_map_bytes_(options.max_map_bytes) {}
  absl::Status Answer(slam::LocalizerResult&& result, Location* location, FrameTimes* times) const;
  ImuReceived WithLost(ImuReceived counts) const;

  slam::LaneFrontEnd front_end_;
  std::unique_ptr<slam::Localizer> localizer_;
  const int64_t max_map_bytes_;
  int64_t keyframes_ = 0, points_ = 0;  // of the map, by its last result
  int64_t lost_readings_ = 0;
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_LOCALIZE_LOCALIZATION_H_
