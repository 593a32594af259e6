// A stereo camera that moves along a true path through a rendered world, and what came of locating it.
#ifndef GLINT_TESTS_SLAM_RENDERED_DRIVE_H_
#define GLINT_TESTS_SLAM_RENDERED_DRIVE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "features/camera/remap_table.h"
#include "features/camera_view.h"
#include "features/types.h"
#include "slam/geometry/pose.h"
#include "slam/geometry/stereo_camera.h"
#include "slam/geometry/trajectory.h"
#include "slam/inertial/imu.h"
#include "slam/localizer.h"
#include "tests/scene/depth_sensor.h"
#include "tests/scene/imu_path.h"
#include "tests/scene/path.h"
#include "tests/scene/sensor.h"
#include "tests/scene/smooth_path.h"
#include "tests/scene/world.h"

namespace glint::slam {

struct DriveOptions {
  scene::StereoHead head;
  scene::SensorOptions sensor;
  std::optional<RemapTable> rectify;               // of the pictures of both eyes, which have the head's lens
  std::optional<scene::DepthSensorOptions> depth;  // in place of the right eye; head.baseline is then nominal
  int first = 0;                                   // pose of the path
  int frames = 1000000;                            // at most
  int every = 1;                                   // uses every n-th pose
  double aside = 0;                                // metres to the right of the path, in the world around it
  double drop_share = 0;                           // of the frames are missing
  int drop_burst = 1;
  int dark = -1;  // at this pose the camera waits for 30 black frames
  int still = 0;  // after the last pose it waits for so many frames
  // The camera then moves along the SmoothPath of all this, the waiting included, and frames have readings.
  std::optional<scene::ImuOptions> imu;
  struct Span {
    double from = 0, to = 0;  // seconds from the first frame on
  };
  std::vector<Span> dark_spans;  // frames in these are black, while the camera moves on
  uint32_t seed = 1;
};

struct DriveFrame {
  double seconds = 0;
  Pose truth;
  Image left, right;
  scene::DepthImage depth;  // of a drive with depth, which has no right image
  bool is_dark = false;
  ImuReadings imu;   // of a drive with a sensor: those since the frame before
  ImuMotion motion;  // likewise, the truth at this frame

  // Both eyes, or image and depth in samples of `unit` metres.
  CameraView view(double unit) const;
};

// Not thread-safe.
class RenderedDrive {
 public:
  RenderedDrive(const scene::Path& path, const DriveOptions& options);

  size_t count() const { return moments_.size(); }
  DriveFrame Render(size_t i);
  // Metres in a sample of its frames' depths.
  double depth_unit() const { return options_.depth.has_value() ? options_.depth->unit : 0; }

 private:
  struct Moment {
    size_t pose;
    int waited;  // frames, before
    bool is_dark;
  };
  static std::vector<Moment> MomentsOf(size_t poses, const DriveOptions& options);
  double SecondsOf(const Moment& moment) const;
  // Where the camera is at each pose and while it waits, whether a frame arrives or not.
  scene::Path Timeline() const;
  void AddImu(size_t i, DriveFrame* frame) const;

  const scene::Path path_;
  const DriveOptions options_;
  std::vector<Moment> moments_;
  scene::World world_;
  std::optional<scene::SmoothPath> smooth_;  // with a sensor
  std::vector<scene::ImuRow> imu_;
};

// `raw` has the shape of the table's source.
Image Rectified(const Image& raw, const RemapTable& table);

StereoCamera CameraOf(const scene::StereoHead& head);
// What is known of a sensor before: its pose, noise, ranges and clock.
ImuModel ImuModelOf(const scene::ImuOptions& options);

struct DriveRecord {
  std::map<TrackingStatus, int> statuses;
  std::vector<Pose> path, truth;  // where the world became level, poses of before have been turned along
  std::vector<LocalizerResult> results;
  // Of each frame, as DriveFrame has them.
  std::vector<double> seconds;
  std::vector<bool> is_dark;
  std::vector<ImuMotion> motion;
  std::vector<double> total_ms, find_ms, track_ms, adjust_ms;
  // Processor time: of the thread that tracks, and of all others (adjustments, loops, the front end's).
  std::vector<double> thread_ms, others_ms;
  int loops = 0;
  int first_lost = -1, first_again = -1;  // frames
  LocalizerResult last;

  void Add(const DriveFrame& frame, const LocalizerResult& result, double ms);
  // After a frame that is level, the first one of its map: turns the earlier poses of that map, whose first keyframe
  // the localizer knows.
  void Level(const Localizer& localizer);
  PathErrors Errors() const { return ComparePaths(path, truth); }
  // RMS error of the steps from one located pair to the next in the same map, metres: as the poses were answered, or
  // without what moved the world (LocalizerResult::world_correction).
  double StepError(bool is_corrected) const;
  // Frames that are kTracking, and how many of them are wrong: their position is off by more than three standard
  // deviations of its covariance and by more than 1 % of the way since the map's first located frame, which is put upon
  // the truth and does not count. Medians of their errors and standard deviations of position, metres, and of their
  // normalised squared errors by degree of freedom.
  struct Claims {
    int all = 0, wrong = 0;
    double error = 0, sigma = 0, normalised = 0;
  };
  Claims TrackingClaims() const;
  void Print() const;
};

// The pose is one: kTracking, kRelocalized or kNewMap.
bool IsLocated(const LocalizerResult& result);

// All frames. An error ends the run.
absl::Status Track(RenderedDrive* drive, Localizer* localizer, DriveRecord* record);

// Likewise for several localizers, which see the same pictures; `with_imu` the drive's readings, too.
struct DriveRun {
  Localizer* localizer;
  DriveRecord* record;
  bool with_imu = false;
};
absl::Status Track(RenderedDrive* drive, const std::vector<DriveRun>& runs);
// One frame, the i-th of a drive; the records have as many.
absl::Status TrackFrame(const DriveFrame& frame, size_t i, double depth_unit, const std::vector<DriveRun>& runs);

}  // namespace glint::slam

#endif  // GLINT_TESTS_SLAM_RENDERED_DRIVE_H_
