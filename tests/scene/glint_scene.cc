// glint-scene: writes a rendered scene and its truth to a folder.
//
//   OUT/000000.png ...          frames (the left camera's)
//   OUT/right/000000.png ...    --stereo: the right camera's
//   OUT/truth/truth.json        --truth: camera, pose of each frame, homographies from frame 0 to each frame
//   OUT/truth/depth_000000.pfm  --truth: distance along the optical axis, metres
//   OUT/truth/disparity_000000.pfm  --truth --stereo: x in the left picture less x in the right one, pixels
//
// Or, with --trajectory FILE, a world around that path of a camera, seen along it (tests/scene/render_path.h):
//   OUT/000000.png, OUT/right/...   as above; names are places in the file
//   OUT/depth/000000.png            --depth: 16 bits, what a sensor with a projector measures at the left camera's
//                                   pixels
//   OUT/calib.txt, OUT/times.txt    as KITTI has them
//   OUT/truth/trajectory.txt        --truth: the lines of the frames that were written; depth as above
//   OUT/camchain.yaml, OUT/imu.yaml --imu FILE: Kalibr's, in place of calib.txt; readings in FILE
//   (tests/scene/imu_path.h)
//   and with --camera_model a calibration that glint calibration reads, in place of calib.txt
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "features/error.h"
#include "tests/scene/render_path.h"
#include "tests/scene/scene.h"
#include "tests/scene/write_image.h"
#ifdef GLINT_SCENE_LENS
#include "features/status_macros.h"
#include "tests/scene/imu_flags.h"
#include "tests/scene/lens.h"
#include "tests/scene/lens_flags.h"
#endif

ABSL_FLAG(std::string, out, "", "folder to write to; made if it is not there");
ABSL_FLAG(int, frames, 60, "number of frames, 1..999999; with --trajectory at most");
ABSL_FLAG(int, width, 640, "pixels, 16..7680");
ABSL_FLAG(int, height, 480, "pixels, 16..7680");
ABSL_FLAG(std::string, layout, "room", "room or plane");
ABSL_FLAG(std::string, density, "dense", "dense (a city) or sparse (a dark sky)");
ABSL_FLAG(std::string, motion, "walk", "still, pan, roll, zoom or walk");
ABSL_FLAG(int, seed, 1, "another seed, another texture; 0 or more");
ABSL_FLAG(double, baseline, 0.12, "--stereo: metres between the cameras");
ABSL_FLAG(std::string, format, "png", "png or pnm (PGM, or PPM with --color)");
ABSL_FLAG(bool, color, false, "RGB frames instead of grey ones");
ABSL_FLAG(bool, stereo, false, "also the right camera of a rectified pair");
ABSL_FLAG(bool, truth, false, "also poses, homographies, depth and disparity");

ABSL_FLAG(std::string, trajectory, "",
          "a file of lines \"t x y z qx qy qz qw\": a world is made around that path; the next flags are for it");
ABSL_FLAG(int, first, 0, "the first pose, from 0");
ABSL_FLAG(double, focal, 0, "pixels, 1..100000; 0: 0.9 widths");
ABSL_FLAG(double, cx, -1, "the centre, pixels; -1: that of the picture");
ABSL_FLAG(double, cy, -1, "the centre, pixels; -1: that of the picture");
#ifdef GLINT_SCENE_LENS
ABSL_FLAG(
    std::string, imu, "",
    "a file to write, readings of an inertial sensor as EuRoC's data.csv has them. The camera then moves "
    "smoothly, close to the poses; camchain.yaml and imu.yaml are the calibration, in place of calib.txt; gravity "
    "points along y. Flags --imu_... say what the sensor is");
#endif
ABSL_FLAG(double, noise, 0, "standard deviation, grey levels, 0..50");
ABSL_FLAG(double, gain, 0, "brightness swings between 1 - gain and 1 + gain, 0..0.9");
ABSL_FLAG(double, exposure, 0, "seconds that a picture takes, 0..0.1: motion blur");
ABSL_FLAG(std::vector<std::string>, rig_rotation, {},
          "yaw,pitch,roll of the right camera in degrees, each -5..5: what rectification has left over");
ABSL_FLAG(bool, depth, false,
          "also what a sensor of depth measures, whose projector is --baseline beside the left camera");
ABSL_FLAG(double, depth_unit, 0.001, "metres in a sample of 1, 1e-6..1");
ABSL_FLAG(double, depth_noise, 0, "standard deviation of the sensor's disparity, pixels, 0..5");
ABSL_FLAG(double, depth_farthest, 8, "metres, 0.4..1000: farther there is no depth");
ABSL_FLAG(double, drop, 0, "share of frames that are missing, 0..0.5");
ABSL_FLAG(int, burst, 1, "frames that are missing in a row, 1..100");

namespace glint::scene {
namespace {

template <typename Enum>
absl::Status Choose(const char* flag, const std::string& name, const std::vector<std::pair<const char*, Enum>>& choices,
                    Enum* chosen) {
  for (const auto& [known, value] : choices) {
    if (name == known) {
      *chosen = value;
      return absl::OkStatus();
    }
  }
  return NotOneOfError(flag, name, absl::StrJoin(choices, ", ", [](std::string* out, const auto& choice) {
                         out->append(choice.first);
                       }));
}

template <typename T>
absl::Status Between(const char* flag, T value, T low, T high) {
  return !(value >= low && value <= high) ? OutOfRangeError(flag, value, low, high) : absl::OkStatus();
}
absl::Status SceneOptionsFromFlags(SceneOptions* options) {
  options->shape = {absl::GetFlag(FLAGS_width), absl::GetFlag(FLAGS_height)};
  options->seed = static_cast<uint32_t>(absl::GetFlag(FLAGS_seed));
  options->stereo_baseline = absl::GetFlag(FLAGS_baseline);
  absl::Status status = Between("--width", options->shape.width, 16, 7680);
  status.Update(Between("--height", options->shape.height, 16, 7680));
  status.Update(Between("--frames", absl::GetFlag(FLAGS_frames), 1, 999999));
  status.Update(Choose<Layout>("--layout", absl::GetFlag(FLAGS_layout),
                               {{"room", Layout::kRoom}, {"plane", Layout::kPlane}}, &options->layout));
  status.Update(Choose<Density>("--density", absl::GetFlag(FLAGS_density),
                                {{"dense", Density::kDense}, {"sparse", Density::kSparse}}, &options->density));
  status.Update(Choose<Motion>("--motion", absl::GetFlag(FLAGS_motion),
                               {{"still", Motion::kStill},
                                {"pan", Motion::kPan},
                                {"roll", Motion::kRoll},
                                {"zoom", Motion::kZoom},
                                {"walk", Motion::kWalk}},
                               &options->motion));
  return status;
}

absl::Status RigRotationFromFlags(Mat3* rotation) {
  const std::vector<std::string> words = absl::GetFlag(FLAGS_rig_rotation);
  if (words.empty()) return absl::OkStatus();
  double degrees[3] = {};
  bool is_valid = words.size() == 3;
  for (size_t i = 0; is_valid && i < 3; ++i) {
    is_valid = absl::SimpleAtod(words[i], &degrees[i]) && std::fabs(degrees[i]) <= 5;
  }
  if (!is_valid) {
    return ContradictionError("--rig-rotation",
                              absl::StrCat("\"", Echo(absl::StrJoin(words, ",")), "\" is not three numbers in -5..5"));
  }
  *rotation = Rotation(degrees[0], degrees[1], degrees[2]);
  return absl::OkStatus();
}

#ifdef GLINT_SCENE_LENS
// Makes the head that of a lens, which has the pinhole's focal length and centre; nothing for a pinhole. And what
// --imu wants.
absl::Status LensAndImuFromFlags(RenderPathOptions* options) {
  GLINT_ASSIGN_OR_RETURN(const glint::Camera lens, ReadLensFlags(options->head.camera));
  std::optional<RigImu> rig_imu;
  options->imu_file = absl::GetFlag(FLAGS_imu);
  if (!options->imu_file.empty()) {
    GLINT_ASSIGN_OR_RETURN(const ImuFlags imu, ReadImuFlags());
    options->imu = imu.options;
    rig_imu = CalibrationOf(imu);
  }
  if (lens.model == CameraModel::kPinhole && !rig_imu.has_value()) return absl::OkStatus();
  options->write_calibration = [lens, stereo = options->stereo, baseline = options->head.baseline,
                                rig_imu](const std::string& out) {
    return WriteCalibration(lens, stereo, baseline, rig_imu, out);
  };
  return PutOn(lens, &options->head);
}
#endif

absl::Status PathOptionsFromFlags(RenderPathOptions* options) {
  options->trajectory = absl::GetFlag(FLAGS_trajectory);
  options->stereo = absl::GetFlag(FLAGS_stereo);
  options->color = absl::GetFlag(FLAGS_color);
  options->truth = absl::GetFlag(FLAGS_truth);
  options->first = absl::GetFlag(FLAGS_first);
  options->frames = absl::GetFlag(FLAGS_frames);
  options->drop_share = absl::GetFlag(FLAGS_drop);
  options->drop_burst = absl::GetFlag(FLAGS_burst);
  options->seed = static_cast<uint32_t>(absl::GetFlag(FLAGS_seed));
  options->sensor = {absl::GetFlag(FLAGS_noise), absl::GetFlag(FLAGS_gain), absl::GetFlag(FLAGS_exposure)};
  options->depth = absl::GetFlag(FLAGS_depth);
  DepthSensorOptions& depth = options->depth_sensor;
  depth.unit = absl::GetFlag(FLAGS_depth_unit);
  depth.baseline = absl::GetFlag(FLAGS_baseline);
  depth.noise = absl::GetFlag(FLAGS_depth_noise);
  depth.farthest = absl::GetFlag(FLAGS_depth_farthest);
  Camera& camera = options->head.camera;
  camera.width = absl::GetFlag(FLAGS_width);
  camera.height = absl::GetFlag(FLAGS_height);
  camera.focal = absl::GetFlag(FLAGS_focal);
  camera.cx = absl::GetFlag(FLAGS_cx);
  camera.cy = absl::GetFlag(FLAGS_cy);
  if (camera.focal == 0) camera.focal = 0.9 * camera.width;
  if (camera.cx == -1) camera.cx = 0.5 * (camera.width - 1);
  if (camera.cy == -1) camera.cy = 0.5 * (camera.height - 1);
  options->head.baseline = absl::GetFlag(FLAGS_baseline);
  absl::Status status = Between("--width", camera.width, 16, 7680);
  status.Update(Between("--height", camera.height, 16, 7680));
  status.Update(Between("--frames", options->frames, 1, 999999));
  status.Update(Between("--first", options->first, 0, 999999));
  status.Update(Between("--focal", camera.focal, 1.0, 1e5));
  status.Update(Between("--cx", camera.cx, 0.0, camera.width - 1.0));
  status.Update(Between("--cy", camera.cy, 0.0, camera.height - 1.0));
  status.Update(Between("--noise", options->sensor.noise, 0.0, 50.0));
  status.Update(Between("--gain", options->sensor.gain, 0.0, 0.9));
  status.Update(Between("--exposure", options->sensor.exposure, 0.0, 0.1));
  status.Update(Between("--depth_unit", depth.unit, 1e-6, 1.0));
  status.Update(Between("--depth_noise", depth.noise, 0.0, 5.0));
  status.Update(Between("--depth_farthest", depth.farthest, 0.4, 1000.0));
  status.Update(Between("--drop", options->drop_share, 0.0, 0.5));
  status.Update(Between("--burst", options->drop_burst, 1, 100));
  status.Update(RigRotationFromFlags(&options->head.right_from_left));
#ifdef GLINT_SCENE_LENS
  if (status.ok()) status = LensAndImuFromFlags(options);
#endif
  return status;
}

absl::Status WriteImage(const std::string& stem, const Image& image) {
  const bool color = absl::GetFlag(FLAGS_color);
  const int channels = color ? 3 : 1;
  if (absl::GetFlag(FLAGS_format) == "png") return WritePng(stem + ".png", image, channels);
  return WritePnm(stem + (color ? ".ppm" : ".pgm"), image, channels);
}

std::string Numbers(const double* values, int count) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) texts.push_back(absl::StrFormat("%.17g", values[i]));
  return absl::StrCat("[", absl::StrJoin(texts, ", "), "]");
}

std::string Numbers(const Mat3& matrix) { return Numbers(matrix.m.data(), 9); }
std::string Numbers(Vec3 v) {
  const double values[] = {v.x, v.y, v.z};
  return Numbers(values, 3);
}

absl::Status WritePicture(const Scene& scene, const Pose& pose, const std::string& stem) {
  return WriteImage(stem, absl::GetFlag(FLAGS_color) ? scene.RenderRgb(pose) : scene.Render(pose));
}

// Matrices are row-major. X_world = rotation * X_camera + position; pixel_in_frame ~ homography * pixel_in_frame_0 on
// the wall straight ahead.
std::string TruthJson(const Scene& scene, int frames) {
  const Camera& camera = scene.camera();
  std::vector<std::string> rows;
  for (int i = 0; i < frames; ++i) {
    const Pose pose = scene.PoseAt(i);
    rows.push_back(absl::StrCat("    {\"rotation\": ", Numbers(pose.rotation),
                                ",\n     \"position\": ", Numbers(pose.position),
                                ",\n     \"homography_from_0\": ", Numbers(scene.HomographyBetween(0, i)), "}"));
  }
  return absl::StrFormat(
      "{\n  \"width\": %d, \"height\": %d, \"focal\": %.17g, \"cx\": %.17g, \"cy\": %.17g, \"baseline\": %.17g,\n"
      "  \"frames\": [\n%s\n  ]\n}\n",
      camera.width, camera.height, camera.focal, camera.cx, camera.cy, absl::GetFlag(FLAGS_baseline),
      absl::StrJoin(rows, ",\n"));
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? absl::InternalError(absl::StrCat(path, ": ", error.message())) : absl::OkStatus();
}

absl::Status Run() {
  const std::string out = absl::GetFlag(FLAGS_out);
  if (out.empty()) return absl::InvalidArgumentError("--out: a folder to write to is needed");
  const bool along_path = !absl::GetFlag(FLAGS_trajectory).empty();
  SceneOptions options;
  RenderPathOptions path_options;
  absl::Status status = along_path ? PathOptionsFromFlags(&path_options) : SceneOptionsFromFlags(&options);
  const std::string format = absl::GetFlag(FLAGS_format);
  if (format != "png" && format != "pnm") status.Update(NotOneOfError("--format", format, "png, pnm"));
  if (!status.ok()) return status;

  const int frames = absl::GetFlag(FLAGS_frames);
  const bool stereo = absl::GetFlag(FLAGS_stereo), truth = absl::GetFlag(FLAGS_truth);
  status.Update(MakeFolder(out));
  if (stereo) status.Update(MakeFolder(out + "/right"));
  if (truth) status.Update(MakeFolder(out + "/truth"));
  if (absl::GetFlag(FLAGS_depth) && !along_path) {
    status.Update(ContradictionError("--depth", "is for --trajectory; --truth has the depth of other scenes"));
  }
  if (absl::GetFlag(FLAGS_depth)) status.Update(MakeFolder(out + "/depth"));
#ifdef GLINT_SCENE_LENS
  if (!along_path && !absl::GetFlag(FLAGS_imu).empty()) {
    status.Update(ContradictionError("--imu", "is for --trajectory"));
  }
#endif
  if (!status.ok()) return status;
  if (along_path) return RenderPath(path_options, out, WriteImage);
  const Scene scene(options);
  for (int i = 0; i < frames && status.ok(); ++i) {
    const Pose pose = scene.PoseAt(i);
    const std::string name = absl::StrFormat("%06d", i);
    status.Update(WritePicture(scene, pose, absl::StrCat(out, "/", name)));
    if (stereo) status.Update(WritePicture(scene, scene.RightOf(pose), absl::StrCat(out, "/right/", name)));
    if (truth) {
      status.Update(WritePfm(absl::StrCat(out, "/truth/depth_", name, ".pfm"), scene.Depth(pose), options.shape));
    }
    if (truth && stereo) {
      status.Update(
          WritePfm(absl::StrCat(out, "/truth/disparity_", name, ".pfm"), scene.Disparity(pose), options.shape));
    }
  }
  if (truth) status.Update(WriteText(out + "/truth/truth.json", TruthJson(scene, frames)));
  return status;
}

}  // namespace
}  // namespace glint::scene

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Writes a rendered scene with known camera motion, depth and homographies.\n  glint-scene --out DIR [--frames N] "
      "[--stereo] [--truth]\n  glint-scene --out DIR --trajectory FILE [--stereo] [--truth] [--noise 2] [--gain 0.2]");
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  absl::Status status = rest.size() > 1
                            ? absl::InvalidArgumentError(absl::StrCat(rest[1], ": an argument that is not a flag"))
                            : glint::scene::Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "glint-scene: %s\n", std::string(status.message()).c_str());
  return 2;
}
