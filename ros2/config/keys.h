// The keys of the configuration: one table, which reading, its errors, the help text and the example file are made of.
#ifndef GLINT_ROS2_CONFIG_KEYS_H_
#define GLINT_ROS2_CONFIG_KEYS_H_

#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "calibration/formats/document.h"
#include "ros2/config/config.h"

namespace glint::ros2 {

// Of a number; with `or_zero` also 0.
struct Range {
  double low = 0, high = 0;
  bool or_zero = false;
};

struct Key {
  using Target = std::variant<std::string*, bool*, int*, double*, std::vector<std::string>*, Transport*, Rectified*,
                              std::optional<std::array<double, 7>>*, std::optional<std::array<double, 16>>*>;
  const char* name;   // "camera.left"
  const char* about;  // lines for users, with the unit
  Target target;
  Range range = {};
  absl::Status (*check)(const std::string&) = nullptr;  // of a text; its error does not name the key
};

// In the order of the file. They point into `config`.
std::vector<Key> Keys(Config* config);
// "qos.TOPIC.reliability", ".durability" or ".depth".
inline constexpr char kQosKeys[] = "qos.";

// A key with its value, as a text had them.
struct Setting {
  std::string key;
  calibration::Node value;
};
// Sets them in their order. INVALID_ARGUMENT "PATH:LINE: KEY: ...", without the line where it is 0 or where there is no
// value; a key twice among them is an error.
absl::Status Apply(const std::vector<Setting>& settings, const std::string& path, Config* config);

// The settings of a map, "a: {b: 1}" as "a.b"; of "a:" nothing.
void Flatten(const calibration::Node& map, const std::string& prefix, std::vector<Setting>* settings);
// A text of YAML. INVALID_ARGUMENT "PATH:LINE: ...": also what calibration files may have, keys twice and slips.
absl::StatusOr<calibration::Node> ParseYamlText(absl::string_view text, const std::string& path);

// A file of --params-file: sets what it has for `node`, the whole name of one. Errors as Apply().
absl::Status ApplyParameters(absl::string_view yaml, const std::string& path, const std::string& node, Config* config);

}  // namespace glint::ros2

#endif  // GLINT_ROS2_CONFIG_KEYS_H_
