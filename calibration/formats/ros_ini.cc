// Sections in brackets, names on lines of their own, and the numbers of each on the lines below it:
//   [image] width 640 height 480 [narrow_stereo/left] camera matrix .. distortion .. rectification .. projection ..
#include "calibration/formats/ros_ini.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "calibration/formats/lines.h"

namespace glint::calibration {
namespace {

// The name in CameraInfo's YAML; empty: of something else.
absl::string_view NameInYaml(absl::string_view name) {
  constexpr std::pair<absl::string_view, absl::string_view> kNames[] = {{"width", "image_width"},
                                                                        {"height", "image_height"},
                                                                        {"camera matrix", "camera_matrix"},
                                                                        {"distortion", "distortion_coefficients"},
                                                                        {"rectification", "rectification_matrix"},
                                                                        {"projection", "projection_matrix"}};
  for (const auto& [in_ini, in_yaml] : kNames) {
    if (name == in_ini) return in_yaml;
  }
  return "";
}

bool IsSizeName(absl::string_view name) { return name == "width" || name == "height"; }

Node Scalar(absl::string_view name, absl::string_view text, int line) {
  return {Node::Kind::kScalar, std::string(name), std::string(text), {}, line};
}

// The numbers after a name: a list, or a number alone for a side of the image.
class Cameras {
 public:
  explicit Cameras(const Source& source) : source_(source) {}

  void AddLine(const Line& line) {
    absl::string_view text = line.text;
    const bool is_section = text.front() == '[' && text.back() == ']';
    if (is_section) text = absl::StripAsciiWhitespace(text.substr(1, text.size() - 2));
    const bool is_size = IsSizeName(text);  // a name, or a section of its own
    if (is_section && !is_size) {
      name_ = "";
      if (text != "image") Begin(Scalar("camera_name", text, line.number));
    } else if (is_size || !NumbersIn(text).has_value()) {
      name_ = text;
    } else if (!NameInYaml(name_).empty()) {
      AddNumbers(NameInYaml(name_), line);
    }
  }

  std::vector<Source> Take() {
    for (Source& camera : cameras_) SetModel(&camera.root);
    return std::move(cameras_);
  }

 private:
  // A camera has the size that was said last before it.
  void Begin(Node name) {
    Source& camera = cameras_.emplace_back();
    camera.path = source_.path;
    camera.root.kind = Node::Kind::kMap;
    camera.root.children = size_;
    camera.root.children.push_back(std::move(name));
  }

  void AddNumbers(absl::string_view name, const Line& line) {
    if (IsSizeName(name_)) {
      size_.erase(std::remove_if(size_.begin(), size_.end(), [&](const Node& side) { return side.name == name; }),
                  size_.end());
      size_.push_back(Scalar(name, line.text, line.number));
      return;
    }
    if (cameras_.empty()) Begin(Scalar("camera_name", "", line.number));
    std::vector<Node>& fields = cameras_.back().root.children;
    auto field = std::find_if(fields.begin(), fields.end(), [&](const Node& node) { return node.name == name; });
    if (field == fields.end()) {
      field = fields.insert(field, {Node::Kind::kList, std::string(name), "", {}, line.number});
    }
    for (const absl::string_view word : WordsOf(line.text)) field->children.push_back(Scalar("", word, line.number));
  }

  // Four coefficients are of either model: the file leaves it open.
  static void SetModel(Node* root) {
    const Node* d = root->Find("distortion_coefficients");
    if (d == nullptr || d->children.size() < 5) return;
    const char* model = d->children.size() == 5 ? "plumb_bob" : "rational_polynomial";
    root->children.push_back(Scalar("distortion_model", model, d->line));
  }

  const Source& source_;
  absl::string_view name_;
  std::vector<Node> size_;
  std::vector<Source> cameras_;
};

}  // namespace

bool IsRosIni(const Source& source) {
  if (source.text.size() > kMaxLinesBytes) return false;
  bool has_k = false, has_p = false;
  for (const Line& line : LinesOf(source.text, "#;")) {
    has_k = has_k || line.text == "camera matrix";
    has_p = has_p || line.text == "projection";
  }
  return has_k && has_p;
}

std::vector<Source> CamerasOfRosIni(const Source& source) {
  Cameras cameras(source);
  for (const Line& line : LinesOf(source.text, "#;")) cameras.AddLine(line);
  return cameras.Take();
}

}  // namespace glint::calibration
