// Setting keys to what a text says.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "features/camera/rig.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "ros2/config/keys.h"

namespace glint::ros2 {
namespace {

using calibration::Node;

constexpr double kMostMetres = 1000;     // of a translation
constexpr double kMostNormError = 1e-3;  // of a quaternion

absl::Status Error(absl::string_view text) { return absl::InvalidArgumentError(text); }
std::string Quoted(const std::string& text) { return absl::StrCat("\"", Echo(text), "\""); }

absl::StatusOr<std::string> TextOf(const Node& value) {
  if (value.kind == Node::Kind::kScalar) return value.text;
  return Error(value.kind == Node::Kind::kEmpty ? "has no value" : "is not one value");
}

template <typename Number>
absl::Status CheckNumber(Number value, const Range& range) {
  if ((value >= range.low && value <= range.high) || (range.or_zero && value == 0)) return absl::OkStatus();
  return Error(absl::StrCat(value, " is not ", range.or_zero ? "0 or " : "", "in ", range.low, "..", range.high));
}

absl::StatusOr<bool> BoolOf(const std::string& text) {
  if (absl::EqualsIgnoreCase(text, "true")) return true;
  if (absl::EqualsIgnoreCase(text, "false")) return false;
  return Error(absl::StrCat(Quoted(text), " is not true or false"));
}

absl::StatusOr<double> DoubleOf(const std::string& text) {
  double number;
  if (absl::SimpleAtod(text, &number) && std::isfinite(number)) return number;
  return Error(absl::StrCat(Quoted(text), " is no number"));
}

absl::StatusOr<int> IntOf(const std::string& text) {
  int number;
  if (absl::SimpleAtoi(text, &number)) return number;
  return Error(absl::StrCat(Quoted(text), " is no whole number"));
}

template <size_t kCount>
absl::StatusOr<std::array<double, kCount>> NumbersOf(const Node& value) {
  std::array<double, kCount> numbers;
  if (value.kind != Node::Kind::kList || value.children.size() != kCount) {
    return Error(absl::StrCat("is not a list of ", kCount, " numbers"));
  }
  for (size_t i = 0; i < kCount; ++i) {
    GLINT_ASSIGN_OR_RETURN(const std::string text, TextOf(value.children[i]));
    GLINT_ASSIGN_OR_RETURN(numbers[i], DoubleOf(text));
  }
  return numbers;
}

// The one of `choices` whose name `text` is.
template <typename Choice, size_t kCount>
absl::Status Choose(const std::string& text, const std::pair<const char*, Choice> (&choices)[kCount], Choice* chosen) {
  for (const auto& [name, choice] : choices) {
    if (text != name) continue;
    *chosen = choice;
    return absl::OkStatus();
  }
  const auto name_of = [](std::string* out, const auto& choice) { absl::StrAppend(out, choice.first); };
  return Error(absl::StrCat(Quoted(text), " is not one of ", absl::StrJoin(choices, ", ", name_of)));
}

// Sets a key to `value`. Errors do not name the key.
struct Setter {
  const Key& key;
  const Node& value;

  absl::Status operator()(std::string* target) const {
    GLINT_ASSIGN_OR_RETURN(const std::string text, TextOf(value));
    if (key.check != nullptr) GLINT_RETURN_IF_ERROR(key.check(text));
    *target = text;
    return absl::OkStatus();
  }
  absl::Status operator()(bool* target) const {
    GLINT_ASSIGN_OR_RETURN(const std::string text, TextOf(value));
    GLINT_ASSIGN_OR_RETURN(*target, BoolOf(text));
    return absl::OkStatus();
  }
  absl::Status operator()(int* target) const {
    GLINT_ASSIGN_OR_RETURN(const std::string text, TextOf(value));
    GLINT_ASSIGN_OR_RETURN(*target, IntOf(text));
    return CheckNumber(*target, key.range);
  }
  absl::Status operator()(double* target) const {
    GLINT_ASSIGN_OR_RETURN(const std::string text, TextOf(value));
    GLINT_ASSIGN_OR_RETURN(*target, DoubleOf(text));
    return CheckNumber(*target, key.range);
  }
  absl::Status operator()(std::vector<std::string>* target) const {
    target->clear();
    const bool is_list = value.kind == Node::Kind::kList;
    for (size_t i = 0; i < (is_list ? value.children.size() : 1); ++i) {
      GLINT_ASSIGN_OR_RETURN(target->emplace_back(), TextOf(is_list ? value.children[i] : value));
      if (target->back().empty()) return Error("\"\" is no file");
    }
    return absl::OkStatus();
  }
  absl::Status operator()(Transport* target) const {
    GLINT_ASSIGN_OR_RETURN(const std::string text, TextOf(value));
    return Choose<Transport>(text, {{"raw", Transport::kRaw}, {"compressed", Transport::kCompressed}}, target);
  }
  absl::Status operator()(Rectified* target) const {
    GLINT_ASSIGN_OR_RETURN(const std::string text, TextOf(value));
    return Choose<Rectified>(
        text, {{"by_name", Rectified::kByName}, {"true", Rectified::kYes}, {"false", Rectified::kNo}}, target);
  }
  absl::Status operator()(std::optional<std::array<double, 7>>* target) const {
    GLINT_ASSIGN_OR_RETURN(auto pose, NumbersOf<7>(value));
    GLINT_RETURN_IF_ERROR(CheckMetres(pose[0], pose[1], pose[2]));
    const double norm = std::sqrt(pose[3] * pose[3] + pose[4] * pose[4] + pose[5] * pose[5] + pose[6] * pose[6]);
    if (!(std::abs(norm - 1) <= kMostNormError)) {
      return Error(absl::StrCat("quaternion of length ", norm, ", which is not 1 within ", kMostNormError));
    }
    for (size_t i = 3; i < 7; ++i) pose[i] /= norm;
    *target = pose;
    return absl::OkStatus();
  }
  absl::Status operator()(std::optional<std::array<double, 16>>* target) const {
    GLINT_ASSIGN_OR_RETURN(auto rows, NumbersOf<16>(value));
    GLINT_RETURN_IF_ERROR(CheckMetres(rows[3], rows[7], rows[11]));
    if (!(rows[12] == 0 && rows[13] == 0 && rows[14] == 0 && rows[15] == 1)) {
      return Error("the last row is not 0 0 0 1");
    }
    Eigen::Map<Eigen::Matrix<double, 4, 4, Eigen::RowMajor>> matrix(rows.data());
    auto rotation = matrix.topLeftCorner<3, 3>();
    GLINT_ASSIGN_OR_RETURN(rotation, NearestRotation(rotation));
    *target = rows;
    return absl::OkStatus();
  }

  static absl::Status CheckMetres(double x, double y, double z) {
    for (const double metres : {x, y, z}) GLINT_RETURN_IF_ERROR(CheckNumber(metres, {-kMostMetres, kMostMetres}));
    return absl::OkStatus();
  }
};

absl::Status SetQos(absl::string_view key, const Node& value, Config* config) {
  key.remove_prefix(sizeof(kQosKeys) - 1);
  const size_t dot = std::min(key.rfind('.'), key.size());
  const absl::string_view what = key.substr(std::min(dot + 1, key.size()));
  if (what != "reliability" && what != "durability" && what != "depth") {
    return Error("no such key; a topic has reliability, durability and depth");
  }
  GLINT_ASSIGN_OR_RETURN(const std::string text, TextOf(value));
  const std::string topic(key.substr(0, dot));
  if (absl::Status status = WholeName(topic, "/", "node").status(); !status.ok()) return status;
  QosSetting& qos = config->qos.of_topic[topic];
  if (what == "reliability") {
    return Choose<bool>(text, {{"reliable", true}, {"best_effort", false}}, &qos.reliable.emplace());
  }
  if (what == "durability") {
    return Choose<bool>(text, {{"transient_local", true}, {"volatile", false}}, &qos.transient_local.emplace());
  }
  GLINT_ASSIGN_OR_RETURN(qos.depth, IntOf(text));
  return CheckNumber(*qos.depth, {1, 1000});
}

// Names of the table that could stand where `key` does.
absl::Status UnknownError(absl::string_view key, const std::vector<Key>& keys) {
  const absl::string_view section = key.substr(0, std::min(key.rfind('.'), key.size() - 1) + 1);
  std::vector<std::string> names;
  const auto add_names = [&](absl::string_view of) {
    for (const Key& known : keys) {
      absl::string_view name = known.name;
      if (!absl::ConsumePrefix(&name, of)) continue;
      const std::string word(name.substr(0, name.find('.')));
      if (names.empty() || names.back() != word) names.push_back(word);
    }
  };
  if (absl::EndsWith(section, ".")) add_names(section);
  if (names.empty()) {
    add_names("");
    names.emplace_back("qos");
  }
  return Error(absl::StrCat("no such key; there are ", absl::StrJoin(names, ", ")));
}

// "camera:", of which all keys may be comments.
bool IsEmptySection(const Setting& setting, const std::vector<Key>& keys) {
  if (setting.value.kind != Node::Kind::kEmpty && setting.value.kind != Node::Kind::kMap) return false;
  const std::string section = setting.key + ".";
  return section == kQosKeys ||
         std::any_of(keys.begin(), keys.end(), [&](const Key& k) { return absl::StartsWith(k.name, section); });
}

absl::Status Set(const Setting& setting, const std::vector<Key>& keys, Config* config) {
  if (IsEmptySection(setting, keys)) return absl::OkStatus();
  if (absl::StartsWith(setting.key, kQosKeys)) return SetQos(setting.key, setting.value, config);
  const auto key = std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return setting.key == k.name; });
  if (key == keys.end()) return UnknownError(setting.key, keys);
  return std::visit(Setter{*key, setting.value}, key->target);
}

}  // namespace

absl::Status Apply(const std::vector<Setting>& settings, const std::string& path, Config* config) {
  const std::vector<Key> keys = Keys(config);
  std::set<absl::string_view> seen;
  for (const Setting& setting : settings) {
    absl::Status status = Set(setting, keys, config);
    if (!seen.insert(setting.key).second) status = Error("is here twice");
    if (status.ok()) continue;
    // Where nothing begins is not known.
    const bool has_line = setting.value.line > 0 && setting.value.kind != Node::Kind::kEmpty;
    const std::string line = has_line ? absl::StrCat(":", setting.value.line) : "";
    return Error(absl::StrCat(path, line, ": ", Echo(setting.key), ": ", status.message()));
  }
  return absl::OkStatus();
}

void Flatten(const Node& map, const std::string& prefix, std::vector<Setting>* settings) {
  for (const Node& child : map.children) {
    const std::string key = prefix + child.name;
    if (child.kind == Node::Kind::kMap && !child.children.empty()) {
      Flatten(child, key + ".", settings);
    } else {
      settings->push_back({key, child});
    }
  }
}

absl::StatusOr<Node> ParseYamlText(absl::string_view text, const std::string& path) {
  const auto error = [&](absl::string_view problem) {
    const bool has_line = absl::ConsumePrefix(&problem, "line ");
    return Error(absl::StrCat(path, has_line ? ":" : ": ", problem));
  };
  int line = 0;
  bool has_content = false;
  for (absl::string_view words : absl::StrSplit(text, '\n')) {
    ++line;
    if (has_content && (absl::StartsWith(words, "---") || absl::StartsWith(words, "..."))) {
      return error(absl::StrCat("line ", line, ": a second document"));
    }
    words = absl::StripAsciiWhitespace(words);
    has_content |= !words.empty() && words[0] != '#' && words[0] != '%';
  }
  std::vector<std::string> warnings;
  absl::StatusOr<Node> root = calibration::ParseDocument(text, &warnings);
  if (!root.ok()) return error(root.status().message());
  if (!warnings.empty()) return error(warnings.front());
  if (root->kind != Node::Kind::kMap) return error("line 1: no names and values");
  return root;
}

}  // namespace glint::ros2
