// Middlebury's calib.txt (2014, 2021): cam0=[f 0 cx; 0 f cy; 0 0 1], cam1, doffs, baseline in millimetres.
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/lines.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

std::map<std::string, std::string> MiddleburyFields(const Source& source) {
  std::map<std::string, std::string> fields;
  for (const Line& line : LinesOf(source.text)) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line.text, absl::MaxSplits('=', 1));
    fields.emplace(absl::StripAsciiWhitespace(parts.first), absl::StripAsciiWhitespace(parts.second));
  }
  return fields;
}

bool RecognisesMiddlebury(const Source& source) {
  if (source.text.size() > kMaxLinesBytes || !absl::StrContains(source.text, "cam0")) return false;
  const auto fields = MiddleburyFields(source);
  const auto cam0 = fields.find("cam0");
  return cam0 != fields.end() && absl::StartsWith(cam0->second, "[") && absl::StrContains(cam0->second, ";");
}

absl::StatusOr<std::vector<double>> MiddleburyNumbers(const Source& source,
                                                      const std::map<std::string, std::string>& fields,
                                                      const std::string& name, size_t count) {
  const auto field = fields.find(name);
  if (field == fields.end()) return FieldError(source, name, "is missing");
  const auto numbers = NumbersIn(absl::StrReplaceAll(field->second, {{"[", " "}, {"]", " "}, {";", " "}}));
  if (!numbers || numbers->size() != count) {
    return FieldError(source, name, absl::StrCat("'", field->second, "' is not ", count, " numbers"));
  }
  return *numbers;
}

absl::StatusOr<Calibration> ReadMiddlebury(absl::Span<const Source> sources, const ReadOptions&) {
  const Source& source = sources[0];
  if (sources.size() > 1) return FieldError(sources[1], "cam0", "one file has both cameras");
  const auto fields = MiddleburyFields(source);
  GLINT_ASSIGN_OR_RETURN(const auto width, MiddleburyNumbers(source, fields, "width", 1));
  GLINT_ASSIGN_OR_RETURN(const auto height, MiddleburyNumbers(source, fields, "height", 1));
  GLINT_ASSIGN_OR_RETURN(const auto baseline, MiddleburyNumbers(source, fields, "baseline", 1));
  Calibration calibration;
  for (const char* name : {"cam0", "cam1"}) {
    GLINT_ASSIGN_OR_RETURN(const auto k, MiddleburyNumbers(source, fields, name, 9));
    RigCamera& camera = calibration.rig.cameras.emplace_back();
    camera.name = name;
    GLINT_ASSIGN_OR_RETURN(camera.camera.image, ImageSize(source, "width, height", width[0], height[0]));
    camera.camera.fx = k[0], camera.camera.fy = k[4], camera.camera.cx = k[2], camera.camera.cy = k[5];
  }
  std::vector<RigCamera>& cameras = calibration.rig.cameras;
  cameras[1].rig_from_camera.translation.x() = baseline[0] / 1000;
  if (fields.count("doffs")) {
    GLINT_ASSIGN_OR_RETURN(const auto doffs, MiddleburyNumbers(source, fields, "doffs", 1));
    const double difference = cameras[1].camera.cx - cameras[0].camera.cx;
    if (std::abs(doffs[0] - difference) > 0.1) {
      calibration.warnings.push_back(FieldWarning(
          source, "doffs",
          absl::StrFormat("%g is not cam1's centre less cam0's, %g, which are taken", doffs[0], difference)));
    }
  }
  FindWhetherRectified(&calibration);
  return calibration;
}

}  // namespace

const Format kMiddlebury = {"middlebury", "Middlebury calib.txt", RecognisesMiddlebury, ReadMiddlebury, nullptr};

}  // namespace glint::calibration
