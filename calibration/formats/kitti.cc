// KITTI's calib.txt of odometry (P0 to P3), and its calib_cam_to_cam.txt (S, K, D, R, T, S_rect, R_rect, P_rect).
#include <Eigen/Core>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
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

using KittiProjection = Eigen::Matrix<double, 3, 4, Eigen::RowMajor>;

struct KittiLine {
  int number = 0;
  absl::string_view name;  // empty where the line has none
  absl::string_view values;
};

std::vector<KittiLine> KittiLines(const Source& source) {
  std::vector<KittiLine> lines;
  for (const Line& line : LinesOf(source.text)) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrContains(line.text, ':') ? absl::StrSplit(line.text, absl::MaxSplits(':', 1))
                                          : std::make_pair(absl::string_view(), line.text);
    lines.push_back({line.number, absl::StripAsciiWhitespace(parts.first), parts.second});
  }
  return lines;
}

bool HasKittiForm(const std::vector<double>& p) {
  return p.size() == 12 && p[0] > 1 && p[5] > 1 && p[1] == 0 && p[4] == 0 && p[8] == 0 && p[9] == 0 && p[10] == 1;
}

bool NamesProjection(absl::string_view name) {
  return absl::StartsWith(name, "P") && std::all_of(name.begin(), name.end(), absl::ascii_isalnum);
}

bool RecognisesKittiRaw(const Source& source) {
  if (source.text.size() > kMaxLinesBytes) return false;
  for (const KittiLine& line : KittiLines(source)) {
    if ((absl::StartsWith(line.name, "P_rect_") || absl::StartsWith(line.name, "K_0")) && NumbersIn(line.values)) {
      return true;
    }
  }
  return false;
}

// A line "P...: 1 2 ...", or a first line that is a projection without a name: a path has 12 numbers a line, too.
bool RecognisesKittiOdometry(const Source& source) {
  if (source.text.size() > kMaxLinesBytes) return false;
  const std::vector<KittiLine> lines = KittiLines(source);
  for (const KittiLine& line : lines) {
    const std::vector<absl::string_view> words = WordsOf(line.values);
    if (NamesProjection(line.name) && !absl::StrContains(line.values, ',') && words.size() >= 2 &&
        NumbersIn(words[0]) && NumbersIn(words[1])) {
      return !RecognisesKittiRaw(source);
    }
  }
  if (lines.empty() || !lines[0].name.empty()) return false;
  const auto numbers = NumbersIn(lines[0].values);
  return numbers && HasKittiForm(*numbers);
}

struct NamedProjection {
  std::string name;
  KittiProjection matrix;
};

absl::StatusOr<KittiProjection> KittiProjectionOf(const Source& source, const KittiLine& line) {
  const auto numbers = NumbersIn(line.values);
  if (!numbers || numbers->size() != 12) {
    return absl::InvalidArgumentError(
        absl::StrCat(source.path, ":", line.number, ": not the 12 numbers of a projection"));
  }
  if (!HasKittiForm(*numbers)) {
    return absl::InvalidArgumentError(
        absl::StrCat(source.path, ":", line.number, ": not a projection fx 0 cx tx, 0 fy cy ty, 0 0 1 tz"));
  }
  return KittiProjection(numbers->data());
}

// 2 for "P2", "02" and "P_rect_02"; -1 for names of other kinds.
int NumberOfCamera(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "P_rect_")) absl::ConsumePrefix(&name, "P");
  int number = -1;
  return absl::SimpleAtoi(name, &number) ? number : -1;
}

// The element of `all` that has this name, or null.
template <typename List>
auto FindKittiCamera(List& all, absl::string_view name) -> decltype(all.data()) {
  for (auto& one : all) {
    if (one.name == name || (NumberOfCamera(name) >= 0 && NumberOfCamera(one.name) == NumberOfCamera(name))) {
      return &one;
    }
  }
  return nullptr;
}

// The cameras that `cameras` names; without it the grey pair, else the colour pair, else the first camera.
template <typename Named>
absl::StatusOr<std::vector<Named>> ChooseKitti(const Source& source, const std::vector<Named>& all,
                                               const std::string& cameras, std::vector<std::string>* notes) {
  std::vector<std::string> names = absl::StrSplit(cameras, ',', absl::SkipEmpty());
  for (const std::vector<std::string>& pair : {std::vector<std::string>{"P0", "P1"}, {"P2", "P3"}}) {
    if (names.empty() && FindKittiCamera(all, pair[0]) && FindKittiCamera(all, pair[1])) names = pair;
  }
  if (names.empty()) names.push_back(all.front().name);
  std::vector<Named> chosen;
  for (const std::string& name : names) {
    const Named* found = FindKittiCamera(all, name);
    if (!found) {
      const std::string has =
          absl::StrJoin(all, ", ", [](std::string* text, const Named& one) { absl::StrAppend(text, one.name); });
      return absl::InvalidArgumentError(absl::StrCat(source.path, ": has no 3x4 projection ", name, ", but ", has));
    }
    chosen.push_back(*found);
  }
  std::vector<std::string> others;
  for (const Named& one : all) {
    if (!FindKittiCamera(chosen, one.name)) others.push_back(one.name);
  }
  if (cameras.empty() && !others.empty()) {
    const std::string taken =
        absl::StrJoin(chosen, ", ", [](std::string* text, const Named& one) { absl::StrAppend(text, one.name); });
    notes->push_back(absl::StrCat(source.path, ": ", taken, " are taken; the file also has ",
                                  absl::StrJoin(others, ", "), ": --cameras chooses, as in --cameras ",
                                  others.size() > 1 ? others[0] + "," + others[1] : others[0]));
  }
  return chosen;
}

RigCamera RectifiedCamera(const std::string& name, const KittiProjection& p, const Shape& image) {
  RigCamera camera;
  camera.name = name;
  camera.camera.image = image;
  camera.camera.fx = p(0, 0), camera.camera.fy = p(1, 1), camera.camera.cx = p(0, 2), camera.camera.cy = p(1, 2);
  const double tz = p(2, 3);
  camera.rig_from_camera.translation =
      -Eigen::Vector3d((p(0, 3) - p(0, 2) * tz) / p(0, 0),  // K's inverse times p's last
                       (p(1, 3) - p(1, 2) * tz) / p(1, 1), tz);
  camera.projection = p;
  return camera;
}

// Sets `rectified`. The images of a pair are rectified to each other though the centres of KITTI's colour cameras
// differ by millimetres in height: their projections say so.
void FindKittiRectified(const Source& source, Calibration* calibration) {
  const std::vector<RigCamera>& cameras = calibration->rig.cameras;
  calibration->rectified = true;
  for (const RigCamera& camera : cameras) {
    if ((camera.projection->leftCols<3>() - cameras[0].projection->leftCols<3>()).norm() >
        1e-6 * cameras[0].camera.fx) {
      calibration->rectified = false;
      calibration->warnings.push_back(FieldWarning(
          source, camera.name,
          absl::StrFormat("focal length and centre (%g %g %g %g) differ from %s's (%g %g %g %g), so these are not the "
                          "projections of one rectified pair",
                          camera.camera.fx, camera.camera.fy, camera.camera.cx, camera.camera.cy, cameras[0].name,
                          cameras[0].camera.fx, cameras[0].camera.fy, cameras[0].camera.cx, cameras[0].camera.cy)));
    }
  }
}

// Calls the chosen cameras as `cameras` does.
void NameAsAsked(const std::string& cameras, Rig* rig) {
  const std::vector<std::string> names = absl::StrSplit(cameras, ',', absl::SkipEmpty());
  for (size_t i = 0; i < names.size(); ++i) rig->cameras[i].name = names[i];
}

absl::Status OneKittiFile(absl::Span<const Source> sources) {
  if (sources.size() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(sources[1].path, ": one file has all cameras of KITTI; choose them by name, such as P2,P3"));
}

absl::StatusOr<Calibration> ReadKittiOdometry(absl::Span<const Source> sources, const ReadOptions& options) {
  GLINT_RETURN_IF_ERROR(OneKittiFile(sources));
  const Source& source = sources[0];
  std::vector<NamedProjection> all;
  int unnamed = 0;
  for (const KittiLine& line : KittiLines(source)) {
    if (!line.name.empty() && !NamesProjection(line.name)) continue;  // transforms to the laser scanner
    GLINT_ASSIGN_OR_RETURN(const KittiProjection p, KittiProjectionOf(source, line));
    all.push_back({line.name.empty() ? absl::StrCat("P", unnamed++) : std::string(line.name), p});
  }
  Calibration calibration;
  GLINT_ASSIGN_OR_RETURN(const auto chosen, ChooseKitti(source, all, options.cameras, &calibration.notes));
  for (const NamedProjection& p : chosen) {
    calibration.rig.cameras.push_back(RectifiedCamera(p.name, p.matrix, options.image));
  }
  NameAsAsked(options.cameras, &calibration.rig);
  FindKittiRectified(source, &calibration);
  return calibration;
}

// One camera of calib_cam_to_cam.txt; the names of absent lines are empty.
struct KittiRawCamera {
  std::string name;  // "02"
  KittiLine s, k, d, r, t, s_rect, r_rect, p_rect;
};

std::vector<KittiRawCamera> KittiRawCameras(const Source& source) {
  std::vector<KittiRawCamera> cameras;
  const std::pair<absl::string_view, KittiLine KittiRawCamera::*> fields[] = {
      {"S_rect_", &KittiRawCamera::s_rect}, {"R_rect_", &KittiRawCamera::r_rect},
      {"P_rect_", &KittiRawCamera::p_rect}, {"S_", &KittiRawCamera::s},
      {"K_", &KittiRawCamera::k},           {"D_", &KittiRawCamera::d},
      {"R_", &KittiRawCamera::r},           {"T_", &KittiRawCamera::t}};
  for (const KittiLine& line : KittiLines(source)) {
    for (const auto& [prefix, field] : fields) {
      absl::string_view name = line.name;
      if (!absl::ConsumePrefix(&name, prefix)) continue;
      KittiRawCamera* camera = FindKittiCamera(cameras, name);
      if (!camera) {
        camera = &cameras.emplace_back();
        camera->name = std::string(name);
      }
      camera->*field = line;
      break;
    }
  }
  return cameras;
}

absl::StatusOr<std::vector<double>> RawNumbers(const Source& source, const KittiRawCamera& camera,
                                               absl::string_view field, const KittiLine& line, size_t count) {
  const std::string name = absl::StrCat(field, camera.name);
  if (line.name.empty()) return FieldError(source, name, "is missing");
  auto numbers = NumbersIn(line.values);
  if (!numbers || numbers->size() != count) {
    return FieldError(source, name, absl::StrCat("line ", line.number, " has not the ", count, " numbers of it"));
  }
  return *std::move(numbers);
}

absl::StatusOr<Shape> RawSize(const Source& source, const KittiRawCamera& camera, absl::string_view field,
                              const KittiLine& line) {
  if (line.name.empty()) return Shape{};
  GLINT_ASSIGN_OR_RETURN(const auto size, RawNumbers(source, camera, field, line, 2));
  return ImageSize(source, absl::StrCat(field, camera.name), size[0], size[1]);
}

absl::StatusOr<RigCamera> ReadKittiRectified(const Source& source, const KittiRawCamera& raw, const Shape& image) {
  if (raw.p_rect.name.empty()) return FieldError(source, "P_rect_" + raw.name, "is missing");
  GLINT_ASSIGN_OR_RETURN(const KittiProjection p, KittiProjectionOf(source, raw.p_rect));
  GLINT_ASSIGN_OR_RETURN(const Shape size, RawSize(source, raw, "S_rect_", raw.s_rect));
  return RectifiedCamera(raw.name, p, size.width ? size : image);
}

absl::StatusOr<RigCamera> ReadKittiUnrectified(const Source& source, const KittiRawCamera& raw, const Shape& image) {
  RigCamera camera;
  camera.name = raw.name;
  GLINT_ASSIGN_OR_RETURN(const Shape size, RawSize(source, raw, "S_", raw.s));
  GLINT_ASSIGN_OR_RETURN(const auto k, RawNumbers(source, raw, "K_", raw.k, 9));
  GLINT_ASSIGN_OR_RETURN(const auto d, RawNumbers(source, raw, "D_", raw.d, 5));
  GLINT_ASSIGN_OR_RETURN(const auto r, RawNumbers(source, raw, "R_", raw.r, 9));
  GLINT_ASSIGN_OR_RETURN(const auto t, RawNumbers(source, raw, "T_", raw.t, 3));
  camera.camera.image = size.width ? size : image;
  camera.camera.fx = k[0], camera.camera.fy = k[4], camera.camera.cx = k[2], camera.camera.cy = k[5];
  GLINT_RETURN_IF_ERROR(SetOpenCvLens(source, "D_" + raw.name, d, &camera.camera));
  GLINT_ASSIGN_OR_RETURN(const RigidTransform camera_from_rig,
                         Transform(source, "R_" + raw.name, r, Eigen::Vector3d(t.data())));
  camera.rig_from_camera = camera_from_rig.Inverse();
  if (!raw.r_rect.name.empty() && !raw.p_rect.name.empty()) {
    GLINT_ASSIGN_OR_RETURN(const auto turn, RawNumbers(source, raw, "R_rect_", raw.r_rect, 9));
    GLINT_ASSIGN_OR_RETURN(const RigidTransform rectified,
                           Transform(source, "R_rect_" + raw.name, turn, Eigen::Vector3d::Zero()));
    GLINT_ASSIGN_OR_RETURN(const KittiProjection p, KittiProjectionOf(source, raw.p_rect));
    camera.rectified_from_camera = rectified.rotation;
    camera.projection = p;
  }
  return camera;
}

// KITTI hands out rectified images (_sync); the raw ones (_extract) have another size, and are taken for what they are
// where the images have that size.
absl::StatusOr<Calibration> ReadKittiRaw(absl::Span<const Source> sources, const ReadOptions& options) {
  GLINT_RETURN_IF_ERROR(OneKittiFile(sources));
  const Source& source = sources[0];
  Calibration calibration;
  GLINT_ASSIGN_OR_RETURN(const auto chosen,
                         ChooseKitti(source, KittiRawCameras(source), options.cameras, &calibration.notes));
  GLINT_ASSIGN_OR_RETURN(const Shape raw_size, RawSize(source, chosen[0], "S_", chosen[0].s));
  GLINT_ASSIGN_OR_RETURN(const Shape rectified_size, RawSize(source, chosen[0], "S_rect_", chosen[0].s_rect));
  const bool raw = chosen[0].p_rect.name.empty() || (options.image == raw_size && !(raw_size == rectified_size));
  for (const KittiRawCamera& one : chosen) {
    GLINT_ASSIGN_OR_RETURN(
        calibration.rig.cameras.emplace_back(),
        raw ? ReadKittiUnrectified(source, one, options.image) : ReadKittiRectified(source, one, options.image));
  }
  NameAsAsked(options.cameras, &calibration.rig);
  if (!raw) FindKittiRectified(source, &calibration);
  return calibration;
}

absl::StatusOr<std::vector<NamedText>> WriteKittiOdometry(const Calibration& calibration) {
  if (!calibration.rectified) {
    return absl::InvalidArgumentError("KITTI's calib.txt is for rectified images alone");
  }
  std::string text;
  const std::vector<RigCamera>& cameras = calibration.rig.cameras;
  for (size_t i = 0; i < cameras.size(); ++i) {
    const Camera& camera = cameras[i].camera;
    KittiProjection p = KittiProjection::Zero();
    p(0, 0) = camera.fx, p(1, 1) = camera.fy, p(0, 2) = camera.cx, p(1, 2) = camera.cy, p(2, 2) = 1;
    const RigidTransform camera_from_first = cameras[i].rig_from_camera.Inverse() * cameras[0].rig_from_camera;
    p.col(3) = (p.leftCols<3>() * camera_from_first.translation).eval();
    absl::StrAppend(&text, "P", i, ": ", Digits({p.data(), 12}), "\n");
  }
  return std::vector<NamedText>{{"calib.txt", text}};
}

}  // namespace

const Format kKittiOdometry = {"kitti", "KITTI odometry calib.txt", RecognisesKittiOdometry, ReadKittiOdometry,
                               WriteKittiOdometry};
const Format kKittiRaw = {"kitti-raw", "KITTI raw calib_cam_to_cam.txt", RecognisesKittiRaw, ReadKittiRaw, nullptr};

}  // namespace glint::calibration
