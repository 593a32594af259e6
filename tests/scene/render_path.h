// Pictures of a world along a path, written to a folder.
#ifndef GLINT_TESTS_SCENE_RENDER_PATH_H_
#define GLINT_TESTS_SCENE_RENDER_PATH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "features/types.h"
#include "tests/scene/depth_sensor.h"
#include "tests/scene/imu_path.h"
#include "tests/scene/sensor.h"

namespace glint::scene {

struct RenderPathOptions {
  std::string trajectory;  // see ReadPath
  StereoHead head;
  // Writes the files of the head's calibration into a folder; null: calib.txt. A lens is for grey pictures without
  // depth.
  std::function<absl::Status(const std::string&)> write_calibration;
  SensorOptions sensor;
  bool stereo = false;
  bool color = false;  // without sensor effects
  bool depth = false;  // of each left picture, as `depth_sensor` sees it
  DepthSensorOptions depth_sensor;
  // The camera then moves along the SmoothPath of the trajectory, and readings are written to `imu_file`.
  std::optional<ImuOptions> imu;
  std::string imu_file;
  bool truth = false;     // depth of each left picture, too
  int first = 0;          // pose of the path
  int frames = 0;         // poses from there; 0: all
  double drop_share = 0;  // 0..0.5 of the frames
  int drop_burst = 1;     // 1..100 in a row
  uint32_t seed = 1;
};

// Writes into `out`, whose folders are there: pictures by `write_picture(name without ending, image)`, named by the
// pose's place in the path; depth/NAME.png, 16 bits; calib.txt as KITTI has it; times.txt, a line of seconds for each
// frame; `imu_file`, ImuCsv() along the whole trajectory; and truth/trajectory.txt, the poses of these frames in the
// form of the trajectory.
absl::Status RenderPath(const RenderPathOptions& options, const std::string& out,
                        const std::function<absl::Status(const std::string&, const Image&)>& write_picture);

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_RENDER_PATH_H_
