#include "ros2/config/config.h"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "ros2/config/keys.h"

namespace glint::ros2 {
namespace {

using calibration::Node;

constexpr size_t kMostBytes = 1 << 20;  // of a file

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) return absl::ErrnoToStatus(errno, path);
  std::string text(kMostBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return absl::ErrnoToStatus(errno, path);  // a folder
  if (text.size() > kMostBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": more than ", kMostBytes, " bytes"));
  }
  return text;
}

std::vector<absl::string_view> Words(absl::string_view name) { return absl::StrSplit(name, '/', absl::SkipEmpty()); }

// Whether a node is meant by a pattern of names: of its words "**" is any number, "*" one.
bool Matches(absl::string_view pattern, absl::string_view node) {
  const std::vector<absl::string_view> words = Words(node);
  std::vector<bool> ends(words.size() + 1);  // [n]: the pattern so far is that of the first n words
  ends[0] = true;
  for (absl::string_view part : Words(pattern)) {
    for (size_t n = words.size(); n > 0 && part != "**"; --n)
      ends[n] = ends[n - 1] && (part == "*" || part == words[n - 1]);
    for (size_t n = 1; n < ends.size() && part == "**"; ++n) ends[n] = ends[n] || ends[n - 1];
    if (part != "**") ends[0] = false;
  }
  return ends.back();
}

// What -r sets is not a parameter.
absl::Status ApplyParameters(const std::vector<Setting>& settings, const std::string& path, Config* config) {
  for (const Setting& setting : settings) {
    if (setting.key != "node_name" && setting.key != "node_namespace") continue;
    const absl::string_view name = setting.key == "node_name" ? "__node" : "__ns";
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", setting.key, ": is set by -r ", name, ":="));
  }
  return Apply(settings, path, config);
}

// Of a file of parameters: nodes, or namespaces of nodes, that have ros__parameters. Later ones win.
absl::Status ApplyNodes(const Node& nodes, const std::string& name, const std::string& path, const std::string& node,
                        Config* config) {
  for (const Node& child : nodes.children) {
    if (child.kind != Node::Kind::kMap) {
      if (child.kind == Node::Kind::kEmpty) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", child.line, ": ", Echo(child.name), ": is neither a node nor ros__parameters"));
    }
    if (child.name != "ros__parameters") {
      GLINT_RETURN_IF_ERROR(ApplyNodes(child, absl::StrCat(name, "/", child.name), path, node, config));
    } else if (Matches(name, node)) {
      std::vector<Setting> settings;
      Flatten(child, "", &settings);
      GLINT_RETURN_IF_ERROR(ApplyParameters(settings, path, config));
    }
  }
  return absl::OkStatus();
}

absl::Status ApplyArgument(const Arguments::Parameter& parameter, Config* config) {
  const std::string path = absl::StrCat("-p ", Echo(parameter.name), ":=", Echo(parameter.value));
  // One line of YAML, as it is in a file after its key.
  GLINT_ASSIGN_OR_RETURN(Node root, ParseYamlText(absl::StrCat("value: ", parameter.value), path));
  if (root.children.size() != 1 || absl::StrContains(parameter.value, '\n')) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not one value"));
  }
  Node value = std::move(root.children.front());
  value.line = 0;
  std::vector<Setting> settings;
  if (value.kind == Node::Kind::kMap && !value.children.empty()) {
    Flatten(value, parameter.name + ".", &settings);
  } else {
    settings.push_back({parameter.name, std::move(value)});
  }
  return ApplyParameters(settings, path, config);
}

// The first of `remaps` for node `node` that is from `what`; else `otherwise`.
std::string NameAfter(const std::vector<Remap>& remaps, absl::string_view what, const std::string& node,
                      const std::string& otherwise) {
  for (const Remap& remap : remaps) {
    if (remap.from == what && (remap.node.empty() || remap.node == node)) return remap.to;
  }
  return otherwise;
}

absl::Status Missing(absl::string_view key, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(key, ": ", what));
}

}  // namespace

absl::Status ApplyParameters(absl::string_view yaml, const std::string& path, const std::string& node, Config* config) {
  GLINT_ASSIGN_OR_RETURN(const Node root, ParseYamlText(yaml, path));
  return ApplyNodes(root, "", path, node, config);
}

std::string Config::Topic(absl::string_view name) const {
  return Remapped(name, remaps, node_namespace, node_name).value_or(std::string(name));
}

Qos Config::QosOf(absl::string_view name, Qos by_default) const {
  const absl::StatusOr<std::string> whole = WholeName(name, node_namespace, node_name);
  for (const auto& [topic, setting] : qos.of_topic) {
    if (!whole.ok() || *whole != WholeName(topic, node_namespace, node_name).value_or("")) continue;
    by_default.reliable = setting.reliable.value_or(by_default.reliable);
    by_default.transient_local = setting.transient_local.value_or(by_default.transient_local);
    by_default.depth = setting.depth.value_or(by_default.depth);
  }
  return by_default;
}

absl::StatusOr<Config> ReadConfig(absl::string_view yaml, const std::string& path) {
  if (yaml.size() > kMostBytes) return TooLargeError(path, yaml.size(), kMostBytes);
  GLINT_ASSIGN_OR_RETURN(const Node root, ParseYamlText(yaml, path));
  std::vector<Setting> settings;
  Flatten(root, "", &settings);
  Config config;
  GLINT_RETURN_IF_ERROR(Apply(settings, path, &config));
  return config;
}

absl::Status CheckConfig(const Config& c) {
  const CameraConfig& camera = c.camera;
  if (camera.left.empty()) return Missing("camera.left", "is missing: the topic of the images");
  for (const std::string* topic :
       {&camera.left, &camera.right, &camera.depth, &camera.left_info, &camera.right_info, &c.imu.topic}) {
    if (topic->empty()) continue;
    const auto name = Remapped(*topic, c.remaps, c.node_namespace, c.node_name);
    if (!name.ok()) return name.status();
  }
  if (!camera.right.empty() && !camera.depth.empty()) {
    return ContradictionError("camera.depth", "is in place of camera.right: one of them only");
  }
  for (const auto& [key, topic] :
       {std::pair("camera.right", &camera.right), std::pair("camera.depth", &camera.depth)}) {
    if (!topic->empty() && c.Topic(*topic) == c.Topic(camera.left)) {
      return ContradictionError(key, absl::StrCat(c.Topic(*topic), " is the topic of camera.left"));
    }
  }
  if (!camera.right_info.empty() && camera.right.empty()) return Missing("camera.right_info", "needs camera.right");
  if (c.server.certificate_file.empty() != c.server.key_file.empty()) {
    return ContradictionError("server.certificate_file", "goes with server.key_file: both or neither");
  }
  if (!c.localize.enabled && !c.stereo.enabled && !c.track.enabled && !c.detect.enabled) {
    return Missing("localize.enabled", "false leaves nothing to do: stereo, track and detect are off as well");
  }
  if (c.localize.enabled && camera.right.empty() && camera.depth.empty()) {
    return Missing("localize.enabled", "true needs camera.right or camera.depth");
  }
  if (c.stereo.enabled && camera.right.empty()) return Missing("stereo.enabled", "true needs camera.right");
  const FramesConfig& f = c.frames;
  if (f.map == f.odom || f.map == f.base || f.odom == f.base || f.map == f.camera || f.odom == f.camera) {
    return ContradictionError("frames", absl::StrCat("map ", f.map, ", odom ", f.odom, ", base ", f.base, ", camera ",
                                                     f.camera, " are not all different"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Config> LoadConfig(const Arguments& arguments) {
  Config config;
  if (!arguments.config_path.empty()) {
    GLINT_ASSIGN_OR_RETURN(const std::string text, ReadFile(arguments.config_path));
    GLINT_ASSIGN_OR_RETURN(config, ReadConfig(text, arguments.config_path));
  }
  config.node_name = NameAfter(arguments.remaps, "__node", config.node_name, config.node_name);
  config.node_namespace = NameAfter(arguments.remaps, "__ns", config.node_name, config.node_namespace);
  for (const Remap& remap : arguments.remaps) {
    if (remap.from != "__node" && remap.from != "__ns") config.remaps.push_back(remap);
  }
  GLINT_ASSIGN_OR_RETURN(const std::string node, WholeName("~", config.node_namespace, config.node_name));
  for (const Arguments::Parameter& parameter : arguments.parameters) {
    if (!parameter.file.empty()) {
      GLINT_ASSIGN_OR_RETURN(const std::string text, ReadFile(parameter.file));
      GLINT_RETURN_IF_ERROR(ApplyParameters(text, parameter.file, node, &config));
    } else if (parameter.node.empty() || parameter.node == config.node_name) {
      GLINT_RETURN_IF_ERROR(ApplyArgument(parameter, &config));
    }
  }
  if (!arguments.server.empty()) {
    Node address;
    address.kind = Node::Kind::kScalar;
    address.text = arguments.server;
    GLINT_RETURN_IF_ERROR(Apply({{"server.address", address}}, "--server", &config));
  }
  GLINT_RETURN_IF_ERROR(CheckConfig(config));
  return config;
}

}  // namespace glint::ros2
