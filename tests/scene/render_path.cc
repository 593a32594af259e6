#include "tests/scene/render_path.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "features/error.h"
#include "tests/scene/path.h"
#include "tests/scene/smooth_path.h"
#include "tests/scene/world.h"
#include "tests/scene/write_image.h"

namespace glint::scene {
namespace {

// Projections of the two eyes, 3x4, row-major.
std::string Calibration(const StereoHead& head) {
  const Camera& c = head.camera;
  std::string text;
  for (const int eye : {0, 1}) {
    absl::StrAppendFormat(&text, "P%d: %.12e 0 %.12e %.12e 0 %.12e %.12e 0 0 0 1 0\n", eye, c.focal, c.cx,
                          eye == 0 ? 0.0 : -c.focal * head.baseline, c.focal, c.cy);
  }
  return text;
}

}  // namespace

absl::Status RenderPath(const RenderPathOptions& options, const std::string& out,
                        const std::function<absl::Status(const std::string&, const Image&)>& write_picture) {
  auto path = ReadPath(options.trajectory);
  if (!path.ok()) return path.status();
  const int poses = static_cast<int>(path->size());
  if (options.first >= poses) return OutOfRangeError("--first", options.first, 0, poses - 1);
  const int frames = options.frames == 0 ? poses - options.first : std::min(options.frames, poses - options.first);
  const std::vector<bool> arrives = Arrivals(frames, options.drop_share, options.drop_burst, options.seed);

  if (options.head.lens && (options.color || options.depth || options.truth)) {
    return ContradictionError("--camera_model", "is for grey pictures, without --depth and --truth");
  }
  World world(*path, options.seed);
  std::string times, truth;
  absl::Status status;
  std::function<Pose(double)> pose_at = [&](double seconds) { return PoseAtTime(*path, seconds); };
  std::optional<SmoothPath> smooth;
  if (options.imu.has_value()) {
    smooth.emplace(*path);
    *path = Smoothed(*path, *smooth);
    pose_at = [&](double seconds) { return smooth->PoseAt(seconds); };
    status.Update(WriteText(options.imu_file, ImuCsv(MeasureImu(*smooth, *options.imu))));
  }
  for (int i = 0; i < frames && status.ok(); ++i) {
    if (!arrives[static_cast<size_t>(i)]) continue;
    const int number = options.first + i;
    const TimedPose& at = (*path)[static_cast<size_t>(number)];
    const std::string name = absl::StrFormat("%06d", number);
    for (const bool is_right : {false, true}) {
      if (is_right && !options.stereo) continue;
      const Image image = options.color
                              ? world.RenderRgb(options.head.camera, EyeOf(options.head, at.pose, is_right))
                              : Expose(options.sensor, options.head, is_right, pose_at, at.seconds, number, &world);
      status.Update(write_picture(absl::StrCat(out, is_right ? "/right/" : "/", name), image));
    }
    if (options.depth) {
      status.Update(WriteDepthPng(
          absl::StrCat(out, "/depth/", name, ".png"),
          SenseDepth(options.depth_sensor, options.head.camera, at.pose, static_cast<uint32_t>(number), &world)));
    }
    if (options.truth) {
      const Camera& camera = options.head.camera;
      status.Update(WritePfm(absl::StrCat(out, "/truth/depth_", name, ".pfm"), world.Depth(camera, at.pose),
                             {camera.width, camera.height}));
    }
    absl::StrAppendFormat(&times, "%.6f\n", at.seconds);
    absl::StrAppend(&truth, at.text, "\n");
  }
  status.Update(options.write_calibration ? options.write_calibration(out)
                                          : WriteText(out + "/calib.txt", Calibration(options.head)));
  status.Update(WriteText(out + "/times.txt", times));
  if (options.truth) status.Update(WriteText(out + "/truth/trajectory.txt", truth));
  return status;
}

}  // namespace glint::scene
