#include "calibration/formats/named_lens.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "calibration/formats/fields.h"
#include "features/error.h"

namespace glint::calibration {
namespace {

bool IsOneOf(absl::string_view name, absl::Span<const absl::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string NotOneOf(absl::string_view value, absl::string_view allowed) {
  return absl::StrCat("\"", Echo(value), "\" is not one of ", allowed);
}

absl::Status SetNamedLens(const Source& source, absl::string_view model_field, absl::string_view model,
                          absl::string_view coefficients_field, const std::vector<double>& d, Camera* camera) {
  const std::string name = absl::AsciiStrToLower(model);
  if (IsOneOf(name, {"radtan", "radtan5", "radtan8", "radial-tangential", "radial_tangential", "plumb_bob",
                     "rational_polynomial", "brown_conrady"})) {
    return SetOpenCvLens(source, coefficients_field, d, camera);
  }
  const bool is_fov = IsOneOf(name, {"fov", "atan"});
  const bool is_fisheye = IsOneOf(
      name, {"equidistant", "equi", "equidist", "fisheye", "kannala_brandt", "kannalabrandt4", "kannalabrandt8"});
  if (!is_fov && !is_fisheye && !IsOneOf(name, {"none", ""})) {
    return FieldError(source, model_field,
                      NotOneOf(model, "radtan, plumb_bob, rational_polynomial, equidistant, fisheye, fov, none"));
  }
  camera->model = CameraModel::kPinhole;
  camera->lens = {};
  // An equidistant lens without coefficients is still no pinhole.
  const bool zero = std::all_of(d.begin(), d.end(), [](double k) { return k == 0; });
  if (zero && !(is_fisheye && d.size() >= 4)) {
    if (is_fisheye) return FieldError(source, coefficients_field, "four coefficients are missing");
    return absl::OkStatus();
  }
  const size_t count = is_fisheye ? 4 : is_fov ? 1 : 0;
  if (d.size() < count ||
      std::any_of(d.begin() + static_cast<ptrdiff_t>(count), d.end(), [](double k) { return k != 0; })) {
    return FieldError(source, coefficients_field,
                      absl::StrCat(d.size(), " coefficients, not the ", count, " of model \"", Echo(model), "\""));
  }
  camera->model = is_fisheye ? CameraModel::kKannalaBrandt : CameraModel::kFov;
  std::copy_n(d.begin(), count, camera->lens.begin());
  return absl::OkStatus();
}

}  // namespace glint::calibration
