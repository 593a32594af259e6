// A camera of SVO and FAST-LIVO (vikit's loader): cam_model, cam_width, cam_height, cam_fx, cam_fy, cam_cx, cam_cy and
// a lens, in one file or at its top. Pinhole: cam_d0 to cam_d4 are k1 k2 p1 p2 k3. EquidistantCamera: k1 to k4. ATAN:
// cam_d0 is w, and the others are shares of the size, counted from a corner. `scale` is of the image that the program
// makes of it.
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/matrices.h"
#include "calibration/formats/named_lens.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

bool IsVikit(const Source& source) {
  return source.root.Find("cam_model") != nullptr && source.root.Find("cam_width") != nullptr;
}

absl::StatusOr<Calibration> ReadVikit(absl::Span<const Source> sources, const ReadOptions&) {
  const Source& source = sources[0];
  const Node& root = source.root;
  if (sources.size() > 1) {
    return FieldError(sources[1], "cam_model", "files of one camera do not say where two are to each other");
  }
  const std::string model = absl::AsciiStrToLower(Text(root, "cam_model"));
  const bool is_atan = model == "atan", is_pinhole = model == "pinhole";
  if (!is_atan && !is_pinhole && model != "equidistantcamera") {
    return FieldError(source, "cam_model", NotOneOf(Text(root, "cam_model"), "Pinhole, ATAN, EquidistantCamera"));
  }
  GLINT_ASSIGN_OR_RETURN(const double width, Number(source, root, "cam_width"));
  GLINT_ASSIGN_OR_RETURN(const double height, Number(source, root, "cam_height"));
  Calibration calibration;
  RigCamera& camera = calibration.rig.cameras.emplace_back();
  camera.name = "camera";
  GLINT_ASSIGN_OR_RETURN(camera.camera.image, ImageSize(source, "cam_width", width, height));
  std::vector<double> f;
  for (const char* field : {"cam_fx", "cam_fy", "cam_cx", "cam_cy"}) {
    GLINT_ASSIGN_OR_RETURN(f.emplace_back(), Number(source, root, field));
    if (is_atan) f.back() = f.back() * (f.size() % 2 == 1 ? width : height) - (f.size() < 3 ? 0 : 0.5);
  }
  GLINT_RETURN_IF_ERROR(SetIntrinsics(source, "cam_fx", {f[0], 0, f[2], 0, f[1], f[3], 0, 0, 1}, &camera.camera));
  const char* const coefficient = model == "equidistantcamera" ? "k" : "cam_d";
  std::vector<double> lens;
  for (int i = 0; i < (is_atan ? 1 : is_pinhole ? 5 : 4); ++i) {
    const std::string field = absl::StrCat(coefficient, is_atan || is_pinhole ? i : i + 1);
    GLINT_ASSIGN_OR_RETURN(lens.emplace_back(), NumberOr(source, root, field, 0));
  }
  GLINT_RETURN_IF_ERROR(SetNamedLens(source, "cam_model",
                                     is_atan      ? "atan"
                                     : is_pinhole ? "radtan"
                                                  : "equidistant",
                                     coefficient, lens, &camera.camera));
  FindWhetherRectified(&calibration);
  return calibration;
}

}  // namespace

const Format kVikit = {"vikit", "SVO or FAST-LIVO camera (cam_model)", IsVikit, ReadVikit, nullptr};

}  // namespace glint::calibration
