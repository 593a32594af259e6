// Open3D's PinholeCameraIntrinsic and PinholeCameraParameters (JSON): intrinsic_matrix is column by column.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

const Node* Open3dIntrinsic(const Source& source) {
  if (source.root.Find("intrinsic_matrix")) return &source.root;
  const Node* intrinsic = source.root.Find("intrinsic");
  return intrinsic && intrinsic->Find("intrinsic_matrix") ? intrinsic : nullptr;
}

bool RecognisesOpen3d(const Source& source) { return Open3dIntrinsic(source) != nullptr; }

absl::StatusOr<Calibration> ReadOpen3d(absl::Span<const Source> sources, const ReadOptions&) {
  const Source& source = sources[0];
  if (sources.size() > 1) {
    return FieldError(sources[1], "intrinsic_matrix", "Open3D's files do not say where two cameras are to each other");
  }
  const Node& node = *Open3dIntrinsic(source);
  GLINT_ASSIGN_OR_RETURN(const auto k, Numbers(source, node, "intrinsic_matrix", 9));
  GLINT_ASSIGN_OR_RETURN(const double width, Number(source, node, "width"));
  GLINT_ASSIGN_OR_RETURN(const double height, Number(source, node, "height"));
  Calibration calibration;
  RigCamera& camera = calibration.rig.cameras.emplace_back();
  camera.name = "camera";
  GLINT_ASSIGN_OR_RETURN(camera.camera.image, ImageSize(source, "width, height", width, height));
  camera.camera.fx = k[0], camera.camera.fy = k[4];
  const bool by_columns = k[2] == 0 && k[5] == 0, by_rows = k[6] == 0 && k[7] == 0;
  if (k[1] != 0 || k[3] != 0 || k[8] != 1 || !(by_columns || by_rows)) {
    return FieldError(source, "intrinsic_matrix", "not fx 0 0, 0 fy 0, cx cy 1, column by column");
  }
  camera.camera.cx = by_columns ? k[6] : k[2], camera.camera.cy = by_columns ? k[7] : k[5];
  if (!by_columns) {
    calibration.warnings.push_back(
        FieldWarning(source, "intrinsic_matrix", "row by row, and taken so, where Open3D has it column by column"));
  }
  FindWhetherRectified(&calibration);
  return calibration;
}

}  // namespace

const Format kOpen3d = {"open3d", "Open3D camera JSON", RecognisesOpen3d, ReadOpen3d, nullptr};

}  // namespace glint::calibration
