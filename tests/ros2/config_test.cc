#include "ros2/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace glint::ros2 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

std::string Message(const absl::Status& status) { return std::string(status.message()); }
std::string ReadError(absl::string_view yaml) { return Message(ReadConfig(yaml, "a.yaml").status()); }

constexpr char kPair[] = "camera:\n  left: /left/image_raw\n  right: /right/image_raw\n";

TEST(ReadConfig, KeysOfAllKindsAreRead) {
  const auto c = ReadConfig(
      "node_name: eyes\n"
      "use_sim_time: True\n"
      "diagnostics_every: 2.5\n"
      "server: {address: \"unix:/run/glint.sock\", tls: true, give_up_after: 60}\n"
      "camera:\n"
      "  left: left/image_rect\n"
      "  right: '/right/image_rect'\n"
      "  transport: compressed\n"
      "  rectified: false\n"
      "  calibration_files: [left.yaml, right.yaml]\n"
      "imu.topic: /imu\n"
      "imu:\n"
      "  camera_from_imu: [0, -1, 0, 0.1,  1, 0, 0, 0.2,  0, 0, 1, 0.3,  0, 0, 0, 1]\n"
      "  imu_time_minus_camera_time: -0.01\n"
      "localize:\n"
      "  max_keypoints: 1500\n"
      "  map: hall-2\n"
      "frames:\n"
      "  base_from_camera:\n    - 1\n    - 2\n    - 3\n    - -0.5\n    - 0.5\n    - -0.5\n    - 0.5\n"
      "detect:  # all of it is a comment\n"
      "  # enabled: true\n"
      "qos:\n"
      "  left/image_rect: {reliability: reliable, depth: 2}\n"
      "  \"~/path\":\n    durability: transient_local\n",
      "a.yaml");
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_EQ(c->node_name, "eyes");
  EXPECT_TRUE(c->use_sim_time);
  EXPECT_EQ(c->diagnostics_every, 2.5);
  EXPECT_EQ(c->server.address, "unix:/run/glint.sock");
  EXPECT_TRUE(c->server.tls);
  EXPECT_EQ(c->server.give_up_after, 60);
  EXPECT_EQ(c->camera.left, "left/image_rect");
  EXPECT_EQ(c->camera.right, "/right/image_rect");
  EXPECT_EQ(c->camera.transport, Transport::kCompressed);
  EXPECT_EQ(c->camera.rectified, Rectified::kNo);
  EXPECT_THAT(c->camera.calibration_files, ElementsAre("left.yaml", "right.yaml"));
  EXPECT_EQ(c->imu.topic, "/imu");
  EXPECT_THAT(c->imu.camera_from_imu, Optional(ElementsAre(0, -1, 0, 0.1, 1, 0, 0, 0.2, 0, 0, 1, 0.3, 0, 0, 0, 1)));
  EXPECT_EQ(c->imu.imu_time_minus_camera_time, -0.01);
  EXPECT_EQ(c->localize.max_keypoints, 1500);
  EXPECT_EQ(c->localize.map, "hall-2");
  EXPECT_THAT(c->frames.base_from_camera, Optional(ElementsAre(1, 2, 3, -0.5, 0.5, -0.5, 0.5)));
  EXPECT_FALSE(c->detect.enabled);

  EXPECT_EQ(c->Topic("left/image_rect"), "/left/image_rect");
  EXPECT_EQ(c->Topic("~/path"), "/eyes/path");
  const Qos left = c->QosOf("/left/image_rect", kSensorData);  // another form of the name
  EXPECT_TRUE(left.reliable);
  EXPECT_FALSE(left.transient_local);
  EXPECT_EQ(left.depth, 2);
  const Qos path = c->QosOf("~/path", {});
  EXPECT_TRUE(path.reliable && path.transient_local);
  EXPECT_EQ(path.depth, 10);
  EXPECT_EQ(c->QosOf("/right/image_rect", kSensorData).depth, 5);
}

TEST(ReadConfig, ErrorsNameLineKeyValueAndWhatIsAllowed) {
  EXPECT_EQ(ReadError("camera:\n\n  max_time_difference: 7\n"),
            "a.yaml:3: camera.max_time_difference: 7 is not in 0..1");
  EXPECT_EQ(ReadError("camera: {max_time_difference: nan}"),
            "a.yaml:1: camera.max_time_difference: \"nan\" is no number");
  EXPECT_EQ(ReadError("localize: {save_every: 0.5}"), "a.yaml:1: localize.save_every: 0.5 is not 0 or in 1..86400");
  EXPECT_EQ(ReadError("localize: {max_keypoints: 2.5}"),
            "a.yaml:1: localize.max_keypoints: \"2.5\" is no whole number");
  EXPECT_EQ(ReadError("localize: {max_keypoints: -1}"), "a.yaml:1: localize.max_keypoints: -1 is not in 0..65536");
  EXPECT_EQ(ReadError("use_sim_time: yes"), "a.yaml:1: use_sim_time: \"yes\" is not true or false");
  EXPECT_EQ(ReadError("use_sim_time: [true]"), "a.yaml:1: use_sim_time: is not one value");
  EXPECT_EQ(ReadError("camera:\n  left:\n"), "a.yaml: camera.left: has no value");
  EXPECT_EQ(ReadError("camera: {transport: jpeg}"),
            "a.yaml:1: camera.transport: \"jpeg\" is not one of raw, compressed");
  EXPECT_EQ(ReadError("camera: {rectified: yes}"),
            "a.yaml:1: camera.rectified: \"yes\" is not one of by_name, true, false");
  EXPECT_THAT(ReadError("camera: {left: /left image}"), HasSubstr("a.yaml:1: camera.left: \"/left image\" is not of "));
  EXPECT_EQ(ReadError("frames: {map: /map}"), "a.yaml:1: frames.map: \"/map\" begins with '/'");
  EXPECT_EQ(ReadError("frames: {odom: \"\"}"), "a.yaml:1: frames.odom: \"\" is no frame");
  EXPECT_EQ(ReadError("frames: {base: a b}"), "a.yaml:1: frames.base: \"a b\" has a blank");
  EXPECT_THAT(ReadError("localize: {detector: sift}"), HasSubstr("localize.detector: \"sift\" is not one of orb, "));
  EXPECT_EQ(ReadError("localize: {detector: harris}"), "a.yaml:1: localize.detector: \"harris\" has no descriptors");
  EXPECT_EQ(ReadError("track: {detector: harris}"), "");
  EXPECT_THAT(ReadError("localize: {map: ../x}"), HasSubstr("localize.map: \"../x\" is not 1..64 letters"));
  EXPECT_THAT(ReadError("server: {address: nowhere}"), HasSubstr("a.yaml:1: server.address: "));
  EXPECT_THAT(ReadError("server: {address: nowhere}"), HasSubstr("nowhere"));
  EXPECT_EQ(ReadError("node_namespace: robot"),
            "a.yaml:1: node_namespace: \"robot\" is no namespace: it does not begin with '/'");
  EXPECT_EQ(ReadError("camera: {calibration_files: [a, \"\"]}"), "a.yaml:1: camera.calibration_files: \"\" is no file");
}

TEST(ReadConfig, TransformsAreRigid) {
  EXPECT_EQ(ReadError("imu: {camera_from_imu: [1, 2]}"), "a.yaml:1: imu.camera_from_imu: is not a list of 16 numbers");
  EXPECT_THAT(ReadError("imu: {camera_from_imu: [2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}"),
              HasSubstr("a.yaml:1: imu.camera_from_imu: "));
  EXPECT_THAT(ReadError("imu: {camera_from_imu: [-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}"),
              HasSubstr("a.yaml:1: imu.camera_from_imu: "));
  EXPECT_EQ(ReadError("imu: {camera_from_imu: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2]}"),
            "a.yaml:1: imu.camera_from_imu: the last row is not 0 0 0 1");
  EXPECT_EQ(ReadError("imu: {camera_from_imu: [1, 0, 0, 2000, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}"),
            "a.yaml:1: imu.camera_from_imu: 2000 is not in -1000..1000");
  EXPECT_EQ(ReadError("frames: {base_from_camera: [0, 0, 0, 0, 0, 0, 2]}"),
            "a.yaml:1: frames.base_from_camera: quaternion of length 2, which is not 1 within 0.001");
  const auto c = ReadConfig("frames: {base_from_camera: [0, 0, 0, 0, 0.6003, 0, 0.8004]}", "a.yaml");
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_NEAR((*c->frames.base_from_camera)[4], 0.6, 1e-12);  // of length 1 now
  EXPECT_NEAR((*c->frames.base_from_camera)[6], 0.8, 1e-12);
}

TEST(ReadConfig, WhatIsNotKnownIsAnError) {
  EXPECT_EQ(ReadError("track:\n  enabled: true\n  detectr: orb\n"),
            "a.yaml:3: track.detectr: no such key; there are enabled, detector, max_keypoints");
  EXPECT_EQ(ReadError("imu: /imu\n").substr(0, 42), "a.yaml:1: imu: no such key; there are node");
  EXPECT_THAT(ReadError("camra: {left: /x}"),
              HasSubstr("a.yaml:1: camra.left: no such key; there are node_name, node_namespace, use_sim_time, "));
  EXPECT_THAT(ReadError("camra: {}"), HasSubstr("a.yaml:1: camra: no such key; "));
  EXPECT_THAT(ReadError("camera: {left: {topic: /x}}"), HasSubstr("camera.left.topic: no such key; "));
  EXPECT_EQ(ReadError("qos: {/left: {history: 1}}"),
            "a.yaml:1: qos./left.history: no such key; a topic has reliability, durability and depth");
  EXPECT_THAT(ReadError("qos: {/left: 1}"), HasSubstr("qos./left: no such key; "));
  EXPECT_THAT(ReadError("qos: {a b: {depth: 1}}"), HasSubstr("qos.a b.depth: \"a b\" is not of "));
  EXPECT_EQ(ReadError("qos: {/left: {depth: 0}}"), "a.yaml:1: qos./left.depth: 0 is not in 1..1000");
  EXPECT_EQ(ReadError("qos: {/left: {reliability: maybe}}"),
            "a.yaml:1: qos./left.reliability: \"maybe\" is not one of reliable, best_effort");
}

TEST(ReadConfig, NothingIsTakenInSilence) {
  EXPECT_EQ(ReadError("camera.left: /a\ncamera: {left: /b}"), "a.yaml:2: camera.left: is here twice");
  EXPECT_THAT(ReadError("track: {enabled: true}\ntrack: {enabled: false}"), HasSubstr("a.yaml:2: \"track\" has anoth"));
  EXPECT_EQ(ReadError("node_name: a\n---\nnode_name: b\n"), "a.yaml:2: a second document");
  EXPECT_EQ(ReadError("%YAML 1.2\n# c\n---\nnode_name: a\n"), "");
  EXPECT_EQ(ReadError("[1, 2]"), "a.yaml:1: no names and values");
  EXPECT_THAT(ReadError("a: [1"), HasSubstr("a.yaml:"));
  EXPECT_THAT(ReadError(std::string((1 << 20) + 1, '\n')), HasSubstr("a.yaml: 1048577 bytes are more than 1048576"));
  EXPECT_THAT(ReadError("a: " + std::string(100, '[')), HasSubstr("nested more than 64 deep"));
  EXPECT_THAT(ReadError(std::string("a: \0", 4)), HasSubstr("a.yaml:1: no text"));
}

TEST(CheckConfig, KeysThatContradictEachOther) {
  const auto error = [](absl::string_view yaml) {
    const auto config = ReadConfig(yaml, "a.yaml");
    return config.ok() ? Message(CheckConfig(*config)) : absl::StrCat("read: ", config.status().message());
  };
  EXPECT_EQ(error(kPair), "");
  EXPECT_EQ(error("camera: {left: /a, depth: /d}"), "");
  EXPECT_THAT(error("track: {enabled: true}"), HasSubstr("camera.left: is missing"));
  EXPECT_THAT(error("camera: {left: /a, right: /b, depth: /d}"),
              HasSubstr("camera.depth: is in place of camera.right"));
  EXPECT_EQ(error("camera: {left: /a}"), "localize.enabled: true needs camera.right or camera.depth");
  EXPECT_EQ(error("camera: {left: /a}\nlocalize: {enabled: false}\ntrack: {enabled: true}"), "");
  EXPECT_THAT(error("camera: {left: /a}\nlocalize: {enabled: false}"), HasSubstr("false leaves nothing to do"));
  EXPECT_EQ(error("camera: {left: /a, depth: /d}\nstereo: {enabled: true}"), "stereo.enabled: true needs camera.right");
  EXPECT_EQ(error("camera: {left: /a, right: a}"), "camera.right: /a is the topic of camera.left");
  EXPECT_EQ(error("camera: {left: /a, depth: /d, right_info: /i}"), "camera.right_info: needs camera.right");
  EXPECT_THAT(error(absl::StrCat(kPair, "server: {key_file: k.pem}")), HasSubstr("both or neither"));
  EXPECT_EQ(error(absl::StrCat(kPair, "frames: {odom: map}")),
            "frames: map map, odom map, base base_link, camera  are not all different");
}

std::string ExampleFile() {
  std::ifstream file(GLINT_SOURCE_DIR "/deploy/ros2/glint-ros2.yaml", std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(DefaultFile, IsTheExample) {
  EXPECT_EQ(ExampleFile(), DefaultFile());
  EXPECT_TRUE(absl::EndsWith(HelpText(), DefaultFile()));
  for (absl::string_view line : absl::StrSplit(HelpText(), '\n')) EXPECT_LE(line.size(), 120) << line;
}

// Each key of the file, set to another value alone, would be seen by one of these.
TEST(DefaultFile, HasTheDefaults) {
  const auto read = ReadConfig(DefaultFile(), "glint-ros2.yaml");
  ASSERT_TRUE(read.ok()) << read.status();
  const Config c, &r = *read;
  EXPECT_EQ(r.node_name, c.node_name);
  EXPECT_EQ(r.node_namespace, c.node_namespace);
  EXPECT_EQ(r.use_sim_time, c.use_sim_time);
  EXPECT_EQ(r.diagnostics_every, c.diagnostics_every);
  EXPECT_EQ(r.foxglove_port, c.foxglove_port);
  const auto server = [](const ServerConfig& s) {
    return std::tuple(s.address, s.tls, s.token_file, s.ca_file, s.certificate_file, s.key_file, s.give_up_after);
  };
  EXPECT_EQ(server(r.server), server(c.server));
  const auto camera = [](const CameraConfig& s) {
    return std::tuple(s.left, s.right, s.depth, s.left_info, s.right_info, s.transport, s.rectified,
                      s.calibration_files, s.max_time_difference, s.depth_unit);
  };
  EXPECT_EQ(camera(r.camera), camera(c.camera));
  const auto imu = [](const ImuConfig& s) {
    return std::tuple(s.topic, s.gyroscope_noise_density, s.gyroscope_random_walk, s.accelerometer_noise_density,
                      s.accelerometer_random_walk, s.imu_time_minus_camera_time, s.camera_from_imu);
  };
  EXPECT_EQ(imu(r.imu), imu(c.imu));
  const auto localize = [](const LocalizeConfig& s) {
    return std::tuple(s.enabled, s.detector, s.max_keypoints, s.realtime, s.map, s.load_at_start, s.save_every,
                      s.map_every);
  };
  EXPECT_EQ(localize(r.localize), localize(c.localize));
  const auto features = [](const FeaturesConfig& s) { return std::tuple(s.enabled, s.detector, s.max_keypoints); };
  EXPECT_EQ(features(r.stereo), features(c.stereo));
  EXPECT_EQ(features(r.track), features(c.track));
  EXPECT_EQ(features(r.detect), features(c.detect));
  const auto frames = [](const FramesConfig& s) {
    return std::tuple(s.map, s.odom, s.base, s.camera, s.base_from_camera, s.publish_tf);
  };
  EXPECT_EQ(frames(r.frames), frames(c.frames));
  EXPECT_TRUE(r.qos.of_topic.empty());
}

// What is a comment because it has no default is right if it is none.
TEST(DefaultFile, ItsExamplesAreRead) {
  std::string text;
  for (absl::string_view line : absl::StrSplit(DefaultFile(), '\n')) {
    const bool is_example = absl::StrContains(line, "_from_") && absl::StrContains(line, "# ") && line.back() == ']';
    if (line == "qos: {}") line = "qos:";
    absl::StrAppend(&text, is_example ? absl::StrCat("  ", line.substr(4)) : line, "\n");
    if (absl::StrContains(line, "#  /")) absl::StrAppend(&text, line.substr(1), "\n");
  }
  const auto read = ReadConfig(text, "glint-ros2.yaml");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->imu.camera_from_imu.has_value() && read->frames.base_from_camera.has_value());
  EXPECT_TRUE(read->QosOf("/left/image_raw", kSensorData).reliable);
}

}  // namespace
}  // namespace glint::ros2
