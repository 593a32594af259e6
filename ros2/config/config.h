// What glint-ros2 is told: a YAML file, and arguments of ROS (--ros-args) that change it.
#ifndef GLINT_ROS2_CONFIG_CONFIG_H_
#define GLINT_ROS2_CONFIG_CONFIG_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ros2/names.h"
#include "ros2/qos.h"

namespace glint::ros2 {

struct ServerConfig {
  std::string address = "127.0.0.1:50051";  // or "unix:PATH", by which images go through shared memory
  bool tls = false;                         // encrypted; also with any of the files but token_file
  std::string token_file;                   // each: a path; empty: none
  std::string ca_file, certificate_file, key_file;
  double give_up_after = 0;  // seconds without a server, then the program ends; 0: never
};

enum class Transport { kRaw, kCompressed };
enum class Rectified { kByName, kYes, kNo };  // kByName: those whose last word begins with "image_rect"

// A camera: `left` alone; a pair with `right`; or `left` with `depth`.
struct CameraConfig {
  std::string left, right, depth;              // topics
  std::string left_info, right_info;           // of CameraInfo; empty: "camera_info" beside the images
  Transport transport = Transport::kRaw;       // of left and right
  Rectified rectified = Rectified::kByName;    // of left and right
  std::vector<std::string> calibration_files;  // in place of CameraInfo
  double max_time_difference = 0.005;          // seconds between the stamps of a pair, 0..1
  double depth_unit = 0.001;                   // metres a sample of 16 bits
};

struct ImuConfig {
  std::string topic;  // empty: none
  // As glint.v1.InertialSensor has them; 0: its defaults.
  double gyroscope_noise_density = 0, gyroscope_random_walk = 0;
  double accelerometer_noise_density = 0, accelerometer_random_walk = 0;
  double imu_time_minus_camera_time = 0;  // seconds
  // Rows of the rigid transform that takes the sensor's coordinates to those of the left camera; without, that of the
  // calibration files, or of /tf_static.
  std::optional<std::array<double, 16>> camera_from_imu;
};

struct LocalizeConfig {
  bool enabled = true;
  std::string detector = "orbslam";  // preset
  int max_keypoints = 0;             // 0: the preset's
  bool realtime = true;              // else reproducible
  // The map that services save and load, on the server (--map-directory); a name, not a path.
  std::string map = "ros2";
  bool load_at_start = false;  // goes on in that map; also after a restart of either program
  double save_every = 0;       // seconds between saves by itself; 0: none
  double map_every = 2;        // seconds between publications of the map's points; 0: none
};

struct FeaturesConfig {  // of the operations "stereo", "track" and "detect"; detectors as glint's commands have them
  bool enabled = false;
  std::string detector = "orb";
  int max_keypoints = 0;
};

struct FramesConfig {
  std::string map = "map", odom = "odom";
  std::string base = "base_link";
  std::string camera;  // of the left images; empty: what their headers say
  // Pose of the left camera (x right, y down, z ahead) in the base (x ahead, y left, z up): x y z, qx qy qz qw.
  // Without, from /tf_static; without that, the camera takes the base's place.
  std::optional<std::array<double, 7>> base_from_camera;
  bool publish_tf = true;
};

// What is set of a topic; the rest is as its kind: images, IMU and depth kSensorData, results reliable.
struct QosSetting {
  std::optional<bool> reliable, transient_local;
  std::optional<int> depth;
};
struct QosConfig {
  std::map<std::string, QosSetting> of_topic;  // by names as they are in the file
};

struct Config {
  std::string node_name = "glint";
  std::string node_namespace = "/";
  bool use_sim_time = false;
  ServerConfig server;
  CameraConfig camera;
  ImuConfig imu;
  LocalizeConfig localize;
  FeaturesConfig stereo, track = {false, "fast_grid", 0}, detect;
  FramesConfig frames;
  QosConfig qos;
  std::vector<Remap> remaps;
  double diagnostics_every = 1;  // seconds
  int foxglove_port = 0;         // 0: none; on 127.0.0.1

  // The whole name of a topic or service after remaps; names of keys were checked when they were read.
  std::string Topic(absl::string_view name) const;
  // `by_default`, but for what is set of the topic, in any form of its name.
  Qos QosOf(absl::string_view name, Qos by_default) const;
};

// The YAML text; `path` is for errors. INVALID_ARGUMENT "PATH:LINE: KEY: ..." names the key, its value and what is
// allowed; keys that are not known are errors, and so is more than 1 MiB. Keys that contradict each other are not
// looked for: CheckConfig().
absl::StatusOr<Config> ReadConfig(absl::string_view yaml, const std::string& path);
// INVALID_ARGUMENT names the keys that contradict each other or are missing.
absl::Status CheckConfig(const Config& config);

// What the command line says.
struct Arguments {
  // -p NAME:=VALUE, or --params-file FILE: then all but `file` is empty.
  struct Parameter {
    std::string node;         // only of the node of this name; empty: of any
    std::string name, value;  // a key, "camera.left", and a text of YAML
    std::string file;
  };

  bool help = false, version = false;  // the rest was not read
  std::string config_path;             // empty: none
  std::string server;                  // empty: not given
  std::vector<Remap> remaps;           // in their order, those of "__node" and "__ns" among them
  std::vector<Parameter> parameters;   // in their order: later ones win
};
// Without the program's name. --ros-args ... [--], as rcl reads them, between the program's own options; what rcl knows
// and glint-ros2 does not is an error that says so. https://docs.ros.org/en/jazzy/How-To-Guides/Node-arguments.html
absl::StatusOr<Arguments> ReadArguments(absl::Span<const std::string> arguments);
// The file, then the arguments; checked. NOT_FOUND, PERMISSION_DENIED: of a file.
absl::StatusOr<Config> LoadConfig(const Arguments& arguments);

// The options of the program, and DefaultFile().
std::string HelpText();
// A file with all keys: meaning, unit, range and default.
std::string DefaultFile();

}  // namespace glint::ros2

#endif  // GLINT_ROS2_CONFIG_CONFIG_H_
