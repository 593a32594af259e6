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
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/matrices.h"
#include "calibration/formats/opencv_eyes.h"
#include "calibration/formats/opencv_matrices.h"
#include "calibration/formats/writers.h"
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
  const std::vector<double> none(4, 0.0);  // of an empty D, which is of 0 x 0
  if (fisheye) return SetFisheyeLens(*d.source, d.name, d.values.empty() ? none : d.values, camera);
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

// "left", "right", or, where matrices have digits, which say no side, "camera1".
std::string NameOfEye(const Matrix& matrix, int first_digit) {
  if (matrix.eye == kNoEye) return "camera";
  if (matrix.has_digit) return absl::StrCat("camera", matrix.eye + first_digit);
  return matrix.eye == 0 ? "left" : "right";
}

// Nothing if the files have neither K nor P of the eye.
absl::StatusOr<std::optional<RigCamera>> ReadEye(const Matrices& matrices, int eye, int first_digit, bool fisheye,
                                                 std::vector<std::string>* warnings) {
  RigCamera camera;
  const Matrix* k = matrices.Find(Role::kIntrinsics, eye);
  const Matrix* p = matrices.Find(Role::kProjection, eye);
  if (k == nullptr && p == nullptr) return std::optional<RigCamera>();
  camera.name = NameOfEye(k != nullptr ? *k : *p, first_digit);
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
  for (const Role role : {Role::kPose, Role::kTranslation}) {
    const Matrix *first = matrices.Find(role, 0), *second = matrices.Find(role, 1);
    if (first == nullptr || second == nullptr || matrices.Find(role, kNoEye) != nullptr) continue;
    const std::vector<double> none = role == Role::kTranslation
                                         ? std::vector<double>(3, 0.0)
                                         : std::vector<double>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    if (std::equal(none.begin(), none.end(), first->values.begin())) continue;
    return FieldError(*first->source, absl::StrCat(first->name, ", ", second->name),
                      "each camera has a pose of its own, of a direction that the file does not say; give R and T, "
                      "which take points of the first camera to the second");
  }
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
    const bool has_rotations =
        matrices.Find(Role::kRectification, 0) != nullptr && matrices.Find(Role::kRectification, 1) != nullptr;
    const auto differs = [&] {
      return has_rotations ? Differ(*right_from_left, of_rectification)
                           : Differ(right_from_left->translation.norm(), of_rectification.translation.norm());
    };
    if (are_raw && tells && right_from_left.has_value() && differs()) {
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

// Rectified images may have centres that differ: disparities are then off by the difference.
bool AreProjectionsOfOnePair(const Rig& rig) {
  const auto& left = rig.cameras[0].camera;
  const auto& right = rig.cameras[1].camera;
  const Eigen::Vector3d t = RightFromLeft(rig).translation;
  return left.fx == left.fy && left.fx == right.fx && left.fy == right.fy && left.cy == right.cy &&
         std::hypot(t.y(), t.z()) <= 1e-6 * std::abs(t.x());
}

bool AreSamePinholes(const Camera& a, const Camera& b) {
  const bool are_pinholes = a.model == CameraModel::kPinhole && b.model == CameraModel::kPinhole;
  return are_pinholes && AreEqual({a.fx, a.fy, a.cx, a.cy}, {b.fx, b.fy, b.cx, b.cy});
}

// One camera and a baseline are a rectified pair, as are two that are the same.
absl::Status AddBaseline(const Matrix& baseline, Calibration* calibration) {
  auto& cameras = calibration->rig.cameras;
  const double metres = baseline.values[0];
  if (!(metres > 0)) {
    return FieldError(*baseline.source, baseline.name, absl::StrCat(metres, " is not above 0, as a distance is"));
  }
  const Camera camera = cameras[0].camera;
  if (camera.model != CameraModel::kPinhole) {
    calibration->warnings.push_back(
        FieldWarning(*baseline.source, baseline.name,
                     "is left out: a camera and a baseline are a pair of rectified images, and this one has a lens; "
                     "of raw images give both cameras with R and T"));
    return absl::OkStatus();
  }
  calibration->rig = RectifiedRig(camera, metres);
  calibration->unit_is_unknown = !baseline.is_metres;
  calibration->notes.push_back(FieldWarning(
      *baseline.source, baseline.name, "beside one camera: taken as two of it, side by side, of rectified images"));
  return absl::OkStatus();
}

absl::StatusOr<Calibration> Read(absl::Span<const Source> sources, const ReadOptions& options) {
  std::vector<Found> files;
  for (const Source& source : sources) files.push_back(Collect(source));
  const std::vector<std::string> names = absl::StrSplit(options.cameras, ',');
  const bool are_chosen = !options.cameras.empty() && ChooseProjections(names, &files);
  const int first_digit = are_chosen ? 0 : NumberEyes(&files);
  Calibration calibration;
  calibration.format = kOpenCv.name;
  Matrices matrices(&calibration.warnings);
  bool fisheye = false;
  for (const Found& file : files) {
    fisheye = fisheye || file.fisheye;
    for (const Matrix& matrix : file.matrices) matrices.Add(matrix);
  }
  for (int eye = 0; eye < 2; ++eye) {
    GLINT_ASSIGN_OR_RETURN(const auto camera, ReadEye(matrices, eye, first_digit, fisheye, &calibration.warnings));
    if (camera.has_value()) calibration.rig.cameras.push_back(*camera);
  }
  auto& cameras = calibration.rig.cameras;
  const Matrix *first = matrices.Find(Role::kIntrinsics, 0), *second = matrices.Find(Role::kIntrinsics, 1);
  calibration.file_for_each = first != nullptr && second != nullptr && first->source != second->source;
  if (const std::string several = SeveralCameras(files); cameras.size() < 2 && !several.empty()) {
    return FieldError(sources[0], several,
                      "are of several cameras, of which the names do not say left and right; call them K_left D_left "
                      "K_right D_right, where R and T are of the right camera from the left one");
  }
  if (cameras.empty()) {
    GLINT_ASSIGN_OR_RETURN(const auto camera, ReadEye(matrices, kNoEye, first_digit, fisheye, &calibration.warnings));
    if (!camera.has_value()) {
      return FieldError(sources[0], "K", "missing: there is neither a camera matrix nor a projection");
    }
    cameras.push_back(*camera);
  }
  for (size_t eye = 0; are_chosen && eye < cameras.size(); ++eye) cameras[eye].name = names[eye];
  const Matrix* baseline = matrices.Find(Role::kBaseline, kNoEye);
  const bool are_one = cameras.size() < 2 || AreSamePinholes(cameras[0].camera, cameras[1].camera);
  const bool has_relation = matrices.Find(Role::kTranslation, kNoEye) || matrices.Find(Role::kPose, kNoEye);
  if (baseline != nullptr && are_one && !has_relation) {
    GLINT_RETURN_IF_ERROR(AddBaseline(*baseline, &calibration));
    FindWhetherRectified(&calibration);
    return calibration;
  }
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

}  // namespace
}  // namespace opencv

const Format kOpenCv = {"opencv", "OpenCV FileStorage (YAML, XML)", opencv::Recognises, opencv::Read, WriteOpenCv};

}  // namespace glint::calibration
