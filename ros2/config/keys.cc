#include "ros2/config/keys.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/connect_error.h"
#include "features/error.h"
#include "features/limits.h"
#include "features/options.h"

namespace glint::ros2 {
namespace {

absl::Status CheckTopic(const std::string& name) { return WholeName(name, "/", "node").status(); }
absl::Status CheckTopicOrNone(const std::string& name) { return name.empty() ? absl::OkStatus() : CheckTopic(name); }

absl::Status CheckFrame(const std::string& name) {
  if (name.empty()) return absl::InvalidArgumentError("\"\" is no frame");
  if (name[0] == '/') return absl::InvalidArgumentError(absl::StrCat("\"", Echo(name), "\" begins with '/'"));
  const auto is_blank = [](unsigned char c) { return absl::ascii_isspace(c) || absl::ascii_iscntrl(c); };
  if (!std::any_of(name.begin(), name.end(), is_blank)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("\"", Echo(name), "\" has a blank"));
}
absl::Status CheckFrameOrNone(const std::string& name) { return name.empty() ? absl::OkStatus() : CheckFrame(name); }

// As glint.v1.SaveMap has it.
absl::Status CheckMap(const std::string& name) {
  const auto is_allowed = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.'; };
  if (!name.empty() && name.size() <= 64 && name[0] != '.' && std::all_of(name.begin(), name.end(), is_allowed)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", Echo(name), "\" is not 1..64 letters, digits, '_', '-' and '.', which is not the first"));
}

absl::Status CheckPreset(const std::string& name) {
  const std::vector<std::string>& names = PresetNames();
  if (std::find(names.begin(), names.end(), name) != names.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("\"", Echo(name), "\" is not one of ", absl::StrJoin(names, ", ")));
}
// What pairs are matched by.
absl::Status CheckDescriptorPreset(const std::string& name) {
  if (absl::Status status = CheckPreset(name); !status.ok()) return status;
  if (PresetOptions(name)->descriptor != Descriptor::kNone) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" has no descriptors"));
}

absl::Status CheckNode(const std::string& name) { return CheckNodeName(name); }
absl::Status CheckNodeNamespace(const std::string& name) { return CheckNamespace(name); }

absl::Status CheckServer(const std::string& address) {
  constexpr absl::string_view kField = "address";
  const absl::Status status = client::CheckAddress(kField, address);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::string_view(status.message()).substr(kField.size() + 2));
}

constexpr char kPreset[] = "preset of the detector";
constexpr char kPresetOfPairs[] = "preset of the detector, one with descriptors";
constexpr char kMostKeypoints[] = "most keypoints of an image; 0: as many as the preset has";
constexpr Range kKeypoints = {0, kMaxFeatures};

}  // namespace

std::vector<Key> Keys(Config* c) {
  return {
      {"node_name", "name of the node; -r __node:=NAME goes before it", &c->node_name, {}, CheckNode},
      {"node_namespace",
       "its namespace; -r __ns:=/NAMESPACE goes before it",
       &c->node_namespace,
       {},
       CheckNodeNamespace},
      {"use_sim_time", "true: time is that of /clock", &c->use_sim_time},
      {"diagnostics_every", "seconds between messages on /diagnostics", &c->diagnostics_every, {0.1, 3600}},
      {"foxglove_port", "port on 127.0.0.1 for Foxglove; 0: none", &c->foxglove_port, {0, 65535}},

      {"server.address",
       "of glint-server: \"HOST:PORT\"; or \"unix:PATH\" on this machine, by which images go through shared memory",
       &c->server.address,
       {},
       CheckServer},
      {"server.token_file", "file with the bearer token; \"\": none", &c->server.token_file},
      {"server.tls", "true: encrypted, also without the files below", &c->server.tls},
      {"server.ca_file", "PEM file of authorities whose servers are believed; \"\": the system's", &c->server.ca_file},
      {"server.certificate_file", "PEM file of this client's certificate, if the server asks for one; \"\": none",
       &c->server.certificate_file},
      {"server.key_file", "PEM file of that certificate's private key; \"\": none", &c->server.key_file},
      {"server.give_up_after",
       "seconds without a server until the program ends; 0: never",
       &c->server.give_up_after,
       {0, 86400}},

      {"camera.left", "topic of the left images, or of the only ones", &c->camera.left, {}, CheckTopicOrNone},
      {"camera.right", "topic of the right images; \"\": none", &c->camera.right, {}, CheckTopicOrNone},
      {"camera.depth",
       "topic of depths, registered to the left images, in place of right images; \"\": none",
       &c->camera.depth,
       {},
       CheckTopicOrNone},
      {"camera.left_info",
       "topic of the left CameraInfo; \"\": camera_info beside the images",
       &c->camera.left_info,
       {},
       CheckTopicOrNone},
      {"camera.right_info", "topic of the right CameraInfo, likewise", &c->camera.right_info, {}, CheckTopicOrNone},
      {"camera.transport", "raw, or compressed: CompressedImage of TOPIC/compressed; depths are raw",
       &c->camera.transport},
      {"camera.rectified",
       "true, false, or by_name: whether images are rectified; by_name: if the last word of the topic begins with\n"
       "image_rect",
       &c->camera.rectified},
      {"camera.calibration_files", "files of any format that `glint calibration` reads, in place of CameraInfo",
       &c->camera.calibration_files},
      {"camera.max_time_difference",
       "seconds between the stamps of a pair, or of an image and its depths",
       &c->camera.max_time_difference,
       {0, 1}},
      {"camera.depth_unit", "metres of a step of depths of 16 bits", &c->camera.depth_unit, {1e-6, 1}},

      {"imu.topic", "topic of the inertial sensor; \"\": none", &c->imu.topic, {}, CheckTopicOrNone},
      {"imu.gyroscope_noise_density",
       "rad/s/sqrt(Hz); 0: that of a good MEMS sensor, as for the next three",
       &c->imu.gyroscope_noise_density,
       {1e-6, 1, true}},
      {"imu.gyroscope_random_walk", "rad/s^2/sqrt(Hz)", &c->imu.gyroscope_random_walk, {1e-8, 0.1, true}},
      {"imu.accelerometer_noise_density", "m/s^2/sqrt(Hz)", &c->imu.accelerometer_noise_density, {1e-5, 10, true}},
      {"imu.accelerometer_random_walk", "m/s^3/sqrt(Hz)", &c->imu.accelerometer_random_walk, {1e-7, 1, true}},
      {"imu.imu_time_minus_camera_time",
       "seconds: stamps of the sensor are those of the images + this",
       &c->imu.imu_time_minus_camera_time,
       {-1, 1}},
      {"imu.camera_from_imu",
       "rows of the transform that takes coordinates of the sensor to those of the left camera (x right, y down,\n"
       "z ahead), metres; unless set, that of the calibration files, or of /tf_static",
       &c->imu.camera_from_imu},

      {"localize.enabled", "poses, path and map; needs camera.right or camera.depth", &c->localize.enabled},
      {"localize.detector", kPresetOfPairs, &c->localize.detector, {}, CheckDescriptorPreset},
      {"localize.max_keypoints", "most keypoints of an image; 0: 2000", &c->localize.max_keypoints, kKeypoints},
      {"localize.realtime", "false: poses do not depend on speed, at the price of delay", &c->localize.realtime},
      {"localize.map",
       "name of the map that is saved and loaded, in the server's --map-directory",
       &c->localize.map,
       {},
       CheckMap},
      {"localize.load_at_start", "true: goes on in that map, also after a restart of this program or of the server",
       &c->localize.load_at_start},
      {"localize.save_every",
       "seconds between saves of the map; 0: only when asked",
       &c->localize.save_every,
       {1, 86400, true}},
      {"localize.map_every",
       "seconds between publications of the points of the map; 0: none",
       &c->localize.map_every,
       {0.1, 3600, true}},

      {"stereo.enabled", "disparities of matched keypoints; needs camera.right", &c->stereo.enabled},
      {"stereo.detector", kPresetOfPairs, &c->stereo.detector, {}, CheckDescriptorPreset},
      {"stereo.max_keypoints", kMostKeypoints, &c->stereo.max_keypoints, kKeypoints},
      {"track.enabled", "tracks of points of the left images", &c->track.enabled},
      {"track.detector", kPreset, &c->track.detector, {}, CheckPreset},
      {"track.max_keypoints", "points that are tracked at once; 0: 200", &c->track.max_keypoints, kKeypoints},
      {"detect.enabled", "keypoints and descriptors of the left images", &c->detect.enabled},
      {"detect.detector", kPreset, &c->detect.detector, {}, CheckPreset},
      {"detect.max_keypoints", kMostKeypoints, &c->detect.max_keypoints, kKeypoints},

      {"frames.map", "frame of the map", &c->frames.map, {}, CheckFrame},
      {"frames.odom", "frame of odometry, in which the base does not jump", &c->frames.odom, {}, CheckFrame},
      {"frames.base", "frame of the robot", &c->frames.base, {}, CheckFrame},
      {"frames.camera",
       "frame of the left images; \"\": as their headers say",
       &c->frames.camera,
       {},
       CheckFrameOrNone},
      {"frames.base_from_camera",
       "pose of the left camera (x right, y down, z ahead) in the base (x ahead, y left, z up): x, y, z in metres, "
       "and\n"
       "quaternion x, y, z, w; unless set, that of /tf_static; without that, the camera takes the base's place",
       &c->frames.base_from_camera},
      {"frames.publish_tf", "true: map -> odom -> base on /tf", &c->frames.publish_tf},
  };
}

}  // namespace glint::ros2
