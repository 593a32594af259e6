// ZED's factory calibration, SN<number>.conf: INI, a section for each image size, millimetres.
#include <Eigen/Geometry>
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/lines.h"
#include "calibration/formats/matrices.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

// Sizes in the order in which they are taken where the image's is unknown.
struct ZedSize {
  const char* name;
  Shape image;
};
constexpr ZedSize kZedSizes[] = {{"HD", {1280, 720}},       {"FHD1200", {1920, 1200}}, {"FHD", {1920, 1080}},
                                 {"2K", {2208, 1242}},      {"VGA", {672, 376}},       {"SVGA", {960, 600}},
                                 {"QHDPLUS", {3200, 1800}}, {"4K", {3840, 2160}}};

using ZedFields = std::map<std::string, std::string>;  // "SECTION/key" in capitals to value

ZedFields ReadZedFields(const Source& source) {
  ZedFields fields;
  std::string section;
  for (const Line& line : LinesOf(source.text, "#;")) {
    if (line.text.front() == '[') {
      section = std::string(line.text.substr(1, line.text.find(']') - 1));
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line.text, absl::MaxSplits('=', 1));
    fields.emplace(absl::AsciiStrToUpper(absl::StrCat(section, "/", absl::StripAsciiWhitespace(parts.first))),
                   absl::StripAsciiWhitespace(parts.second));
  }
  return fields;
}

std::string ZedSection(absl::string_view side, absl::string_view size) { return absl::StrCat(side, "_CAM_", size); }

bool HasZedSize(const ZedFields& fields, absl::string_view size) {
  return fields.count(absl::StrCat(ZedSection("LEFT", size), "/FX")) > 0;
}

bool RecognisesZed(const Source& source) {
  if (source.text.size() > kMaxLinesBytes || !absl::StrContains(source.text, "[LEFT_CAM_")) return false;
  const ZedFields fields = ReadZedFields(source);
  for (const ZedSize& size : kZedSizes) {
    if (HasZedSize(fields, size.name)) return true;
  }
  return false;
}

// The section of `image`; if that is unknown the first one, and `notes` say which the others are.
absl::StatusOr<ZedSize> ChooseZedSize(const Source& source, const ZedFields& fields, const Shape& image,
                                      std::vector<std::string>* notes) {
  std::vector<ZedSize> sizes;
  for (const ZedSize& size : kZedSizes) {
    if (!HasZedSize(fields, size.name)) continue;
    if (size.image == image) return size;
    sizes.push_back(size);
  }
  const auto names = [](absl::Span<const ZedSize> of) {
    return absl::StrJoin(of, ", ", [](std::string* text, const ZedSize& size) {
      absl::StrAppend(text, size.image.width, "x", size.image.height, " (", size.name, ")");
    });
  };
  if (image.width != 0) {
    return FieldError(
        source, "LEFT_CAM_",
        absl::StrFormat("has no section for images of %dx%d, but for %s", image.width, image.height, names(sizes)));
  }
  const auto others = absl::MakeConstSpan(sizes).subspan(1);
  if (!others.empty()) {
    notes->push_back(FieldWarning(source, ZedSection("LEFT", sizes[0].name),
                                  absl::StrCat("is taken, of images of ", names({sizes[0]}), "; the file is also of ",
                                               names(others), ": the images' size chooses, or --size")));
  }
  return sizes[0];
}

// The first of `names` that the file has; `absent` if it has none.
absl::StatusOr<double> ZedNumber(const Source& source, const ZedFields& fields, const std::vector<std::string>& names,
                                 std::optional<double> absent = std::nullopt) {
  for (const std::string& name : names) {
    const auto field = fields.find(absl::AsciiStrToUpper(name));
    if (field == fields.end()) continue;
    const auto numbers = NumbersIn(field->second);
    if (numbers && numbers->size() == 1) return numbers->front();
    return FieldError(source, name, absl::StrCat("'", field->second, "' is no number"));
  }
  if (absent) return *absent;
  return FieldError(source, names[0], "is missing");
}

absl::StatusOr<RigCamera> ReadZedCamera(const Source& source, const ZedFields& fields, const std::string& side,
                                        const ZedSize& size) {
  const std::string section = ZedSection(side, size.name) + "/";
  RigCamera camera;
  camera.name = absl::AsciiStrToLower(side);
  camera.camera.image = size.image;
  GLINT_ASSIGN_OR_RETURN(camera.camera.fx, ZedNumber(source, fields, {section + "fx"}));
  GLINT_ASSIGN_OR_RETURN(camera.camera.fy, ZedNumber(source, fields, {section + "fy"}));
  GLINT_ASSIGN_OR_RETURN(camera.camera.cx, ZedNumber(source, fields, {section + "cx"}));
  GLINT_ASSIGN_OR_RETURN(camera.camera.cy, ZedNumber(source, fields, {section + "cy"}));
  std::vector<double> d;
  for (const char* key : {"k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6", "s1", "s2", "s3", "s4"}) {
    // Newer files have one section of coefficients for all sizes.
    GLINT_ASSIGN_OR_RETURN(d.emplace_back(), ZedNumber(source, fields, {side + "_DISTO/" + key, section + key}, 0.0));
  }
  // The factory's lenses have k1, k2 and k3, with or without tangential terms; fisheye ones k1 to k4 alone.
  const bool is_fisheye =
      d[5] != 0 && d[2] == 0 && d[3] == 0 && std::all_of(d.begin() + 6, d.end(), [](double k) { return k == 0; });
  GLINT_RETURN_IF_ERROR(is_fisheye ? SetFisheyeLens(source, section + "k1", {d[0], d[1], d[4], d[5]}, &camera.camera)
                                   : SetOpenCvLens(source, section + "k1", d, &camera.camera));
  return camera;
}

// A value of [STEREO], with the suffix of the size, without one, or of another size; in copies that have lost the
// section's name, wherever it is.
absl::StatusOr<double> ZedStereo(const Source& source, const ZedFields& fields, const std::string& key,
                                 const ZedSize& size, std::optional<double> absent = std::nullopt) {
  std::vector<std::string> keys = {key + "_" + size.name, key};
  for (const ZedSize& other : kZedSizes) keys.push_back(key + "_" + other.name);
  std::vector<std::string> names;
  names.reserve(keys.size());
  for (const std::string& one : keys) names.push_back("STEREO/" + one);
  for (const auto& [name, value] : fields) {
    if (absl::StrContains(source.text, "[STEREO]")) break;
    for (const std::string& one : keys) {
      if (absl::EndsWith(name, "/" + absl::AsciiStrToUpper(one))) names.push_back(name);
    }
  }
  return ZedNumber(source, fields, names, absent);
}

absl::StatusOr<RigidTransform> ReadZedRightFromLeft(const Source& source, const ZedFields& fields,
                                                    const ZedSize& size) {
  Eigen::Vector3d turn, t;
  GLINT_ASSIGN_OR_RETURN(turn[0], ZedStereo(source, fields, "RX", size));
  GLINT_ASSIGN_OR_RETURN(turn[1], ZedStereo(source, fields, "CV", size));
  GLINT_ASSIGN_OR_RETURN(turn[2], ZedStereo(source, fields, "RZ", size));
  GLINT_ASSIGN_OR_RETURN(const double baseline, ZedStereo(source, fields, "Baseline", size));
  GLINT_ASSIGN_OR_RETURN(t[1], ZedStereo(source, fields, "TY", size, 0.0));
  GLINT_ASSIGN_OR_RETURN(t[2], ZedStereo(source, fields, "TZ", size, 0.0));
  t[0] = -baseline;
  const double angle = turn.norm();
  const Eigen::Vector3d axis = angle > 0 ? Eigen::Vector3d(turn / angle) : Eigen::Vector3d::UnitX();
  return RigidTransform{Eigen::AngleAxisd(angle, axis).toRotationMatrix(), t / 1000};
}

absl::StatusOr<Calibration> ReadZed(absl::Span<const Source> sources, const ReadOptions& options) {
  const Source& source = sources[0];
  if (sources.size() > 1) return FieldError(sources[1], "STEREO", "one file has both cameras of a ZED");
  const ZedFields fields = ReadZedFields(source);
  Calibration calibration;
  GLINT_ASSIGN_OR_RETURN(const ZedSize size, ChooseZedSize(source, fields, options.image, &calibration.notes));
  for (const char* side : {"LEFT", "RIGHT"}) {
    GLINT_ASSIGN_OR_RETURN(calibration.rig.cameras.emplace_back(), ReadZedCamera(source, fields, side, size));
  }
  GLINT_ASSIGN_OR_RETURN(const RigidTransform right_from_left, ReadZedRightFromLeft(source, fields, size));
  calibration.rig.cameras[1].rig_from_camera = right_from_left.Inverse();
  FindWhetherRectified(&calibration);
  return calibration;
}

}  // namespace

const Format kZed = {"zed", "ZED .conf", RecognisesZed, ReadZed, nullptr};

}  // namespace glint::calibration
