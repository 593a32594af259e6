// The command line of glint-ros2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ros2/config/config.h"

namespace glint::ros2 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

constexpr char kPair[] = "camera:\n  left: /left/image_raw\n  right: /right/image_raw\n";

// A file in the test's folder.
std::string Write(const std::string& name, absl::string_view text) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/", name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

absl::StatusOr<Config> Load(const std::vector<std::string>& arguments) {
  const auto read = ReadArguments(arguments);
  if (!read.ok()) return read.status();
  return LoadConfig(*read);
}
// Of arguments after those that name a file with a pair.
absl::StatusOr<Config> LoadPair(std::vector<std::string> ros) {
  std::vector<std::string> arguments = {"--config", Write("pair.yaml", kPair), "--ros-args"};
  arguments.insert(arguments.end(), ros.begin(), ros.end());
  return Load(arguments);
}
std::string LoadError(const std::vector<std::string>& ros) { return Message(LoadPair(ros).status()); }

TEST(ReadArguments, OfTheProgram) {
  const auto a = ReadArguments({"--config", "a.yaml", "--server=unix:/s", "--ros-args", "-r", "a:=b", "--"});
  ASSERT_TRUE(a.ok()) << a.status();
  EXPECT_EQ(a->config_path, "a.yaml");
  EXPECT_EQ(a->server, "unix:/s");
  EXPECT_TRUE(ReadArguments({"--help", "--nonsense"})->help);
  EXPECT_TRUE(ReadArguments({"--version"})->version);
  const auto error = [](const std::vector<std::string>& arguments) {
    return Message(ReadArguments(arguments).status());
  };
  EXPECT_EQ(error({"--config"}), "--config: its value is missing");
  EXPECT_EQ(error({"--config="}), "--config: \"\" is none");
  EXPECT_EQ(error({"--config", "a", "--config", "b"}), "--config: is given twice");
  EXPECT_THAT(error({"--configs", "a"}), HasSubstr("--configs: no such option; "));
  EXPECT_THAT(error({"a:=b"}), HasSubstr("a:=b: no such option; "));
  EXPECT_THAT(error({"--ros-args", "--", "-r", "a:=b"}), HasSubstr("-r: no such option; "));
}

TEST(ReadArguments, OfRos) {
  const auto a = ReadArguments({"--ros-args", "--remap", "__ns:=/robot", "-r", "eyes:image:=/x", "-p",
                                "camera.left:=/y", "--", "--server", "h:1", "--ros-args", "--params-file", "p.yaml",
                                "--param", "eyes:track.enabled:=true", "--disable-rosout-logs"});
  ASSERT_TRUE(a.ok()) << a.status();
  ASSERT_EQ(a->remaps.size(), 2);
  EXPECT_EQ(a->remaps[0].from, "__ns");
  EXPECT_EQ(a->remaps[0].to, "/robot");
  EXPECT_EQ(a->remaps[1].node, "eyes");
  EXPECT_EQ(a->remaps[1].from, "image");
  EXPECT_EQ(a->remaps[1].to, "/x");
  ASSERT_EQ(a->parameters.size(), 3);
  EXPECT_EQ(a->parameters[0].name, "camera.left");
  EXPECT_EQ(a->parameters[0].value, "/y");
  EXPECT_EQ(a->parameters[1].file, "p.yaml");
  EXPECT_EQ(a->parameters[2].node, "eyes");
  EXPECT_EQ(a->parameters[2].name, "track.enabled");
  EXPECT_EQ(a->server, "h:1");

  const auto error = [](const std::string& option, const std::string& value) {
    return Message(ReadArguments({"--ros-args", option, value}).status());
  };
  EXPECT_EQ(error("-r", "a=b"), "-r a=b: is not NAME:=VALUE");
  EXPECT_EQ(error("-r", ":=b"), "-r :=b: has no name");
  EXPECT_THAT(error("-r", "a:=b c"), HasSubstr("-r a:=b c: \"b c\" is not of "));
  EXPECT_THAT(error("-r", "a:="), HasSubstr("\"\" is no name"));
  EXPECT_THAT(error("-r", "__node:=a/b"), HasSubstr("is no node's name"));
  EXPECT_THAT(error("-r", "__ns:=robot"), HasSubstr("is no namespace"));
  EXPECT_THAT(error("-r", "rostopic://a:=b"), HasSubstr("are not supported"));
  EXPECT_THAT(error("-r", "{node}/a:=b"), HasSubstr("substitution, which is not supported"));
  EXPECT_EQ(error("--log-level", "debug"), "--log-level: an argument of ROS that glint-ros2 does not have");
  EXPECT_EQ(error("--config", "a"), "--config: no argument of ROS; \"--\" ends those");
  EXPECT_EQ(Message(ReadArguments({"--ros-args", "-p"}).status()), "-p: its value is missing");
}

TEST(LoadConfig, ArgumentsGoBeforeTheFileAndLaterOnesBeforeThose) {
  const auto c = LoadPair({"-p", "camera.left:=/x", "-p", "camera.left:=\"/y\"", "-p", "use_sim_time:=true", "-p",
                           "camera.calibration_files:=[a.yaml, b.yaml]", "-p", "qos./y.depth:=7", "-p",
                           "other:localize.map:=no", "-p", "glint:localize.map:=yes-1", "--", "--server", "host:1"});
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_EQ(c->camera.left, "/y");
  EXPECT_EQ(c->camera.right, "/right/image_raw");
  EXPECT_TRUE(c->use_sim_time);
  EXPECT_THAT(c->camera.calibration_files, ElementsAre("a.yaml", "b.yaml"));
  EXPECT_EQ(c->QosOf("/y", kSensorData).depth, 7);
  EXPECT_EQ(c->localize.map, "yes-1");
  EXPECT_EQ(c->server.address, "host:1");
}

TEST(LoadConfig, ErrorsOfArguments) {
  EXPECT_THAT(LoadError({"-p", "camera.lefft:=/x"}),
              HasSubstr("-p camera.lefft:=/x: camera.lefft: no such key; there are left, right, depth, "));
  EXPECT_EQ(LoadError({"-p", "camera.max_time_difference:=7"}),
            "-p camera.max_time_difference:=7: camera.max_time_difference: 7 is not in 0..1");
  EXPECT_EQ(LoadError({"-p", "node_name:=x"}), "-p node_name:=x: node_name: is set by -r __node:=");
  EXPECT_EQ(LoadError({"-p", "camera.left:="}), "-p camera.left:=: camera.left: has no value");
  EXPECT_THAT(LoadError({"-p", "track.enabled:=true\nserver.tls: true"}), HasSubstr("is not one value"));
  EXPECT_THAT(LoadError({"-p", "camera.right:=\"\""}), HasSubstr("localize.enabled: true needs"));
  EXPECT_THAT(Message(Load({"--server", "nowhere"}).status()), HasSubstr("--server: server.address: "));
  EXPECT_EQ(Load({"--config", "/nowhere/a.yaml"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(Load({"--config", ::testing::TempDir()}).ok());
}

TEST(LoadConfig, NamesOfTheNodeAndOfTopics) {
  const auto c =
      LoadPair({"-r", "other:__node:=no", "-r", "__node:=eyes", "-r", "__node:=late", "-r", "glint:__ns:=/old", "-r",
                "eyes:__ns:=/robot", "-r", "eyes:/left/image_raw:=left", "-r", "~/pose:=/pose"});
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_EQ(c->node_name, "eyes");
  EXPECT_EQ(c->node_namespace, "/robot");
  EXPECT_EQ(c->Topic(c->camera.left), "/robot/left");
  EXPECT_EQ(c->Topic("~/pose"), "/pose");
  EXPECT_EQ(c->Topic("~/path"), "/robot/eyes/path");
  EXPECT_THAT(LoadError({"-r", "/right/image_raw:=/left/image_raw"}), HasSubstr("is the topic of camera.left"));
}

TEST(LoadConfig, FilesOfParametersAsRosHasThem) {
  const std::string path = Write("parameters.yaml",
                                 "/**:\n  ros__parameters:\n    use_sim_time: true\n    camera.left: /a\n"
                                 "    camera: {right: /b}\n    localize: {map: m1}\n"
                                 "/robot/glint:\n  ros__parameters: {localize.map: m2}\n"
                                 "robot:\n  glint: {ros__parameters: {foxglove_port: 8765}}\n"
                                 "/*/glint: {ros__parameters: {track: {enabled: true}}}\n"
                                 "/**/glint: {ros__parameters: {detect: {enabled: true}}}\n"
                                 "glint: {ros__parameters: {localize.map: of-another}}\n"
                                 "/robot/other: {ros__parameters: {speed: 3}}\n");
  const auto c = Load(
      {"--ros-args", "-r", "__ns:=/robot", "-p", "localize.map:=m0", "--params-file", path, "-p", "camera.left:=/c"});
  ASSERT_TRUE(c.ok()) << c.status();
  EXPECT_TRUE(c->use_sim_time && c->track.enabled && c->detect.enabled);
  EXPECT_EQ(c->camera.left, "/c");
  EXPECT_EQ(c->camera.right, "/b");
  EXPECT_EQ(c->localize.map, "m2");
  EXPECT_EQ(c->foxglove_port, 8765);
  EXPECT_THAT(LoadError({"--params-file", Write("p1.yaml", "/**:\n  ros__parameters:\n    a: 1\n")}),
              HasSubstr("p1.yaml:3: a: no such key; "));
  EXPECT_THAT(LoadError({"--params-file", Write("p2.yaml", "camera.left: /a\n")}),
              HasSubstr("p2.yaml:1: camera.left: is neither a node nor ros__parameters"));
  EXPECT_THAT(LoadError({"--params-file", "/nowhere/p.yaml"}), HasSubstr("/nowhere/p.yaml"));
}

}  // namespace
}  // namespace glint::ros2
