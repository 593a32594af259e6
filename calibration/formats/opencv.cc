// Files of programs around OpenCV: cv::FileStorage in YAML, XML and JSON, and the same matrices as plain lists, with
// the names that people choose. cv::stereoCalibrate's R and T take points of the first camera to the second.
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/matrices.h"
#include "calibration/formats/opencv_matrices.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace opencv {
namespace {

// Everything that has such matrices and is of no program that has a format of its own.
bool Recognises(const Source& source) {
  if (source.root.kind != Node::Kind::kMap) return false;
  const Found found = Collect(source);
  const bool has_relation = Has(found, Role::kTranslation) && Has(found, Role::kRotation);
  if (!Has(found, Role::kIntrinsics) && !Has(found, Role::kProjection) && !has_relation) return false;
  return std::none_of(Formats().begin(), Formats().end(), [&](const Format& format) {
    return format.recognises != Recognises && format.recognises(source);
  });
}

// To a thousandth of the largest number.
bool AreEqual(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0, difference = 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    largest = std::max(largest, std::abs(a[i]));
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  return a.size() == b.size() && difference <= 1e-3 * largest;
}

// The matrices of all files by role and eye.
class Matrices {
 public:
  explicit Matrices(std::vector<std::string>* warnings) : warnings_(warnings) {}

  // The first matrix of a role and an eye counts.
  void Add(const Matrix& matrix) {
    const auto [at, is_new] = matrices_.emplace(std::make_pair(matrix.role, matrix.eye), matrix);
    if (is_new || AreEqual(at->second.values, matrix.values)) return;
    warnings_->push_back(
        FieldWarning(*matrix.source, matrix.name, absl::StrCat("differs from ", at->second.name, ", which is taken")));
  }

  const Matrix* Find(Role role, int eye) const {
    const auto at = matrices_.find({role, eye});
    return at == matrices_.end() ? nullptr : &at->second;
  }

 private:
  std::vector<std::string>* warnings_;
  std::map<std::pair<Role, int>, Matrix> matrices_;
};

bool BelongsToCamera(Role role) { return role != Role::kRotation && role != Role::kTranslation && role != Role::kPose; }

// The only eye that a file has camera matrices of, or nothing.
std::optional<int> OnlyEyeOf(const Found& found) {
  std::optional<int> eye;
  for (const Matrix& matrix : found.matrices) {
    if (matrix.role != Role::kIntrinsics && matrix.role != Role::kProjection) continue;
    if (eye.has_value() && *eye != matrix.eye) return std::nullopt;
    eye = matrix.eye;
  }
  return eye;
}

// Camera matrices of more cameras than one: "mtx_iphone, mtx_webcam". Empty: of one, or of none.
std::string SeveralCameras(absl::Span<const Found> files) {
  std::vector<const Matrix*> several;
  for (const Found& file : files) {
    for (const Matrix& matrix : file.matrices) {
      const bool is_same = std::any_of(several.begin(), several.end(), [&](const Matrix* m) {
        return (matrix.eye != kNoEye && m->eye == matrix.eye) || AreEqual(m->values, matrix.values);
      });
      if (matrix.role == Role::kIntrinsics && !is_same) several.push_back(&matrix);
    }
  }
  if (several.size() < 2) return "";
  return absl::StrJoin(several, ", ", [](std::string* out, const Matrix* m) { absl::StrAppend(out, m->name); });
}

// Camera matrices of cameras that are not of the pair: those with a number beyond it make it unclear which the pair is.
absl::Status CheckOthers(absl::Span<const Found> files, const Source& source, std::vector<std::string>* warnings) {
  std::vector<const Matrix*> pair;
  std::vector<const Matrix*> others;
  for (const Found& file : files) {
    for (const Matrix& matrix : file.matrices) {
      if (matrix.role == Role::kIntrinsics) (matrix.eye == 0 || matrix.eye == 1 ? pair : others).push_back(&matrix);
    }
  }
  for (const Matrix* other : others) {
    if (other->eye > 1) {
      return FieldError(source, other->name,
                        "is of a third camera: it is not clear which two the pair is; leave the others out");
    }
    const bool is_same =
        std::any_of(pair.begin(), pair.end(), [&](const Matrix* m) { return AreEqual(m->values, other->values); });
    if (!is_same) {
      warnings->push_back(FieldWarning(*other->source, other->name, "is of a camera beside the pair, and left out"));
    }
  }
  return absl::OkStatus();
}

// Counts eyes from 0, and makes files of one camera each the left one's, the right one's.
void NumberEyes(std::vector<Found>* files) {
  bool from_zero = false;
  for (const Found& file : *files) {
    for (const Matrix& m : file.matrices) from_zero = from_zero || (m.has_digit && m.eye == 0);
  }
  for (Found& file : *files) {
    for (Matrix& m : file.matrices) m.eye -= m.has_digit && !from_zero ? 1 : 0;
  }
  std::vector<Found*> single;
  std::vector<int> eyes;
  for (Found& file : *files) {
    if (const auto eye = OnlyEyeOf(file)) {
      single.push_back(&file);
      if (*eye != kNoEye) eyes.push_back(*eye);
    }
  }
  std::sort(eyes.begin(), eyes.end());
  const bool are_named = eyes.size() == single.size() && std::unique(eyes.begin(), eyes.end()) == eyes.end();
  if (single.size() < 2 || are_named) return;
  for (size_t eye = 0; eye < single.size(); ++eye) {
    for (Matrix& m : single[eye]->matrices) {
      if (BelongsToCamera(m.role)) m.eye = static_cast<int>(eye);
    }
  }
}

constexpr double kMaxTangential = 0.02;   // p1 and p2 of real lenses are smaller
constexpr double kMaxPinholeField = 100;  // degrees

// Four coefficients may be of either model.
void WarnOfOtherModel(const Matrix& d, const Camera& camera, std::vector<std::string>* warnings) {
  const double field = 2 * std::atan(camera.cx / camera.fx) * 180 / M_PI;
  const bool is_odd = std::abs(d.values[2]) > kMaxTangential || std::abs(d.values[3]) > kMaxTangential;
  if (!is_odd && field < kMaxPinholeField) return;
  warnings->push_back(FieldWarning(*d.source, d.name,
                                   "4 coefficients are taken as k1 k2 p1 p2; if cv::fisheye found them, add the line "
                                   "\"fisheye_model: 1\""));
}

absl::Status SetLens(const Matrix& d, const Matrix* xi, bool fisheye, Camera* camera,
                     std::vector<std::string>* warnings) {
  if (fisheye) return SetFisheyeLens(*d.source, d.name, d.values, camera);
  if (xi == nullptr) {
    GLINT_RETURN_IF_ERROR(SetOpenCvLens(*d.source, d.name, d.values, camera));
    if (d.values.size() == 4) WarnOfOtherModel(d, *camera, warnings);
    return absl::OkStatus();
  }
  if (d.values.size() != 4) return FieldError(*d.source, d.name, "is not k1 k2 p1 p2, as cv::omnidir has beside xi");
  camera->model = CameraModel::kOmni;
  camera->lens[0] = xi->values[0];
  std::copy(d.values.begin(), d.values.end(), camera->lens.begin() + 1);
  return absl::OkStatus();
}

absl::Status SetImage(const Matrix* size, Camera* camera) {
  if (size == nullptr) return absl::OkStatus();
  GLINT_ASSIGN_OR_RETURN(camera->image, ImageSize(*size->source, size->name, size->values[0], size->values[1]));
  return absl::OkStatus();
}

const Matrix* FindOr(const Matrices& matrices, Role role, int eye, int other) {
  const Matrix* matrix = matrices.Find(role, eye);
  return matrix != nullptr ? matrix : matrices.Find(role, other);
}

// Nothing if the files have neither K nor P of the eye.
absl::StatusOr<std::optional<RigCamera>> ReadEye(const Matrices& matrices, int eye, bool fisheye,
                                                 std::vector<std::string>* warnings) {
  RigCamera camera;
  const Matrix* k = matrices.Find(Role::kIntrinsics, eye);
  const Matrix* p = matrices.Find(Role::kProjection, eye);
  if (k == nullptr && p == nullptr) return std::optional<RigCamera>();
  camera.name = eye == kNoEye ? "camera" : eye == 0 ? "left" : "right";
  if (p != nullptr) {
    const Matrix* r = matrices.Find(Role::kRectification, eye);
    const bool of_raw = k != nullptr && r != nullptr;
    GLINT_RETURN_IF_ERROR(SetRectification(*p->source, of_raw ? r->name : "",
                                           of_raw ? r->values : std::vector<double>(), p->name, p->values, &camera));
    camera.camera = PinholeOf(*camera.projection);
  }
  if (k != nullptr) {
    GLINT_RETURN_IF_ERROR(SetIntrinsics(*k->source, k->name, k->values, &camera.camera));
    if (const Matrix* d = matrices.Find(Role::kLens, eye)) {
      GLINT_RETURN_IF_ERROR(SetLens(*d, FindOr(matrices, Role::kXi, eye, kNoEye), fisheye, &camera.camera, warnings));
    }
  }
  GLINT_RETURN_IF_ERROR(SetImage(FindOr(matrices, Role::kSize, eye, kNoEye), &camera.camera));
  return std::optional<RigCamera>(camera);
}

// What R and T, or one matrix of both, say of the second camera from the first.
absl::StatusOr<std::optional<RigidTransform>> ReadRelation(const Matrices& matrices) {
  if (const Matrix* pose = FindOr(matrices, Role::kPose, kNoEye, 1)) {
    GLINT_ASSIGN_OR_RETURN(const auto transform, Transform(*pose->source, pose->name, pose->values));
    return std::optional<RigidTransform>(pose->inverse ? transform.Inverse() : transform);
  }
  const Matrix* t = FindOr(matrices, Role::kTranslation, kNoEye, 1);
  const Matrix* r = matrices.Find(Role::kRotation, kNoEye);
  if (t == nullptr) return std::optional<RigidTransform>();
  if (r == nullptr && matrices.Find(Role::kProjection, 1) == nullptr) {  // "R_right" beside "T_right"
    r = matrices.Find(Role::kRectification, 1);
  }
  if (r == nullptr) return std::optional<RigidTransform>();
  GLINT_ASSIGN_OR_RETURN(const auto transform,
                         Transform(*r->source, r->name, r->values, Eigen::Vector3d(t->values.data())));
  return std::optional<RigidTransform>(r->inverse ? transform.Inverse() : transform);
}

absl::Status RelateEyes(const Matrices& matrices, absl::Span<const Source> sources, Calibration* calibration) {
  RigCamera& left = calibration->rig.cameras[0];
  RigCamera& right = calibration->rig.cameras[1];
  GLINT_ASSIGN_OR_RETURN(auto right_from_left, ReadRelation(matrices));
  const bool are_raw = matrices.Find(Role::kIntrinsics, 0) != nullptr && matrices.Find(Role::kIntrinsics, 1) != nullptr;
  if (left.projection.has_value() && right.projection.has_value()) {
    const RigidTransform of_rectification = RightFromLeft(left, right);
    const bool tells = of_rectification.translation.norm() > 0;
    if (are_raw && tells && right_from_left.has_value() && Differ(*right_from_left, of_rectification)) {
      calibration->warnings.push_back(FieldWarning(*matrices.Find(Role::kProjection, 1)->source,
                                                   matrices.Find(Role::kProjection, 1)->name,
                                                   "the rectification differs from R and T, which are taken"));
    }
    if (tells && (!are_raw || !right_from_left.has_value())) right_from_left = of_rectification;
  }
  if (!right_from_left.has_value()) {
    return FieldError(sources.back(), "T",
                      "missing: two cameras need R and T (from the first to the second), or projections P1 and P2 of "
                      "which the second has a translation");
  }
  right.rig_from_camera = right_from_left->Inverse();
  calibration->unit_is_unknown = true;
  return absl::OkStatus();
}

// Leaves projections alone where `names` are such, "P2,P3": of the left and of the right eye. False: they are not.
bool ChooseProjections(const std::vector<std::string>& names, std::vector<Found>* files) {
  for (Found& file : *files) {
    auto& all = file.matrices;
    const auto is_projection = [](const Matrix& m) { return m.role == Role::kProjection; };
    std::vector<Matrix> chosen;
    for (size_t eye = 0; eye < names.size(); ++eye) {
      const auto at = std::find_if(all.begin(), all.end(),
                                   [&](const Matrix& m) { return is_projection(m) && m.name == names[eye]; });
      if (at == all.end()) continue;
      chosen.push_back(*at);
      chosen.back().eye = static_cast<int>(eye);
      chosen.back().has_digit = false;
    }
    if (chosen.size() == names.size()) {
      all = std::move(chosen);
      return true;
    }
  }
  return false;
}

// Rectified images may have centres that differ: disparities are then off by the difference.
bool AreProjectionsOfOnePair(const Rig& rig) {
  const auto& left = rig.cameras[0].camera;
  const auto& right = rig.cameras[1].camera;
  const Eigen::Vector3d t = RightFromLeft(rig).translation;
  return left.fx == left.fy && left.fx == right.fx && left.fy == right.fy && left.cy == right.cy &&
         std::hypot(t.y(), t.z()) <= 1e-6 * std::abs(t.x());
}

absl::StatusOr<Calibration> Read(absl::Span<const Source> sources, const ReadOptions& options) {
  std::vector<Found> files;
  for (const Source& source : sources) files.push_back(Collect(source));
  const std::vector<std::string> names = absl::StrSplit(options.cameras, ',');
  const bool are_chosen = !options.cameras.empty() && ChooseProjections(names, &files);
  if (!are_chosen) NumberEyes(&files);
  Calibration calibration;
  calibration.format = kOpenCv.name;
  Matrices matrices(&calibration.warnings);
  bool fisheye = false;
  for (const Found& file : files) {
    fisheye = fisheye || file.fisheye;
    for (const Matrix& matrix : file.matrices) matrices.Add(matrix);
  }
  for (int eye = 0; eye < 2; ++eye) {
    GLINT_ASSIGN_OR_RETURN(const auto camera, ReadEye(matrices, eye, fisheye, &calibration.warnings));
    if (camera.has_value()) calibration.rig.cameras.push_back(*camera);
  }
  auto& cameras = calibration.rig.cameras;
  if (const std::string several = SeveralCameras(files); cameras.size() < 2 && !several.empty()) {
    return FieldError(sources[0], several,
                      "are of several cameras, of which the names do not say left and right; call them K_left D_left "
                      "K_right D_right, where R and T are of the right camera from the left one");
  }
  if (cameras.empty()) {
    GLINT_ASSIGN_OR_RETURN(const auto camera, ReadEye(matrices, kNoEye, fisheye, &calibration.warnings));
    if (!camera.has_value()) {
      return FieldError(sources[0], "K", "missing: there is neither a camera matrix nor a projection");
    }
    cameras.push_back(*camera);
  }
  for (size_t eye = 0; are_chosen && eye < cameras.size(); ++eye) cameras[eye].name = names[eye];
  if (cameras.size() < 2) {
    FindWhetherRectified(&calibration);
    return calibration;
  }
  if (!are_chosen) GLINT_RETURN_IF_ERROR(CheckOthers(files, sources[0], &calibration.warnings));
  GLINT_RETURN_IF_ERROR(RelateEyes(matrices, sources, &calibration));
  FindWhetherRectified(&calibration);
  const bool are_projections =
      matrices.Find(Role::kIntrinsics, 0) == nullptr && matrices.Find(Role::kIntrinsics, 1) == nullptr;
  calibration.rectified = calibration.rectified || (are_projections && AreProjectionsOfOnePair(calibration.rig));
  return calibration;
}

absl::StatusOr<std::string> LensText(const RigCamera& camera, absl::string_view suffix) {
  const Camera& c = camera.camera;
  Eigen::Matrix3d k;
  k << c.fx, 0, c.cx, 0, c.fy, c.cy, 0, 0, 1;
  int count = 5;
  if (c.model == CameraModel::kRational) count = 8;
  if (c.model == CameraModel::kThinPrism) count = c.lens[12] == 0 && c.lens[13] == 0 ? 12 : 14;
  if (c.model == CameraModel::kKannalaBrandt || c.model == CameraModel::kOmni) count = 4;
  if (c.model == CameraModel::kDoubleSphere || c.model == CameraModel::kEucm || c.model == CameraModel::kFov) {
    return absl::InvalidArgumentError(absl::StrCat("lens of ", camera.name, ": OpenCV has no model ", NameOf(c.model)));
  }
  const bool is_omni = c.model == CameraModel::kOmni;
  const Eigen::MatrixXd d = Eigen::Map<const Eigen::RowVectorXd>(c.lens.data() + (is_omni ? 1 : 0), count);
  std::string text = absl::StrCat(MatrixText(absl::StrCat("K", suffix), k), MatrixText(absl::StrCat("D", suffix), d));
  if (is_omni) absl::StrAppend(&text, "xi", suffix, ": ", NumbersText(c.lens.data(), 1), "\n");
  if (c.image.width > 0) {
    absl::StrAppend(&text, "imageSize", suffix, ": [ ", c.image.width, ", ", c.image.height, " ]\n");
  }
  return text;
}

absl::StatusOr<std::vector<NamedText>> Write(const Calibration& calibration) {
  const auto& cameras = calibration.rig.cameras;
  const auto is_fisheye = [](const RigCamera& c) { return c.camera.model == CameraModel::kKannalaBrandt; };
  const auto fisheyes = std::count_if(cameras.begin(), cameras.end(), is_fisheye);
  const bool is_pair = cameras.size() == 2;
  if (cameras.empty() || cameras.size() > 2 || (fisheyes != 0 && fisheyes != static_cast<int>(cameras.size()))) {
    return absl::InvalidArgumentError("cameras: OpenCV's file takes one or two of one kind");
  }
  std::string text = "%YAML:1.0\n---\n";
  if (fisheyes != 0) absl::StrAppend(&text, "fisheye_model: 1\n");
  for (size_t eye = 0; eye < cameras.size(); ++eye) {
    const std::string suffix = is_pair ? absl::StrCat(eye + 1) : "";
    GLINT_ASSIGN_OR_RETURN(const std::string lens, LensText(cameras[eye], suffix));
    absl::StrAppend(&text, lens);
    if (!cameras[eye].projection.has_value() || !cameras[eye].rectified_from_camera.has_value()) continue;
    absl::StrAppend(&text,
                    MatrixText(is_pair ? absl::StrCat("R", suffix) : "R_rect", *cameras[eye].rectified_from_camera),
                    MatrixText(absl::StrCat("P", suffix), *cameras[eye].projection));
  }
  if (is_pair) {
    const RigidTransform right_from_left = RightFromLeft(calibration.rig);
    absl::StrAppend(&text, MatrixText("R", right_from_left.rotation), MatrixText("T", right_from_left.translation));
  }
  return std::vector<NamedText>{{"stereo.yml", text}};
}

}  // namespace
}  // namespace opencv

const Format kOpenCv = {"opencv", "OpenCV FileStorage (YAML, XML)", opencv::Recognises, opencv::Read, opencv::Write};

}  // namespace glint::calibration
