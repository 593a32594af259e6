// slam_path_run: locates a stereo camera that moves along a true path through a rendered world, and compares.
//
//   slam_path_run --trajectory FILE|flight|circle|rest [--camera kitti|euroc|kaist|kinect|small] [--frames N] ...
//   slam_path_run --trajectory FILE|... --imu [--dark_spans 10:12,20:25] [--imu_noise 10] [--imu_fault axes] ...
//   slam_path_run --trajectory FILE|... --camera_model kannala-brandt --lens=-0.01,0.002,-0.001,0.0002 ...
//   slam_path_run --euroc FOLDER [--images sparse|rendered] [--imu]
//
// The path is a file of lines "t x y z qx qy qz qw", or one of three that are made here; or a recording. With --imu,
// figures without and with an inertial sensor; flags --imu_... say what the simulated one is. With --camera_model, raw
// pictures of a lens with the camera's focal length and centre are rectified and then located. The last lines are
// figures. Exit status 1: a frame was LOST though none was dark (with --imu: even then), or the path is worse than
// --max-ate; 2: it could not run.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "features/camera/rectification.h"
#include "features/options.h"
#include "features/status_macros.h"
#include "lane/lane.h"
#include "slam/front_end/lane_front_end.h"
#include "slam/geometry/trajectory.h"
#include "slam/localizer.h"
#include "tests/scene/imu_flags.h"
#include "tests/scene/lens_flags.h"
#include "tests/slam/euroc_drive.h"
#include "tests/slam/inertial_figures.h"
#include "tests/slam/rendered_drive.h"

ABSL_FLAG(std::string, trajectory, "",
          "the true path: a file; or flight (through a room, 20 Hz), circle (a drive at 8 m/s, 10 Hz), rest (20 Hz)");
ABSL_FLAG(double, duration, 60, "seconds of flight, circle or rest");
ABSL_FLAG(std::string, euroc, "", "in place of it: a folder as EuRoC's data sets have them");
ABSL_FLAG(
    std::string, images, "",
    "--euroc: the folder in it that has other cam0/data and cam1/data; rendered: pictures of a made world, along the "
    "recording's truth, with its readings");
ABSL_FLAG(std::string, camera, "kitti",
          "kitti, euroc, kaist, kinect or small: size, focal length, centre and baseline");
ABSL_FLAG(bool, imu, false, "without and with an inertial sensor, side by side");
ABSL_FLAG(std::vector<std::string>, dark_spans, {}, "--imu: FROM:TO, seconds of the run in which pictures are black");
ABSL_FLAG(double, noise_inflation, 0, "--imu: ImuModel::noise_inflation, 1..1000; 0: its default");
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
ABSL_FLAG(double, focal_ratio, 1, "of the true focal length to the one that the localizer is given");
ABSL_FLAG(std::string, detector, "orbslam", "a preset with descriptors");
ABSL_FLAG(int, features, 0, "of an eye; 0: 2000 for kitti, 700 for small, 1200 otherwise");
ABSL_FLAG(int, threads, 2, "of the front end");
ABSL_FLAG(std::string, backend, "cpu", "cpu or cuda: of the front end; the path is the same");
ABSL_FLAG(int, adjust_delay, -1, "frames; -1: the default");
ABSL_FLAG(bool, loops, true, "closes loops");
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
  } else if (name == "small") {
    *head = {{376, 240, 229, 187.5, 119.5}, 0.11, {}};
  } else {
    return absl::InvalidArgumentError("--camera: not one of kitti, euroc, kaist, kinect, small");
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

absl::StatusOr<scene::Path> PathFromFlags() {
  const std::string name = absl::GetFlag(FLAGS_trajectory);
  if (name != "flight" && name != "circle" && name != "rest") return scene::ReadPath(name);
  scene::Path path;
  const double rate = name == "circle" ? 10 : 20;
  for (int i = 0; i <= absl::GetFlag(FLAGS_duration) * rate; ++i) {
    const double t = i / rate;
    const auto sine = [&](double amplitude, double period) { return amplitude * scene::SinDegrees(360 * t / period); };
    scene::Pose pose;
    if (name == "flight") {  // up to 2 m/s, 1.6 m/s^2 and 1.2 rad/s
      pose = {scene::Rotation(sine(80, 11), sine(12, 4.3), sine(10, 5.7)), {sine(3, 13), sine(0.4, 3.7), sine(2, 8.5)}};
    } else if (name == "circle") {  // of 30 m, over a road that is not quite even
      const double degrees = 57.29577951308232 * 8 / 30 * t;
      pose = {scene::Rotation(degrees, sine(0.7, 2.3), sine(0.7, 1.9)),
              {30 * (1 - scene::CosDegrees(degrees)), sine(0.02, 1.7), 30 * scene::SinDegrees(degrees)}};
    }
    path.push_back({t, pose, ""});
  }
  return path;
}

absl::Status DarkSpansFromFlags(std::vector<DriveOptions::Span>* spans) {
  for (const std::string& text : absl::GetFlag(FLAGS_dark_spans)) {
    const std::vector<std::string> words = absl::StrSplit(text, ':');
    DriveOptions::Span span;
    if (words.size() != 2 || !absl::SimpleAtod(words[0], &span.from) || !absl::SimpleAtod(words[1], &span.to)) {
      return absl::InvalidArgumentError("--dark_spans: not FROM:TO in seconds");
    }
    spans->push_back(span);
  }
  return absl::OkStatus();
}

absl::Status DriveFromFlags(DriveOptions* options) {
  if (absl::Status s = HeadFromFlags(&options->head); !s.ok()) return s;
  options->sensor = {absl::GetFlag(FLAGS_noise), absl::GetFlag(FLAGS_gain), absl::GetFlag(FLAGS_exposure)};
  if (absl::GetFlag(FLAGS_depth)) {
    options->depth = scene::DepthSensorOptions();
    options->depth->baseline = options->head.baseline;
    options->depth->noise = absl::GetFlag(FLAGS_depth_noise);
    options->depth->farthest = absl::GetFlag(FLAGS_depth_farthest);
  }
  options->first = absl::GetFlag(FLAGS_first);
  options->frames = absl::GetFlag(FLAGS_frames);
  options->every = absl::GetFlag(FLAGS_every);
  options->aside = absl::GetFlag(FLAGS_aside);
  options->drop_share = absl::GetFlag(FLAGS_drop);
  options->drop_burst = absl::GetFlag(FLAGS_burst);
  options->dark = absl::GetFlag(FLAGS_dark);
  options->still = absl::GetFlag(FLAGS_still);
  options->seed = static_cast<uint32_t>(absl::GetFlag(FLAGS_seed));
  return DarkSpansFromFlags(&options->dark_spans);
}

// The camera that the localizer is given. With --camera_model the head gets that lens, and the drive what undoes it.
absl::StatusOr<StereoCamera> CameraAndLensFromFlags(DriveOptions* options) {
  StereoCamera camera = CameraOf(options->head);
  GLINT_ASSIGN_OR_RETURN(const glint::Camera lens, scene::ReadLensFlags(options->head.camera));
  if (lens.model == CameraModel::kPinhole) return camera;
  if (options->depth.has_value()) return absl::InvalidArgumentError("--camera_model: is not for --depth");
  GLINT_RETURN_IF_ERROR(scene::PutOn(lens, &options->head));
  const RigidTransform right_from_left = {Eigen::Matrix3d::Identity(), {-camera.baseline, 0, 0}};
  GLINT_ASSIGN_OR_RETURN(const RectifiedPair pair, RectifyPair(lens, lens, right_from_left, {}));
  options->rectify = MakeRemapTable(lens, pair.rectified_from_left, pair.camera);
  camera.focal_length = pair.camera.fx;
  camera.centre_x = pair.camera.cx;
  camera.centre_y = pair.camera.cy;
  std::printf("rectified: focal length %.2f, centre %.2f %.2f\n", pair.camera.fx, pair.camera.cx, pair.camera.cy);
  return camera;
}

// A localizer and its front end.
struct Tracker {
  LaneSet lanes;  // on CUDA; else the front end has one of its own
  std::unique_ptr<LaneFrontEnd> front_end;
  std::unique_ptr<Localizer> localizer;
  DriveRecord record;
};

absl::StatusOr<Tracker> MakeTracker(StereoCamera camera, bool has_depth, const std::optional<ImuModel>& imu) {
  camera.focal_length /= absl::GetFlag(FLAGS_focal_ratio);
  auto detector = PresetOptions(absl::GetFlag(FLAGS_detector));
  if (!detector.ok()) return detector.status();
  detector->max_features = absl::GetFlag(FLAGS_features);
  if (detector->max_features == 0) {
    detector->max_features = camera.image.width > 1000 ? 2000 : camera.image.width > 400 ? 1200 : 700;
  }
  LocalizerOptions options;
  options.close_loops = absl::GetFlag(FLAGS_loops);
  options.odometry.refine_rig = !has_depth;
  options.odometry.imu = imu;
  const double inflation = absl::GetFlag(FLAGS_noise_inflation);
  if (imu.has_value() && inflation > 0) options.odometry.imu->noise_inflation = inflation;
  if (const int delay = absl::GetFlag(FLAGS_adjust_delay); delay >= 0) options.odometry.adjust_delay = delay;
  Tracker tracker;
  if (const std::string backend = absl::GetFlag(FLAGS_backend); backend == "cuda") {
    LaneOptions on_cuda;
    on_cuda.backend = Backend::kCuda;
    on_cuda.lanes = 1;
    auto lanes = CreateLanes(on_cuda);
    if (!lanes.ok()) return lanes.status();
    tracker.lanes = *std::move(lanes);
    tracker.front_end = std::make_unique<LaneFrontEnd>(*detector);
    tracker.front_end->Begin(tracker.lanes.lanes[0].get());
  } else if (backend == "cpu") {
    tracker.front_end = std::make_unique<LaneFrontEnd>(*detector, absl::GetFlag(FLAGS_threads));
  } else {
    return absl::InvalidArgumentError("--backend: not cpu or cuda");
  }
  auto localizer = Localizer::Create(camera, options, tracker.front_end.get());
  if (!localizer.ok()) return localizer.status();
  tracker.localizer = *std::move(localizer);
  return tracker;
}

absl::Status WriteOut(const Tracker& tracker) {
  if (const std::string out = absl::GetFlag(FLAGS_out); !out.empty()) {
    std::ofstream file(out);
    for (const Pose& pose : tracker.record.path) file << KittiLine(pose);
  }
  const std::string map = absl::GetFlag(FLAGS_save_map);
  return map.empty() ? absl::OkStatus() : tracker.localizer->SaveMap(map);
}

// Without and with `imu`; of a drive without --imu, without alone. What is written out is the last one's.
absl::Status RunBoth(const StereoCamera& camera, const ImuModel& imu, const Eigen::Vector3d& up,
                     const std::function<absl::Status(const std::vector<DriveRun>&)>& track, bool* good) {
  auto vision = MakeTracker(camera, /*has_depth=*/absl::GetFlag(FLAGS_depth), std::nullopt);
  if (!vision.ok()) return vision.status();
  if (!absl::GetFlag(FLAGS_imu)) {
    if (absl::Status s = track({{vision->localizer.get(), &vision->record}}); !s.ok()) return s;
    PrintFigures(vision->record, nullptr, up);
    *good = vision->record.first_lost < 0;
    return WriteOut(*vision);
  }
  auto inertial = MakeTracker(camera, absl::GetFlag(FLAGS_depth), imu);
  if (!inertial.ok()) return inertial.status();
  absl::Status status = track(
      {{vision->localizer.get(), &vision->record}, {inertial->localizer.get(), &inertial->record, /*with_imu=*/true}});
  if (!status.ok()) return status;
  PrintFigures(vision->record, &inertial->record, up);
  *good = inertial->record.first_lost < 0;
  return WriteOut(*inertial);
}

absl::Status RunEuroc(bool* good) {
  GLINT_ASSIGN_OR_RETURN(const glint::Camera lens, scene::ReadLensFlags({}));
  if (lens.model != CameraModel::kPinhole) return absl::InvalidArgumentError("--camera_model: is not for --euroc");
  const auto drive = EurocDrive::Open(absl::GetFlag(FLAGS_euroc), absl::GetFlag(FLAGS_images));
  if (!drive.ok()) return drive.status();
  std::optional<RenderedDrive> rendered;
  if (absl::GetFlag(FLAGS_images) == "rendered") {
    DriveOptions options;
    if (absl::Status s = DriveFromFlags(&options); !s.ok()) return s;
    options.head = drive->head();
    options.first = 0;
    options.frames = static_cast<int>(drive->count());
    options.every = 1;
    rendered.emplace(drive->TruePath(), options);
  }
  return RunBoth(
      drive->camera(), drive->imu(), {0, 0, 1},
      [&](const std::vector<DriveRun>& runs) {
        absl::Status status;
        const auto every = static_cast<size_t>(absl::GetFlag(FLAGS_every));
        const size_t end = std::min(drive->count(), static_cast<size_t>(absl::GetFlag(FLAGS_frames)));
        ImuReadings since;  // readings of pairs that are left out
        for (size_t i = 0; i < end && status.ok(); ++i) {
          auto frame = rendered.has_value() ? absl::StatusOr<DriveFrame>(drive->ReadWithoutImages(i)) : drive->Read(i);
          if (!frame.ok()) return frame.status();
          if (rendered.has_value()) {
            DriveFrame seen = rendered->Render(i);
            std::tie(frame->left, frame->right, frame->is_dark) =
                std::tuple(std::move(seen.left), std::move(seen.right), seen.is_dark);
          }
          for (const auto member : {&ImuReadings::gyroscope, &ImuReadings::accelerometer}) {
            (since.*member).insert((since.*member).end(), (frame->imu.*member).begin(), (frame->imu.*member).end());
          }
          if (i % every != 0) continue;
          frame->imu = std::exchange(since, {});
          status = TrackFrame(*frame, i / every, 0, runs);
        }
        return status;
      },
      good);
}

absl::Status Run(bool* good) {
  if (!absl::GetFlag(FLAGS_euroc).empty()) return RunEuroc(good);
  const auto path = PathFromFlags();
  if (!path.ok()) return path.status();
  DriveOptions options;
  GLINT_RETURN_IF_ERROR(DriveFromFlags(&options));
  GLINT_ASSIGN_OR_RETURN(const StereoCamera camera, CameraAndLensFromFlags(&options));
  if (absl::GetFlag(FLAGS_imu)) {
    const auto imu = scene::ReadImuFlags();
    if (!imu.ok()) return imu.status();
    options.imu = imu->options;
    RenderedDrive drive(*path, options);
    ImuModel model = ImuModelOf(imu->options);
    model.imu_time_minus_camera_time_ns = std::llround(1e9 * imu->told_offset);
    return RunBoth(
        camera, model, {0, -1, 0}, [&](const std::vector<DriveRun>& runs) { return Track(&drive, runs); }, good);
  }
  RenderedDrive drive(*path, options);
  auto tracker = MakeTracker(camera, options.depth.has_value(), std::nullopt);
  if (!tracker.ok()) return tracker.status();
  if (const std::string map = absl::GetFlag(FLAGS_load_map); !map.empty()) {
    if (absl::Status s = tracker->localizer->LoadMap(map); !s.ok()) return s;
    *good = RelocalizesRightly(&drive, tracker->localizer.get());
    return absl::OkStatus();
  }
  DriveRecord& record = tracker->record;
  if (absl::Status s = Track(&drive, tracker->localizer.get(), &record); !s.ok()) return s;
  record.Print();
  const PathErrors e = record.Errors();
  const bool is_dark = options.dark >= 0 || !options.dark_spans.empty();
  *good = (is_dark || record.first_lost < 0) && 100 * e.absolute <= absl::GetFlag(FLAGS_max_ate) * e.length;
  return WriteOut(*tracker);
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
