// Lists of cameras in YAML: OKVIS's configuration, whose T_SC takes points of the camera to the inertial sensor, and
// the ncamera of SVO, rpg and maplab, whose T_B_C takes them to the body.
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/matrices.h"
#include "calibration/formats/named_lens.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

// The elements of `cameras` if they have `field`.
std::vector<Node> CamerasWith(const Source& source, const char* field) {
  const Node* cameras = source.root.Find("cameras");
  if (cameras == nullptr || cameras->kind != Node::Kind::kList || cameras->children.empty()) return {};
  return cameras->children[0].Find(field) ? cameras->children : std::vector<Node>();
}

bool IsOkvis(const Source& source) { return !CamerasWith(source, "T_SC").empty(); }
bool IsNcamera(const Source& source) {
  return !CamerasWith(source, "camera").empty() || !CamerasWith(source, "T_B_C").empty();
}

// Sets pose and camera from numbers of `node`; `model` is as SetNamedLens() has it. Fields are as errors name them.
absl::Status SetCamera(const Source& source, const std::string& field, const char* pose_field, const Node& node,
                       const std::vector<double>& f, const std::string& model, const std::string& lens_field,
                       const std::vector<double>& lens, RigCamera* camera) {
  GLINT_ASSIGN_OR_RETURN(const auto pose, Numbers(source, node, pose_field, 16));
  GLINT_ASSIGN_OR_RETURN(camera->rig_from_camera, Transform(source, absl::StrCat(field, pose_field), pose));
  GLINT_RETURN_IF_ERROR(
      SetIntrinsics(source, field + "intrinsics", {f[0], 0, f[2], 0, f[1], f[3], 0, 0, 1}, &camera->camera));
  return SetNamedLens(source, field + "distortion", model, lens_field, lens, &camera->camera);
}

absl::Status ReadOkvisCamera(const Source& source, const std::string& field, const Node& node, RigCamera* camera) {
  GLINT_ASSIGN_OR_RETURN(const auto size, Numbers(source, node, "image_dimension", 2));
  GLINT_ASSIGN_OR_RETURN(camera->camera.image, ImageSize(source, field + "image_dimension", size[0], size[1]));
  GLINT_ASSIGN_OR_RETURN(auto f, Numbers(source, node, "focal_length", 2));
  GLINT_ASSIGN_OR_RETURN(const auto c, Numbers(source, node, "principal_point", 2));
  GLINT_ASSIGN_OR_RETURN(const auto lens, Numbers(source, node, "distortion_coefficients", 0));
  f.insert(f.end(), c.begin(), c.end());
  const std::string model = absl::StrReplaceAll(Text(node, "distortion_type"),
                                                {{"radialtangential8", "radtan8"}, {"radialtangential", "radtan"}});
  return SetCamera(source, field, "T_SC", node, f, model, field + "distortion_coefficients", lens, camera);
}

absl::Status ReadNcamera(const Source& source, const std::string& field, const Node& node, RigCamera* camera) {
  const Node& one = node.Find("camera") ? *node.Find("camera") : node;
  const std::string type = Text(one, "type");
  if (!absl::EqualsIgnoreCase(type, "pinhole")) {
    return FieldError(source, field + "type", NotOneOf(type, "pinhole"));
  }
  if (const std::string label = Text(one, "label"); !label.empty()) camera->name = label;
  GLINT_ASSIGN_OR_RETURN(const double width, Number(source, one, "image_width"));
  GLINT_ASSIGN_OR_RETURN(const double height, Number(source, one, "image_height"));
  GLINT_ASSIGN_OR_RETURN(camera->camera.image, ImageSize(source, field + "image_width", width, height));
  GLINT_ASSIGN_OR_RETURN(const auto f, Numbers(source, one, "intrinsics", 4));
  std::string model = absl::AsciiStrToLower(Text(one, "distortion/type"));
  if (model == "fisheye") model = "fov";  // maplab's
  std::vector<double> lens;
  if (one.FindPath("distortion/parameters")) {
    GLINT_ASSIGN_OR_RETURN(lens, Numbers(source, one, "distortion/parameters", 0));
  }
  return SetCamera(source, field, "T_B_C", node, f, model, field + "distortion/parameters", lens, camera);
}

using ReadOne = absl::Status (*)(const Source&, const std::string&, const Node&, RigCamera*);

absl::StatusOr<Calibration> ReadList(absl::Span<const Source> sources, ReadOne read_one) {
  const Source& source = sources[0];
  if (sources.size() > 1) return FieldError(sources[1], "cameras", "one file has all cameras of a rig");
  Calibration calibration;
  int number = 0;
  for (const Node& node : source.root.Find("cameras")->children) {
    RigCamera& camera = calibration.rig.cameras.emplace_back();
    camera.name = absl::StrCat("cam", number);
    GLINT_RETURN_IF_ERROR(read_one(source, absl::StrCat("cameras[", number++, "]/"), node, &camera));
  }
  FindWhetherRectified(&calibration);
  return calibration;
}

absl::StatusOr<Calibration> ReadOkvis(absl::Span<const Source> sources, const ReadOptions&) {
  GLINT_ASSIGN_OR_RETURN(Calibration calibration, ReadList(sources, ReadOkvisCamera));
  calibration.rig.imu.emplace();  // the frame that T_SC leads to
  return calibration;
}

absl::StatusOr<Calibration> ReadNcameras(absl::Span<const Source> sources, const ReadOptions&) {
  return ReadList(sources, ReadNcamera);
}

}  // namespace

const Format kOkvis = {"okvis", "OKVIS configuration", IsOkvis, ReadOkvis, nullptr};
const Format kNcamera = {"ncamera", "SVO or maplab ncamera", IsNcamera, ReadNcameras, nullptr};

}  // namespace glint::calibration
