// A stereo camera that moves along a true path through a rendered world, and what came of locating it.
#ifndef GLINT_TESTS_SLAM_RENDERED_DRIVE_H_
#define GLINT_TESTS_SLAM_RENDERED_DRIVE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "features/depth.h"
#include "features/types.h"
#include "slam/geometry/pose.h"
#include "slam/geometry/stereo_camera.h"
#include "slam/geometry/trajectory.h"
#include "slam/localizer.h"
#include "tests/scene/depth_sensor.h"
#include "tests/scene/path.h"
#include "tests/scene/sensor.h"
#include "tests/scene/world.h"

namespace glint::slam {

struct DriveOptions {
  scene::StereoHead head;
  scene::SensorOptions sensor;
  std::optional<scene::DepthSensorOptions> depth;  // in place of the right eye; head.baseline is then nominal
  int first = 0;                                   // pose of the path
  int frames = 1000000;                            // at most
  int every = 1;                                   // uses every n-th pose
  double aside = 0;                                // metres to the right of the path, in the world around it
  double drop_share = 0;                           // of the frames are missing
  int drop_burst = 1;
  int dark = -1;  // at this pose the camera waits for 30 black frames
  int still = 0;  // after the last pose it waits for so many frames
  uint32_t seed = 1;
};

struct DriveFrame {
  double seconds = 0;
  Pose truth;
  Image left, right;
  scene::DepthImage depth;  // of a drive with depth, which has no right image

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

  const scene::Path path_;
  const DriveOptions options_;
  std::vector<Moment> moments_;
  scene::World world_;
};

StereoCamera CameraOf(const scene::StereoHead& head);

struct DriveRecord {
  std::map<TrackingStatus, int> statuses;
  std::vector<Pose> path, truth;
  std::vector<double> total_ms, find_ms, track_ms, adjust_ms;
  // Processor time: of the thread that tracks, and of all others (adjustments, loops, the front end's).
  std::vector<double> thread_ms, others_ms;
  int loops = 0;
  int first_lost = -1, first_again = -1;  // frames
  LocalizerResult last;

  void Add(const DriveFrame& frame, const LocalizerResult& result, double ms);
  PathErrors Errors() const { return ComparePaths(path, truth); }
  void Print() const;
};

// All frames. An error ends the run.
absl::Status Track(RenderedDrive* drive, Localizer* localizer, DriveRecord* record);

}  // namespace glint::slam

#endif  // GLINT_TESTS_SLAM_RENDERED_DRIVE_H_
