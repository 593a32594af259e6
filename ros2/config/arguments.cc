#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "ros2/config/config.h"

namespace glint::ros2 {
namespace {

struct Rule {
  std::string node, name, value;
};

// "[NODE:]NAME:=VALUE" after `option`.
absl::StatusOr<Rule> ReadRule(absl::string_view option, absl::string_view text) {
  const auto error = [&](absl::string_view problem) {
    return absl::InvalidArgumentError(absl::StrCat(option, " ", Echo(text), ": ", problem));
  };
  const size_t assign = text.find(":=");
  if (assign == absl::string_view::npos) return error("is not NAME:=VALUE");
  Rule rule;
  absl::string_view name = text.substr(0, assign);
  rule.value = std::string(text.substr(assign + 2));
  if (absl::StrContains(name, "://")) return error("names with rostopic:// or rosservice:// are not supported");
  if (const size_t colon = name.find(':'); colon != absl::string_view::npos) {
    rule.node = std::string(name.substr(0, colon));
    if (const absl::Status status = CheckNodeName(rule.node); !status.ok()) return error(status.message());
    name.remove_prefix(colon + 1);
  }
  rule.name = std::string(name);
  if (rule.name.empty()) return error("has no name");
  return rule;
}

absl::StatusOr<Remap> ReadRemap(absl::string_view option, absl::string_view text) {
  GLINT_ASSIGN_OR_RETURN(const Rule rule, ReadRule(option, text));
  absl::Status status;
  if (rule.name == "__node") {
    status = CheckNodeName(rule.value);
  } else if (rule.name == "__ns") {
    status = CheckNamespace(rule.value);
  } else {
    status = WholeName(rule.name, "/", "node").status();
    if (status.ok()) status = WholeName(rule.value, "/", "node").status();
  }
  if (status.ok()) return Remap{rule.name, rule.value, rule.node};
  return absl::InvalidArgumentError(absl::StrCat(option, " ", Echo(text), ": ", status.message()));
}

// Arguments as they come; options of the program may have their value after '='.
class Reader {
 public:
  explicit Reader(absl::Span<const std::string> arguments) : left_(arguments) {}

  absl::StatusOr<Arguments> Read() {
    while (!left_.empty() && !read_.help && !read_.version) {
      option_ = left_.front();
      left_.remove_prefix(1);
      GLINT_RETURN_IF_ERROR(in_ros_ ? ReadRos() : ReadOwn());
    }
    return std::move(read_);
  }

 private:
  absl::StatusOr<std::string> Value() {
    if (left_.empty()) return absl::InvalidArgumentError(absl::StrCat(option_, ": its value is missing"));
    const std::string value = left_.front();
    left_.remove_prefix(1);
    return value;
  }

  absl::Status ReadOwn() {
    if (option_ == "--ros-args") return in_ros_ = true, absl::OkStatus();
    for (const auto& [name, value] :
         {std::pair("--config", &read_.config_path), std::pair("--server", &read_.server)}) {
      absl::string_view rest = option_;
      if (!absl::ConsumePrefix(&rest, name) || (!rest.empty() && rest[0] != '=')) continue;
      if (!value->empty()) return absl::InvalidArgumentError(absl::StrCat(name, ": is given twice"));
      if (rest.empty()) {
        GLINT_ASSIGN_OR_RETURN(*value, Value());
      } else {
        *value = std::string(rest.substr(1));
      }
      if (value->empty()) return absl::InvalidArgumentError(absl::StrCat(name, ": \"\" is none"));
      return absl::OkStatus();
    }
    read_.help = option_ == "--help" || option_ == "-h";
    read_.version = option_ == "--version";
    if (read_.help || read_.version) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(Echo(option_), ": no such option; see --help. Arguments of ROS come after --ros-args"));
  }

  absl::Status ReadRos() {
    const auto is = [this](absl::string_view a, absl::string_view b) { return option_ == a || option_ == b; };
    if (option_ == "--ros-args") return absl::OkStatus();
    if (option_ == "--") return in_ros_ = false, absl::OkStatus();
    if (is("-r", "--remap")) {
      GLINT_ASSIGN_OR_RETURN(const std::string text, Value());
      GLINT_ASSIGN_OR_RETURN(read_.remaps.emplace_back(), ReadRemap(option_, text));
      return absl::OkStatus();
    }
    if (is("-p", "--param")) {
      GLINT_ASSIGN_OR_RETURN(const std::string text, Value());
      GLINT_ASSIGN_OR_RETURN(Rule rule, ReadRule(option_, text));
      read_.parameters.push_back({std::move(rule.node), std::move(rule.name), std::move(rule.value), ""});
      return absl::OkStatus();
    }
    if (option_ == "--params-file") {
      GLINT_ASSIGN_OR_RETURN(const std::string file, Value());
      if (file.empty()) return absl::InvalidArgumentError("--params-file: \"\" is no file");
      read_.parameters.push_back({"", "", "", file});
      return absl::OkStatus();
    }
    // So it is, whether they ask for it or not: there is no log on /rosout, in a file or by a library of ROS.
    if (is("--disable-rosout-logs", "--disable-external-lib-logs") || option_ == "--enable-stdout-logs") {
      return absl::OkStatus();
    }
    for (absl::string_view known : {"--log-level", "--log-config-file", "--enclave", "-e", "--enable-rosout-logs",
                                    "--enable-external-lib-logs", "--disable-stdout-logs"}) {
      if (option_ == known) {
        return absl::InvalidArgumentError(absl::StrCat(option_, ": an argument of ROS that glint-ros2 does not have"));
      }
    }
    return absl::InvalidArgumentError(absl::StrCat(Echo(option_), ": no argument of ROS; \"--\" ends those"));
  }

  absl::Span<const std::string> left_;
  std::string option_;
  bool in_ros_ = false;
  Arguments read_;
};

}  // namespace

absl::StatusOr<Arguments> ReadArguments(absl::Span<const std::string> arguments) { return Reader(arguments).Read(); }

}  // namespace glint::ros2
