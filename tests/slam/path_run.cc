// slam_path_run: locates a stereo camera that moves along a true path through a rendered world, and compares.
//
//   slam_path_run --trajectory FILE [--camera kitti|euroc|kaist|kinect] [--frames N] [--noise 2] [--gain 0.2] ...
//
// The path is a file of lines "t x y z qx qy qz qw". The last lines are figures. Exit status 1: a frame was LOST though
// none was dark, or the path is worse than --max-ate; 2: it could not run.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/numbers.h"
#include "features/options.h"
#include "slam/front_end/lane_front_end.h"
#include "slam/geometry/trajectory.h"
#include "slam/localizer.h"
#include "tests/slam/rendered_drive.h"

ABSL_FLAG(std::string, trajectory, "", "the true path");
ABSL_FLAG(std::string, camera, "kitti", "kitti, euroc, kaist or kinect: size, focal length, centre and baseline");
ABSL_FLAG(int, first, 0, "the first pose");
ABSL_FLAG(int, frames, 1000000, "at most");
ABSL_FLAG(int, every, 1, "uses every n-th pose");
ABSL_FLAG(double, noise, 2, "grey levels");
ABSL_FLAG(double, gain, 0.2, "brightness swings by this");
ABSL_FLAG(bool, depth, false,
          "the camera has depth in place of a right eye, as a sensor with a projector at the baseline");
ABSL_FLAG(double, depth_noise, 0.2, "of the sensor's disparity, pixels");
ABSL_FLAG(double, depth_farthest, 8, "metres");
ABSL_FLAG(double, exposure, 0, "seconds");
ABSL_FLAG(double, aside, 0, "metres to the right of the path");
ABSL_FLAG(double, drop, 0, "share of frames that are missing");
ABSL_FLAG(int, burst, 1, "missing frames in a row");
ABSL_FLAG(int, dark, -1, "at this pose the camera waits for 30 black frames");
ABSL_FLAG(int, still, 0, "after the last pose the camera waits for so many frames");
ABSL_FLAG(std::vector<std::string>, rig, {}, "yaw,pitch,roll of the right camera, degrees");
ABSL_FLAG(std::string, detector, "orbslam", "a preset with descriptors");
ABSL_FLAG(int, features, 0, "of an eye; 0: 2000 for kitti, 1200 otherwise");
ABSL_FLAG(int, threads, 2, "of the front end");
ABSL_FLAG(int, adjust_delay, -1, "frames; -1: the default");
ABSL_FLAG(int, seed, 1, "of the world and what is dropped");
ABSL_FLAG(double, max_ate, 1e9, "percent of the path's length");
ABSL_FLAG(std::string, out, "", "the path that was found, as KITTI has it");
ABSL_FLAG(std::string, save_map, "", "a file");
ABSL_FLAG(std::string, load_map, "", "a file, of a run from the first pose; every pair is relocalised in it");

namespace glint::slam {
namespace {

absl::Status HeadFromFlags(scene::StereoHead* head) {
  const std::string name = absl::GetFlag(FLAGS_camera);
  if (name == "kitti") {
    *head = {{1226, 370, 707.0912, 601.8873, 183.1104}, 0.537, {}};
  } else if (name == "euroc") {
    *head = {{752, 480, 458.654, 367.215, 248.375}, 0.11, {}};
  } else if (name == "kaist") {
    *head = {{640, 480, 391, 319.5, 239.5}, 0.05, {}};
  } else if (name == "kinect") {
    *head = {{640, 480, 525, 319.5, 239.5}, 0.075, {}};
  } else {
    return absl::InvalidArgumentError("--camera: not one of kitti, euroc, kaist, kinect");
  }
  const std::vector<std::string> rig = absl::GetFlag(FLAGS_rig);
  if (rig.empty()) return absl::OkStatus();
  double degrees[3] = {};
  bool is_valid = rig.size() == 3;
  for (size_t i = 0; is_valid && i < 3; ++i) is_valid = absl::SimpleAtod(rig[i], &degrees[i]);
  if (!is_valid) return absl::InvalidArgumentError("--rig: not three numbers");
  head->right_from_left = scene::Rotation(degrees[0], degrees[1], degrees[2]);
  return absl::OkStatus();
}

// Every pair alone in a loaded map. The map's world is the first camera of its drive, hence that of the true path.
bool RelocalizesRightly(RenderedDrive* drive, Localizer* localizer) {
  int found = 0, wrong = 0;
  for (size_t i = 0; i < drive->count(); ++i) {
    const DriveFrame frame = drive->Render(i);
    LocalizerResult result;
    const absl::Status status = localizer->Relocalize(frame.view(drive->depth_unit()), &result);
    if (!status.ok() || result.status != TrackingStatus::kRelocalized) continue;
    ++found;
    if ((result.world_from_camera.translation - frame.truth.translation).norm() > 0.5) ++wrong;
  }
  std::printf("relocalised %d of %zu, wrong by over 0.5 m: %d\n", found, drive->count(), wrong);
  return wrong == 0;
}

absl::Status Run(bool* good) {
  auto path = scene::ReadPath(absl::GetFlag(FLAGS_trajectory));
  if (!path.ok()) return path.status();
  DriveOptions options;
  if (absl::Status s = HeadFromFlags(&options.head); !s.ok()) return s;
  options.sensor = {absl::GetFlag(FLAGS_noise), absl::GetFlag(FLAGS_gain), absl::GetFlag(FLAGS_exposure)};
  if (absl::GetFlag(FLAGS_depth)) {
    options.depth = scene::DepthSensorOptions();
    options.depth->baseline = options.head.baseline;
    options.depth->noise = absl::GetFlag(FLAGS_depth_noise);
    options.depth->farthest = absl::GetFlag(FLAGS_depth_farthest);
  }
  options.first = absl::GetFlag(FLAGS_first);
  options.frames = absl::GetFlag(FLAGS_frames);
  options.every = absl::GetFlag(FLAGS_every);
  options.aside = absl::GetFlag(FLAGS_aside);
  options.drop_share = absl::GetFlag(FLAGS_drop);
  options.drop_burst = absl::GetFlag(FLAGS_burst);
  options.dark = absl::GetFlag(FLAGS_dark);
  options.still = absl::GetFlag(FLAGS_still);
  options.seed = static_cast<uint32_t>(absl::GetFlag(FLAGS_seed));

  const auto preset = PresetOptions(absl::GetFlag(FLAGS_detector));
  if (!preset.ok()) return preset.status();
  DetectorOptions detector = *preset;
  detector.max_features = absl::GetFlag(FLAGS_features);
  if (detector.max_features == 0) detector.max_features = absl::GetFlag(FLAGS_camera) == "kitti" ? 2000 : 1200;
  LaneFrontEnd front_end(detector, absl::GetFlag(FLAGS_threads));
  LocalizerOptions localizer_options;
  localizer_options.odometry.refine_rig = !options.depth.has_value();
  if (const int delay = absl::GetFlag(FLAGS_adjust_delay); delay >= 0) localizer_options.odometry.adjust_delay = delay;
  auto localizer = Localizer::Create(CameraOf(options.head), localizer_options, &front_end);
  if (!localizer.ok()) return localizer.status();
  RenderedDrive drive(*path, options);
  if (const std::string map = absl::GetFlag(FLAGS_load_map); !map.empty()) {
    if (absl::Status s = (*localizer)->LoadMap(map); !s.ok()) return s;
    *good = RelocalizesRightly(&drive, localizer->get());
    return absl::OkStatus();
  }

  DriveRecord record;
  if (absl::Status s = Track(&drive, localizer->get(), &record); !s.ok()) return s;
  record.Print();
  if (const std::string out = absl::GetFlag(FLAGS_out); !out.empty()) {
    std::ofstream file(out);
    for (const Pose& pose : record.path) file << KittiLine(pose) << "\n";
  }
  if (const std::string map = absl::GetFlag(FLAGS_save_map); !map.empty()) {
    if (absl::Status s = (*localizer)->SaveMap(map); !s.ok()) return s;
  }
  const PathErrors e = record.Errors();
  *good = (options.dark >= 0 || record.first_lost < 0) && 100 * e.absolute <= absl::GetFlag(FLAGS_max_ate) * e.length;
  return absl::OkStatus();
}

}  // namespace
}  // namespace glint::slam

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  bool good = false;
  if (const absl::Status status = glint::slam::Run(&good); !status.ok()) {
    std::fprintf(stderr, "slam_path_run: %s\n", std::string(status.message()).c_str());
    return 2;
  }
  return good ? 0 : 1;
}
