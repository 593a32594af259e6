// RealSense: rs2_intrinsics and rs2_extrinsics by their names in JSON or YAML, or what `rs-enumerate-devices -c`
// prints.
#include <Eigen/Core>
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/lines.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

// Letters and digits of a name in lower case: "Infrared 1" and "infrared1" are one stream.
std::string PlainName(absl::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (absl::ascii_isalnum(c)) plain += absl::ascii_tolower(c);
  }
  return plain;
}

Node* AddNode(Node* parent, absl::string_view name, absl::string_view text, Node::Kind kind) {
  parent->kind = Node::Kind::kMap;
  Node& node = parent->children.emplace_back();
  node.kind = kind, node.name = std::string(name), node.text = std::string(text);
  return &node;
}

void AddNumbers(Node* list, absl::string_view text) {
  for (const absl::string_view word : WordsOf(text)) AddNode(list, "", word, Node::Kind::kScalar);
  list->kind = Node::Kind::kList;
}

// What `rs-enumerate-devices -c` prints, as the JSON has it. The text has rotations row by row.
Node ReadRealSenseText(const Source& source) {
  Node root;
  root.kind = Node::Kind::kMap;
  Node* node = nullptr;
  std::vector<std::vector<std::string>> rows;
  for (const Line& line : LinesOf(source.text)) {
    const std::vector<std::string> quoted = absl::StrSplit(line.text, '"');
    const std::pair<std::string, std::string> parts = absl::StrSplit(line.text, absl::MaxSplits(':', 1));
    const std::string key = PlainName(parts.first);
    if (absl::StartsWith(line.text, "Intrinsic of") && quoted.size() >= 3) {
      node = AddNode(&root, quoted[1], "", Node::Kind::kMap);
    } else if (absl::StartsWith(line.text, "Extrinsic from") && quoted.size() >= 5) {
      node = AddNode(&root, "extrinsics", "", Node::Kind::kMap);
      AddNode(node, "from", quoted[1], Node::Kind::kScalar);
      AddNode(node, "to", quoted[3], Node::Kind::kScalar);
      rows.clear();
    } else if (node == nullptr) {
      continue;
    } else if (key == "distortion") {
      AddNode(node, "model", absl::StripAsciiWhitespace(parts.second), Node::Kind::kScalar);
    } else if (key == "coeffs") {
      AddNumbers(AddNode(node, key, "", Node::Kind::kList), parts.second);
    } else if (key == "translationvector") {
      AddNumbers(AddNode(node, "translation", "", Node::Kind::kList), parts.second);
    } else if (key == "width" || key == "height" || key == "ppx" || key == "ppy" || key == "fx" || key == "fy") {
      AddNode(node, key, absl::StripAsciiWhitespace(parts.second), Node::Kind::kScalar);
    } else if (node->Find("from") && rows.size() < 3 && NumbersIn(line.text)) {
      rows.push_back(absl::StrSplit(line.text, absl::ByAnyChar(" \t"), absl::SkipEmpty()));
      if (rows.size() < 3) continue;
      Node* rotation = AddNode(node, "rotation", "", Node::Kind::kList);
      for (size_t i = 0; i < 9; ++i) {
        if (i / 3 < rows[i % 3].size()) AddNode(rotation, "", rows[i % 3][i / 3], Node::Kind::kScalar);
      }
      rotation->kind = Node::Kind::kList;
    }
  }
  return root;
}

bool IsRealSenseText(const Source& source) {
  return source.text.size() <= kMaxLinesBytes && absl::StrContains(source.text, "Intrinsic of \"") &&
         absl::StrContains(source.text, "PPX:");
}

bool IsIntrinsics(const Node& node) { return node.Find("ppx") && node.Find("ppy") && node.Find("fx"); }

bool HasIntrinsics(const Node& node) {
  return IsIntrinsics(node) || std::any_of(node.children.begin(), node.children.end(), HasIntrinsics);
}

bool RecognisesRealSense(const Source& source) { return HasIntrinsics(source.root) || IsRealSenseText(source); }

struct RealSenseNode {
  std::string name;
  const Node* node;
};

// All intrinsics and extrinsics below `node`; `name` is what the maps around it are called.
void CollectRealSense(const Node& node, const std::string& name, std::vector<RealSenseNode>* intrinsics,
                      std::vector<RealSenseNode>* extrinsics) {
  const bool says_nothing = node.name.empty() || absl::StartsWith(PlainName(node.name), "intrinsic");
  const std::string here = says_nothing ? name : node.name;
  if (IsIntrinsics(node)) intrinsics->push_back({here, &node});
  if (node.Find("rotation") && node.Find("translation")) extrinsics->push_back({here, &node});
  for (const Node& child : node.children) CollectRealSense(child, here, intrinsics, extrinsics);
}

// BROWN_CONRADY is OpenCV's model. MODIFIED_ and INVERSE_BROWN_CONRADY differ from it, as librealsense projects them,
// by products of tangential and radial terms alone, under 0.02 pixels on all cameras made; ROS's driver says plumb_bob,
// too.
absl::Status ReadRealSenseLens(const Source& source, const std::string& field, const Node& node, Camera* camera,
                               std::vector<std::string>* warnings) {
  if (!node.Find("coeffs")) {
    warnings->push_back(FieldWarning(source, field + "/coeffs", "is missing; taken as a lens without distortion"));
    return absl::OkStatus();
  }
  GLINT_ASSIGN_OR_RETURN(auto k, Numbers(source, node, "coeffs", 5));
  const std::string name = Text(node, node.Find("model") ? "model" : "distortion_model");
  std::string model = PlainName(name);
  if (model.empty()) {
    model = "brownconrady";
    if (k != std::vector<double>(5, 0)) {
      warnings->push_back(FieldWarning(source, field + "/model", "is missing; taken as Brown Conrady"));
    }
  }
  for (const absl::string_view prefix : {"rs2", "distortion"}) {
    if (absl::StartsWith(model, prefix)) model.erase(0, prefix.size());
  }
  if (model == "none" || model == "0") k.assign(5, 0);
  if (model == "none" || model == "0" || model == "brownconrady" || model == "4" || model == "modifiedbrownconrady" ||
      model == "1" || model == "inversebrownconrady" || model == "2") {
    return SetOpenCvLens(source, field + "/coeffs", k, camera);
  }
  if (model == "kannalabrandt4" || model == "5") {
    camera->model = CameraModel::kKannalaBrandt;
    std::copy_n(k.begin(), 4, camera->lens.begin());
    return absl::OkStatus();
  }
  if (model == "ftheta" || model == "3") {
    camera->model = CameraModel::kFov;
    camera->lens[0] = k[0];
    return absl::OkStatus();
  }
  return FieldError(source, field + "/model",
                    absl::StrCat("'", name,
                                 "' is none of None, Brown Conrady, Modified Brown Conrady, Inverse Brown Conrady, "
                                 "Kannala Brandt4, Ftheta"));
}

absl::StatusOr<RigCamera> ReadRealSenseCamera(const Source& source, const RealSenseNode& from, const Shape& image,
                                              std::vector<std::string>* warnings) {
  const Node& node = *from.node;
  RigCamera camera;
  camera.name = from.name;
  camera.camera.image = image;
  if (node.Find("width")) {
    GLINT_ASSIGN_OR_RETURN(const double width, Number(source, node, "width"));
    GLINT_ASSIGN_OR_RETURN(const double height, Number(source, node, "height"));
    GLINT_ASSIGN_OR_RETURN(camera.camera.image, ImageSize(source, from.name + "/width, height", width, height));
  }
  GLINT_ASSIGN_OR_RETURN(camera.camera.fx, Number(source, node, "fx"));
  GLINT_ASSIGN_OR_RETURN(camera.camera.fy, Number(source, node, "fy"));
  GLINT_ASSIGN_OR_RETURN(camera.camera.cx, Number(source, node, "ppx"));
  GLINT_ASSIGN_OR_RETURN(camera.camera.cy, Number(source, node, "ppy"));
  GLINT_RETURN_IF_ERROR(ReadRealSenseLens(source, from.name, node, &camera.camera, warnings));
  return camera;
}

// Streams by their plain names, the two infrared ones first; of one with several sizes that of `image`, else the first.
absl::StatusOr<std::vector<RigCamera>> ReadRealSenseCameras(const Source& source,
                                                            const std::vector<RealSenseNode>& nodes, const Shape& image,
                                                            Calibration* calibration) {
  std::vector<RigCamera> cameras;
  std::vector<std::string> others;  // sizes of streams that have another one
  for (const RealSenseNode& node : nodes) {
    GLINT_ASSIGN_OR_RETURN(const RigCamera camera, ReadRealSenseCamera(source, node, image, &calibration->warnings));
    const auto same = std::find_if(cameras.begin(), cameras.end(), [&](const RigCamera& other) {
      return PlainName(other.name) == PlainName(camera.name);
    });
    if (same == cameras.end()) {
      cameras.push_back(camera);
    } else if (camera.camera.image == image && same->camera.image != image) {
      *same = camera;
    } else if (image.width == 0 && camera.camera.image != same->camera.image) {
      const Shape& at = camera.camera.image;
      others.push_back(absl::StrCat(camera.name, " ", at.width, "x", at.height));
    }
  }
  if (!others.empty()) {
    const Shape& at = cameras[0].camera.image;
    calibration->notes.push_back(absl::StrCat(source.path, ": of streams with several sizes the first is taken (",
                                              cameras[0].name, " ", at.width, "x", at.height, "); the file also has ",
                                              absl::StrJoin(others, ", "), ": the images' size chooses, or --size"));
  }
  const auto is_not_infrared = [](const RigCamera& camera) {
    const std::string name = PlainName(camera.name);
    return !absl::StartsWith(name, "infra") && !absl::StartsWith(name, "ir");
  };
  std::stable_sort(cameras.begin(), cameras.end(),
                   [&](const RigCamera& a, const RigCamera& b) { return is_not_infrared(a) < is_not_infrared(b); });
  return cameras;
}

struct RealSenseEdge {
  std::string from, to;
  RigidTransform to_from_from;
};

absl::StatusOr<std::vector<RealSenseEdge>> ReadRealSenseEdges(const Source& source,
                                                              const std::vector<RealSenseNode>& nodes,
                                                              const std::vector<RigCamera>& cameras,
                                                              std::vector<std::string>* warnings) {
  std::vector<RealSenseEdge> edges;
  for (const RealSenseNode& one : nodes) {
    RealSenseEdge edge = {Text(*one.node, "from"), Text(*one.node, "to"), {}};
    if (edge.from.empty() || edge.to.empty()) {
      const std::vector<std::string> ends = absl::StrSplit(one.name, "_to_");
      if (ends.size() == 2) {
        edge.from = std::string(absl::StripPrefix(ends[0], "extrinsics_")), edge.to = ends[1];
      } else if (cameras.size() == 2) {
        edge.from = cameras[0].name, edge.to = cameras[1].name;
        warnings->push_back(FieldWarning(
            source, one.name, absl::StrCat("has no 'from' and 'to'; taken as from ", edge.from, " to ", edge.to)));
      } else {
        return FieldError(source, one.name, "has no 'from' and 'to'");
      }
    }
    GLINT_ASSIGN_OR_RETURN(const auto columns, Numbers(source, *one.node, "rotation", 9));
    GLINT_ASSIGN_OR_RETURN(const auto t, Numbers(source, *one.node, "translation", 3));
    std::vector<double> rows(9);
    for (size_t i = 0; i < 9; ++i) rows[i] = columns[i % 3 * 3 + i / 3];
    GLINT_ASSIGN_OR_RETURN(edge.to_from_from,
                           Transform(source, one.name + "/rotation", rows, Eigen::Vector3d(t.data())));
    edges.push_back(edge);
  }
  return edges;
}

// Poses of all streams that `edges` lead to from `first`, by plain names.
std::map<std::string, RigidTransform> FollowRealSense(const std::vector<RealSenseEdge>& edges,
                                                      const std::string& first) {
  std::map<std::string, RigidTransform> poses = {{PlainName(first), {}}};  // first from stream
  for (size_t known = 0; known != poses.size();) {
    known = poses.size();
    for (const RealSenseEdge& edge : edges) {
      const std::string from = PlainName(edge.from), to = PlainName(edge.to);
      if (poses.count(from)) poses.emplace(to, poses[from] * edge.to_from_from.Inverse());
      if (poses.count(to)) poses.emplace(from, poses[to] * edge.to_from_from);
    }
  }
  return poses;
}

// "Infrared 1" and "Infrared 2", "fisheye1" and "fisheye2": left and right.
bool AreFirstAndSecond(absl::string_view first, absl::string_view second) {
  const std::string a = PlainName(first), b = PlainName(second);
  return absl::EndsWith(a, "1") && absl::EndsWith(b, "2") && a.substr(0, a.size() - 1) == b.substr(0, b.size() - 1);
}

absl::StatusOr<Calibration> ReadRealSense(absl::Span<const Source> sources, const ReadOptions& options) {
  const Source& source = sources[0];
  if (sources.size() > 1) return FieldError(sources[1], "extrinsics", "one file has all streams of a RealSense");
  const Node printed = IsRealSenseText(source) ? ReadRealSenseText(source) : Node();
  std::vector<RealSenseNode> intrinsics, extrinsics;
  CollectRealSense(IsRealSenseText(source) ? printed : source.root, "camera", &intrinsics, &extrinsics);
  Calibration calibration;
  GLINT_ASSIGN_OR_RETURN(const auto cameras, ReadRealSenseCameras(source, intrinsics, options.image, &calibration));
  if (cameras.empty()) return FieldError(source, "PPX", "no stream has PPX, PPY and Fx");
  GLINT_ASSIGN_OR_RETURN(const auto edges, ReadRealSenseEdges(source, extrinsics, cameras, &calibration.warnings));
  const std::map<std::string, RigidTransform> poses = FollowRealSense(edges, cameras[0].name);
  for (const RigCamera& camera : cameras) {
    const auto pose = poses.find(PlainName(camera.name));
    if (pose == poses.end()) {
      calibration.warnings.push_back(FieldWarning(
          source, camera.name, absl::StrCat("is left out: no extrinsics lead to it from ", cameras[0].name)));
      continue;
    }
    calibration.rig.cameras.push_back(camera);
    calibration.rig.cameras.back().rig_from_camera = pose->second;
  }
  const std::vector<RigCamera>& read = calibration.rig.cameras;
  calibration.first_is_left = read.size() > 1 && AreFirstAndSecond(read[0].name, read[1].name);
  for (const char* imu : {"accel", "gyro", "imu"}) {
    if (poses.count(imu)) calibration.rig.imu.emplace().rig_from_imu = poses.at(imu);
  }
  FindWhetherRectified(&calibration);
  return calibration;
}

}  // namespace

const Format kRealSense = {"realsense", "RealSense JSON, rs-enumerate-devices", RecognisesRealSense, ReadRealSense,
                           nullptr};

}  // namespace glint::calibration
