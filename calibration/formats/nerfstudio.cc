// transforms.json of nerfstudio and instant-ngp: one camera (fl_x, fl_y, cx, cy, w, h and its lens) and the poses of
// its pictures, which are of no rig.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/matrices.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

bool RecognisesNerfstudio(const Source& source) {
  const Node& root = source.root;
  const Node* frames = root.Find("frames");
  return frames != nullptr && frames->kind == Node::Kind::kList &&
         (root.Find("fl_x") || root.Find("camera_angle_x") ||
          (!frames->children.empty() && frames->children[0].Find("transform_matrix")));
}

absl::StatusOr<double> FocalLength(const Source& source, double width) {
  if (source.root.Find("fl_x") || !source.root.Find("camera_angle_x")) return Number(source, source.root, "fl_x");
  GLINT_ASSIGN_OR_RETURN(const double angle, Number(source, source.root, "camera_angle_x"));
  if (width <= 0) return FieldError(source, "camera_angle_x", "says no pixels without w, the width of the pictures");
  return width / 2 / std::tan(angle / 2);
}

absl::Status SetNerfstudioLens(const Source& source, Camera* camera) {
  const std::string model = Text(source.root, "camera_model");
  const bool is_fisheye = absl::EqualsIgnoreCase(model, "OPENCV_FISHEYE") ||
                          absl::EqualsIgnoreCase(Text(source.root, "is_fisheye"), "true");
  if (!is_fisheye && !model.empty() && model != "OPENCV" && model != "PINHOLE" && model != "SIMPLE_PINHOLE") {
    return FieldError(source, "camera_model",
                      absl::StrCat("\"", Echo(model), "\" is not one of PINHOLE, OPENCV, OPENCV_FISHEYE"));
  }
  std::vector<double> k;
  for (const char* name : {"k1", "k2", "p1", "p2", "k3", "k4"}) {
    GLINT_ASSIGN_OR_RETURN(k.emplace_back(), NumberOr(source, source.root, name, 0));
  }
  if (is_fisheye) return SetFisheyeLens(source, "k1", {k[0], k[1], k[4], k[5]}, camera);
  if (k[5] != 0) return FieldError(source, "k4", absl::StrCat(k[5], " is not 0, as of OPENCV's k1 k2 p1 p2 k3"));
  k.pop_back();
  return SetOpenCvLens(source, "k1", k, camera);
}

absl::StatusOr<Calibration> ReadNerfstudio(absl::Span<const Source> sources, const ReadOptions& options) {
  const Source& source = sources[0];
  const Node& root = source.root;
  if (sources.size() > 1) {
    return FieldError(sources[1], "frames", "transforms.json does not say where two cameras are to each other");
  }
  Calibration calibration;
  RigCamera& camera = calibration.rig.cameras.emplace_back();
  camera.name = "camera";
  camera.camera.image = options.image;
  if (root.Find("w")) {
    GLINT_ASSIGN_OR_RETURN(const double width, Number(source, root, "w"));
    GLINT_ASSIGN_OR_RETURN(const double height, Number(source, root, "h"));
    GLINT_ASSIGN_OR_RETURN(camera.camera.image, ImageSize(source, "w, h", width, height));
  }
  const Shape& image = camera.camera.image;
  std::vector<double> k(9, 0.0);
  k[8] = 1;
  GLINT_ASSIGN_OR_RETURN(k[0], FocalLength(source, image.width));
  GLINT_ASSIGN_OR_RETURN(k[4], NumberOr(source, root, "fl_y", k[0]));
  if (image.width > 0) {
    GLINT_ASSIGN_OR_RETURN(k[2], NumberOr(source, root, "cx", image.width / 2.0));
    GLINT_ASSIGN_OR_RETURN(k[5], NumberOr(source, root, "cy", image.height / 2.0));
  } else {
    GLINT_ASSIGN_OR_RETURN(k[2], Number(source, root, "cx"));
    GLINT_ASSIGN_OR_RETURN(k[5], Number(source, root, "cy"));
  }
  GLINT_RETURN_IF_ERROR(SetIntrinsics(source, "fl_x", k, &camera.camera));
  GLINT_RETURN_IF_ERROR(SetNerfstudioLens(source, &camera.camera));
  calibration.notes.push_back(
      FieldWarning(source, "frames", "are poses of pictures, and left out: the file is of one camera"));
  FindWhetherRectified(&calibration);
  return calibration;
}

}  // namespace

const Format kNerfstudio = {"nerfstudio", "nerfstudio transforms.json", RecognisesNerfstudio, ReadNerfstudio, nullptr};

}  // namespace glint::calibration
