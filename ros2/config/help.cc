#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ros2/config/keys.h"

namespace glint::ros2 {
namespace {

constexpr char kOptions[] = R"(Usage: glint-ros2 [--config FILE] [--server ADDRESS] [--ros-args ARGUMENTS... [--]]

A node of ROS 2 that gives images of the robot's topics to glint-server, and publishes what it answers.

  --config FILE     keys, as below; all that are left out have the values below
  --server ADDRESS  in place of server.address
  --help, -h        this text
  --version         the version

After --ros-args, as of all nodes of ROS 2; NODE: before a name means the node of that name alone:

  -r FROM:=TO           another name of a topic or service; also --remap. The first that applies counts
  -r __node:=NAME       the node's name
  -r __ns:=/NAMESPACE   its namespace
  -p KEY:=VALUE         a key of those below, in place of the file's: -p camera.left:=/left/image_raw; also --param
  --params-file FILE    such keys in a file of ROS: NODE: {ros__parameters: {KEY: VALUE}}
                        Of these two, the last one counts

Substitutions such as {node}, rostopic://, --enclave and --log-... are not supported.

The file is YAML:

)";

constexpr char kQos[] = R"(
# quality of service of topics, as they are called above or, of results, in the documentation: reliability is reliable
# or best_effort, durability is volatile or transient_local, depth is messages kept, 1..1000; without: best_effort,
# volatile, 5 of images, depths and the inertial sensor, and reliable of results
qos: {}
#  /left/image_raw: {reliability: reliable, depth: 2}
)";

struct ToText {
  std::string operator()(const std::string* text) const { return absl::StrCat("\"", *text, "\""); }
  std::string operator()(const bool* yes) const { return *yes ? "true" : "false"; }
  std::string operator()(const int* number) const { return absl::StrCat(*number); }
  std::string operator()(const double* number) const { return absl::StrCat(*number); }
  std::string operator()(const std::vector<std::string>* files) const {
    return absl::StrCat("[", absl::StrJoin(*files, ", "), "]");
  }
  std::string operator()(const Transport* transport) const {
    return *transport == Transport::kRaw ? "raw" : "compressed";
  }
  std::string operator()(const Rectified* rectified) const {
    return *rectified == Rectified::kByName ? "by_name" : *rectified == Rectified::kYes ? "true" : "false";
  }
  // Without a value: an example.
  std::string operator()(const std::optional<std::array<double, 7>>*) const {
    return "[0.1, 0, 0.2, -0.5, 0.5, -0.5, 0.5]";  // ahead as the base is
  }
  std::string operator()(const std::optional<std::array<double, 16>>*) const {
    return "[1, 0, 0, 0.05, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]";
  }
};

bool IsOptional(const Key& key) {
  return std::holds_alternative<std::optional<std::array<double, 7>>*>(key.target) ||
         std::holds_alternative<std::optional<std::array<double, 16>>*>(key.target);
}

void AppendKey(const Key& key, std::string* text) {
  const absl::string_view name = key.name;
  const size_t dot = name.find('.');
  const std::string indent(dot == absl::string_view::npos ? 0 : 2, ' ');
  std::string about = key.about;
  if (key.range.high > key.range.low) {
    absl::StrAppend(&about, "; ", key.range.or_zero ? "0 or " : "", key.range.low, "..", key.range.high);
  }
  for (absl::string_view line : absl::StrSplit(about, '\n')) absl::StrAppend(text, indent, "# ", line, "\n");
  absl::StrAppend(text, indent, IsOptional(key) ? "# " : "",
                  dot == absl::string_view::npos ? name : name.substr(dot + 1), ": ", std::visit(ToText(), key.target),
                  "\n");
}

}  // namespace

std::string DefaultFile() {
  Config config;
  std::string text = "# Keys of glint-ros2; what is left out has the value that is here.\n\n";
  std::string section;
  for (const Key& key : Keys(&config)) {
    const std::pair<std::string, std::string> name = absl::StrSplit(key.name, absl::MaxSplits('.', 1));
    if (!name.second.empty() && name.first != section) {
      section = name.first;
      absl::StrAppend(&text, "\n", section, ":\n");
    }
    AppendKey(key, &text);
  }
  return text + kQos;
}

std::string HelpText() { return kOptions + DefaultFile(); }

}  // namespace glint::ros2
