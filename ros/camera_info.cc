#include "ros/camera_info.h"

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "features/error.h"
#include "features/status_macros.h"

namespace glint::ros {
namespace {

std::string MatrixText(absl::string_view name, size_t rows, absl::Span<const double> numbers) {
  const auto digits = [](std::string* out, double number) { absl::StrAppendFormat(out, "%.17g", number); };
  return absl::StrCat(name, ":\n  rows: ", rows, "\n  cols: ", numbers.size() / rows, "\n  data: [",
                      absl::StrJoin(numbers, ", ", digits), "]\n");
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(Echo(text), {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

// Without what image_transport adds to it: "/cam0/image_raw" of "/cam0/image_raw/compressed".
absl::string_view WithoutTransport(absl::string_view topic) { return absl::StripSuffix(topic, "/compressed"); }

absl::Status CheckWhole(absl::string_view field, uint32_t value, uint32_t whole) {
  if (value == 0 || value == whole) return absl::OkStatus();
  return ContradictionError(absl::StrCat(CameraInfo::kName, ".", field),
                            absl::StrCat(value, ": the images are not those of the calibration, of which ",
                                         "binned and cropped ones are not taken"));
}

}  // namespace

absl::StatusOr<std::string> CalibrationYaml(const CameraInfo& info, absl::string_view name) {
  GLINT_RETURN_IF_ERROR(CheckWhole("binning_x", info.binning_x, 1));
  GLINT_RETURN_IF_ERROR(CheckWhole("binning_y", info.binning_y, 1));
  GLINT_RETURN_IF_ERROR(CheckWhole("roi.x_offset", info.roi.x_offset, 0));
  GLINT_RETURN_IF_ERROR(CheckWhole("roi.y_offset", info.roi.y_offset, 0));
  GLINT_RETURN_IF_ERROR(CheckWhole("roi.width", info.roi.width, info.width));
  GLINT_RETURN_IF_ERROR(CheckWhole("roi.height", info.roi.height, info.height));
  return absl::StrCat("image_width: ", info.width, "\nimage_height: ", info.height, "\ncamera_name: ", Quoted(name),
                      "\n", MatrixText("camera_matrix", 3, info.k), "distortion_model: ", Quoted(info.distortion_model),
                      "\n", MatrixText("distortion_coefficients", 1, info.d),
                      MatrixText("rectification_matrix", 3, info.r), MatrixText("projection_matrix", 3, info.p));
}

std::string CameraInfoTopic(absl::string_view images) {
  const absl::string_view name = WithoutTransport(images);
  return absl::StrCat(name.substr(0, name.rfind('/') + 1), "camera_info");
}

bool IsRectified(absl::string_view images) {
  const absl::string_view name = WithoutTransport(images);
  return absl::StartsWith(name.substr(name.rfind('/') + 1), "image_rect");
}

bool HaveOnePixelGrid(const CameraInfo& a, const CameraInfo& b) {
  return a.width == b.width && a.height == b.height && a.k == b.k;
}

}  // namespace glint::ros
